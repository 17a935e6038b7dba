"""How much of a text is about something: words that say something, and signs of something measured. Pure.

A platitude is made of words that praise or fit anywhere, timeless and without a figure, a condition or a
named deed. It is told by what is left when such words are taken away, not by how it is put.
"""

import re
from functools import lru_cache

from ranking.function_words import FUNCTION_WORDS
from suggestions.search import terms_of

# Words that praise, blame or fit any subject.
_GENERIC = """
ability accurate achieve act acting aim alike always answer approach appropriate area article aspect attempt
attention attitude audience balance basic beautiful benefit better big care careful careless case cause
challenge change choice choose clarity clear collaboration comfort common communicate communication
complicated conclusion confidence consequence consider consistent content context correct count crucial
culture day deal decide decision depth deserve desire detail development differ different difficult digest
diligence direction discipline diverse do earn earned easy effect effective effort element endeavour ensure
essential every everybody everyone everything excellence excellent existing expectation experience expert
fact factor fail fair false feed feedback feel fine fit fitting flexibility flexible focus follow foundation
future general gift give goal good great grow growth habit handle happen happy hard harmony healthy help
helpful honest honesty hope idea ideal impact importance important improve improvement influence information
input insight inspire integrity intelligence interesting item journey joy judgement judgment keep key kind
kindness knowledge lasting lead learn lesson level life listen little lost lot love maintain make manage
manner matter mean measure meet mind mindful mindset mistake mix moment moral natural nature necessary need
never new news nice nothing nuance one open opportunity option outcome overall part passion path patience
patient pay people perfect person perspective place plan positive possible potential practice practise
prefer preference preparation prepare principle prioritise priority problem process professional progress
proper properly proposal purpose quality question reader readership reason reasonable relevant reliable
remember respect respectful responsibility responsible result reward rewarding right risk risky role rule
satisfy seem sense sensible serious service set setting significance simple situation skill slowly smart
solid solution something sound source spirit stability stable stay step story strategy strength strive
strong structure succeed success suggestion suit suitable support sure system tact take task taste thing
think thought thoughtful thoughtless time together tool topic transparency treat true trust trustworthy
truth try turn unchecked understand understanding unique unsound use useful user usual valuable value
variety vary view vigilance virtue vital want way weak wellbeing wisdom wise wonderful word work world worth
worthy wrong
"""
_VAGUE = frozenset(token for word in _GENERIC.split() for token in (word, *terms_of(word)))
# English forms abstract nouns, praise and manner by such endings.
_ABSTRACT = re.compile(
    r"(?:ness|[a-z]{3}ity|ful|fully|ously|ship|ism|ively|ably|ently|antly|less|worthy|erly|tly"
    r"|[a-z]{3}ous|ible)$"
)
# Words that look abstract and are what suggestions are counted by.
_MEASURED = frozenset(
    {"weekly", "nightly", "daily", "monthly", "lately", "recently", "popularity", "unless", "previous"}
)
_COUNT = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|half|halve[sd]?|twice|thrice|third"
    r"|quarter|dozen"
    r"|fortnight|january|february|march|april|june|july|august|september|october|november|december"
    r"|weekday|weekend|workdays?"
    r"|spring|summer|autumn|winter|weeks?|months?)\b"
)
_TRIED = re.compile(
    r"\b(?:thumbs?|weights?|tag(?:s|ged)?|rat(?:ed|ing|ings)|outcomes?|accept\w*|declin\w*|refus\w*|reject\w*"
    r"|turned (?:down|away)|revert\w*|undo\w*|undid|backtests?|replay\w*|peers?|neighbours?|rationale"
    r"|threshold"
    r"|interval|cooldown|ceiling|bounds?|likes|dislikes|liked|disliked|mute[ds]?|pinned|duplicates?|drafts?"
    r"|baseline|base rate|reductions?|boosts?|boosted|reduced|thumb|provider|budget|additions?|removals?)\b"
)
_DEED = re.compile(
    r"\b(?:raise|raising|lower|lowering|boost\w*|reduc\w+|increas\w+|decreas\w+|halv\w+|cut|cutting"
    r"|trim\w*|add|adding"
    r"|drop|dropping|remov\w+|propos(?:e|ing)|leave|leaving|spare|sparing|mut(?:e|ing)|lift|demot\w+"
    r"|promot\w+|wait|waiting"
    r"|avoid(?:ing)?|hold|skip\w*|narrow\w*|split\w*|test|testing|name|strike|quote|cite|compare|mark|ask"
    r"|keep(?! (?:an?|in mind|going|track|calm)\b)"
    r"|treat\w* \w+ as|let (?:it|them) (?:go|stay|rest))\b"
    r"(?!\s+(?:calm|focus\w*|things|value|quality|things|room for|what|open|mind))"
)
_GIVEN = re.compile(
    r"\b(?:when(?:ever)?|if|unless|until|before|after|while|where|once|during|with fewer|with more"
    r"|instead of|rather"
    r" than|as long as|as soon as)\b"
)
# Something done to the target (N): told by where it goes, as in "give N more weight", "let N go", or by the
# verb alone, as in "do without N". Minding it, treating it with care or thinking of it is none.
_TOWARDS = re.compile(
    r"\b(?:give|put|move|take|bring|let|keep|hold|make|turn|pull|push|set|shift|cut|tone|dial|scale|list"
    r"|grant|leave)\b(?:\W+\w+){0,3}?\W+N\b(?:\W+\w+){0,4}?\W+(?:up|down|in(?! mind)|out|off|away|back"
    r"|alone|go|stay|weights?|weigh|topics?|list|more|less|higher|lower|cuts?|rest)\b"
    r"|\b(?:hold on to|stick (?:to|with)|stay away from|keep away from|part with|do without|go without"
    r"|get rid of|refrain from|go easy on|be sparing with|ease off|back off|hold back (?:on|from)"
    r"|away from)\b"
    r"(?:\W+\w+){0,4}?\W+N\b"
)
# What is left of a platitude is at most this; a text with signs of something measured needs less.
HOLLOW_MAX, UNSHOWN_MAX = 2, 4


