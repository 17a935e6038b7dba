"""Check texts that people write: memories, and the conditions of operators' rules.

A text is refused if it is too long, gives orders to a model, is a duplicate, or has too low a quality:

    unified = 0.30 actionable + 0.20 reasoned + 0.20 outcome-linked + 0.15 specific + 0.15 new

The dimensions and their weights are the published engine's (vibeship-spark-intelligence, 2026-02). No list
knows all ways to word an order. An order is harmless because a model can change nothing without a reader.

A condition is one of a small language:

    {"all": [...]}   {"any": [...]}   {"not": ...}   {"fact": name, "op": op, "value": value}

It holds only if that is certain (Kleene's three-valued logic): an unknown fact is neither true nor false, and
neither is its negation.
"""

import hashlib
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from advisor.models import Memory
from ranking.common.text import FUNCTION_WORDS, fold, search_terms

WEIGHTS: Mapping[str, float] = {
    "actionable": 0.30, "reasoned": 0.20, "outcome_linked": 0.20, "specific": 0.15, "new": 0.15,
}  # fmt: skip
UNIFIED_MIN, EVIDENCE_FULL, WORDS_FULL, WORDS_MIN = 0.20, 5, 8, 4
TITLE_CHARS_MAX, TEXT_CHARS_MAX, SIGNED_CHARS = 80, 500, 180
_FIGURE, _FIGURES = re.compile(r"\d+(?:[.,:/]\d+)*"), re.compile(r"#(?: ?#)+")
_VOWEL, _NO_WORD = re.compile("[aeiouy]"), re.compile(r"[^\w#]+|_")
ADMITTED = "admitted"
REFUSALS: Mapping[str, str] = {
    "expired": "Its time is over before it begins. Give it a later end, or none.",
    "duplicate": "Another memory has the same words. Change that one.",
    "names_a_reader": "It holds an e-mail address. Write it of nobody in particular.",
    "bounds": f"A title has 1 to {TITLE_CHARS_MAX} characters and a text 1 to {TEXT_CHARS_MAX}, on one line.",
    "noise": "The text gives orders to whoever reads it, or hides signs. Write what is known, and no more.",
    "code": "It holds a link or mark-up. Write a plain sentence.",
    "weak": "The text is too vague to help. Write what to do, why, and what came of it.",
}
# HTML, a link of Markdown, an address with its scheme; a match may begin within a word.
MARKED_UP = re.compile(
    r"<[a-z/!][^<>]*+>|\]\s?[(\[]|(?<![a-z0-9+.-])(?>[a-z0-9+.-]*?\b[a-z])[a-z0-9+.-]*+://"
    r"|\b(?:javascript|mailto):\S",
    re.I,
)
_MAIL = re.compile(r"[\w.+-]@[\w-]++\.[\w-]")
_ORDER_VERBS = re.compile(
    r"(?:^|[.;:,]\s|\b(?:and|then|never|do not|to)\s)(?:add|ask|avoid|bring|check|choose|cite|compare|copy"
    r"|count|do|drop|expect|give|go|halve|keep|leave|look|lower|make|mind|name|offer|pick|prefer|propose|put|raise"
    r"|read|reduce|see|set|show|skip|spare|split|start|stop|take|test|treat|try|use|wait|weigh|word|write)\b"
)
_ADVICE = re.compile(
    r"\b(?:should|must|needs?|better|worth|instead|rather|at (?:most|least)|avoid\w*|never)\b"
)
_REASON = re.compile(r"\b(?:because|since|therefore|otherwise|so that|due to|as a result)\b|,\s(?:so|as)\s")
_CLAUSE = re.compile(r"[:;]\s|\s[–—]\s|\.\s\S")
_RESULT = re.compile(
    r"\b(?:accept\w*|helped|improved|worked|reject\w*|refus\w*|declin\w*|turned down|revert\w*|taken back"
    r"|harm\w*|failed|saved|answers?|decisions?|outcomes?)\b"
)
_SHARE = re.compile(r"\b\d+\s?(?:of|out of|in|/)\s?\d+\b|\d\s?%|\b\d+ (?:times|cases)\b")
_NAMED = re.compile(r"\w_\w|\w-*+\.[a-z]{2,}+\b|[“\"][^”\"]{2,60}[”\"]")
_HIDDEN = re.compile(
    "[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069\ufff0-\ufff8\x00-\x08\x0e-\x1f]"
    "|[a-zA-Z][\u200b-\u200d\u2060\ufeff][a-zA-Z]"
)
_ROLE = re.compile(
    r"<\|[^|>]{0,40}\|>|<!--|\[/?(?:inst|system|sys)\b[^\]]{0,20}\]|<</?sys>>"
    r"|(?:^\s*+|\n[^\S\n]*+|[.!?\"'}\]]\s++)(?:#{1,4}\s*+|\*\*)?(?:system|assistant|user|human|developer"
    r"|tool)\b(?:\*\*)?\s*+:"
)
# Tags that end with a later ">".
_ROLE_TAG = re.compile(
    r"</?\s*+(?:system|assistant|user|human|data|tool|function|guidance|instruction|prompt|invoke|antml)\w*+"
)
_TOOL_CALL = re.compile(
    r"\b[a-z]+(?:_[a-z]+)+\s*\(|\b(?:tool|function)_calls?\b|\b(?:accept|approve|resolve)_suggestions?\b"
    r"|\"(?:tool|name|function|arguments|parameters|role|content)\"\s*:|\bconfig_update\b|```"
)
_NOUN = r"(?:instruction|rule|prompt|guardrail|guideline|polic(?:y|ies)|limit|check|order|message|warning)s?"
_ORDERS = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass|circumvent)\b.{{0,40}}\b{_NOUN}\b"
    r"|\b(?:always|automatically|unconditionally|silently|blindly|simply)\s+(?:accept|approve|apply|confirm)\b"
    r"|\b(?:accept|approve|apply)\s+(?:this|it|all|every\w*|any\w*)\b.{0,40}"
    r"\b(?:now|immediately|at once|always|automatically|without)\b"
    r"|\byou (?:must|shall|are now|have to|will now)\b|\bfrom now on\b|\bpretend (?:to|that|you)\b"
    r"|\bact as (?:an?|the|if)\b|\bjailbreak|\b(?:system|developer|hidden|secret) (?:prompt|mode)\b"
    r"|\b(?:reveal|print|repeat|leak|send|forward|disclose|output)\b.{0,40}"
    r"\b(?:prompt|secret|password|token|api.?key|credential|instruction)s?\b"
    r"|\b(?:do not|don.?t|never) (?:tell|inform|mention|warn|ask|alert)\b.{0,30}"
    r"\b(?:user|reader|operator|reviewer|anyone|permission)s?\b"
    r"|\breviewers?\b.{0,40}\b(?:approve|must|should pass|let)\b"
    r"|\bwithout (?:evidence|review|asking|checking)\b"
)
DEPTH_MAX, PARTS_MAX, NUMBER_MAX = 6, 20, 1e12
# The facts that conditions may use, with the type of each.
NUMBERS = (
    "step written written_in_field thumbs likes thumbs_on_target fitting_on_target cited accepted_of_type "
    "rejected_of_type failed_writes calls_left money_left_usd"
)
FACTS: Mapping[str, type] = {
    **dict.fromkeys(("tool", "phase", "suggestion_type", "field", "target"), str),
    **dict.fromkeys(("waiting", "cooling", "pinned", "declined"), bool),
    **dict.fromkeys(NUMBERS.split(), float),
}
OPS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "in": lambda known, wanted: known in wanted,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
TYPE_WORDS = {str: "a text", bool: "true or false", float: "a number"}
EXAMPLE = '{"fact": "step", "op": "lt", "value": 0}'


