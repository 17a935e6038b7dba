"""Whether a model's words to a reader could lead them somewhere or ask them for something.

A model reads strangers' text and may be talked into anything, so its words are taken by what they are made of
and not by what they seem to mean:

| kind | refused |
|---|---|
| `characters` | invisible, bidirectional and control characters; signs that plain sentences do without; \
a word of two scripts |
| `address` | anything with a dot, colon, slash or @ inside, also with spaces or as words |
| `number` | a number of more than four digits in a row or in groups, as digits or as words |
| `request` | talk of signing in, passwords, accounts, payment, calling, writing, visiting |
| `name` | a word that is neither plain English (`vocabulary`) nor in what the words are about |

The last one is what makes other spellings useless: confusable letters, digits for letters, spaces between
letters and words run together are no plain words. Texts are compared after NFKC. Names of what the words are
about are let through whole, since the page shows them anyway. Time is linear in the text and the names. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from digest.llm.vocabulary import CAPITALISED, word_known

CHARACTERS, ADDRESS, NUMBER, REQUEST, NAME = "characters", "address", "number", "request", "name"
# A number of more digits, or several beside each other, could be called.
DIGITS_MAX, GROUPED_DIGITS_MAX, NUMBERS_MAX = 4, 5, 10
NUMERALS_MAX = 2
_NUMERALS = frozenset(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
_SIGNS = frozenset(" .,;:!?'\"()%&+±-/")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.m", "p.m"})
# A dot after them ends no sentence.
_SHORTENED = _ABBREVIATIONS | {"vs", "etc", "approx", "no", "dr", "mr", "mrs", "st"}
# The last part of names that look like addresses and are none.
_NO_DOMAIN = frozenset({"js", "jl"})
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN_SIGNS = str.maketrans(
    dict.fromkeys("‘’ʼ`´", "'") | dict.fromkeys("“”„«»", '"') | dict.fromkeys("‐‑‒–—−", "-")
)
_EDGES = "\"'(),;:!?-."
_STAND_IN = "Name"
_NUMBER = re.compile(r"[+±-]?\d{1,3}(?:,\d{3}|\d)?(?:\.\d{1,3})?%?")
_PAIR = re.compile(r"\d{1,4}/\d{1,4}|\d{1,2}:\d{2}")
_DIGITS = re.compile(r"\d++")
_GROUPS = re.compile(r"(?<!\d)\d++(?:[ ()./-]{1,3}+\d++)++")
_LISTED = re.compile(r"(?<!\d)\d++(?:, ?\d++){2,}+")
_ORDINAL = re.compile(r"\d{1,4}(?:st|nd|rd|th|s|x)")
_LETTERS = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .-]{1,2}+[^\W\d_](?![^\W_])){2}")
_SPACED_DOT = re.compile(r"\s\.(?!\.)")
# Whoever is asked for one of these, or asked to do one of them, is not being told why.
_ASKED = """
account accounts login logins logon signin signon signup signed password passwords passphrase passcode
passkey pin pincode otp credential credentials username authenticate authentication verify verifies verified
verification confirm confirms validate unlock reactivate restore suspended suspend expire expires expired
renew renewal billing invoice pay payment payments payable wallet wallets iban refund buy subscribe dial
dialling telephone whatsapp telegram sms text texts call calls mail mails email emails contact contacts send
sends reply visit visits browse click clicks download install qr link links url webpage homepage http https
hxxp hxxps www mailto dot dots com org slash dotcom urgent urgently immediately must please
"""
_ASKED_FOR = frozenset(_ASKED.split())
_ASKS = re.compile(
    r"\b(?:sign|log)s?(?:ned|ging|ging)?[ -]+(?:in|on|up|into)\b"
    r"|\b(?:enter|type|provide|update|check|submit|share|complete|use|keep|save|give|show)\s+your\s+"
    r"(?!digest|ratings?|thumbs?|topics?|weekly|daily|reading|news)"
    r"|\benters?\s+(?!today|the digest|your digest)"
    r"|\b(?:go|move|moves|moving|moved|head|turn|switch|change|changes|changing)\s+(?:over\s+)?to\s+"
    r"(?:a\s+|an\s+|the\s+|our\s+)?(?:new\s+)?(?:address|place|home|site|page|name)\b"
    r"|\byour\s+(?:full\s+|real\s+)?(?:name|date|birth\w*|keys?|number)\b"
    r"|\bhand(?:s|ed|ing)?\s+over\b"
    r"|\baddress(?:es)?\b|\bpass[ -]+(?:word|code|phrase|key)s?\b"
)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a text may name: `names` as they are, whole; of `texts` each word."""

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the words of all of them."""
        words = {word for text in (*self.names, *self.texts) for word in _words_of(text)}
        object.__setattr__(self, "words", frozenset(words))


NO_GROUNDS = Grounds()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text may not be shown: a stable `kind`, and the piece of the text."""

    kind: str
    piece: str


def phishing_problem(text: str, grounds: Grounds = NO_GROUNDS) -> Problem | None:
    """Return the first thing in `text` that may not be shown to a reader, or `None`."""
    if problem := _characters(text):
        return problem
    rest = _without_names(_normal(text), grounds.names)
    return _shape_problem(rest, grounds.words) or _name_problem(rest, grounds.words)


def lure_problem(text: str) -> Problem | None:
    """Return what in `text` leads or asks a reader somewhere, or `None`; its words may be any."""
    return _characters(text) or _shape_problem(_normal(text), frozenset())


