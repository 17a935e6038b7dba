"""The offer to order the page by one's ratings and named articles, with what would rise and fall."""

from dataclasses import dataclass
from datetime import datetime

from digest.daily.candidates import digest_candidates
from digest.days import day_of
from digest.feedback.selectors import feedback_tallies, feedback_urls
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.config_words import ORDERED
from ranking.entities import EffectiveConfig, RankingError
from ranking.selectors import config_effective
from ranking.services import Cause, config_edit
from ranking.taste.entities import TasteLevel
from suggestions.changes.tastes import ORDER_BY_TASTE, PAGE
from suggestions.planner.early import answers_differ
from suggestions.preview import previews_of
from suggestions.proposals import PreviewItem, Refusal
from suggestions.rules import target_pinned

HEADLINES = 3
# The last place of an item that is not on the page.
OFF_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class OrderOffer:
    """Up to three headlines that would rise and three that would fall, at a version of the settings."""

    rises: tuple[PreviewItem, ...]
    falls: tuple[PreviewItem, ...]
    version: int


def order_offer(*, reader: Reader, now: datetime) -> OrderOffer | None:
    """Return the moves if the reader's thumbs ordered the page, or `None` if nothing would move.

    It is also `None` if their thumbs order it already, if they pinned that, or if all their answers are the
    same. A constant number of queries.
    """
    if not answers_differ(feedback_tallies(reader_id=reader.pk, now=now)):
        return None
    offer = order_offer_asked(reader=reader, now=now)
    return offer if offer and (offer.rises or offer.falls) else None


def order_offer_asked(*, reader: Reader, now: datetime) -> OrderOffer | None:
    """Return the offer for a reader who asks for it, even if nothing would move today.

    `None` if their thumbs order the page already, or if they pinned that. A constant number of queries.
    """
    effective = config_effective(reader_id=reader.pk)
    change = ORDER_BY_TASTE.change(effective, TasteLevel.ON)
    if effective.config.taste is not TasteLevel.OFF or target_pinned((change.field, PAGE), effective):
        return None
    (preview,) = previews_of(
        reader_id=reader.pk, before=effective, afters=[change.applied(effective)], now=now
    )
    moved = (*preview.enters, *preview.leaves, *preview.moves)
    ids = [item.item_id for item in moved]
    rated = feedback_urls(reader_id=reader.pk, item_ids=ids)
    moved = tuple(item for item in moved if item.item_id not in rated)
    tastes = _tastes(reader, change.applied(effective), now)
    ordered = sorted(moved, key=lambda item: -tastes.get(item.item_id, 1.0))
    rises = tuple(item for item in ordered if tastes.get(item.item_id, 1.0) > 1 and _rises(item))
    falls = tuple(
        item for item in reversed(ordered) if tastes.get(item.item_id, 1.0) < 1 and not _rises(item)
    )
    return OrderOffer(rises[:HEADLINES], falls[:HEADLINES], effective.config.version)


def _rises(item: PreviewItem) -> bool:
    return (item.after or OFF_PAGE) < (item.before or OFF_PAGE)


def _tastes(reader: Reader, effective: EffectiveConfig, now: datetime) -> dict[int, float]:
    """Return the factor of taste of each of today's candidates, by item id."""
    day = day_of(now, reader.zone)
    found = digest_candidates(reader=reader, date=day, now=now, effective=effective)
    return {score.candidate.item_id: score.parts.taste for score in found.ranking(effective)[:]}


def order_accept(*, reader: Reader, version: int, now: datetime) -> int | Refusal:
    """Let the reader's thumbs order their page, as one version; return its number.

    Refuses with the code of the settings if they are no longer at `version`.
    """
    edit, cause = ConfigEdit(taste=str(TasteLevel.ON)), Cause.ACCEPT
    try:
        return config_edit(
            reader_id=reader.pk, edit=edit, expected_version=version, now=now, cause=cause, ref=ORDERED
        )
    except RankingError as error:
        return Refusal(error.code, error.message)
