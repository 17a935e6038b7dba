"""Texts nobody would keep: traces of machines, chatter, code, and what readers or feeds wrote. Pure."""

import re

from ranking.matching import fold

# The published engine's prefixes of training data, and the lines tools, timers and services leave behind.
_PREFIX = re.compile(
    r"^\s*(?:rt @\w|\[depth:|strong socratic|\[(?:info|warn\w*|error|debug|trace)\]|(?:warning|info|debug"
    r"|error) \w+:)"
)
_TRACE = (
    r"\b(?:run|call|trace|session|request|step|task|job|event|turn|page|thread|span|lease"
    r"|worker)[-_ #]?(?:id\b\s*[:=#]?\s*)?"
    r"[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]*\b",
    r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-",
    r"\b(?:success|ok|error|status|exit code|code|returncode)\s*[:=]\s*(?:true|false|null|none|\d+)\b",
    r"\b(?:returned|fetched|yielded|listed|result of \w+:?)\s+\d+ (?:rows?|items?|results?|records?"
    r"|entries|bytes|tokens)\b",
    r"\b(?:called|tool|result of|output of)\s+[a-z]+(?:_[a-z]+)+\b(?!.*\b(?:because|since|before|after"
    r"|instead)\b)",
    r"\b(?:command|tool|call|operation|file|request)\b.{0,30}\b(?:completed|finished|executed|was (?:used"
    r"|read|written))\b"
    r".{0,20}\b(?:success\w*|without errors?|in a previous)\b",
    r"\b(?:took|answered in|ended after|finished in|completed in|responded in|elapsed|duration"
    r"|within)\b.{0,24}"
    r"\b\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds|milliseconds|min|minutes)\b",
    r"\b(?:latency|throughput|p50|p90|p95|p99)\b.{0,12}\d|\b\d+(?:\.\d+)?\s?ms\b|\b\d+ turns and \d+",
    r"\bcycle summary\b|\bused \d+ times\b|\b\d+\s?% success\b|\bnot preceded by\b",
    r"\b(?:restarted|lease (?:renewed|expired|lost)|(?:re-?)?queued|queue length|heartbeat|cache (?:hit"
    r"|miss)\w*)\b"
    r"|\btraceback \(most recent\b|\b\w+error:\s",
    r"\b\d+ tokens\b|\btokens (?:used|spent|went|in|out)\b|\b(?:get|post|put|delete|patch) /\S|\bhttp/\d",
    r"\b\d{4}-\d\d-\d\d[t ]\d\d:\d\d|^\[\d\d:\d\d",
)
_MACHINE = re.compile("|".join(_TRACE))
_CHATTER = re.compile(
    r"(?:^|[\s\]\n])(?:user|assistant|human|reader|agent|model|bot|ai)\s*:\s"
    r"|\b(?:user|reader|they) (?:expressed|seemed|was|were|felt|sounded|appeared) (?:that (?:they|he"
    r"|she) (?:was|were) )?"
    r"(?:\w+ )?(?:pleased|happy|annoyed|satisfied|puzzled|frustrated|thankful|amused|calm|delighted"
    r"|satisfaction"
    r"|frustration|angry|sad|confused|excited|grateful|impressed|bored|upset|surprised|curious)\b"
    r"|\b(?:thanks|thank you|lol|haha+|hmm+|yeah|yep|nope|omg|btw|pls|plz|wanna|gonna|lets|i meant)\b"
    r"|[:;]-?[)(DP](?:\s|$)"
    r"|!!+|\?\?+|\b(?:sorry,|let me (?:look|check|see)|as discussed|as mentioned|see above)\b|^(?:ok|okay"
    r"|sure|great|hi|hello)\b[,.! ]"
)
# Who speaks in the first person is no source of ours.
_FIRST_PERSON = re.compile(r"(?<![\w.'’-])(?:i|i['’](?:m|ve|d|ll)|my|me|mine|myself)(?![\w.-])(?=\W*\w)")
_QUOTED = re.compile(r"[“\"«„]([^”\"»“]{20,})[”\"»“]")
QUOTED_WORDS = 5
COPIED_WORDS = 5
_URL = re.compile(r"(?:https?://|www\.)\S+")
_CODE = re.compile(
    r"^\s*[\[{].*[\]}]\s*;?\s*$|\"\w+\"\s*:\s|\bselect\b.+\bfrom\b|\binsert into\b|\bdef \w+\("
    r"|\bfunction\s*\w*\(|\blambda \w+:"
    r"|\bimport \w+(?:\.\w+)*\s*(?:;|$)|</?\w+[^>]*>|\w+\([^)]*\)\s*[{;:]|=>\s*[{(]|\breturn \w+\["
    r"|^\s*(?:\$|>>>) \w",
    re.DOTALL,
)
NOT_LETTERS_MAX = 0.60
_MARKED_UP = re.compile(r"<[a-z/!][^<]*>|\]\s?[(\[]|\b[a-z][a-z0-9+.-]*://|\b(?:javascript|mailto):\S", re.I)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_BASE64 = re.compile(r"\b(?=\w*[A-Z])(?=\w*[a-z])(?=\w*\d)[A-Za-z0-9+/]{24,}={0,2}")


def machine_trace(text: str) -> bool:
    """Whether `text` is what a tool, a timer or a service leaves behind: ids, echoes, times."""
    plain = fold(text)
    return bool(_PREFIX.search(plain) or _MACHINE.search(plain))


def chatter(text: str) -> bool:
    """Whether `text` is talk, a mood or a transcript."""
    return bool(_CHATTER.search(text.casefold()))


def verbatim(text: str) -> bool:
    """Whether `text` holds somebody's own words: a long quotation, or the first person."""
    if _FIRST_PERSON.search(text.casefold()):
        return True
    return any(len(quote.split()) >= QUOTED_WORDS for quote in _QUOTED.findall(text))


def copied(text: str, own_words: str) -> bool:
    """Whether `text` repeats `own_words`, which are one a line.

    Five of their words in a row, or a whole line of two or more, give a copy away.
    """
    told = f" {' '.join(_words(text))} "
    return any(f" {part} " in told for line in own_words.splitlines() for part in _parts(_words(line)))


def marked_up(text: str) -> bool:
    """Whether `text` holds a link or mark-up: HTML, a link of Markdown, an address with its scheme."""
    return bool(_MARKED_UP.search(text))


def mail_address(text: str) -> bool:
    """Whether `text` holds an e-mail address."""
    return bool(_MAIL.search(text))


def code(text: str) -> bool:
    """Whether `text` is an address, data or a program, or has more than 60 % other signs than letters."""
    bare = _URL.sub("", text)
    packed = "".join(bare.split())
    if len("".join(text.split())) > 2 * len(packed) or _BASE64.search(text):
        return True
    letters = sum(char.isalpha() for char in packed)
    return not packed or 1 - letters / len(packed) > NOT_LETTERS_MAX or bool(_CODE.search(bare.casefold()))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


def _parts(words: list[str]) -> list[str]:
    """The runs of words that give a copy away."""
    if len(words) <= COPIED_WORDS:
        return [" ".join(words)] if len(words) > 1 else []
    return [" ".join(words[n : n + COPIED_WORDS]) for n in range(len(words) - COPIED_WORDS + 1)]
