"""What a text is worth by its words: what it says to do, why, with what result, about what. Pure.

English, as the texts of sources and insights are. Lists of words know no grammar: they tell apart the kinds
of sentences that memories are made of, and are measured by `evaluate_guidance`.
"""

import re
from functools import lru_cache

from advisor.guidance.substance import overlap
from ranking.function_words import FUNCTION_WORDS
from suggestions.search import terms_of

# What one may be told to do, in the form in which one is told.
_VERBS = """
abandon abstain accept acknowledge add adjust aggregate agree aim allow alternate answer apply argue ask
assume attach avoid axe back base batch be begin believe bench block boost break bring build bump call cap
change check choose cite clamp clarify close collect combine compare compute confirm consider continue cool
copy count cover curb cut decide decline defer delay demote describe desist dial discard discount
distinguish ditch divide do don't double draft drop ease edit embrace end enlarge enrich ensure examine
exchange exclude expand expect explain explore expose extend favor favour fetch fill filter find finish fix
focus follow force forgo freeze gather get give go group grow guard halve handle hold ignore import include
increase inspect introduce invite join judge keep label lead lean learn leave let limit link list load look
loosen lower mark match measure mention merge mind mix monitor move mute name narrow never note nudge offer
omit open order pair park pass pause phase phrase pick pin place plan play point postpone prefer prepare
present preserve press prevent prioritise prioritize promote propose protect prove prune pull pursue push
put quote raise rank rate read rebuild recheck recommend reconsider record redo reduce refer refine refrain
refuse regard reinforce reject rely remember remove rename renew repeat rephrase replace report require
rerun reserve resist resolve respect rest restore restrict resume retain rethink retire retry return reuse
revert review revisit reword run save say scale schedule search seek select send separate set settle sharpen
shed shelve shift shorten show shrink shun silence skip slow soften solve sort spare specify spend split
spread start state stay steer step stick stop store strengthen strike suggest support suppress swap switch
take tell test thin think throttle tie tighten time tone toss treat trim trust try tune turn undo update use
validate verify veto wait warn watch wave weaken weed weigh welcome widen withdraw withhold work write
"""
VERBS = frozenset(_VERBS.split())
# Words before a verb that leave it an order, and openings that are none.
_LEADS = frozenset(
    {"always", "never", "please", "then", "and", "so", "instead", "rather", "only", "first", "next", "just"}
    | {"better", "not", "to", "but", "also"}
)
_CLAUSE = re.compile(
    r"(?:[.;:!?]|,|\s[–—-]|->|=>|\|)\s+|\bthen\s+|\b(?:and|but|or)\s+"
    r"|\b(?:better|best|wise|wiser|says?|told|enough|tends?|pays?|paid|helps?|how|free|why|well|sense"
    r"|safe|safer"
    r"|advisable|good|right|is|was|suggests?|advised|recommended|reason|ready|fine) to\s+|\bwhy\s+"
)
_ADVICE = re.compile(
    r"\b(?:should|must|needs?(?: to)?|requires?|ought to|has to|have to|better|worth|instead of|rather than"
    r"|feel free"
    r"|no need to|at most|at least|no more than|is usually|works? best|do not|don.?t|cannot|never|always"
    r"|avoid(?:s|ed|ing)?)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|therefore|hence|thus|otherwise|so that|due to|owing to|as a result|which means"
    r"|that is why|the cause|the reason|in order to|leads? to|causes?d?|prevents?|avoids?|means)\b"
    r"|,\s(?:so|as|for|which)\s|\bas (?:it|they|the|this|most|its|nothing|two|every)\b|[:;]\s|\s[–—]\s|\.\s\S"
)
_PLAIN_REASON = re.compile(
    r"\b(?:because|since|therefore|hence|otherwise|so that|due to|as a result|prevents?|the (?:cause"
    r"|reason))\b"
    r"|,\s(?:so|as)\s|;\sas\s"
)
RESULT = (
    r"(?:accept(?:s|ed|ance)?|agreed|approved|kept|held|helped|helps|improved|gained|worked|succeeded"
    r"|confirmed|reject(?:s|ed)?|refus(?:es|ed|al)|declin(?:es|ed)|turned down|turned away|revert(?:s|ed)?"
    r"|undone|undid|harmed|hurt|failed|fails|lost|regretted|went that way|answers?|decisions?|outcomes?"
    r"|suggestions?|settled|showed)"
)
_RESULT = re.compile(rf"\b{RESULT}\b")
_SHARE = re.compile(
    r"\b\d+\s?(?:of|out of|in|/|from)\s?\d+\b|\d(?:\.\d+)?\s?%|\b\d+ (?:times|cases)\b|\b[0-9]\.[0-9]+\b"
)
_NAMED = re.compile(
    r"\b\w+_\w+\b|\b[\w-]+\.(?!\s)[a-z]{2,}\b|[“\"'‘][^”\"'’]{2,60}[”\"'’]|(?<=[a-z,] )[A-Z][a-z]+"
)
_FIGURE = re.compile(r"\d")
_GENERIC = """
article articles bad best better care careful carefully change changes choice choices common content correct
diligence digest digests everything feed feeds fine fitting good great help helpful honest honesty important
improve information interesting item items matter matters news nice option options patience people perfect
preference preferences proper properly proposal proposals quality reader readers reasonable relevant right
sense sensible setting settings sound source sources stories story suggestion suggestions suitable system
thing things thought topic topics use useful user users value valuable way ways well work wrong attention
balance balanced choose consider ensure make prefer treat essential crucial vital key remember try give take
always never wise wisely smart clear clearly appropriate necessary needed understand understanding important
decision decisions informed step context performance successfully success follow existing
"""
GENERIC = frozenset(token for word in _GENERIC.split() for token in (word, *terms_of(word)))
_DULL = FUNCTION_WORDS | GENERIC
_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|could|at some point|or not|who knows|somehow|not been tried|someday"
    r"|in theory|suppose|supposedly|reportedly|allegedly|apparently|presumably|conceivabl[ey]|hypothetical\w*"
    r"|who can (?:tell|say)|i am told|rumou?r\w*|nobody (?:has|knows)|may or may not"
    r"|remains? (?:to be seen|open|unclear)"
    r"|unclear|unknown|uncertain|undecided yet|not (?:yet )?(?:known|certain|clear|checked|tested|sure)"
    r"|one day|it (?:all )?depends|on the one hand|most likely|chances are|in all likelihood"
    r"|(?:do|try|find|use) something(?! (?:else|new|different|unlike|other))"
    r"|nothing is (?:known|certain)|guess\w*|wonder\w*|or something)\b"
)
# What can be hedged and still be advice, and what no advice is made of.
_MAYBE = frozenset(
    {"might", "could", "possibly", "perhaps", "maybe", "apparently", "undecided yet", "one day", "unknown"}
)
# What points at words that are not there.
_ELSEWHERE = re.compile(
    r"\b(?:as (?:discussed|mentioned|stated|said|noted|explained|described|shown|agreed|above|before)"
    r"|see (?:above|below|there|the (?:\w+ )?(?:note|other|table|list|previous|entry|record))"
    r"|(?:more|details?|reasons?) (?:is |are )?in the other|(?:mentioned|described|listed|discussed) (?:there"
    r"|above|below|earlier"
    r"|before|elsewhere)|the (?:first|second|third|former|latter|other|previous|next) (?:of the|option"
    r"|case|point|choice"
    r"|variant|alternative|candidate|item|thing)|that (?:option|choice|variant|alternative)|same (?:as"
    r"|like) (?:last"
    r"|before|above|ever|always)|to be continued|what was (?:said|decided)|ditto|the (?:former|latter)"
    r"|(?:these|those) two)\b"
)
_TENDS = (
    r"(?:tends?|usual(?:ly)?|rarely|seldom|often|mostly|hardly|scarcely|generally|regularly|typically"
    r"|most (?:of|weeks"
    r"|times?|cases|readers)|as a rule|twice|better|worse|safer|riskier|easier|harder|wiser|best|worst"
    r"|worth|pays?"
    r"|in vain|welcome|unwelcome|annoys?|each time|every time|so far|ha(?:s|ve) (?:paid|worked|helped"
    r"|failed|gone|done)|paid off|speaks? (?:for|against)"
    r"|argues? (?:for|against)|(?:goes?|went|go|did|does|do) (?:down )?(?:well|badly|poorly)"
    r"|again and again|never|always|almost|more|less"
    r"|fewer|gained|lost|likely|unlikely|no (?:reason|need|harm|gain|use|point|case|more)"
    r"|little (?:reason|need|gain|use"
    r"|point)|good idea|bad idea|in favou?r|against|caution|restraint|patience|not (?:yet|now|again)|enough)"
)
_CHANGE = (
    r"(?:boost\w*|rais\w+|lower\w*|reduc\w+|cut\w*|weights?|steps?|change[sd]?|add\w*|remov\w+|drop\w*"
    r"|propos\w+"
    r"|suggest\w*|thumbs?|topics?|sources?|attempts?|ask\w*|declin\w+|accept\w*|refus\w+|reject\w*"
    r"|revert\w*|undo\w*"
    r"|turned down|drafts?|evidence|more of|less of|push\w*|ration\w+|tag\w*|backtest\w*|rate|rated"
    r"|ratings?|\w+\.[a-z]{3,})"
)
# "Large steps are turned down more often": what usually comes of a change, which says what to do.
_IMPLIED = re.compile(rf"\b{_TENDS}\b.*\b{_CHANGE}\b|\b{_CHANGE}\b.*\b{_TENDS}\b")
_COMES_OF_IT = re.compile(
    r"\b(?:turned (?:down|away)|accept\w*|declin\w*|refus\w*|reject\w*|revert\w*|undone|welcome|unwelcome"
    r"|annoys?|worth"
    r"|pays?|worse|better|safer|wiser|riskier|best|gained|lost|lands?|succeed\w*|fail\w*|works?|helps?"
    r"|hurts?|harms?"
    r"|kept|approved|caution|restraint|no (?:reason|need|harm|gain|use|point|case|more)|little (?:reason"
    r"|need|gain|use"
    r"|point)|in favou?r|against|in vain|likely|unlikely|paid|worked|helped|speaks?|argues?|badly|poorly"
    r"|well)\b"
)
# An order whose verb is not on the list: a bare word before what only an object begins with.
_BARE_ORDER = re.compile(
    r"^(?!(?:\w+(?:s|ed|ing|ly)|there|here|it|this|that|these|those|they|he|she|we|you|i|what|who|how|why"
    r"|when|where"
    r"|nobody|somebody|everybody|nothing|something|everything|both|half|all|some|any|many|most|such|came"
    r"|went|was|is|are"
    r"|were|had|has|have|did|do|of|to|in|on|at|by|for|with|from|about|into|over|than|as|if|since|because"
    r"|so|and|or|but"
    r"|not|no|one|would|could|might|may|will|can|shall|perhaps|maybe|wow|hey|like|after|before|until"
    r"|while|though|even"
    r"|only|just|once|during|without|within|among|between|across|under|against|through|per|via|toward"
    r"|behind|beyond"
    r"|beside|near|outside|inside|along|around|above|below|upon|off|out|up|down|unlike|despite|except"
    r"|unless|whether"
    r"|which|whose|whom|also|too|then|thus|hence|yet|still|again|ever|never|always|often|soon|now|later"
    r"|quite|rather"
    r"|very|more|less|much|few|little|each|every|another|other|same|said|told|made|took|got|gave|saw"
    r"|found|kept)\b)"
    r"[a-z]{3,}(?: (?:back|out|off|up|down|away|twice|first))? (?:the|an?|any|its|their|what|every|each"
    r"|it|them|this|that"
    r"|no|how|whether|only)\b"
    r"(?!.*\b(?:was|were|came|went)\b)"
)
# A question that is answered says what its answer says.
_ANSWERED = re.compile(r"\?\s+(?:yes|no|because|since|not|rather|better|only|never|always)\b")


