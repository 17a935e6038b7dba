"""Which texts become memories: bounds, order to a model, names, duplicates, and the quality of the rest.
Pure.

    unified = 0.30 actionable + 0.20 reasoned + 0.20 outcome-linked + 0.15 specific + 0.15 new

The dimensions and their weights are the published engine's (vibeship-spark-intelligence, 2026-02), read from
a memory's columns first and from its text otherwise. Derived memories are made of our own fixed phrases, so
the checks are for what operators and insight files say. A memory's text reaches a model beside the results of
its tools: what gives orders, hides letters or imitates a conversation is refused. Words can be put in more
ways than a list knows; what keeps an order harmless is that a model can change nothing without a reader.
"""

import codecs
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from advisor.guidance.entities import Draft, Kind
from advisor.guidance.ranking import text_signature
from ranking.common.text import FUNCTION_WORDS, fold, search_terms
from ranking.crowd import READERS_MIN

WEIGHTS: Mapping[str, float] = {
    "actionable": 0.30, "reasoned": 0.20, "outcome_linked": 0.20, "specific": 0.15, "new": 0.15,
}  # fmt: skip
UNIFIED_MIN, EVIDENCE_FULL, WORDS_FULL, WORDS_MIN = 0.20, 5, 8, 4
TITLE_CHARS_MAX, TEXT_CHARS_MAX = 80, 500
ADMITTED = "admitted"
# Sources that speak of one reader only, and sources whose shared figures are sums over readers.
PRIVATE = frozenset({Kind.REPLAY, Kind.PROFILE, Kind.BANK})
OVER_MANY = frozenset({Kind.PATTERN, Kind.PEER})
REFUSALS: Mapping[str, str] = {
    "expired": "Its time is over before it begins. Give it a later end, or none.",
    "duplicate": "Another memory says the same. Change that one.",
    "private": "It speaks of one reader, or of fewer than five, and is meant for all. Keep it to its reader.",
    "names_a_reader": "It holds a reader's name or an e-mail address. Say it of nobody in particular.",
    "bounds": f"A title has 1 to {TITLE_CHARS_MAX} characters and a text 1 to {TEXT_CHARS_MAX}, on one line.",
    "noise": "The text gives orders to whoever reads it, or hides signs. Say what is known, and no more.",
    "code": "It holds a link or mark-up. Say it in a plain sentence.",
    "weak": "The text is too vague to help. Say what to do, why, and what came of it.",
}
# What any advice may hold: such a word names nobody.
_PLAIN_WORDS = """
article change digest evidence feed feedback few item items like likes reader readers rule settings source
sources step story suggestion thumb thumbs title topic topics week weeks weight weights
"""
_EVERYDAY = FUNCTION_WORDS | frozenset(_PLAIN_WORDS.split())
# These only say whether there is one, so they need not start where a word does, nor end where it ends.
_MARKED_UP = re.compile(
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
HIDDEN, ORDER, ROLE, TOOL_CALL = "hidden_text", "order", "role_marker", "tool_call"
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069\ufff0-\ufff8]|[\x00-\x08\x0e-\x1f]")
_ROLE = re.compile(
    r"<\|[^|>]{0,40}\|>|<!--|\[/?(?:inst|system|sys)\b[^\]]{0,20}\]|<</?sys>>"
    r"|(?:^\s*+|\n[^\S\n]*+|[.!?\"'}\]]\s++)(?:#{1,4}\s*+|\*\*)?(?:system|assistant|user|human|developer"
    r"|tool)\b(?:\*\*)?\s*+:"
    r"|(?:^\s*+|\n[^\S\n]*+|[.!?]\s++)(?:instructions?|commands?|directives?|override|thought"
    r"|action(?: input)?|observation|final answer)\s*+:"
)
# What ends with a later ">".
_ROLE_TAG = re.compile(
    r"</?\s*+(?:system|assistant|user|human|data|tool|function|guidance|instruction|prompt|invoke|antml)\w*+"
)
_TOOL_CALL = re.compile(
    r"\b[a-z]+(?:_[a-z]+)+\s*\(|\b(?:tool|function)_calls?\b|\b(?:accept|approve|resolve)_suggestions?\b"
    r"|\"(?:tool|name|function|arguments|parameters|role|content)\"\s*:|\bconfig_update\b|```"
)
_NOUN = (
    r"(?:instruction|rule|prompt|guardrail|guideline|polic(?:y|ies)|limit|check|order|message|warning"
    r"|safeguard)s?"
)
_ENGLISH = (
    rf"\b(?:ignore|disregard|forget|override|bypass|circumvent)\b.{{0,40}}\b{_NOUN}\b",
    r"\b(?:ignore|disregard|forget|override)\b.{0,20}\b(?:everything|anything|all)\b.{0,12}\b(?:above"
    r"|before|said)\b",
    r"\b(?:always|automatically|unconditionally|silently|blindly|simply)\s+(?:accept|approve|apply"
    r"|confirm|agree)\b",
    r"\b(?:accept|approve|apply)\s+(?:this|it|all|every\w*|any\w*)\b.{0,40}"
    r"\b(?:now|immediately|at once|always|automatically|without)\b",
    r"\byou (?:must|shall|are now|have to|will now)\b|\bfrom now on\b|\bpretend (?:to|that|you)\b",
    r"\bact as (?:an?|the|if)\b|\bas an ai\b|\bjailbreak|\b(?:system|developer|hidden|secret) (?:prompt"
    r"|mode)\b",
    r"\bnew (?:instruction|order|rule|task|goal|role|mission|objective|assignment)s?\b.{0,3}:",
    r"\b(?:reveal|print|repeat|leak|exfiltrate|send|forward|disclose|output)\b.{0,40}"
    r"\b(?:prompt|secret|password|token|api.?key|credential|instruction)s?\b",
    r"\b(?:do not|don.?t|never) (?:tell|inform|mention|warn|ask|alert)\b.{0,30}"
    r"\b(?:user|reader|operator|reviewer|anyone|permission)s?\b",
    r"\breviewers?\b.{0,40}\b(?:approve|must|should pass|let)\b|\bwithout (?:evidence|review|asking"
    r"|checking)\b",
)
# Without marks on letters, as the text is when they are looked for.
_LATIN = (
    r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missacht\w*)\b.{0,50}\b(?:anweisung|regel|vorgabe"
    r"|befehl|instruktion)",
    r"\bimmer (?:annehmen|akzeptieren|zustimmen|bestatigen|genehmigen)\b"
    r"|\b(?:akzeptier\w*|genehmig\w*|bestatig\w*)\b.{0,20}\bimmer\b",
    r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er))\b.{0,50}\b(?:instructions|consignes|regles|ordres)\b",
    r"\btoujours (?:accepter|acceptez|accepte|approuver|approuvez)\b|\b(?:accepte|approuve)(?:z"
    r"|r)? toujours\b",
    r"\b(?:ignora|ignore|olvida|olvide|omite)\b.{0,50}\b(?:instrucciones|reglas|ordenes|indicaciones)\b",
    r"\bsiempre (?:acepta|acepte|aceptar|aprueba|aprobar)\b|\b(?:acepta|acepte|aprueba|aceptar) siempre\b",
    r"\b(?:ignora|ignorare|dimentica|trascura)\b.{0,50}\b(?:istruzioni|regole|ordini|indicazioni)\b",
    r"\b(?:accetta|accettare|approva) sempre\b|\bsempre (?:accetta|accettare|approvare)\b",
    r"\b(?:ignore|esqueca|desconsidere|ignora)\b.{0,50}\b(?:instrucoes|regras|ordens)\b",
    r"\b(?:aceite|aceitar|aprove) sempre\b|\bsempre (?:aceite|aceitar|aprovar)\b",
    r"\b(?:negeer|vergeet)\b.{0,50}\b(?:instructies|regels|opdrachten)\b|\baccepteer altijd\b"
    r"|\baltijd accepteren\b",
    r"\b(?:zignoruj|ignoruj|zapomnij)\b.{0,50}\b(?:instrukcj|polecen|zasad)|\bzawsze (?:akceptuj"
    r"|zatwierdzaj)",
    r"\b(?:talimat|kural|komut)\w*\b.{0,30}\b(?:yok say|unut|gormezden)|\bher zaman (?:kabul|onayla)",
)
_OTHER = (
    r"(?:игнорируй|забудь|не обращай внимани|пренебреги).{0,50}(?:инструкц|указани|правил|команд)",
    r"всегда (?:принимай|одобряй|соглашайся|подтверждай)",
    r"(?:ігноруй|забудь).{0,50}(?:інструкц|вказівк|правил)|завжди (?:приймай|схвалюй)",
    r"(?:忽略|无视|無視|忽視|忘记|忘掉).{0,20}(?:指令|指示|说明|說明|规则|規則|提示)",
    r"(?:总是|總是|一律|始终|永远)(?:都)?(?:接受|同意|批准|通过)",
    r"(?:指示|命令|ルール|規則).{0,15}(?:無視|忘れ)|(?:常に|必ず|いつも).{0,6}(?:承認|受け入れ|許可|承諾)",
    r"(?:지시|명령|규칙|지침).{0,15}(?:무시|잊)|항상 (?:수락|승인|동의)",
    r"(?:تجاهل|انس).{0,50}(?:تعليمات|القواعد|الأوامر)|(?:اقبل|وافق).{0,20}دائم",
    r"(?:निर्देश|नियम|आदेश).{0,30}(?:अनदेखा|नज़रअंदाज़|भूल)|हमेशा (?:स्वीकार|मंज़ूर)",
    r"(?:αγνόησε|ξέχνα).{0,50}(?:οδηγίες|κανόνες|εντολές)|התעלם.{0,40}(?:הוראות|כללים)",
)
# The shortest orders with nothing between their letters; long enough not to stand in a sentence by chance.
_LETTERS = re.compile(
    r"(?:ignore|disregard|forget)(?:all|any|the|your|these|my)*(?:previous|prior|above|earlier|system)*"
    r"(?:instruction|rules|prompt|guideline)"
    r"|always(?:accept|approve)(?!ed|able|ance)|systemprompt|youarenow|fromnowonyou|jailbreak"
)
_WORDS = re.compile("|".join((*_ENGLISH, *_LATIN)))
_SCRIPTS = re.compile("|".join(_OTHER))
# Letters of other alphabets that look like Latin ones, and figures that stand for letters.
_LOOKALIKE = str.maketrans(
    "авекмнорстухіјѕԁԛԝһӏгпѵαβεικνορτυχωγηѡɡɩıℓոѐօսհց",
    "abekmhopctyxijsdqwhlrnvabeikvoptuxwynwgiilneouhg",
)
_FIGURES = str.maketrans("013457@$!|", "oieastasil")
# A word spelled out, letter by letter with the same sign between, and one with signs of no width inside.
_SPELLED = re.compile(r"(?<!\w)(?:[^\W\d_](?P<between>[ .*|/_-]))(?:[^\W\d_](?P=between)){2,}[^\W\d_](?!\w)")
_SPLIT = re.compile("[a-z][\u200b-\u200d\u2060\ufeff][a-z]", re.IGNORECASE)
# A word with figures among its letters; a number alone stays one.
_FIGURED = re.compile(r"(?<![\w.])[a-z0-9@$!|]++")
_MIXED = re.compile(r"[a-z][0-9@$!|]|[0-9@$!|][a-z]")


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a draft: `why` is `admitted` or a code of `REFUSALS`; scores are 0 to 1."""

    why: str
    dimensions: Mapping[str, float]
    unified: float

    @property
    def admitted(self) -> bool:
        """Return whether it is let in."""
        return self.why == ADMITTED


def admit(
    draft: Draft, *, now: datetime, known: Collection[str] = (), names_a_reader: bool = False
) -> Admission:
    """Return whether `draft` is let in, and its dimensions.

    `known` holds the signatures of the other memories its readers may get; `names_a_reader` what its maker
    found in it, who may ask the database.
    """
    dimensions = dimensions_of(draft)
    unified = round(sum(weight * dimensions[name] for name, weight in WEIGHTS.items()), 4)
    both = f"{draft.title}\n{draft.text}"
    refused = {
        "expired": draft.expires_at is not None and draft.expires_at <= now,
        "duplicate": text_signature(draft.text) in known,
        "private": draft.shared and _private(draft.kind, draft.data),
        "names_a_reader": names_a_reader or (draft.shared and bool(_MAIL.search(both))),
        "bounds": not (_bounded(draft.title, TITLE_CHARS_MAX) and _bounded(draft.text, TEXT_CHARS_MAX)),
        "noise": bool(injection_in(draft.text) or injection_in(draft.title)),
        "code": marked_up(both),
        "weak": unified < UNIFIED_MIN or len(_telling(draft)) < WORDS_MIN,
    }
    why = next((code for code, holds in refused.items() if holds), ADMITTED)
    return Admission(why, dimensions, unified)


def marked_up(text: str) -> bool:
    """Return whether `text` holds a link or mark-up: HTML, a link of Markdown, an address with its scheme."""
    return bool(_MARKED_UP.search(text))


def everyday(word: str) -> bool:
    """Return whether `word`, in small letters, is one that any advice may hold: it names nobody."""
    return word.isalpha() and (word in _EVERYDAY or bool(_ORDER_VERBS.fullmatch(word)))


def dimensions_of(draft: Draft) -> dict[str, float]:
    """Return the five dimensions, each 0 to 1: by a memory's columns where they tell, else by its text."""
    plain = draft.text.casefold()
    directed = 0.6 * bool(draft.polarity and (draft.suggestion_type or draft.tool))
    action = 1.0 if _ORDER_VERBS.search(plain) else 0.6 * bool(_ADVICE.search(plain))
    reason = 1.0 if _REASON.search(plain) else 0.5 * bool(_CLAUSE.search(plain))
    result = (bool(_RESULT.search(plain)) + bool(_SHARE.search(plain))) / 2
    columns = 0.5 * bool(draft.target_key) + 0.25 * bool(draft.suggestion_type) + 0.15 * bool(draft.tool)
    named = (bool(_NAMED.search(draft.text)) + any(char.isdigit() for char in draft.text)) / 2
    return {
        "actionable": max(directed, action),
        "reasoned": max(reason, 0.4 * bool(draft.data)),
        "outcome_linked": max(result, min(1.0, draft.evidence / EVIDENCE_FULL)),
        "specific": round(min(1.0, columns + 0.1 * bool(draft.phase) + 0.5 * named), 4),
        "new": round(min(1.0, len(_telling(draft)) / WORDS_FULL), 4),
    }


