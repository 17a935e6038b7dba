"""Who is here."""

from collections.abc import Collection

from digest.models import Reader


def operators_without(*, readers: Collection[Reader]) -> bool:
    """Whether an active reader who may do everything would be left without `readers`; one query."""
    operators = Reader.objects.filter(is_superuser=True, is_active=True)
    return operators.exclude(pk__in=[reader.pk for reader in readers]).exists()
