"""Detect phishing in a model's words to a reader: addresses, numbers to call, requests, unknown names.

A model reads strangers' text, which may talk it into anything. So the check looks at the form of the words
and does not judge their meaning. These kinds of content are refused:

| kind | refused content |
|---|---|
| `characters` | invisible, bidirectional and control characters; signs that plain sentences do not need; \
a word in two scripts |
| `address` | anything with a dot, colon, slash or @ inside, also with spaces around it or as words |
| `number` | more than four digits in a row, more than five in groups, or more than two numerals as words |
| `request` | words about signing in, passwords, accounts, payment, calling, writing, visiting |
| `name` | a word that is neither plain English (`WORDS`) nor in the `Grounds` (texts that the page shows) |

The kind `name` also stops other spellings: look-alike letters, digits as letters, spaces between letters and
joined words are not plain English words. Texts are compared after NFKC. The names in `Grounds` may appear
whole, because the page shows them anyway. The time is linear in the text and the names. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import zip_longest

CHARACTERS, ADDRESS, NUMBER, REQUEST, NAME = "characters", "address", "number", "request", "name"
# A longer number, or longer groups of digits, could be a telephone number.
DIGITS_MAX, GROUPED_DIGITS_MAX, NUMBERS_MAX = 4, 5, 10
NUMERALS_MAX = 2
_NUMERALS = frozenset(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
_SIGNS = frozenset(" .,;:!?'\"()%&+±-/")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.m", "p.m"})
# A dot after one of these does not end a sentence.
_SHORTENED = _ABBREVIATIONS | {"vs", "etc", "approx", "no", "dr", "mr", "mrs", "st"}
# The endings of names such as "node.js" that look like addresses but are not.
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
# Words of requests. An explanation of a suggestion needs none of them.
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
    """The words that a text may use: each of `names` as a whole, and every single word of `texts`."""

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the single words of names and texts."""
        words = {word for text in (*self.names, *self.texts) for word in _words_of(text)}
        object.__setattr__(self, "words", frozenset(words))


NO_GROUNDS = Grounds()


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason to hide a text: a stable `kind`, and the offending piece of the text."""

    kind: str
    piece: str


def phishing_problem(text: str, grounds: Grounds = NO_GROUNDS) -> Problem | None:
    """Return the first problem in `text` that forbids showing it to a reader, or `None`."""
    if problem := _character_problem(text):
        return problem
    rest = _without_names(_normal(text), grounds.names)
    return _shape_problem(rest, grounds.words) or _name_problem(rest, grounds.words)


def lure_problem(text: str) -> Problem | None:
    """Return the first address, number or request in `text`, or `None`. Unknown words are allowed."""
    return _character_problem(text) or _shape_problem(_normal(text), frozenset())


def _normal(text: str) -> str:
    """Return `text` in NFKC, with plain quotes and dashes and single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN_SIGNS).split())


def _character_problem(text: str) -> Problem | None:
    normal = unicodedata.normalize("NFKC", text)
    for char in (*text, *normal):
        if unicodedata.category(char) in _INVISIBLE and char not in "\n\t\r":
            return Problem(CHARACTERS, f"U+{ord(char):04X}")
    for char in _normal(text):
        if not (char.isalpha() or (char.isascii() and char.isdigit()) or char in _SIGNS):
            return Problem(ADDRESS if char in "@\\" else CHARACTERS, char)
    return None


def _without_names(text: str, names: Iterable[str]) -> str:
    """Replace each of `names` that would not pass on its own by a plain word. Names that pass stay."""
    for name in sorted({_normal(name) for name in names}, key=len, reverse=True):
        if name and (_character_problem(name) or _shape_problem(name, frozenset(_words_of(name)))):
            whole = rf"(?<![\w.@:/%-])(?<!your )(?<!Your ){re.escape(name)}(?!\w|[@/%-]|[.:]\w| \.)"
            text = re.sub(whole, _STAND_IN, text, flags=re.IGNORECASE)
    return text


def _shape_problem(text: str, grounded: frozenset[str]) -> Problem | None:
    """Return an address, number or request in a normalised `text`, or `None`."""
    return _address_problem(text, grounded) or _number_problem(text) or _request_problem(text)


def _address_problem(text: str, grounded: frozenset[str]) -> Problem | None:
    if found := _SPACED_DOT.search(text):
        return Problem(ADDRESS, text[max(0, found.start() - 20) : found.end() + 20])
    tokens = text.split()
    for token, after in zip_longest(tokens, tokens[1:], fillvalue=""):
        core = token.strip(_EDGES).casefold()
        if _is_address(core, grounded):
            return Problem(ADDRESS, token)
        ends = token.endswith(".") and not token.endswith("..") and core not in _SHORTENED
        if ends and after[:1].islower() and not (len(core) == 1 or "." in core):
            return Problem(ADDRESS, f"{token} {after}")
    return None


