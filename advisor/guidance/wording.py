"""What a call is told, in fixed words around the texts of memories: "When …: …. Because …." Pure.

Nothing of the call itself is repeated, and no name of a target: what a model asked for is not ours to vouch
for, and it knows what it asked about.
"""

import re
from collections.abc import Iterable, Sequence

from advisor.guidance.entities import Kind, Remembered, Scored
from advisor.guidance.figures import Tunables

# A token per four characters, as tool results are counted.
TOKEN_CHARS = 4
WHISPER_TOKENS = 20
START_CHARS = 900
START_PATTERNS, START_FLAGS, START_BLOCKS = 3, 3, 3
DOING = {
    "add_topic": "adding {} topic",
    "remove_topic": "removing {} topic",
    "boost_source": "boosting {} source",
    "reduce_source": "reducing {} source",
}
USING = {
    "write_suggestion": "writing a suggestion",
    "test_suggestion": "testing a change",
    "self_critique": "judging drafts",
    "query_user_feedback": "reading feedback",
    "query_user_config": "reading the settings",
    "get_user_profile": "reading the profile",
    "get_suggestion_outcomes": "reading past decisions",
    "get_acceptance_history": "reading past decisions",
    "compare_configs": "comparing settings",
}
SOURCES = {
    Kind.PATTERN: "past decisions say so",
    Kind.REPLAY: "an earlier attempt showed it",
    Kind.PROFILE: "the reader's profile says so",
    Kind.RULE: "it is an operator's rule",
    Kind.INSIGHT: "a reviewed insight says so",
    Kind.PEER: "other readers' answers say so",
    Kind.BANK: "reasons given before say so",
}
_OPENED = re.compile(r"(?:when|whenever|before|after|while|if|for)\b[^.]{3,}?[,:;]\s", re.IGNORECASE)
_REASON = re.compile(r",?\s+(?:—\s+)?(?:because|since)\s+(?P<why>[^.]{3,})\.?$", re.IGNORECASE)
_PLAIN_START = re.compile(r"[^\W\d_][^\WA-Z\d_]*(?=[\s.,;:!?…]|$)")
_END = re.compile(r"[.!?…]$")


def told(scored: Sequence[Scored], tunables: Tunables) -> str:
    """The memories as notes, best first, in at most `note_chars` characters; "" for none.

    What does not fit loses its frame first; a second note that does not fit even so is left out, and only the
    first may be cut.
    """
    text = ""
    for one in scored[: tunables.told_max]:
        room = tunables.note_chars - len(text) - bool(text)
        note = next((form for form in _forms(one.memory) if len(form) <= room), None)
        if note is None and not text:
            note = cut(one.memory.text, room)
        if note:
            text = f"{text} {note}".strip()
    return text


def whisper_row(scored: Scored) -> str:
    """A memory as a row of an index: its number and title, at most 20 tokens of four characters."""
    return cut(f"#{scored.memory.id} {_line(scored.memory.title)}", WHISPER_TOKENS * TOKEN_CHARS)


def start_packet(
    *, flags: Sequence[Remembered] = (), patterns: Sequence[Remembered] = (), blocks: Iterable[str] = ()
) -> str:
    """What a run is told before its first call, at most 900 characters; "" where nothing is known.

    `flags` are memories of the profile and `patterns` those of past decisions, best first; `blocks` are the
    reasons of rules in force, in their own words. Three of each at most; what does not fit is left out.
    """
    parts = (
        ("The reader's profile", [memory.text for memory in flags][:START_FLAGS]),
        ("From past decisions", [memory.text for memory in patterns][:START_PATTERNS]),
        ("Refused for now", list(blocks)[:START_BLOCKS]),
    )
    text = ""
    for head, lines in parts:
        for n, line in enumerate(dict.fromkeys(map(_line, lines))):
            added = (f"{head}:\n" if not n or f"{head}:" not in text else "") + f"- {line}\n"
            if line and len(text) + len(added) <= START_CHARS:
                text += added
    return text.rstrip("\n")


def cut(text: str, chars: int) -> str:
    """`text` on one line in at most `chars` characters, cut after a word and marked where it was longer."""
    line = _line(text)
    if len(line) <= chars:
        return line
    if chars < 2:
        return "…"[:chars]
    head = line[: chars - 1]
    at = head.rfind(" ")
    return f"{(head[:at] if at > chars // 2 else head).rstrip()}…"


def _forms(memory: Remembered) -> Iterable[str]:
    """The note in full, without its reason where that is only its source, and bare."""
    text = _line(memory.text)
    if not text:
        return
    reason = _REASON.search(text)
    action = _sentence(text[: reason.start()] if reason else text)
    because = _sentence(f"Because {reason['why'].strip()}") if reason else f"Because {_source(memory)}."
    when = "" if _OPENED.match(text) else f"When {_situation(memory)}: "
    if when:
        action = _lowered(action)
    yield f"{when}{action} {because}"
    if reason is None:
        yield f"{when}{action}"
    yield _sentence(text)


def _situation(memory: Remembered) -> str:
    if memory.suggestion_type in DOING:
        return DOING[memory.suggestion_type].format("this" if memory.target_key else "a")
    return USING.get(memory.tool, "advising this reader")


def _source(memory: Remembered) -> str:
    """What a memory rests on: its outcomes where it has some, else the sort of its source."""
    if memory.evidence > 1 and memory.kind in (Kind.PATTERN, Kind.REPLAY):
        return f"{memory.evidence} past decisions say so"
    return SOURCES[memory.kind]


def _lowered(text: str) -> str:
    """`text` with a small first letter, unless its first word is a name, a figure or in capitals."""
    return text[0].lower() + text[1:] if _PLAIN_START.match(text) else text


def _sentence(text: str) -> str:
    text = text.strip(" ,;:")
    return text if not text or _END.search(text) else f"{text}."


def _line(text: str) -> str:
    """`text` on one line, without what cannot be printed."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
