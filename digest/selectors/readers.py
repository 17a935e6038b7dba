"""Who is here."""

from collections.abc import Collection
from uuid import UUID

from allauth.account.models import EmailAddress

from digest.models import Reader


def operators_without(*, readers: Collection[Reader]) -> bool:
    """Whether an active reader who may do everything would be left without `readers`; one query."""
    operators = Reader.objects.filter(is_superuser=True, is_active=True)
    return operators.exclude(pk__in=[reader.pk for reader in readers]).exists()


def reader_signing_in(*, login: str) -> UUID | None:
    """The id of the reader with this username, else with this address, confirmed ones first; upper and lower
    case are the same. `None` where there is none. Two queries at most."""
    named = Reader.objects.filter(username__iexact=login).values_list("pk", flat=True).first()
    addresses = EmailAddress.objects.filter(email__iexact=login).order_by("-verified", "pk")
    return named or addresses.values_list("user_id", flat=True).first()
