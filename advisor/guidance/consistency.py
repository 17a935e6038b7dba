"""Whether what a memory says agrees with what it carries: figures, polarity, time, owner. Pure."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from advisor.guidance.entities import Kind
from advisor.guidance.substance import unnamed
from ranking.crowd import READERS_MIN
from ranking.matching import fold
from suggestions.entities import FIELD_OF_TYPE

# Sources that count; what they say in figures must stand in the figures they bring.
COUNTED = frozenset({Kind.PATTERN, Kind.REPLAY, Kind.PROFILE, Kind.PEER, Kind.BANK})
# Sources that speak of one reader only, and so are never shared.
PRIVATE = frozenset({Kind.REPLAY, Kind.PROFILE, Kind.BANK})
# Sources whose figures, where they are shared, are sums over readers.
OVER_MANY = frozenset({Kind.PATTERN, Kind.PEER})
# A share below or above these speaks against or for something; between them it says neither.
AGAINST, FOR = 0.4, 0.6
SHARE_N_MIN = 3
_PAIR = re.compile(r"(?<![\d.])(\d{1,4})\s?(?:of|out of|/)\s?(\d{1,4})(?![\d.])")
_NO_WORDS = r"reject\w*|turned down|declin\w*|refused|reverted|undone|harmed"
_RESULT = rf"(?P<yes>accept\w*|helped|approved)|(?P<no>{_NO_WORDS})"
# "4 of 5 suggestions were accepted", "of 5 suggestions, 4 were accepted", "accepted 4 of 5".
_SHARES = tuple(
    re.compile(form)
    for form in (
        rf"\b(?P<hits>\d+)\s?(?:of|/)\s?(?P<all>\d+)(?:(?!\d|because|since)[^.;:,])*?\b(?:{_RESULT})\b",
        rf"\bof (?P<all>\d+)\b[^.;:,]*, (?P<hits>\d+) (?:was|were) (?:{_RESULT})\b",
        rf"\b(?:{_RESULT})\s(?P<hits>\d+)\s?(?:of|/)\s?(?P<all>\d+)\b",
    )
)
_YES = ("accepted", "yes", "helped", "hits", "k")
_NO = ("rejected", "no", "harmed", "reverted")
_ALL = ("total", "of", "n", "all")
# What is said to do with a target (N), by type: what makes the change, and what leaves things as they are.
_GAP = (
    r"(?:\s+(?:the|an?|any|another|its|of|on|about|from|to|with|more|less|new|topics?|sources?|weight))*\s+"
)
_RAISE = (
    rf"(?:raise|boost|increase|lift|strengthen|push|promote){_GAP}N\b",
    r"(?:give|grant|lend) N\b(?:\W+\w+){0,2}?\W+(?:more|extra|added|higher)\b",
    r"(?:move|turn|push|bring|dial|weigh) N\b(?:\W+\w+){0,1}?\W+(?:up|higher)\b",
    r"let N\b (?:weigh|count) (?:\w+ )?more\b",
)
_LOWER = (
    rf"(?:lower|reduce|decrease|cut|shrink|weaken|demote|trim){_GAP}N\b",
    r"(?:give|grant|lend) N\b(?:\W+\w+){0,2}?\W+less\b",
    r"(?:move|turn|tone|bring|dial|scale|push|weigh) N\b(?:\W+\w+){0,1}?\W+(?:down|lower|back)\b",
    r"let N\b (?:weigh|count) (?:\w+ )?less\b",
)
_ADD = (
    rf"(?:propose|add|offer|suggest|include|introduce){_GAP}N\b",
    r"(?:put|bring|take|place|list) N\b(?:\W+\w+){0,2}?\W+(?:in|on|up|among|list)\b",
)
_REMOVE = (
    rf"(?:drop|remove|delete|strike|discard|propose removing|part with|get rid of){_GAP}N\b",
    r"(?:take|cross|strike|leave) N\b(?:\W+\w+){0,2}?\W+(?:off|out|away)\b",
    r"let N\b go\b",
)
_STAY = (
    rf"(?:keep|spare|protect|hold on to|stick (?:to|with)|retain|preserve){_GAP}N\b",
    r"(?:let|make|have) N\b (?:stay|keep|be|rest|remain|stand)\b",
    rf"leave{_GAP}N\b(?!(?:\W+\w+){{0,2}}?\W+(?:out|off|away)\b)",
)
_WITHOUT = (
    rf"(?:avoid|shun){_GAP}N\b",
    rf"(?:do|go) without{_GAP}N\b",
    r"(?:leave|keep) N\b(?:\W+\w+){0,2}?\W+(?:out|off|away)\b",
)
_STANCES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add_topic": (_ADD, _WITHOUT),
    "remove_topic": (_REMOVE, _STAY),
    "boost_source": (_RAISE, (*_STAY, *_LOWER)),
    "reduce_source": (_LOWER, (*_STAY, *_RAISE)),
}
_OPPOSITES = tuple(
    (re.compile(rf"\b(?:{'|'.join(ups)})"), re.compile(rf"\b(?:{'|'.join(downs)})"))
    for ups, downs in ((_RAISE, _LOWER), (_ADD, (*_REMOVE, *_WITHOUT)))
)
# What turns a deed into its opposite, before it or before its form in -ing.
_NOT = (
    r"(?:avoid|refrain from|stay away from|keep from|abstain from|resist|stop|instead of|rather than|never"
    r"|do not|don['’]?t|no need to|without|hold back from|think twice about)"
)


def expired(expires_at: datetime | None, now: datetime) -> bool:
    """Whether its time is over."""
    return expires_at is not None and expires_at <= now


def private(kind: Kind, shared: bool, data: Mapping[str, Any]) -> bool:
    """Whether it would tell all readers of one: of a private kind, or on fewer than five readers.

    Figures that do not say on how many they rest are taken for one reader's.
    """
    readers = data.get("readers", 0 if kind in OVER_MANY else READERS_MIN)
    return shared and (kind in PRIVATE or (_number(readers) and readers < READERS_MIN))


def ungrounded(kind: Kind, text: str, evidence: int, data: Mapping[str, Any]) -> bool:
    """Whether it counts something ("4 of 5") that the figures it brings know nothing of."""
    totals = {int(n) for _, n in _PAIR.findall(text) if int(n)}
    if kind not in COUNTED or not totals:
        return False
    known = {round(value) for value in _figures(data)} | {evidence}
    sums = {left + right for left in known for right in known}
    return evidence < 1 or not totals <= known | sums or _miscounted(text, data)


def asserted(kind: Kind, polarity: int, target_key: str, evidence: int, data: Mapping[str, Any]) -> bool:
    """Whether a source that counts takes a side about one target without an outcome or a figure."""
    return kind in COUNTED and bool(polarity and target_key) and evidence < 1 and not data


def _miscounted(text: str, data: Mapping[str, Any]) -> bool:
    """Whether it tells another share than that of the figures it brings: "5 of 5" where they say 4 of 5."""
    yes, total = _tally(data)
    if yes is None or not total:
        return False
    known = {round(yes), round(total - yes)}
    return any(int(n) == round(total) and int(hits) not in known for hits, n in _PAIR.findall(text))


def grounded(text: str, evidence: int, data: Mapping[str, Any]) -> bool:
    """Whether it tells a share ("4 of 5") of as many outcomes as it rests on."""
    known = {round(value) for value in _figures(data)} | {evidence}
    return any(int(n) in known for _, n in _PAIR.findall(text) if int(n))


def contradicted(
    text: str, polarity: int, suggestion_type: str, target_key: str, data: Mapping[str, Any]
) -> bool:
    """Whether its words or its figures speak against its polarity, or its words against each other."""
    if at_odds(text, suggestion_type, target_key):
        return True
    if not polarity:
        return False
    stances = (_stance_of_figures(data), _stance_of_shares(text), _stance(text, suggestion_type, target_key))
    return any(stance * polarity < 0 for stance in stances)


def share_of(polarity: int, data: Mapping[str, Any]) -> float | None:
    """Of the outcomes that a memory's figures count, the share that went its way; `None` if they do not say.

    A caution goes with the no's, anything else with the side that has more.
    """
    yes, total = _tally(data)
    if yes is None or not 0 <= yes <= total or not total:
        return None
    share = yes / total
    return {1: share, -1: 1 - share}.get(polarity, max(share, 1 - share))


def _stance_of_figures(data: Mapping[str, Any]) -> int:
    yes, total = _tally(data)
    return 0 if yes is None else _side(yes, total)


def _tally(data: Mapping[str, Any]) -> tuple[float | None, float]:
    """How many outcomes of how many were a yes, by the figures; `None` where they do not say."""
    yes = next((float(data[key]) for key in _YES if _number(data.get(key))), None)
    no = next((float(data[key]) for key in _NO if _number(data.get(key))), None)
    total = next((float(data[key]) for key in _ALL if _number(data.get(key))), None)
    if total is None:
        total = yes + no if yes is not None and no is not None else 0.0
    if yes is None:
        yes = total - no if no is not None else None
    return yes, total


def _stance_of_shares(text: str) -> int:
    """What "4 of 5 were accepted" says; 0 where a text has no such share, or several."""
    plain = fold(text)
    found = [match for form in _SHARES for match in form.finditer(plain)]
    if len(found) != 1:
        return 0
    hits, total = float(found[0]["hits"]), float(found[0]["all"])
    return _side(hits if found[0]["yes"] else total - hits, total)


def _stance(text: str, suggestion_type: str, target_key: str) -> int:
    """1 where the text says to make the change to the target, -1 where it says to leave it, 0 for neither."""
    does, leaves = _said(text, suggestion_type, target_key)
    return does - leaves


def at_odds(text: str, suggestion_type: str, target_key: str) -> bool:
    """Whether the text says both to make the change to the target and to leave it, or both up and down."""
    if not suggestion_type or not target_key:
        return False
    named = unnamed(fold(text), target_key)
    opposed = any(up.search(named) and down.search(named) for up, down in _OPPOSITES)
    return opposed or all(_said(text, suggestion_type, target_key))


def _said(text: str, suggestion_type: str, target_key: str) -> tuple[bool, bool]:
    """Whether it says to make the change to the target, and to leave it."""
    if suggestion_type not in _STANCES or not target_key:
        return False, False
    named = unnamed(fold(text), target_key)
    does, leaves, refrains = _forms(suggestion_type)
    return bool(does.search(named)), bool(leaves.search(named) or refrains.search(named))


@lru_cache(maxsize=len(FIELD_OF_TYPE))
def _forms(suggestion_type: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """How the change is told to be made, to be left, and to be refrained from."""
    does, leaves = _STANCES[suggestion_type]
    doing = rf"\w+ing{_GAP}N\b"
    return (
        re.compile(rf"(?<!not )(?<!never )(?<!n't )(?<!n’t )(?<!no need to )\b(?:{'|'.join(does)})"),
        re.compile(rf"(?<!not )(?<!never )(?<!n't )(?<!n’t )\b(?:{'|'.join(leaves)})"),
        re.compile(rf"\b{_NOT}\W+(?:(?:{'|'.join(does)})|{doing})"),
    )


def _side(hits: float, total: float) -> int:
    if total < SHARE_N_MIN:
        return 0
    share = hits / total
    return 1 if share >= FOR else -1 if share <= AGAINST else 0


def _figures(value: object) -> Iterator[float]:
    """Every number in plain JSON."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _figures(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _figures(inner)
    elif _number(value):
        yield float(value)  # type: ignore[arg-type]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