def _is_address(core: str, grounded: frozenset[str]) -> bool:
    """Return whether a token looks like an address and is no number, grounded name or abbreviation."""
    if not set(core) & set(".:/%&+±"):
        return False
    if _NUMBER.fullmatch(core) or _PAIR.fullmatch(core) or core in _ABBREVIATIONS:
        return False
    if set(core) & set(":/%+±"):
        return True
    parts = core.replace("&", ".").split(".")
    short = all(len(part) <= 1 for part in parts)
    return not (core in grounded and (short or parts[-1] in _NO_DOMAIN))


def _number_problem(text: str) -> Problem | None:
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


def _request_problem(text: str) -> Problem | None:
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
    """Return whether a word is a number, a grounded word in one script, or a plain word without a capital."""
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
    """Yield the words of a text in the form to compare, and also the parts of hyphenated words."""
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


# --- Plain English ---------------------------------------------------------------------------
_GRAMMAR = """
a about above across after again against ago all almost alone along already also although always am among an
and another any anyone anything anywhere apart are aren't around as aside at away back be became because
become been before began begin begun behind being below beneath beside besides best better between beyond
both but by came can can't cannot come could couldn't did didn't do does doesn't doing don't done down due
during each earlier early eight eighteen eighty either eleven else elsewhere enough especially even evenly
ever every everyone everything everywhere except far farther few fewer fifteen fifty finally first five for
forth forty four fourteen fourth from further furthermore gave given gives giving gone got had hadn't half
has hasn't have haven't having he hence her here here's hers him his how however hundred i i'm i've if in
including indeed inside instead into is isn't it it's its itself just last lastly late lately later latter
least less lest let's like likewise little long longer lot made mainly make many matter may maybe me
meanwhile mere might million mine more moreover most mostly much namely near nearly neither never
nevertheless next nine nineteen ninety no nobody none nonetheless nor not notably nothing now nowhere of off
often on once one only onto or other otherwise out outside over overall own part particular past per perhaps
plenty plus previously quite rather really recent regardless same second seem seen seven seventeen seventy
several shall she should shouldn't since six sixteen sixty so some somebody someone something sometimes
somewhat somewhere soon still such ten than that that's the their theirs them themselves then there there's
therefore these they they're they've third thirteen thirty this those though thousand three through
throughout thus till to today together tomorrow tonight too toward towards twelve twenty twice two under
unless unlike until up upon usual usually versus very was wasn't we we've well went were weren't what what's
whatever when whenever where whereas wherever whether which while who whole whom whose why will with within
without won't worse worst would wouldn't yes yesterday yet you you'd you'll you're you've your yours
yourself zero
"""
_READING = """
accept acceptance actual add addition adjust age agree amount analysis answer appeal appear appetite
appreciate approach argue argument article ask aspect assess attention attract author average avoid
background balance barely base basic beat belong bias big bigger bit blog blogger boost bore boring
breadth brief bring broad build bulletin calm care careful case catch categorical category cause certain
chance change chapter check choice choose chosen citation cite claim clarity clean clear close cluster
coincidence collection column columnist combine commentary commentator common comparable compare
comparison complain complaint complete comprehensive concern conclude conclusion confidence confident
confirmation connect consider considerable consist consistent constant contain content context continue
contrast contribute contribution controversial copy correct correspondent count couple course cover
coverage critic critical criticism cross curious current cut daily data date day deal decade decide
decision decline decrease deep deeper deliver dense depend depth describe deserve desire detail determine
develop difference different difficult digest direct direction disagree disappoint discover discuss
discussion dislike display distinct distribution diverse double doubt downvote draw drift drop dull
duplicate earn ease easy echo edit edition editor editorial effect effort enjoy enjoyable enter entertain
entire entry equal error essay essential establish estimate evidence exact examine example excellent
exception exciting exclude exclusive expect expectation experience expert explain explainer explanation
explore express extend extent extra eye fact factual fade fail failure fair faithful fall fallen familiar
fashion fast favor favorite favour favourite feature feedback feel felt figure fill filler filter find
fine finish firm fit fix flag flat focus follow form former forward found fraction frequency frequent
fresh frustrate full fun function gain gap general genuine glance go goes going good gossip gradual grasp
great greater grew ground group grow grown guess guest guide habit happen happy hard hardly headline hear
heard heavy hedge held help helpful high highlight hint history hit hold holdout honest hope hour huge
hype idea identify ignore impact implication imply importance important impression improve improvement
inclined include increase independent indicate individual influence inform informative initial insight
insightful instance intend interest interpret interview introduce investigate investigation issue item job
join joke journal journalism journalist judge judgement judging judgment keen keep kept key kind knew know
knowledge known lack landing large largely latest lead lean learn learnt leave led left lend length lesser
lesson level lie lift light likelihood likely limit limited line list listen lively local look lose loss
lost loud love low lower magazine main maintain major majority manner mark marked marking maximum mean
meaning meaningful meant measure medium meet mention merit method middle mild mind minor minority minute
miss mistake mix mixed mode moderate moment month mood morning motivate move movement narrow nature neat
necessary need negative neutral new newer newest news newsletter newspaper nice niche night noise noisy
normal note notice noticeable novel number numerous object objective observe obvious occasion occasional
occur odd offer old older oldest opinion opposite option order ordinary origin original outlet outlook
output outweigh overlap overview pace paid paper paragraph partial particularly pass passion pattern peak
people percent percentage perfect perform period periodical permanent persist person personal personally
phase perspective photo phrase pick picture piece place plain plainly plan pleasant point poor poorly
popular portion position positive possible post practical practice praise precise predict prefer
preferable preference preferred premise prepare presence present press presume pretty prevent previous
primary print priority probable probably problem process produce product profile progress promise
promising promote proof proper proportion proposal propose prove provide publication publish publisher
pull purely purpose push put quality quantity quarter question quick quiet quote raise ran range rank
rapid rare rarely rate rating ratio raw reach react reaction read readable reader readership ready real
reality reason reasonable receive recipe recommend recommendation record reduce reduction refer reflect
refresh regard region regional regular reject relate relation relative relevance relevant reliable remain
remark remarkable remove rename repeat repetitive replace report reporter reporting represent research
researcher respect respond response rest result reveal reverse review rich ride right rise risk role
roughly round rule rumor rumour run sample satisfy save saw say scarce score search season section see
seek seldom select selection sense sensible sentence separate series serious serve session set setting
settle shallow shape share sharp shift short shorter show shown side signal significant silence similar
similarity simple simply single size skim skip slice slight slow small smaller snippet solid solution
solve sort sought sound source speak special specific specifically spend spot spread stack stage stand
standard start state statement stay steady step stop story straight strand stream strength strengthen
stretch strike strong stronger struck structure stuff style subject substance substantial subtle success
suggest suggestion suit suitable sum summarise summarize summary superficial support suppose sure surface
surprise surround survey switch system tag take taken tale talk target taste teach tend tendency tens term
test theme thin thing think thorough thought thread threshold thumb tidy tie time timely tip tiresome
title told tone tool top topic total touch track tradition transfer treat treatment trend trivial trouble
true trust truth try turn tutorial type typical uncertain unclear uncommon undid undo undone understand
understanding unique unusual update upvote urge use used useful usefulness valuable value variety various
vary verdict version view viewpoint volume vote wait want warm waste watch way weak weaken week weekday
weekend weekly weigh weight welcome wide wider win winning wise wish word work world worth worthwhile
write writer writing written wrong wrote year
"""
_EVERYDAY = """
abundant accurate adequate advice afford afternoon agreement align allow allowed ambitious amuse annoying
anticipate anybody anyway apply approve arguably arise arrange array arrival arrive aspire assume attentive
authority autumn avid backed backward bad badly band barrier based bed behave behavior behaviour believe
benchmark bite bold boredom borrow bottom bound break breakfast breaking breath breezy brevity brisk broke
broken brought brown buried burn cadence capacity captivate capture celebrate celebrity character
characteristic chart cheap chief clarify classify clever clickbait clue clutter coherent collect combined
comfort comfortable commit compact compel compelling complement complex concise concrete confuse confusing
conscious consensus considered construct contest contradict contradicts convey convince cool corner
corporate craze create creative credible crisp crowd crowded crucial cue curate curated curiosity cuts
cynical dark dealt dedicated deeply delve demonstrate densely denser departure desk detach deviate devote
diagram dig digital dilute discovery disproportionate distance distinguish distract dive diversity divide
dominant dominate dropping dry dwell dynamic eager educate efficient effortless eighth elaborate elegant
element elevate eliminate embrace emerge emotional emphasis emphasise emphasize empty encourage end ending
engage engagement engaging enthusiasm enthusiast enthusiastic entirely episode equally eventually evident
evoke exceed excel excess exclusively exhaustive exist expand explicit exploratory expose exposure factor
fascinate fatigue feed fell fifteenth fifth filled flagged flavor flavour flow fluff focused fold fond
forgot forgotten fortnight forum frame friend front frustration fuel fully fuzzy garner genre gentle
genuinely glad glimpse globe grab gravitate habitual hand handful hate heavily hesitant hesitate honestly
honour hook host humor humour hunger ideal identical imagine imbalance immersive impartial impress incline
inconsistent infrequent ingredient inspire inspiring intense intensity intent intrigue investigative invite
irregular irrelevant isolated jargon jump justified justify lacks lag lay layer legacy leisurely lengthy
lightweight liking listing loyal loyalty luck lucky magnitude marginal massive mastery matching maturity
meaty merely methodical metric minimal misleading mismatch modest momentum monthly motivated mundane mutual
narrative natural naturally nearby nearest neatly ninth noteworthy noticed nuance nuanced nudge obsess
occasionally odds ongoing opener oppose opposed originality outcome outlier outnumber outperform outrage
outright outstanding overdue overlook overstate overwhelm overwhelming page pages pair passing passionate
patient pause paywall peer penchant pending perceive periodic persistent persuade pertinent phenomenon pile
pinpoint pitched placed plausible pleasure pointless polarise polarize polished ponder possess possibility
practically practicing predictable pressing prevail preview prior proceed profound prominent prone
pronounced proportionate provenance provoke provoking punchy pursue puzzle quantify questionable radical
random rarer rationale reaffirm reassure rebalance recap recency reception recognise recognize recur
recurring redundant refine refreshing regret reinforce relatable reluctant rely remainder repetition
reposition reserve resonate respected respective restrained retain return reward rewarding rigor rigorous
rigour ritual robust rose rough routine sad safe satisfaction satisfying scattered sceptical schedule scope
seeing seemingly self sell sensational sensationalism sensibility sent sequence seventh sharply sheer shine
simulate sincere sink sixth skeptical skew skewed slant slew slightly slope slump snap sober soft sold
solely someday sooner sparingly spark sparse speculate speculation speculative spent split spoke sporadic
spotlight spur squarely stable stale stark steadfast steep stem stick stood strain streak streamline stress
strict strikingly strip stuck substantive sufficient superb superior surge surpass suspect sustain sustained
sweet swing tabloid tactical tailor tangible taught tease teaser tell tells tempt tenth thematic thick
thoughtful threaten thrilling thrive throw tight tilt timeless timeliness tiny tire tired tolerant tolerate
toned took torn touchstone tough tout transparent trim trustworthy truthful tune tuned twelfth twist
ultimately unanimous unbiased uneven unexpected unfavorable unfavourable unhelpful uniform uninteresting
unknown unlikely unrelated unreliable unsurprising upbeat uplift upward usable vague valid vast verbose
versatile vibrant viral vivid warrant weary weed whim willing wisdom witness witty wonder wonderful worried
worry worthless worthy wrap yield
"""
_SUBJECTS = """
academic accident activity actor adventure agency agriculture air airline album ancient animal archaeology
architecture arena army art artificial artist astronomy athlete atom attack audience aviation award baby
bacteria baking ballet bat battery battle beach bean bear beauty bee beer biology bird birth black blood
blue board boat body bomb book border brain bread breeding brewing bridge bright brother budget bug building
bus business butterfly camera camp campaign cancer candidate capital car carbon cat cathedral cell century
champion championship charity charter chef chemical chemistry chess child children choir church cinema
citizen city civil classic classical climate climb clinic clinical cloud club coach coal coast coastal
coding coffee cold college colony color colour comedy comet comic commerce committee community company
competition composer computer computing concert conference conflict conservation construction consumer
container cook cooking cooperation copper coral cosmic cosmology council country county court craft creature
crew cricket crime criminal crisis crop culture cup cycle cyclist dance death debate debt defence defense
deficit degree delay demand democracy democratic desert design designer developer device diesel diet
dinosaur diplomacy diplomat disaster disease diving doctor document documentary dog domestic drama drawing
drink drive driver drought drug earth earthquake eclipse ecology economic economics economist economy
education egg elect election electric electrical electricity electronic electronics emission employee
employer employment encryption energy engine engineer engineering entertainment environment environmental
epidemic equipment ethics event evolution exam exhibition expedition experiment export fabric factory family
fan farm farmer farming federal fence ferry festival fiction field film finance financial fire fish fishing
fleet flight flood flower food foot football footballer forecast foreign forest fossil freedom freight fruit
fund funding funeral fungus furniture future galaxy gallery game gaming garden gardener gardening gas gene
genetic genetics genome geology glass global goal gold golf government governor grain grammar graph grass
green grid growth guitar habitat harbor harbour hardware harvest health healthcare heart heat heating
heritage hill historian historic hobby holiday home horse hospital hot hotel house household housing human
hurricane hydrogen ice image immigration immune import independence index industrial industry infection
inflation information infrastructure injury innovation insect instrument insulation insurance intelligence
international internet invention inventor invest investment investor iron island jazz judicial jungle
justice kitchen knife knitting labor laboratory labour lake land landscape language laser launch law lawsuit
lawyer leader leadership league learning legal legislation leisure lens letter library life lighthouse
literary literature living loaf loan machine machinery manager manufacturer manufacturing map marathon
marine market marriage match material mathematics maths mayor meal measurement meat medical medicine memory
metal meteor migrant migration military mill mineral mining minister ministry mission mobile model modern
money monument moon moral mother motor mountain movie municipal muscle museum music musical musician mystery
nation national native naval navigation navy neighbor neighbour neighbourhood network neural northern
novelist nuclear nurse nutrition ocean officer official oil opera operation opponent optical orbit orchestra
organic organisation organization outbreak oven ownership paint painter painting pandemic panel parent park
parliament particle partner party passenger patent path peace pension performance pest philosophy photograph
photographer photography physical physician physics piano pilot pipe pitch plane planet planning plant
plastic player playing plot poem poet poetry poison police policy political politician politics pollution
pool population port portrait poverty power powerful premier president price prison privacy private probe
production professional professor program programme programmer programming project property protein protest
psychology public quantum race racing radar radiation radio rail railway rain rainfall reactor recycling red
reef reform refugee religion religious renewable repair republic rescue reservoir resident resource
restaurant retail retirement rice rights river road robot robotics rock rocket roof room rugby running rural
safety sailing sailor sale salt sanction sand satellite scandal school science scientific scientist screen
sculpture sea seafood senate senator sensor sewing ship shipping shoe shop shortage singer singing sister
skill sky sleep smart snow soccer social society software soil solar soldier song soup south space
spacecraft species speech speed spider sport spring stadium star startup station statistics steel stock
storage storm strategy street student studio study summer sun supply surgeon surgery survival sustainable
swim swimmer tactic talent tank tax tea teacher teaching team technical technique technology telescope
television temperature temple tennis terrorism textile theater theatre theory therapy tidal tide tiger
timber tour tourism tourist tournament town toy trade traffic trail train trainer training transit transport
travel traveller tree trial tribe trip tropical truck tunnel turbine unemployment union universe university
urban vaccine valley vegetable vehicle victim video village violence virus vitamin voice volcano volunteer
voter voyage wage walk wall war warming warning water wave wealth weapon weather wedding western wheat wheel
white wife wild wildlife wind window wine winter woman women wood woodwork worker workshop yard young youth
zoo
"""
_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august
september october november december english
"""

# Words that name no subject.
PLAIN_WORDS = frozenset(f"{_GRAMMAR} {_READING} {_EVERYDAY}".split())
WORDS = PLAIN_WORDS | frozenset(_SUBJECTS.split())
# Words that may have a capital anywhere in a sentence.
CAPITALISED = frozenset(_CALENDAR.split()) | {"i"}
# Endings of words, and the letters to put in their place to get the plain word.
_ENDINGS = (
    ("s", ""),
    ("es", ""),
    ("ies", "y"),
    ("ed", ""),
    ("ed", "e"),
    ("ied", "y"),
    ("ing", ""),
    ("ing", "e"),
    ("ly", ""),
    ("ly", "le"),
    ("ily", "y"),
    ("er", ""),
    ("er", "e"),
    ("ier", "y"),
    ("est", ""),
    ("iest", "y"),
    ("al", ""),
    ("ness", ""),
)


def word_known(word: str, words: Set[str] = WORDS) -> bool:
    """Return whether `word` (in lower case) is one of `words`, or one with a usual ending."""
    if word in words or (words is WORDS and word in CAPITALISED):
        return True
    for ending, put in _ENDINGS:
        if not word.endswith(ending) or len(word) < len(ending) + 2:
            continue
        stem = word[: -len(ending)] + put
        if stem in words or (len(stem) > 3 and stem[-1] == stem[-2] and stem[:-1] in words):
            return True
    return False
