"""The words of the grammar of wishes: phrases for more, for less, for nothing, and how much. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.wishes.wish import BIG, SMALL, USUAL

# With "not" or "stop" it means less. Alone it asks for nothing.
SO_MUCH = "so much"
# A dislike that may mean less, or nothing at all.
AGAINST = "against"
ONLY = "only"
# An unclear direction: two that contradict each other.
UNCLEAR = "unclear"
# More, if nothing else is said: "I like chess", but not in "I'd like less chess".
WEAK = "weak"
JOIN, CONTRAST = "join", "contrast"
# With "no" it means more, because nothing must be missed.
MISS = "miss"
# A contrast only after a word of preference: "prefer this over that".
THAN = "than"
CONDITION = "condition"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DIRECTIONS = {
    MORE: """
        big fan of | huge fan of | fan of | more room | more weight | more attention | more priority |
        more | more of | boost | prefer | favour | favor | increase | raise | promote | up | extra
        | like more | want more | turn up | bring on | give me more | show me more | see more |
        not enough | too little | too few | can't get enough | can never get enough | cannot get
        enough | a fan of | keen on | fond of | more often | higher | push up | bump | bump up |
        crank up | dial up | amplify | prioritise | prioritize | emphasise | emphasize | care
        about | lean into | double down on | twice as much | can't have too much
        """,
    MISS: "miss | missing",
    UNMUTE: """
        unmute | unhide | bring back | show again | stop hiding | stop muting | no longer hide
        """,
    WEAK: """
        rather | read about | want everything | like | love | enjoy | into | want | want to see | want to
        read | would like | i'd like | i'd love | show | show me | give me | see | would love | would enjoy
        """,
    LESS: """
        sick and tired of | had it with | had it up to here with | had my fill of |
        too often | too frequently | less room | less weight | less attention | less priority |
        less | fewer | reduce | lower | decrease | demote | cut down on | cut down | cut back on |
        cut back | turn down | tone down | dial down | dial back | scale back | scale down | ease
        off | ease off on | go easy on | tired of | sick of | bored of | bored with | bored by |
        fed up with | had enough of | enough of | too much | too many | not so much | not so many
        | not as much | not as many | not that much | not that many | down | minimise | minimize |
        limit | half as much | less often | not so often | less of | fewer of | play down | weary
        of | enough | overdose of | ration | trim | cut | way too much | way too many | far too
        much | far too many
        """,
    NONE: """
        can't bear | cannot bear | don't want any more | do not want any more |
        out of my | out of the | out of here | out of | away from |
        don't recommend | never recommend |
        no | none of | no more | no longer any | never | hide | mute | stop | without | block |
        don't show | do not show | don't want | do not want | don't want to see | do not want to
        see | never show | get rid of | skip | silence | can't stand | cannot stand | leave out |
        keep out | nothing | spare me | don't need | do not need | ban | filter out | exclude |
        nothing more | gone |
        zero | done with | stop showing | stop with | no more of | not a single | drop all | shut
        up about | never again | suppress | kill | off | snooze | pause | don't want any | do not
        want any | out with | avoid | keep away | ditch
        """,
    ADD: """
        add | follow | start following | track | interested in | add topic | add the topic | new
        topic | watch | keep an eye on | follow the topic | add to my topics | to my topics | as a
        topic | to my interests
        """,
    REMOVE: """
        no interest in | no longer any interest in |
        remove | delete | unfollow | stop following | forget | no longer interested in | not
        interested in | lost interest in | off my topics | from my topics | off my interests |
        from my interests | drop | stop tracking | not interested in any more | don't follow |
        take off | unsubscribe from
        """,
    FRESHER: """
        latest first | newest first | new first |
        newer | fresher | more recent | more current | more up-to-date | more fresh | newest |
        freshest
        """,
    OLDER: """
        keep things longer | keep items longer | keep articles longer | older | slower | less recent | less
        fresh | less new | longer-lived | stay longer | last longer | stale too quickly | stale too fast |
        stale too soon | disappear too quickly | disappear too fast | vanish too quickly | age too quickly |
        age too fast | keep longer | stick around longer | linger longer | age more slowly | less breaking
        """,
    SO_MUCH: """
        so much | so many | as much | as many | that much | that many | so often | as often
        """,
    AGAINST: """
        bores me | bore me | annoys me | annoy me | don't care for | do not care for |
        don't like | do not like | dislike | hate | not | don't love | don't care about | do not
        care about
        """,
    UNCLEAR: """
        more or less | less or more | more and less | less and more
        """,
    ONLY: """
        only | just | nothing but | exclusively | solely
        """,
}
_AMOUNTS = {
    # Neither more nor less, though the words are in it.
    USUAL: """
        without exception | no matter what | at all costs | starting now | from now on | as of now |
        any more | any longer | more or so | not only today's | not just today's | if possible |
        i mean it | i'm serious | i am serious | for good | for ever | once and for all | full stop |
        right now | as of today | if you can | changed my mind | never let me | don't let me
        """,
    SMALL: """
        a bit | a little | a little bit | slightly | somewhat | a touch | a tad | marginally |
        just a bit | just a little | a smidge | a shade
        """,
    BIG: """
        much | a lot | lots | far | way | lots of | significantly | heavily | a whole lot | loads
        | tons | a ton | a great deal | considerably | drastically | plenty of | heaps | massively
        """,
}
_BETWEEN = {
    JOIN: """
        , | ; | . | ! | ? | and | but | then | also | plus | or | nor | while | whereas | though |
        yet | & | mostly | especially | particularly | above all
        """,
    CONTRAST: """
        instead of | rather than | in place of | as opposed to | more important than
        """,
    THAN: "over | than | than about",
}
_CONDITIONS = {
    CONDITION: """
        while i'm | while i am | while we're | while on | when | whenever | unless | except | except for |
        only if | only when | if | as long as | at the weekend | on weekends | on the weekend | in the
        morning | in the evening | on weekdays
        """,
}
# Words around a target without a meaning for it.
FILLERS = _words(
    """
    push deserves deserve needs first around nice good great out fine ' ( ) - : a about actually again all
    am have had has
    sure always an any anymore anywhere are article articles as at be been being bit bits bring can come comes
    coming concerning content could coverage currently dear dial did digest do does don't else everywhere
    far feed find for get getting give giving going have having headline headlines hear heard hearing hello
    here hey hi honestly i i'd i'll i'm i've id im in is it it's item items its just keep kind kindly kinds
    lately let let's like list lot lots make material maybe me mentioning mine more's much my need new's
    news now of often ok okay on one ones other others page pages perhaps piece pieces please post posts put
    quite read reading really regarding report reports see seeing seen set should show showing so some sort
    sorts stories story stuff such thank thanks that the there these thing things this those tidings time
    times to today's too turn update updates us very want wanting was way we we'd well will with would
    absolutely altogether asap completely definitely entirely ever-after forever generally immediately once
    permanently seriously starting totally writing you your
    – — ’ pls plz there's cheers there're happened whatever possible would mind changed
    reads can't already goes go gets something anything's ever i'm thx ta he's she's they're they've
    """
)
# Words before a target that tell its kind. The words after "from" and "by" are publishers and authors.
KIND_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("topic", "topics", "subject"), "topic"),
    **dict.fromkeys(("word", "words", "phrase", "keyword"), "word"),
    **dict.fromkeys(("category", "categories"), "category"),
    **dict.fromkeys(("source", "sources", "publisher", "from"), "source"),
    **dict.fromkeys(("author", "writer", "by"), "author"),
    **dict.fromkeys(("about", "regarding", "concerning", "mentioning", "on"), "about"),
}
# After a target they say that it is a subject.
# Before "about" they add nothing.
EVERY_WORDS = frozenset({"everything", "anything", "all", "every", "each"})
SUBJECT_WORDS = _words(
    """
    content coverage material piece pieces stories story stuff talk thing things topic topics
    """
)
LENGTHS = _words(
    """
    brief in-depth lengthy long long-form longer longest longform longread longreads short shorter
    shortest
    """
)
EVERYTHING = _words(
    """
    all anything everything it nothing rules settings sources them weights
    """
)
FRESH_WORDS = _words(
    """
    last few hours letzten stunden stunde hour minutes brand-new breaking current fresh freshest latest new
    newest recent up-to-date
    """
)
OLD_WORDS = _words(
    """
    ageing aging dated old older outdated stale yesterday yesterday's gestern gestrige gestrigen
    """
)


def phrases_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a list such as `a | b c`, each as its words."""
    for phrase in text.split("|"):
        yield tuple(phrase.split())


