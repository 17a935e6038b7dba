"""Which digests of today still hold: the one rule, for pages, mails, feeds, the API and rounds alike."""

import datetime as dt
from collections.abc import Mapping
from uuid import UUID

from django.db.models import Exists, Max, OuterRef

from digest.entities import DIGEST_FROZEN
from digest.models import Digest, Impression, Reader


def digests_current(
    *, days: Mapping[UUID, dt.date], versions: Mapping[UUID, int], now: dt.datetime
) -> dict[UUID, Digest]:
    """By reader, the digests of `days` (reader -> their today) that still hold; two queries for all of them.

    Due to be built are the others: where there is none, it is empty, an hour old, of other settings than
    `versions` (reader -> the version in force), or from before the reader last began to read a feed or
    stopped.
    """
    shown = Exists(Impression.objects.filter(digest=OuterRef("pk")))
    fresh = Digest.objects.filter(shown, reader__in=list(days), date__in={*days.values()})
    built = {
        digest.reader_id: digest
        for digest in fresh.filter(built_at__gt=now - DIGEST_FROZEN)
        if digest.date == days[digest.reader_id] and digest.config_version == versions[digest.reader_id]
    }
    rows = Reader.objects.filter(pk__in=list(built)).annotate(joined_at=Max("subscriptions__created_at"))
    return {
        pk: built[pk]
        for pk, *moments in rows.values_list("pk", "joined_at", "sources_left_at")
        if all(at is None or at <= built[pk].built_at for at in moments)
    }
