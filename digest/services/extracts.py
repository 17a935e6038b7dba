"""The offline counterpart: an extract and suggested reasons of every text, without any model."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Item, SuggestedReasons, Summary
from digest.reasons_offered import Suggested, reasons_offline
from digest.summarising import made_offline
from digest.summary_entities import OFFLINE

# A long text takes about 4 ms, so a full round is a minute or so.
ROUND_MAX = 20_000
CHUNK = 500


def extracts_make(*, now: datetime, limit: int = ROUND_MAX) -> int:
    """Give the items of a digest's window their extract and offline reasons; how many texts were new.

    The newest come first, `limit` at most. Each chunk of 500 is stored by itself, so that a round that is
    cut off goes on where it was; doing it twice, or at once, stores nothing twice.
    """
    made = 0
    while made < limit:
        items = _without(now, min(CHUNK, limit - made))
        if not items:
            break
        _store(items, now)
        made += len(items)
    return made


def _without(now: datetime, count: int) -> list[Item]:
    done = Summary.objects.filter(fingerprint=OuterRef("fingerprint"), model=OFFLINE)
    rows = Item.objects.filter(dated_at__gt=now - timedelta(days=ITEM_WINDOW_DAYS), dated_at__lte=now)
    fields = ("fingerprint", "title", "text", "cluster_id")
    found = rows.filter(~Exists(done)).only(*fields).order_by("-dated_at", "pk")[:count]
    return list({item.fingerprint: item for item in found}.values())


def _store(items: Sequence[Item], now: datetime) -> None:
    """Reasons before extracts: what has an extract is not looked at again."""
    SuggestedReasons.objects.bulk_create(
        (
            SuggestedReasons(
                fingerprint=item.fingerprint,
                model=OFFLINE,
                reasons=reasons_stored(reasons_of(item)),
                created_at=now,
            )
            for item in items
        ),
        ignore_conflicts=True,
    )
    summaries = []
    for item in items:
        made = made_offline(item.title, item.text)
        summaries.append(
            Summary(
                fingerprint=item.fingerprint,
                model=OFFLINE,
                text=made.text,
                citations=list(made.citations),
                refusal=made.refusal,
                created_at=now,
            )
        )
    Summary.objects.bulk_create(summaries, ignore_conflicts=True)


def reasons_of(item: Item) -> tuple[Suggested, ...]:
    """The reasons that an item's text suggests by itself."""
    return reasons_offline(item.title, item.text, clustered=item.cluster_id is not None)


def reasons_stored(reasons: Sequence[Suggested]) -> list[dict[str, str]]:
    """Reasons as a row keeps them."""
    return [{"tag": reason.tag, "text": reason.text} for reason in reasons]
