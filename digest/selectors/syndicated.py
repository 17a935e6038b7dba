"""What a reader's own feed carries."""

from django.db.models import QuerySet

from digest.models import Digest, Reader

# Today's digest and the two before it: a feed reader that was off for a weekend misses nothing.
DIGESTS_TOLD = 3


def reader_of_token(*, token: str) -> Reader | None:
    """The active reader whose feed has this secret; nobody for one that was never given, or was replaced."""
    return Reader.objects.filter(feed_token=token, is_active=True).first() if token else None


def digests_told(*, reader: Reader) -> QuerySet[Digest]:
    """The reader's newest digests, newest first."""
    return Digest.objects.filter(reader=reader).order_by("-date")[:DIGESTS_TOLD]
