"""Sentences that steer whoever reads them: who is addressed, what is to be set aside, who claims to speak.

A memory says what is known about suggestions, in the impersonal. A sentence steers where two things meet in
it: a word of control and a part of the machinery (rules, reviewers, limits, tools, prompts, notes), somebody
addressed (you, the model, the reviewers) and a duty, or a claim to authority and a leave. Pure.
"""

import re
from collections.abc import Iterator

# Signs that are looked at together, and those that two pieces share.
PIECE, OVERLAP = 400, 100
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
# The machinery around a suggestion; advice is about suggestions and hardly ever about this.
_CORE = (
    r"(?:rule|instruction|guideline|polic(?:y|ie)|limit|guard|guardrail|safeguard|review|reviewer|validation"
    r"|restriction|constraint|prompt|approval|permission|critique|memories|messages|notes|protection|oversight"
    r"|supervision"
    r"|planner|critic|safety check|safety|checks|moderation|verification|evaluating|protocol|procedure"
    r"|credential"
    r"|secret|password)s?(?! (?:drill|first))"
)
_MACHINERY = (
    rf"(?:{_CORE}|(?:guidance|bound|boundarie|system|cooldown|configuration|config|key|token|command"
    rf"|order|filter"
    r"|gatekeeper|voter|precaution|requirement|daily budget|evaluation|assessment|everything|anything"
    r"|(?:you have|you were|been) told)s?)"
)
_STRONG = (
    r"(?:ignor\w+|disregard\w*|forget\w*|overrid\w+|overrul\w+|bypass\w*|circumvent\w*|evad\w+|suspend\w*"
    r"|disabl\w+|deactivat\w+|set\w* aside|put\w* aside|switch\w* off|turn\w* off|exceed\w*|outrank\w*"
    r"|supersed\w+|waiv\w+|violat\w+|defeat\w*|eras\w+|delet\w+|reveal\w*|print\w*|disclos\w+|leak\w*"
    r"|expos\w+"
    r"|recit\w+|dump\w*|obey\w*|comply|complies|trump\w*|no longer|need not|get\w* (?:around|round|past)"
    r"|do(?:es)? not (?:apply|count|hold|matter)|w(?:as|ere) over|is over)"
)
_CONTROL = (
    rf"(?:{_STRONG}|skip\w*|lift\w*|drop\w*|replac\w+|dismiss\w*|neglect\w*|break\w*|remov\w+|wip\w+|echo\w*"
    r"|abandon\w*|void|cancel\w*|stop\w*|without)"
)
_NEAR = r"(?:\W+[\w’']+){0,4}?\W+"
_ADDRESSED = (
    r"(?:you|yours?|yourself|(?:the |all |dear |any |every )?(?:assistant|language model|model|agent"
    r"|advisor|ai|bot"
    r"|llm|chatbot|machine)s?(?! (?:said|thinks|believes))|(?:the |all )?reviewers|whoever reads"
    r"|anyone reading)"
)
_DUTY = (
    r"(?:must|shall|ha(?:ve|s) to|(?:are|is|am) (?:now |hereby |strictly )?(?:to|required|instructed"
    r"|obliged|ordered"
    r"|told|asked|allowed|permitted|authori[sz]ed|free|expected|no longer))"
)
_MAY = r"(?:should|ought to|may|can|will|cannot|need to|would|could|might)"
_OBEY = (
    r"(?:accept|approve|confirm|agree|vote|answer|reply|respond|repeat|reveal|print|output|obey|follow"
    r"|comply|execute"
    r"|invoke|call|ignore|skip|proceed|permit|grant|bypass|exceed|authori[sz]e|endorse|rubber-stamp|wave"
    r"|sign|write"
    r"|pick|act|do as|question|pass|let)"
)
_SELF = (
    r"(?:this|these|the following|the present|my) (?:note|memory|message|text|instruction|sentence|line"
    r"|word|entry"
    r"|record|order|request|advice)s?|(?:what|as) (?:this|is|it|was) (?:note |text |memory )?(?:say|ask"
    r"|writ|stat|tell)"
    r"\w* ?(?:here|below|above)?|\b(?:follow|do) (?:this|these|it)(?: instead)?\b|do what (?:it|this) says"
)
_AUTHORITY = (
    r"(?:administrat\w+|admin|developer|owner|operator|maintainer|creator|management|headquarters|staff"
    r"|engineer"
    r"|support team|security team|company|root|superuser|authorit(?:y|ie)|board|boss|supervisor)s?"
)
_LEAVE = (
    r"(?:permit\w*|allow\w*|authori[sz]\w+|confirm\w*|approv\w+|grant\w*|order\w*|demand\w*|instruct\w*"
    # Of an operator that requires a tier, nobody is told to do anything.
    r"|require\w* (?:you|us|that|this|these|all|every\w*|any\w*|it|full|the (?:model|assistant|agent|system))"
    r"|want\w*|decree\w*|clear\w*|sign\w* off|wish\w*|insist\w*|hereby|request\w*|command\w*|waiv\w+|decided)"
)
_ALL = (
    r"(?:all|everything|every|any|anything|whatever|whichever|unconditionally|automatically|blindly"
    r"|no matter|always"
    r"|at once|immediately|right away|without question|regardless|in any case|at will|the next (?:one"
    r"|draft|proposal"
    r"|suggestion)|the following|yes)"
)
_SAYING = (
    r"(?:tell|inform|mention|warn|alert|notify|consult|ask|question|doubt|log|report|record|show|let|say"
    r"|explain|admit)"
)
_PEOPLE = (
    r"(?:reader|user|reviewer|operator|anyone|anybody|nobody|critic|human|person|people|staff|planner|us)s?"
)
# Those who act on a memory; one that is known tells about them and never calls them.
_ACTORS = (
    r"(?:assistant|language model|model|agent|advisor|ai|bot|llm|chatbot|planner|critic|reviewer|reflector"
    r"|panel|judge|guard|system|machine)s?"
)
# What a change rests on, and ways of setting it aside.
_GROUNDS = (
    r"(?:thumbs?|evidence|proof|rules?|checks?|reviewers?|critic|critique|backtests?|tests?|figures|outcomes?"
    r"|bounds|limits?|ratings?|votes?|says?|said|shows?|returns?|comes (?:back|of it))"
)
_REGARDLESS = (
    r"(?:whatever|regardless of|no matter (?:what|how)|never mind|irrespective of|heedless of"
    r"|without (?:\w+ )?(?:look|regard|reading|checking|consult|seeing|heed)\w*)"
)
_GRANTING = (
    r"(?:accept|approve|pass|mark|confirm|write|add|raise|boost|set|vote|agree|wave|propose|let (?:it|this)"
    r"|verified|done)"
)
_PASSED = (
    r"(?:accepted|approved|confirmed|passed|valid|validated|verified|reviewed|cleared|trusted|safe|grounded"
    r"|proven)"
)
_VERSIONS = tuple(
    re.compile(form)
    for form in (
        rf"\b{_STRONG}\b{_NEAR}{_MACHINERY}\b(?!\.\w)",
        rf"\b{_CONTROL}\W+(?:(?:the|all|any|every|your|its|their|our|further|of|other"
        rf"|those) )*{_CORE}\b(?!\.\w)",
        rf"\b(?:rule|instruction|guideline|polic(?:y|ie)|limit|bound|guard|guardrail|reviewer|review"
        rf"|safety check|check"
        rf"|restriction|constraint|prompt|cooldown|critic|safeguard|evaluation|filter)s?\b{_NEAR}"
        r"(?:switched off|turned off|disabled|suspended|lifted|waived|no longer|void|(?:is|are|was"
        r"|were) (?:now )?(?:over|off)|need not"
        r"|ignored|disregarded|skipped|overridden|bypassed|unnecessary|cancelled)\b",
        rf"\b{_ADDRESSED}(?:\W+\w+){{0,4}}?\W+{_DUTY}\b",
        rf"\b{_ADDRESSED}(?:\W+\w+){{0,4}}?\W+{_MAY}(?:\W+\w+)?\W+(?:{_OBEY}|{_CONTROL})\b",
        rf"\b(?:dear|hey|attention|note to(?: the)?|message (?:to|for)(?: the)?|listen"
        rf"|hello)[, ]+{_ADDRESSED}\b",
        r"\byou(?:r| are|['’]re) (?:now |no longer |an? |the |only |new |real |true |actual |sole )*"
        r"(?:task|role|job|goal|mission|purpose|advisor|assistant|helper|agent|model|ai|bot|instructions?"
        r"|earlier|orders?"
        r"|safety|configuration|system|limits?|rules?|prompt|keys?|free|duty|master|owner)\b",
        rf"\b(?:{_SELF})\b.*\b(?:{_OBEY}|{_CONTROL}|over|above|instead|first|before|word for word"
        rf"|required|refuse"
        rf"|binding|outranks?)\b|\b(?:{_OBEY}|{_CONTROL}|refuse|told otherwise)\b.*\b(?:{_SELF})\b",
        rf"\b{_AUTHORITY}\b{_NEAR}(?:\w+ )?{_LEAVE}\b|\b{_LEAVE}\b{_NEAR}(?:by )?(?:the |our "
        rf"|your )?{_AUTHORITY}\b",
        rf"\b(?:hereby|by order of|on behalf of|in the name of)\b|\border from\b|\bas (?:the"
        rf"|your) {_AUTHORITY}\b",
        rf"(?:^|[,:;.] |\b(?:please|then|and|just|simply|to|must|should|always|only|so kind as to) )"
        rf"(?:accept|approve|confirm|endorse|grant|sign|wave through|agree(?: with| to)?|answer|reply"
        rf"|say yes|vote)\b"
        rf"{_NEAR}?(?:\w+ )?{_ALL}\b",
        r"\b(?:has|have) (?:got )?to be (?:accepted|approved|passed|written|confirmed)|\b(?:is|are|be"
        r"|been|counts? as) "
        r"(?:already |automatically |deemed |considered |always )*(?:approved|accepted|pre-?approved)\b"
        r"(?=.{0,30}\b(?:no matter|without|automatically|in advance|already|reviewer))"
        rf"|\b(?:treat|regard|count|record|mark|consider|write)\w*\b.{{0,40}}\bas (?:already )?{_PASSED}\b",
        r"\b(?:must|shall|is to|are to) be (?:accepted|approved|passed|confirmed|obeyed|followed|answered)\b",
        rf"\b(?:do not|don['’]?t|never|need not|no need to|must not|without"
        rf"|refrain from)\b\W+(?:\w+\W+)?{_SAYING}(?:ing)?"
        rf"\W+(?:the |a |any |your |other |to )*{_PEOPLE}\b|\bnot be (?:consulted|told|asked|informed"
        rf"|questioned)\b",
        rf"\b{_SAYING}\b (?:it|him|her|them|the \w+|any\w*) that\b.*\balready\b",
        rf"\b{_SAYING}\W+(?:\w+\W+){{0,2}}?(?:to )?(?:nobody|no one|none of them)\b"
        rf"|\bsay nothing\b.{{0,20}}\bto (?:the |any )?{_PEOPLE}\b"
        rf"|\b(?:hide|conceal|withhold|mask)\b.{{0,30}}\bfrom (?:the |any |all )?{_PEOPLE}\b",
        rf"^\W*(?:(?:to|for|attention|dear|hey|ok|okay) )?(?:the |all |any |every )?{_ACTORS}"
        r"(?:\s?[:,!]|\s[–—-]\s)\W*\w",
        r"\b(?:planner|critic|panel|judge|guard|system|reflector)s?"
        r"\W+(?:shall|must|is to|are to|ha(?:s|ve) to)\b",
        rf"^(?=.*\b{_GRANTING}\b).*\b{_REGARDLESS}\W+(?:\w+\W+){{0,3}}?{_GROUNDS}\b",
        r"(?:^|[,:;.] |\b(?:please|then|and|just|simply|must|should|shall|now) )"
        r"(?:(?:accept|approve|endorse|rubber-stamp|sign off on) (?:it|this|these|them|that one"
        r"|the (?:next|following|draft|proposal))\b"
        r"|(?:wave|let) (?:it|this|these|them) (?:through|pass|on)\b)",
        r"\b(?:call|run|use|invoke|execute|trigger)\b\W+(?:\w+\W+){0,2}?\w+_\w+\b.{0,50}\b(?:now|at once"
        r"|immediately|again and again|until it|without|\w+ times)\b",
        r"\b(?:output|prepend|echo|print|respond|reply|replies|replying|begin\w*|start\w*|answer)\b.{0,40}"
        r"\b(?:responses?|repl(?:y|ies)|outputs?|tokens?|string|marker)\b"
        r"|\b(?:output|echo|print|prepend)\b\W+(?:\w+\W+){1,4}?(?:before|first|now)\b"
        r"|\b(?:hidden|mandatory|embedded|shadow|secret) (?:instruction|directive|rule|order|task)s?\b",
        r"\bdo (?:as|what) the (?:\w+ ){1,6}(?:asks?|wants?|says?|demands?|wishes)\b",
        r"\b(?:keep|stays?|remain\w*) (?:this |it )?(?:strictly )?(?:between us|secret|hidden"
        r"|confidential|to yourself)\b",
        r"\b(?:pretend|imagine|act as (?:if|though|an?|the)|behave (?:as|like)|role-?play|simulate"
        r"|suppose you)\b",
        r"\b(?:from (?:now|here|this point|this moment|today) on(?:wards?)?|henceforth|effective (?:today"
        r"|now|immediately"
        r"|at once)|for the rest of (?:this|the) (?:run|session|conversation)|new (?:policy|rule|order"
        r"|directive|protocol)"
        r"|polic(?:y|ies) \d)\b",
        r"\b(?:invoke|execute|trigger|launch|call)\b.{0,50}\b(?:whatever (?:it|they) returns?"
        r"|report success|(?:two|three|many|several) times"
        r"|before you|right now|immediately|at once|regardless)\b|\bcall (?:the )?(?:tool|function)\b",
        r"\b(?:send|post|forward|upload|mail|transmit|copy|export|submit)\b.{0,60}(?:https?:|www\.|@\w"
        r"|\bto \S+\.\w+/)",
        r"\bif you(?:['’]re| are)? (?:read|see|find|reading|an?|process)\w*\b|\bdecode\b|\bbase64\b"
        r"|\bword for word\b",
        r"\b(?:to|at|by) (?:the|its|their) (?:maximum|highest|utmost|limit)\b|\bat the (?:highest"
        r"|maximum) weight\b"
        r"|\bevery weight\b|\ball weights\b",
        r"\b(?:reader|user|everyone|reviewers?)\b.{0,20}\bha(?:s|ve) (?:all )?(?:already |all )?(?:agreed"
        r"|consented"
        r"|approved|voted yes|signed)\b|\bno matter what\b|\bsay yes\b|\banswer (?:yes|only)\b"
        r"|\brefuse (?:all|every|any)\b"
        r"|\bonly (?:with )?the word\b",
    )
)


def steering(plain: str) -> bool:
    """Whether a sentence of `plain`, folded, gives orders to whoever reads it."""
    return any(form.search(part) for part in _parts(plain) for form in _VERSIONS)


def _parts(plain: str) -> Iterator[str]:
    """Its sentences; those too long for one in pieces that overlap, to keep the time linear."""
    for sentence in _SENTENCE.split(plain):
        for start in range(0, max(1, len(sentence) - OVERLAP), PIECE - OVERLAP):
            yield sentence[start : start + PIECE]
