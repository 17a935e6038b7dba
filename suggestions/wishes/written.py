"""Wishes in what a reader writes beside a rating, and the changes that several of them ask for together.

A change rests on a reader's own words if

1. they wrote the same wish beside three articles or more, on two days or more, within 90 days, and
   since they last decided on it;
2. these articles are at least `SHARE_MIN` of all beside which they wrote a wish, so that who asks for
   everything in turn is asked about nothing;
3. no other wish of these days is about the same target, such as the opposite.

The grammar alone reads them, by the names of the reader's sources and interests. A line counts if it asks for
one change and leaves nothing open (`wish_of_line`). More of a word is an interest, since words are boosted by
hand alone. Titles and texts of articles never count. Pure.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from digest.entities import RatedItem
from ranking.common.text import topic_key
from suggestions.changes.change import ADD, LESS, MORE, NONE, REMOVE, Change, ChangeKind
from suggestions.changes.mutes import MUTE_WORD
from suggestions.changes.topics import ADD_TOPIC, REMOVE_TOPIC
from suggestions.changes.weights import BOOST_SOURCE, REDUCE_SOURCE
from suggestions.proposals import EVIDENCE_MIN, Draft, Facts, Target
from suggestions.rules import change_parse
from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_look_up
from suggestions.wishes.wish import FRESHNESS, SOURCE, TASTE, WORD, Names, Wish

WRITTEN_DAYS = 90
# Measured together with the three articles on simulated readers (docs/planner.md).
SHARE_MIN = 0.4
# How many different lines are read, the newest. With 500 sources and 100 interests one takes up to 23 ms.
LINES_MAX = 100
_OF_SOURCES: Mapping[str, ChangeKind] = {MORE: BOOST_SOURCE, LESS: REDUCE_SOURCE}
_OF_TOPICS: Mapping[str, ChangeKind] = {MORE: ADD_TOPIC, ADD: ADD_TOPIC, REMOVE: REMOVE_TOPIC}
# A rated article with a line beside it, and the wish that this line is.
_Written = tuple[RatedItem, str, Wish]


def wish_of_line(line: str, lookup: Lookup, today: date) -> Wish | None:
    """Return the wish of a line that asks for exactly one change and leaves nothing open, or `None`."""
    wishes = wishes_of_line(line, lookup, today)
    return wishes[0] if len(wishes) == 1 else None


def wishes_of_line(line: str, lookup: Lookup, today: date) -> tuple[Wish, ...]:
    """Return the wishes of a line, or none if anything of it is open.

    Names without items make a reading that tomorrow's articles do not change.
    """
    reading = wishes_look_up(lookup.of_sentence(line), today, is_line=True) if line.split() else None
    if reading is None or reading.question or reading.notes:
        return ()
    return tuple(reading.wishes)


def changes_written(
    rated: Sequence[RatedItem],
    names: Names,
    facts: Facts,
    decided: Mapping[Target, tuple[datetime, bool]],
    today: date,
) -> tuple[Change, ...]:
    """Return the changes that the words beside `rated` (newest first, of 90 days) ask for, most asked first.

    The evidence of each are the articles with these words, one of each day first; its `words` are the newest
    line. `facts` need the reader's settings and sources alone.
    """
    lines, lookup = dict.fromkeys(line for item in rated for line in item.other_reasons), Lookup(names)
    wishes = {line: wish_of_line(line, lookup, today) for line in [*lines][:LINES_MAX]}
    about: defaultdict[tuple[bool, str], list[_Written]] = defaultdict(list)
    for item in rated:
        for line in item.other_reasons:
            if wish := wishes.get(line):
                is_source, key = wish.target.kind == SOURCE, wish.target.key
                about[is_source, key if is_source else topic_key(key)].append((item, line, wish))
    articles = {item.url for rows in about.values() for item, _, _ in rows}
    found = (_change_asked(rows, facts, decided, SHARE_MIN * len(articles)) for rows in about.values())
    return tuple(sorted((one for one in found if one), key=lambda one: -len(one.evidence)))


def _change_asked(
    rows: Sequence[_Written],
    facts: Facts,
    decided: Mapping[Target, tuple[datetime, bool]],
    least: float,
) -> Change | None:
    """Return the change that all wishes about one target ask for, often enough; `None` if they do not."""
    kinds = {_kind_of(wish, facts) for _, _, wish in rows}
    kind = kinds.pop()
    if kinds or kind is None:
        return None
    key = rows[0][2].target.key
    change = change_parse(Draft(kind.name, key, None if kind.weighs else key, (), ""), facts)
    if not isinstance(change, Change):
        return None
    since = decided.get((change.field, change.target))
    new = [(item, line) for item, line, _ in rows if since is None or item.at > since[0]]
    items = {item.url: item for item, _ in new}
    days = {item.at.date(): item for item in reversed(items.values())}
    if len(items) < max(EVIDENCE_MIN, least) or len(days) < 2:
        return None
    first = list(reversed(days.values()))
    rest = [item for item in items.values() if item not in first]
    return replace(change, evidence=(*first, *rest), words=new[0][1], notes=())


def _kind_of(wish: Wish, facts: Facts) -> ChangeKind | None:
    """Return the kind of suggestion that a wish asks for; `None` if suggestions cannot be about it."""
    is_of_page = wish.target.kind in (FRESHNESS, TASTE)
    if is_of_page or wish.until or wish.within or wish.most is not None or wish.hours is not None:
        return None
    if wish.target.kind == SOURCE:
        return _OF_SOURCES.get(wish.direction)
    if wish.direction == NONE:
        return MUTE_WORD if wish.target.kind == WORD else None
    own = {topic_key(topic) for topic in facts.effective.config.topics}
    if wish.direction == LESS and topic_key(wish.target.key) in own:
        return REMOVE_TOPIC
    return _OF_TOPICS.get(wish.direction)