def admit(draft: Memory, *, now: datetime, duplicate: bool = False) -> str:
    """Return `admitted` if a person may store this text, else the first code of `REFUSALS` that holds."""
    both = f"{draft.title}\n{draft.text}"
    bounded = all(
        0 < len(text.strip()) <= chars_max and text.isprintable()
        for text, chars_max in ((draft.title, TITLE_CHARS_MAX), (draft.text, TEXT_CHARS_MAX))
    )
    refused = {
        "expired": draft.expires_at is not None and draft.expires_at <= now,
        "duplicate": duplicate,
        "names_a_reader": bool(_MAIL.search(both)),
        "bounds": not bounded,
        "noise": bool(injection_in(draft.text) or injection_in(draft.title)),
        "code": bool(MARKED_UP.search(both)),
        "weak": quality_of_text(draft)[1] < UNIFIED_MIN or len(_content_words(draft)) < WORDS_MIN,
    }
    return next((code for code, holds in refused.items() if holds), ADMITTED)


def quality_of_text(draft: Memory) -> tuple[dict[str, float], float]:
    """Return the five dimensions, by a memory's columns or else by its text, and their weighted sum."""
    plain = draft.text.casefold()
    directed = 0.6 * bool(draft.polarity and (draft.suggestion_type or draft.tool))
    action = 1.0 if _ORDER_VERBS.search(plain) else 0.6 * bool(_ADVICE.search(plain))
    reason = 1.0 if _REASON.search(plain) else 0.5 * bool(_CLAUSE.search(plain))
    result = (bool(_RESULT.search(plain)) + bool(_SHARE.search(plain))) / 2
    columns = 0.5 * bool(draft.target_key) + 0.25 * bool(draft.suggestion_type) + 0.15 * bool(draft.tool)
    named = (bool(_NAMED.search(draft.text)) + any(char.isdigit() for char in draft.text)) / 2
    dimensions = {
        "actionable": max(directed, action),
        "reasoned": max(reason, 0.4 * bool(draft.data)),
        "outcome_linked": max(result, min(1.0, draft.evidence / EVIDENCE_FULL)),
        "specific": round(min(1.0, columns + 0.1 * bool(draft.phase) + 0.5 * named), 4),
        "new": round(min(1.0, len(_content_words(draft)) / WORDS_FULL), 4),
    }
    return dimensions, round(sum(weight * dimensions[name] for name, weight in WEIGHTS.items()), 4)