@lru_cache(maxsize=2048)
def action_in(text: str) -> float:
    """How clearly `text` says what to do: 1 for an order, 0.6 for advice in other words, 0 for neither.

    Talk of what perhaps might be done is no advice, nor is a mere question.
    """
    plain = text.casefold()
    if _unsure(plain):
        return 0.0
    if _ANSWERED.search(plain):
        plain = plain.replace("?", ".")
    statements = " ".join(part for part in re.split(r"(?<=[.!?])\s+", plain) if not part.endswith("?"))
    if any(_orders(clause) for clause in _CLAUSE.split(statements or plain.replace("?", "."))):
        return 1.0
    if _ADVICE.search(statements) or any(
        _BARE_ORDER.match(part.strip()) for part in _CLAUSE.split(statements)
    ):
        return 0.6
    return 0.5 if _IMPLIED.search(statements) and _COMES_OF_IT.search(statements) else 0.0


def points_elsewhere(text: str) -> bool:
    """Whether `text` leans on words that are not in it: "the second option", "as discussed"."""
    return bool(_ELSEWHERE.search(text.casefold()))


def reason_in(text: str) -> float:
    """How clearly `text` says why: 1 in so many words, 0.5 by a second clause, 0 not at all.

    A reason that only says the rest again is none.
    """
    plain = text.casefold()
    found = _PLAIN_REASON.search(plain)
    if found:
        clause = re.split(r"(?<=[.;!?])\s", plain[found.end() :])[0]
        return 0.0 if overlap(clause, plain.replace(clause, " ") if clause else plain) else 1.0
    return 0.5 if _REASON.search(plain) else 0.0


