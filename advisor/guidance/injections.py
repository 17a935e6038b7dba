"""Text that gives orders instead of saying what is known: told by its words in several languages. Pure.

A memory's text reaches a model beside the results of its tools, so it may advise about suggestions and
nothing else. Words in disguise are refused for that alone. It is looked at as written; without marks,
lookalike letters and figures for letters; with its letters alone, since spaced letters read the same;
backwards; and turned by thirteen. Beside known phrases, sentences are told by their parts (`orders`). Words
can be put in more ways than any list knows: what keeps an order harmless is that a model can change nothing
without a reader.
"""

import codecs
import re
import unicodedata
from functools import lru_cache

from advisor.guidance.orders import steering
from ranking.matching import fold

HIDDEN, ORDER, ROLE, TOOL_CALL = "hidden_text", "order", "role_marker", "tool_call"
# Invisible tags (U+E0000 on) and overrides of direction have no place in a sentence; spaces of no width are
# left out before looking.
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069\ufff0-\ufff8]|[\x00-\x08\x0e-\x1f]")
_ROLE = re.compile(
    r"<\|[^|>]{0,40}\|>|<!--|\[/?(?:inst|system|sys)\b[^\]]{0,20}\]|<</?sys>>"
    r"|(?:^|\n|[.!?\"'}\]]\s)\s*(?:#{1,4}\s*|\*\*)?(?:system|assistant|user|human|developer"
    r"|tool)\b(?:\*\*)?\s*:"
    r"|(?:^|\n|[.!?]\s)\s*(?:instructions?|commands?|directives?|override|thought|action(?: input)?"
    r"|observation|final answer)\s*:"
    r"|</?\s*(?:system|assistant|user|human|data|tool|function|guidance|instruction|prompt|invoke"
    r"|antml)\w*\b[^>]*>"
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
# What stands at a sentence's end stands at its beginning.
_BACKWARDS = re.compile(r"(?:^|\s)[.!?][^\W\d_]")
# A word spelled out, letter by letter with the same sign between, and one with signs of no width inside.
_SPELLED = re.compile(r"(?<!\w)(?:[^\W\d_](?P<between>[ .*|/_-]))(?:[^\W\d_](?P=between)){2,}[^\W\d_](?!\w)")
_SPLIT = re.compile("[a-z][\u200b-\u200d\u2060\ufeff][a-z]", re.IGNORECASE)
# A word with figures among its letters; a number alone stays one.
_FIGURED = re.compile(r"(?<![\w.])[a-z0-9@$!|]*(?:[a-z][0-9@$!|]|[0-9@$!|][a-z])[a-z0-9@$!|]*")


@lru_cache(maxsize=4096)
def injection_in(text: str) -> str:
    """What in `text` is meant to steer a model: `hidden_text`, `role_marker`, `tool_call`, `order`, or ""."""
    if _HIDDEN.search(text):
        return HIDDEN
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    lowered = unicodedata.normalize("NFKC", visible).casefold()
    plain = fold(visible)
    if _ROLE.search(lowered):
        return ROLE
    if _TOOL_CALL.search(lowered):
        return TOOL_CALL
    if _orders(plain):
        return ORDER
    return HIDDEN if _SPELLED.search(plain) or _SPLIT.search(text) else ""


def _orders(plain: str) -> bool:
    bare = _unmarked(plain)
    latin = bare.translate(_LOOKALIKE)
    views = {bare, latin, latin.translate(_FIGURES), codecs.encode(bare, "rot13"), bare[::-1]}
    spelled = _FIGURED.sub(lambda word: word.group().translate(_FIGURES), latin)
    spelled = _SPELLED.sub(lambda word: re.sub(r"\W|_", "", word.group()), spelled)
    sentences = {latin, spelled, latin[::-1]} if _BACKWARDS.search(plain) else {latin, spelled}
    if _SCRIPTS.search(plain) or any(steering(view) for view in sentences):
        return True
    if any(_WORDS.search(view) for view in views):
        return True
    return any(_LETTERS.search(re.sub(r"[^a-z]+", "", view)) for view in views)


def _unmarked(text: str) -> str:
    """`text` without marks on its letters."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(char for char in parts if not unicodedata.combining(char))