def _normal(text: str) -> str:
    """Return `text` in NFKC with plain quotes and dashes and single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN_SIGNS).split())


def _characters(text: str) -> Problem | None:
    normal = unicodedata.normalize("NFKC", text)
    for char in (*text, *normal):
        if unicodedata.category(char) in _INVISIBLE and char not in "\n\t\r":
            return Problem(CHARACTERS, f"U+{ord(char):04X}")
    for char in _normal(text):
        if not (char.isalpha() or (char.isascii() and char.isdigit()) or char in _SIGNS):
            return Problem(ADDRESS if char in "@\\" else CHARACTERS, char)
    return None


def _without_names(text: str, names: Iterable[str]) -> str:
    """Return `text` with a plain word for each of `names` that alone would not pass; the others may stay."""
    for name in sorted({_normal(name) for name in names}, key=len, reverse=True):
        if name and (_characters(name) or _shape_problem(name, frozenset(_words_of(name)))):
            whole = rf"(?<![\w.@:/%-])(?<!your )(?<!Your ){re.escape(name)}(?!\w|[@/%-]|[.:]\w| \.)"
            text = re.sub(whole, _STAND_IN, text, flags=re.IGNORECASE)
    return text


def _shape_problem(text: str, grounded: frozenset[str]) -> Problem | None:
    """Return an address, a number or a request in a normal `text`."""
    return _address(text, grounded) or _number(text) or _request(text)


def _address(text: str, grounded: frozenset[str]) -> Problem | None:
    if found := _SPACED_DOT.search(text):
        return Problem(ADDRESS, text[max(0, found.start() - 20) : found.end() + 20])
    tokens = text.split()
    for token, after in zip_longest(tokens, tokens[1:], fillvalue=""):
        core = token.strip(_EDGES).casefold()
        if _leads(core, grounded):
            return Problem(ADDRESS, token)
        ends = token.endswith(".") and not token.endswith("..") and core not in _SHORTENED
        if ends and after[:1].islower() and not (len(core) == 1 or "." in core):
            return Problem(ADDRESS, f"{token} {after}")
    return None


def _leads(core: str, grounded: frozenset[str]) -> bool:
    """Return True for a token with a sign of addresses inside that is no number, name or abbreviation."""
    if not set(core) & set(".:/%&+±"):
        return False
    if _NUMBER.fullmatch(core) or _PAIR.fullmatch(core) or core in _ABBREVIATIONS:
        return False
    if set(core) & set(":/%+±"):
        return True
    parts = core.replace("&", ".").split(".")
    short = all(len(part) <= 1 for part in parts)
    return not (core in grounded and (short or parts[-1] in _NO_DOMAIN))


def _number(text: str) -> Problem | None:
    numbers = _DIGITS.findall(text)
    for digits in numbers:
        if len(digits) > DIGITS_MAX:
            return Problem(NUMBER, digits[:40])
    for pattern in (_GROUPS, _LISTED):
        for found in pattern.finditer(text):
            count = sum(map(str.isdigit, found[0]))
            if count > GROUPED_DIGITS_MAX + (pattern is _LISTED) and not _PAIR.fullmatch(found[0]):
                return Problem(NUMBER, found[0][:40])
    if any(len(digits) > 1 and digits[0] == "0" and f".{digits}" not in text for digits in numbers):
        return Problem(NUMBER, "0…")
    run = 0
    for word in _tokens(text):
        run = run + 1 if word in _NUMERALS or word == "oh" else 0
        if run > NUMERALS_MAX:
            return Problem(NUMBER, word)
    return Problem(NUMBER, f"{len(numbers)} numbers") if len(numbers) > NUMBERS_MAX else None


def _request(text: str) -> Problem | None:
    folded = _plain_letters(text.casefold())
    if found := _ASKS.search(folded):
        return Problem(REQUEST, found[0])
    if found := _LETTERS.search(folded):
        return Problem(NAME, found[0])
    asked = next((word for word in _tokens(folded) if word in _ASKED_FOR), "")
    return Problem(REQUEST, asked) if asked else None


def _name_problem(text: str, grounded: frozenset[str]) -> Problem | None:
    begins = True
    for token in text.split():
        core = token.strip(_EDGES)
        for part in core.split("-"):
            word = part.removesuffix("'s").removesuffix("'")
            capital = part[:1].isupper() and not begins and not token.startswith('"')
            if word and word != _STAND_IN and not _word_passes(word, grounded, capital=capital):
                return Problem(NAME, part)
            begins = False
        begins = token.rstrip("\")'").endswith((".", "!", "?", ":"))
    return None


def _word_passes(word: str, grounded: frozenset[str], *, capital: bool) -> bool:
    """Return True for a number, a word of the grounds in one script, or a plain word without a capital."""
    folded = word.casefold()
    if _NUMBER.fullmatch(folded) or _PAIR.fullmatch(folded) or _ORDINAL.fullmatch(folded):
        return True
    if folded in grounded:
        return len({unicodedata.name(char, "").split(" ")[0] for char in folded if char.isalpha()}) <= 1
    plain = _plain_letters(folded)
    if "." in plain:
        return plain in _ABBREVIATIONS
    return word_known(plain) and (not capital or plain in CAPITALISED)


def _plain_letters(text: str) -> str:
    """Return `text` without the accents of Latin letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as they are compared, and those that a hyphen joins."""
    for token in _normal(text).casefold().split():
        core = token.strip(_EDGES)
        yield core
        for part in core.replace("/", "-").split("-"):
            word = part.strip(_EDGES)
            yield from (word, word.removesuffix("'s"))


def _tokens(text: str) -> Iterator[str]:
    return (
        part.removesuffix("'s")
        for token in text.split()
        for part in token.strip(_EDGES).casefold().replace("'", "-").replace("/", "-").split("-")
    )