def _unsure(plain: str) -> bool:
    """Two hedges, or one that leaves nothing known."""
    hedges = _HEDGES.findall(plain)
    return len(hedges) >= 2 or any(hedge not in _MAYBE for hedge in hedges)


def outcome_in(text: str) -> float:
    """How far `text` rests on what came of it: 1 for a result with figures, 0.5 for either, 0 for none."""
    plain = text.casefold()
    return (bool(_RESULT.search(plain)) + bool(_SHARE.search(plain))) / 2


def specific_in(text: str) -> float:
    """How much `text` names: half for names, tools and quotes, half for figures."""
    return (bool(_NAMED.search(text)) + bool(_FIGURE.search(text))) / 2


def telling_words(text: str, besides: str = "") -> int:
    """How many different words of `text` say something: neither of grammar nor such as fit anywhere.

    Words of `besides`, such as the target's name, do not count: naming it says nothing about it.
    """
    words = set(terms_of(text)) - set(terms_of(besides))
    return sum(word not in _DULL and not word.isdigit() for word in words)


def _orders(clause: str) -> bool:
    """Whether a clause begins with a verb in the form of an order, words such as "always" aside."""
    words = clause.strip(" \"'“”(*-–—").split()
    while words and words[0].strip(",") in _LEADS:
        if words[0] == "never":
            return True
        words = words[1:]
    # "Retry 4 of 10" counts, and orders nothing.
    counts = len(words) > 3 and words[1].isdigit() and words[2] == "of"
    return len(words) > 1 and not counts and words[0].strip(",:;.") in VERBS
