"""A reader's personal tokens."""

from uuid import UUID

from digest.models import ApiToken


def tokens_of(*, reader_id: UUID) -> list[ApiToken]:
    """The reader's tokens, the newest first; one query. Their hashes stay behind."""
    return list(ApiToken.objects.filter(reader_id=reader_id).defer("digest"))