def unnamed(plain: str, name: str) -> str:
    """`plain`, folded, with N for each time it names `name`, a source's or topic's key, in either number."""
    return _named(name.casefold()).sub("N", plain) if name.strip() else plain


@lru_cache(maxsize=1024)
def _named(name: str) -> re.Pattern[str]:
    words = (
        re.escape(word.removesuffix("y")) + ("(?:y|ies)" if word.endswith("y") else "(?:e?s)?")
        for word in name.split()
    )
    joined = r"\W+".join(words)
    return re.compile(rf"[“\"'‘]?(?<![\w.]){joined}(?![\w-])(?:[”\"'’](?!s))?")


def telling(text: str, besides: str = "") -> set[str]:
    """The different words of `text` that say something; those of `besides` do not count."""
    words = set(terms_of(text)) - set(terms_of(besides))
    return {word for word in words if not _dull(word)}


def _dull(word: str) -> bool:
    if word in FUNCTION_WORDS or word in _VAGUE or word.isdigit() or len(word) < 3:
        return True
    return word not in _MEASURED and bool(_ABSTRACT.search(word))


def signs(text: str, besides: str = "") -> int:
    """How many signs of something measured, 0 to 4: counts, what was tried, a deed, a condition.

    A deed done to `besides`, the target, counts for two.
    """
    plain = unnamed(text.casefold(), besides)
    found = sum(bool(form.search(plain)) for form in (_COUNT, _TRIED, _DEED, _GIVEN))
    return min(4, found + 2 * bool(_TOWARDS.search(plain)))


def hollow(text: str, besides: str = "") -> bool:
    """Whether little is left of `text` without the words that fit anywhere."""
    shown, words = signs(text, besides), len(telling(text, besides))
    return 2 * shown + words <= HOLLOW_MAX or (not shown and words <= UNSHOWN_MAX)


def overlap(clause: str, rest: str) -> bool:
    """Whether `clause` has no telling word that `rest` has not: it gives itself as its reason."""
    stems = {word[:5] for word in terms_of(rest)}
    return not any(word[:5] not in stems for word in telling(clause))
