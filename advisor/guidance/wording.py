"""What a model reads of guidance: "When …: …. Because ….", beside a tool's result or in its place. Pure.

Fixed words around the texts of memories. Nothing of the call itself is repeated, and no name of a target:
what a model asked for is not ours to vouch for.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from advisor.entities import BYTES_PER_TOKEN, ToolOutcome, as_json, fit_text, json_bytes
from advisor.guidance.entities import Advice, Kind, Level, ReaderFacts, Remembered, Scored
from digest.llm.entities import json_object
from suggestions.entities import SOURCE_WEIGHTS

BLOCKED = "blocked"
NOTE_CHARS, WHISPER_CHARS, START_CHARS, START_ROWS = 500, 80, 900, 3
# What a note may take; other scripts take more bytes a character, so that less of them fits.
NOTE_TOKENS = 130
# The most a tool may answer with in all; its own result keeps a budget of its own.
ANSWER_TOKENS = 2000
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


def notes_text(scored: Sequence[Scored]) -> str:
    """Return the memories as notes, best first, in at most 500 characters; "" for none.

    What does not fit loses its frame first; a second note that does not fit even so is left out, and only the
    first may be cut.
    """
    text = ""
    for one in scored:
        room = NOTE_CHARS - len(text) - bool(text)
        note = next((form for form in _forms(one.memory) if len(form) <= room), None)
        if note is None and not text:
            note = cut(one.memory.text, room)
        if note:
            text = f"{text} {note}".strip()
    return text


def whisper_row(scored: Scored) -> str:
    """Return a memory as a row of an index: its number and title, at most 80 characters."""
    return cut(f"#{scored.memory.id} {_line(scored.memory.title)}", WHISPER_CHARS)


def start_text(
    facts: ReaderFacts,
    *,
    flags: Sequence[Remembered] = (),
    patterns: Sequence[Remembered] = (),
    rules: Iterable[str] = (),
) -> str:
    """Return what a run reads before its first call, at most 900 characters; "" where nothing is known.

    The reader's facts come first, in the words for what the planner gets as values; then `flags` of the
    profile, `patterns` of decisions, and the texts of operators' `rules` in force. What does not fit is left
    out.
    """
    parts = (
        ("Refused for now", [*_facts_words(facts), *list(rules)[:START_ROWS]]),
        ("The reader's profile", [memory.text for memory in flags][:START_ROWS]),
        ("From past decisions", [memory.text for memory in patterns][:START_ROWS]),
    )
    text = ""
    for head, lines in parts:
        for n, line in enumerate(dict.fromkeys(map(_line, lines))):
            added = (f"{head}:\n" if not n or f"{head}:" not in text else "") + f"- {line}\n"
            if line and len(text) + len(added) <= START_CHARS:
                text += added
    return text.rstrip("\n")


def blocked_outcome(advice: Advice, *, target: str, counted: bool) -> ToolOutcome:
    """Return the answer to a call that a rule stopped: which rule, why, and until when."""
    result: dict[str, Any] = {
        "success": False,
        "error": BLOCKED,
        "rule_id": advice.rule,
        "reason": fit_text(advice.text, NOTE_TOKENS),
        "until": advice.until.isoformat(timespec="minutes") if advice.until else None,
    }
    return ToolOutcome(as_json(result), BLOCKED, target, counted)


def with_advice(content: str, advice: Advice) -> str:
    """Return a tool's result with what guidance says: a warning first, a note last, whispers as titles.

    Titles are left out where the answer would pass 2,000 tokens. What is no JSON object goes as it is.
    """
    loud = advice.level in (Level.WARNING, Level.NOTE)
    text = fit_text(advice.text, NOTE_TOKENS) if loud else ""
    rows = [whisper_row(scored) for scored in advice.whispers]
    if not (text or rows):
        return content
    try:
        result = json_object(content)
    except ValueError:
        return content
    if text:
        warned = {"guidance": text, **result}
        result = warned if advice.level is Level.WARNING else {**result, "guidance": text}
    with_rows = {**result, "whispers": rows}
    fits = json_bytes(with_rows) <= ANSWER_TOKENS * BYTES_PER_TOKEN
    return as_json(with_rows if rows and fits else result)


def cut(text: str, chars: int) -> str:
    """Return `text` on one line in at most `chars` characters, cut after a word and marked where cut."""
    line = _line(text)
    if len(line) <= chars:
        return line
    if chars < 2:
        return "…"[:chars]
    head = line[: chars - 1]
    at = head.rfind(" ")
    return f"{(head[:at] if at > chars // 2 else head).rstrip()}…"


def _facts_words(facts: ReaderFacts) -> Iterable[str]:
    for kind, times in sorted(facts.declined.items()):
        yield f"{kind}: this reader turned down every one of {times}. Choose another type."
    if facts.step < 1:
        yield f"Full steps: this reader takes about {facts.step:.0%} of the step proposed. Ask for that."
    if cooling := sorted(key for field, key in facts.cooling if field == SOURCE_WEIGHTS):
        yield f"Sources that rest, wait or are pinned: {cut(', '.join(cooling), 200)}."
    if topics := sum(field != SOURCE_WEIGHTS for field, _ in facts.cooling):
        yield f"{topics} topics rest, wait or are pinned; a write about one is refused."


def _forms(memory: Remembered) -> Iterable[str]:
    """Yield the note in full, without its reason where that is only its source, and bare."""
    text = _line(memory.text)
    if not text:
        return
    reason = _REASON.search(text)
    action = _sentence(text[: reason.start()] if reason else text)
    because = _sentence(f"Because {reason['why'].strip()}") if reason else f"Because {_source(memory)}."
    when = "" if _OPENED.match(text) else f"When {_occasion(memory)}: "
    if when and _PLAIN_START.match(action):
        action = action[0].lower() + action[1:]
    yield f"{when}{action} {because}"
    if reason is None:
        yield f"{when}{action}"
    yield _sentence(text)


def _occasion(memory: Remembered) -> str:
    if memory.suggestion_type in DOING:
        return DOING[memory.suggestion_type].format("this" if memory.target_key else "a")
    return USING.get(memory.tool, "advising this reader")


def _source(memory: Remembered) -> str:
    if memory.evidence > 1 and memory.kind in (Kind.PATTERN, Kind.REPLAY):
        return f"{memory.evidence} past decisions say so"
    return SOURCES[memory.kind]


def _sentence(text: str) -> str:
    text = text.strip(" ,;:")
    return text if not text or _END.search(text) else f"{text}."


def _line(text: str) -> str:
    """Return `text` on one line, without what cannot be printed."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