def share_of(polarity: int, data: Mapping[str, Any]) -> float | None:
    """Return the share of a memory's outcomes that went its way; `None` where its figures do not say.

    A caution goes with the no's, anything else with the side that has more.
    """
    hits, total = data.get("hits"), data.get("of")
    if not isinstance(hits, int) or not isinstance(total, int) or not 0 <= hits <= total or not total:
        return None
    share = hits / total
    return {1: share, -1: 1 - share}.get(polarity, max(share, 1 - share))


def _private(kind: Kind, data: Mapping[str, Any]) -> bool:
    readers = data.get("readers", 0 if kind in OVER_MANY else READERS_MIN)
    return kind in PRIVATE or not isinstance(readers, int | float) or readers < READERS_MIN


def _bounded(text: str, chars_max: int) -> bool:
    return 0 < len(text.strip()) <= chars_max and text.isprintable()


def _telling(draft: Draft) -> set[str]:
    """Return the words of a text that hold more than grammar; the target's name says nothing about it."""
    words = set(search_terms(draft.text)) - set(search_terms(draft.target_key)) - FUNCTION_WORDS
    return {word for word in words if len(word) > 2 and not word.isdigit()}


@lru_cache(maxsize=4096)
def injection_in(text: str) -> str:
    """Return what in `text` steers a model: `hidden_text`, `role_marker`, `tool_call`, `order`, or ""."""
    if _HIDDEN.search(text):
        return HIDDEN
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    lowered = unicodedata.normalize("NFKC", visible).casefold()
    plain = fold(visible)
    if _ROLE.search(lowered) or _ROLE_TAG.search(lowered, 0, max(0, lowered.rfind(">"))):
        return ROLE
    if _TOOL_CALL.search(lowered):
        return TOOL_CALL
    if _orders(plain):
        return ORDER
    return HIDDEN if _SPELLED.search(plain) or _SPLIT.search(text) else ""


def _orders(plain: str) -> bool:
    bare = _unmarked(plain)
    latin = bare.translate(_LOOKALIKE)
    spelled = _FIGURED.sub(
        lambda word: word.group().translate(_FIGURES) if _MIXED.search(word.group()) else word.group(), latin
    )
    spelled = _SPELLED.sub(lambda word: re.sub(r"\W|_", "", word.group()), spelled)
    views = {bare, latin, spelled, latin.translate(_FIGURES), codecs.encode(bare, "rot13"), bare[::-1]}
    if _SCRIPTS.search(plain) or any(_WORDS.search(view) for view in views):
        return True
    return any(_LETTERS.search(re.sub(r"[^a-z]+", "", view)) for view in views)


def _unmarked(text: str) -> str:
    """`text` without marks on its letters."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(char for char in parts if not unicodedata.combining(char))