def _table(*groups: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    return {phrase: name for group in groups for name, text in group.items() for phrase in phrases_of(text)}


CONDITIONS = _table(_CONDITIONS)
DIRECTIONS = _table(_DIRECTIONS)
AMOUNTS = _table(_AMOUNTS)
BETWEEN = _table(_BETWEEN)
PHRASES: Mapping[tuple[str, ...], tuple[str, str]] = {
    **{phrase: ("amount", name) for phrase, name in AMOUNTS.items()},
    **{phrase: ("direction", name) for phrase, name in DIRECTIONS.items()},
    **{phrase: ("between", name) for phrase, name in BETWEEN.items()},
    **{phrase: ("condition", name) for phrase, name in CONDITIONS.items()},
}
PHRASE_WORDS_MAX = max(map(len, PHRASES))


def phrase_at(words: Sequence[str], at: int) -> tuple[str, str, int] | None:
    """Return the longest phrase at `at`: its kind, its value, its number of words. `None` for no phrase."""
    for length in range(min(PHRASE_WORDS_MAX, len(words) - at), 0, -1):
        if found := PHRASES.get(tuple(words[at : at + length])):
            return (*found, length)
    return None


# Counts a day: what stands right before the number, anywhere after it or before it, and their ends.
CAP_BEGINS = tuple(
    phrases_of("at most | no more than | not more than | max | maximum | a maximum of | up to | only")
)
CAP_AFTER = tuple(
    phrases_of(
        "at most | at the most | max | maximum | tops | or less | or fewer | is enough | are enough"
        " | enough | is plenty | are plenty | will do | suffice | suffices | and no more"
    )
)
CAP_BEFORE = tuple(phrases_of("limit | cap | restrict | ration | max | maximum | at most"))
CAP_TOTALS = tuple(phrases_of("fewer than | less than"))
CAP_ENDS = tuple(
    phrases_of(
        "a day | per day | each day | every day | daily | / day | / tag | x a day | x per day | x daily"
        " | a week | per week | weekly"
    )
)
# Adjectives that tell which news is wished for, though around a target they have no meaning.
TELLING = frozenset({"good", "great", "nice", "fine", "bad", "local", "opinion"})
# In capitals they are names, though as words they have no meaning around a target: "less US politics".
ABBREVIATIONS = frozenset({"US", "IT", "IS", "ID"})
# After one of these, "us" is the country: "less us politics", but "show us politics".
BEFORE_NAMES = frozenset({"more", "less", "fewer", "no", "mute", "hide", "block", "mehr", "weniger", "keine"})
# Right after a direction and right before another word, they are a part of what is named: "less time travel".
COMPOUNDING = _words("article content feed headline item list material page post report story time update")
# Words that carry a sentence and are no target: "were", "who".
CARRYING = _words(
    """
    cannot could he he'd her his how if its my our she than their they us we were which who whom whose why
    """
)
PRONOUNS = frozenset({"it", "them", "those", "that", "these", "this"})
# Misspelled, they still begin a wish.
DIRECTION_WORDS = ("more", "less", "fewer", "hide", "mute", "nothing", "mehr", "weniger", "keine", "nichts")


def starts(phrases: Sequence[tuple[str, ...]], words: Sequence[str], at: int) -> int:
    """Return how many words the longest of `phrases` at `at` has; 0 for none."""
    return max((len(p) for p in phrases if tuple(words[at : at + len(p)]) == p), default=0)