def text_signature(text: str) -> str:
    """Return 40 hex digits, equal for texts with the same words: folded, no punctuation, figures as `#`."""
    words = " ".join(_NO_WORD.sub(" ", _FIGURE.sub("#", fold(text))).split())
    plain = _FIGURES.sub("#", words)[:SIGNED_CHARS]
    return hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest()


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of `text` as BM25 compares them: folded, in one form, as often as they occur."""
    return tuple(map(stem, search_terms(text)))


def stem(word: str) -> str:
    """Return a folded word without the endings of English verbs: steps 1b and 5a of Porter (1980)."""
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


@lru_cache(maxsize=4096)
def injection_in(text: str) -> str:
    """Return the kind of injection in `text`: `hidden_text`, `role_marker`, `tool_call`, `order`, or ""."""
    if _HIDDEN.search(text):
        return "hidden_text"
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    lowered = unicodedata.normalize("NFKC", visible).casefold()
    letters = "".join(c for c in unicodedata.normalize("NFKD", fold(visible)) if not unicodedata.combining(c))
    if _ROLE.search(lowered) or _ROLE_TAG.search(lowered, 0, max(0, lowered.rfind(">"))):
        return "role_marker"
    return "tool_call" if _TOOL_CALL.search(lowered) else "order" if _ORDERS.search(letters) else ""


def _content_words(draft: Memory) -> set[str]:
    """Return the words of a text that hold more than grammar and the target's name."""
    words = set(search_terms(draft.text)) - set(search_terms(draft.target_key)) - FUNCTION_WORDS
    return {word for word in words if len(word) > 2 and not word.isdigit()}


def predicate_holds(raw: object, values: Mapping[str, Any]) -> bool:
    """Return whether the condition certainly holds. False for an invalid condition."""
    return not predicate_check(raw, whole=True) and _truth(raw, values) is True


def predicate_check(raw: object, *, whole: bool = False) -> list[str]:
    """Return the problem of a condition in words. `whole`: its tool, type and phase are included."""
    return list(_problems(raw, "the condition", DEPTH_MAX + whole))


def _truth(condition: Any, values: Mapping[str, Any]) -> bool | None:
    """Return whether a valid condition holds; `None` if it depends on an unknown fact."""
    if "not" in condition:
        inner = _truth(condition["not"], values)
        return None if inner is None else not inner
    for word, decisive in (("all", False), ("any", True)):
        if word in condition:
            truths = [_truth(part, values) for part in condition[word]]
            return decisive if decisive in truths else None if None in truths else not decisive
    name, op, wanted = condition["fact"], condition["op"], condition["value"]
    return OPS[op](known, wanted) if _fits(known := values.get(name), FACTS[name]) else None


def _fits(value: object, kind: type) -> bool:
    if kind is not float:
        return isinstance(value, kind)
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX


def _problems(raw: object, place: str, depth: int) -> Iterable[str]:
    if depth < 1:
        yield f"In {place}: more than {DEPTH_MAX} conditions inside one another."
    elif not isinstance(raw, Mapping):
        yield f"In {place}: a condition is an object, such as {EXAMPLE}."
    elif set(raw) == {"not"}:
        yield from _problems(raw["not"], f"{place}, `not`", depth - 1)
    elif set(raw) == {"fact", "op", "value"}:
        kind = FACTS.get(raw["fact"]) if isinstance(raw["fact"], str) else None
        if kind is None:
            yield f"In {place}: there is no such fact. There are {', '.join(FACTS)}."
        elif problem := _value_problem(kind, raw["op"], raw["value"]):
            yield f"In {place}, fact `{raw['fact']}`: {problem}."
    elif len(raw) == 1 and set(raw) <= {"all", "any"}:
        [(word, parts)] = raw.items()
        if not isinstance(parts, list) or not 0 < len(parts) <= PARTS_MAX:
            yield f"In {place}: `{word}` takes a list of 1 to {PARTS_MAX} conditions."
            return
        for number, part in enumerate(parts, 1):
            yield from _problems(part, f"{place}, `{word}` {number}", depth - 1)
    else:
        yield f"In {place}: a condition is `all`, `any`, `not`, or `fact` with `op` and `value`."


def _value_problem(kind: type, op: object, value: object) -> str:
    if not isinstance(op, str) or op not in OPS:
        return f"`op` must be one of {', '.join(OPS)}"
    if op == "in":
        fine = isinstance(value, list) and value and all(_fits(one, kind) for one in value)
        return "" if fine else f"`value` must be a list of which each is {TYPE_WORDS[kind]}"
    if op not in ("eq", "ne") and kind is not float:
        return f"`{op}` compares numbers, and this fact is {TYPE_WORDS[kind]}"
    return "" if _fits(value, kind) else f"`value` must be {TYPE_WORDS[kind]}"
