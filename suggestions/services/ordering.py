"""The offer at the end of an interview: order the page by these answers, with what would rise and fall."""

from dataclasses import dataclass
from datetime import datetime

from digest.feedback.selectors import feedback_tallies, feedback_urls
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.entities import RankingError
from ranking.selectors import config_effective
from ranking.services import config_edit
from ranking.taste.entities import TasteLevel
from suggestions.changes.tastes import ORDER_BY_TASTE, PAGE
from suggestions.planner.early import answers_differ
from suggestions.preview import preview_of
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
    """Return what ordering the page by the reader's thumbs would move; `None` if it would move nothing.

    Also `None` if their thumbs order it already, if they pinned that, or if their answers are all alike.
    A constant number of queries.
    """
    effective = config_effective(reader_id=reader.pk)
    change = ORDER_BY_TASTE.change(effective, TasteLevel.ON)
    if effective.config.taste is not TasteLevel.OFF or target_pinned((change.field, PAGE), effective):
        return None
    if not answers_differ(feedback_tallies(reader_id=reader.pk, now=now)):
        return None
    preview = preview_of(reader_id=reader.pk, before=effective, after=change.applied(effective), now=now)
    moved = (*preview.enters, *preview.leaves, *preview.moves)
    ids = [item.item_id for item in moved]
    rated = feedback_urls(reader_id=reader.pk, item_ids=ids)
    moved = tuple(item for item in moved if item.item_id not in rated)
    ordered = sorted(moved, key=lambda item: (item.after or OFF_PAGE) - (item.before or OFF_PAGE))
    rises = tuple(item for item in ordered if (item.after or OFF_PAGE) < (item.before or OFF_PAGE))
    falls = tuple(item for item in reversed(ordered) if (item.after or OFF_PAGE) > (item.before or OFF_PAGE))
    if not rises:
        return None
    return OrderOffer(rises[:HEADLINES], falls[:HEADLINES], effective.config.version)


def order_accept(*, reader: Reader, version: int, now: datetime) -> int | Refusal:
    """Let the reader's thumbs order their page, as one version; return its number.

    Refuses with the code of the settings if they are no longer at `version`.
    """
    edit = ConfigEdit(taste=str(TasteLevel.ON))
    try:
        return config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=now)
    except RankingError as error:
        return Refusal(error.code, error.message)
