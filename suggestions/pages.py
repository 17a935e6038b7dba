"""What the suggestions page shows, put together: selectors asked, words found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from digest.presenters import href_of
from digest.selectors import reason_tags, source_titles
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective
from suggestions import presenters
from suggestions.entities import Preview, PreviewItem
from suggestions.history import decided_rows
from suggestions.models import Evidence, Suggestion
from suggestions.selectors import suggestion_previews, suggestions_pending
from suggestions.selectors.decided import suggestions_decided
from suggestions.selectors.effects import effects_harmful

MOVES_SHOWN = 5
# How long a change that did harm is brought up; after that it stands in the history.
HARM_SHOWN = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One rated item behind a suggestion."""

    row: Evidence
    href: str
    source: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """One item that would stand elsewhere in today's digest."""

    words: str
    item: PreviewItem
    source: str


@dataclass(frozen=True, slots=True)
class Card:
    """One pending suggestion in words and figures."""

    suggestion: Suggestion
    headline: str
    level: str
    sentence: str
    current: str
    proposed: str
    bounds: presenters.Bounds | None
    shown: str
    confidence: str
    forecast: str
    today: str
    figures: str
    evidence: tuple[EvidenceLine, ...]
    moves: tuple[Move, ...]
    more_moves: int


def cards_page(*, reader_id: UUID, now: datetime) -> dict[str, Any]:
    """The pending suggestions by group, and the latest decided ones."""
    pending = suggestions_pending(reader_id=reader_id)
    previews = suggestion_previews(reader_id=reader_id, suggestions=pending, now=now)
    titles = source_titles(keys=_source_keys(pending, previews.values()))
    labels = {tag.slug: tag.label.lower() for tag in reason_tags()}
    effective = config_effective(reader_id=reader_id)
    cards = [_card(row, effective, previews[row.pk], titles, labels) for row in pending]
    groups = [
        ("Sources", [c for c in cards if c.suggestion.field == Suggestion.Field.SOURCE_WEIGHTS]),
        ("Topics", [c for c in cards if c.suggestion.field == Suggestion.Field.TOPICS]),
    ]
    return {
        "groups": [(name, members) for name, members in groups if members],
        "count": len(cards),
        "decided": decided_rows(suggestions_decided(reader_id=reader_id), effective=effective, now=now),
        "harmful": [
            line
            for line in effects_harmful(reader_id=reader_id, effective=effective)
            if now - line.checked_at < HARM_SHOWN
        ],
        "measured_on": presenters.MEASURED_ON,
        "why_not": presenters.WHY_NOT,
        "words": presenters.script_words(),
    }


def _source_keys(pending: Iterable[Suggestion], previews: Iterable[Preview]) -> set[str]:
    """Every source that a card names: those of its evidence and those of the items it moves."""
    cited = {row.source_key for suggestion in pending for row in suggestion.evidence.all()}
    return cited | {item.source for p in previews for item in (*p.enters, *p.leaves, *p.moves)}


def _card(
    suggestion: Suggestion,
    effective: EffectiveConfig,
    preview: Preview,
    titles: Mapping[str, str],
    labels: Mapping[str, str],
) -> Card:
    """The card as of now: a weight may have been learned since the suggestion was made."""
    kind, label = suggestion.suggestion_type, suggestion.label
    is_topic = suggestion.field == Suggestion.Field.TOPICS
    weight = effective.weight(suggestion.target_key)
    evidence = tuple(_evidence_line(row, titles, labels) for row in suggestion.evidence.all())
    return Card(
        suggestion=suggestion,
        headline=presenters.headline(kind, label),
        level=presenters.level(kind, "" if is_topic else f"{weight:.2f}", suggestion.suggested_value),
        sentence=presenters.sentence(kind, label),
        current=presenters.weight_phrase(suggestion.current_value if is_topic else weight),
        proposed=presenters.weight_phrase(suggestion.suggested_value),
        bounds=None if is_topic else presenters.bounds(kind, weight),
        shown=presenters.evidence_words(len(evidence)),
        confidence=presenters.confidence_words(suggestion.confidence),
        forecast=presenters.forecast_words(suggestion.forecast),
        today=presenters.today_words(preview),
        figures=presenters.forecast_figures(suggestion.forecast),
        evidence=evidence,
        moves=_moves(preview, titles),
        more_moves=max(0, len(preview.moves) - MOVES_SHOWN),
    )


def _moves(preview: Preview, titles: Mapping[str, str]) -> tuple[Move, ...]:
    """What comes in, what drops out, and the longest ways of the rest."""
    longest = sorted(preview.moves, key=lambda i: -abs((i.before or 0) - (i.after or 0)))[:MOVES_SHOWN]
    longest.sort(key=lambda i: i.after or 0)
    return tuple(
        Move(presenters.move_words(item.before, item.after), item, titles.get(item.source, item.source))
        for item in (*preview.enters, *preview.leaves, *longest)
    )


def _evidence_line(row: Evidence, titles: Mapping[str, str], labels: Mapping[str, str]) -> EvidenceLine:
    return EvidenceLine(
        row=row,
        href=href_of(row.url),
        source=titles.get(row.source_key, row.source_key),
        reasons=tuple(labels.get(tag, tag) for tag in row.reason_tags),
    )
