"""Wishes in people's words, with their meaning. They are templates of whole sentences, not the grammar's own.

A sentence is drawn from turns of speech that name a thing, then joined with others. Its truth is the set of
(kind, target, direction) that a reader means by it.
"""

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime

from ranking.entities import Candidate
from suggestions.wishes.wish import Names

Truth = frozenset[tuple[str, str, str]]
TODAY = date(2026, 3, 18)
SOURCES = {
    "gazette.example": "The Gazette",
    "herald.example": "Northern Herald",
    "carbonbrief.example": "Carbon Brief",
    "wired.example": "Wired",
    "science.example": "Science and Technology Today",
    "climatehome.example": "Climate Home",
}
WORDS = (
    *("crypto", "football", "chess", "celebrity gossip", "interest rates", "artificial intelligence"),
    *("elections", "gardening", "royal family", "electric cars", "podcasts", "earnings calls", "rust"),
)
AUTHORS = ("Jane Smith", "Bob Roe", "Ines de la Cruz")
NAMED = {
    "the Gazette": "gazette.example",
    "Northern Herald": "herald.example",
    "Carbon Brief": "carbonbrief.example",
    "wired": "wired.example",
    "Science and Technology Today": "science.example",
}
# {} is the thing. Written down by ear, one line a turn of speech.
MORE_OF = (
    "I'd love to read more about {}",
    "could I get more {}",
    "more {} please",
    "show me {} more often",
    "I can't get enough of {}",
    "there's too little {} in my digest",
    "please boost {}",
    "bump {} up a bit",
    "I really like {}",
    "give {} a lot more room",
    "I want to see a little more {}",
    "increase {}",
    "I'm a big fan of {}",
    "prioritise {}",
    "{} should show up more",
    "I could do with more {}",
    "please serve up more {}",
    "I'd appreciate a bit more {}",
    "{} deserves more attention",
    "I wish there were more {}",
    "not enough {} lately",
    "raise {}",
    "push {} up",
    "let me see {} more often",
    "I prefer {}",
    "I'm into {}",
    "we need more {}",
    "how about more {}",
    "more things on {}",
    "turn up {}",
)
LESS_OF = (
    "I'm getting tired of {}",
    "fewer {} stories would be nice",
    "there is way too much {}",
    "tone down the {}",
    "could we cut back on {}",
    "not so much {} please",
    "I see {} too often",
    "please stop showing me so much {}",
    "turn {} down a little",
    "a bit less {}",
    "I'd rather see less {}",
    "I've had enough of {}",
    "go easy on {}",
    "{}: less please",
    "reduce {} significantly",
    "I'm fed up with {}",
    "I'm so bored with {}",
    "can you dial back {}",
    "too many posts about {}",
    "I don't need that much {}",
    "ease off on {}",
    "less often {}",
    "I want fewer {} items",
    "lower {} please",
    "there are too many {} articles",
    "scale back {}",
    "I'm a bit sick of {}",
    "please show {} less often",
    "not as much {}",
    "cut down on {}",
    "decrease {}",
)
NONE_OF = (
    "never show me {} again",
    "hide {}",
    "mute {} for two weeks",
    "no more {}",
    "please get rid of {}",
    "I don't want to see {} any more",
    "spare me {} until Friday",
    "nothing about {} this week",
    "block everything about {}",
    "I can't stand {}",
    "keep {} out of my digest",
    "leave out {} until 1 April",
    "stop {}",
    "no {} for a week",
    "I never want to see {}",
    "please filter out {}",
    "could you mute {} until next Monday",
    "do not show me {}",
    "drop all {}",
    "silence {} for 10 days",
    "ban {}",
    "exclude {} till tomorrow",
    "skip {}",
    "I'm done with {}",
    "without {} please",
    "hide anything about {}",
)
ADD_TO = (
    "start following {}",
    "I'm interested in {}",
    "add {} to my topics",
    "keep an eye on {} for me",
    "please follow {}",
    "track {}",
)
NEWER = (
    "I'd like fresher news",
    "newer stuff first",
    "show me more recent items",
    "fewer old stories",
    "fresher please",
    "the latest first",
    "more current items",
    "newer articles",
)
OLDER = (
    "let things stay longer",
    "I read slowly, so keep older items around",
    "less breaking news",
    "slower please",
    "keep things longer",
    "older articles please",
    "fresher is not important, slower please",
    "less new stuff",
)
GREETINGS = ("", "", "", "Hi! ", "Hello Tidings, ", "Please: ", "Hey, ")
JOINTS = (", ", " and ", "; ", ". ", " but ", ", and ", " and also ")
ENDS = ("", "", ".", " please", ", thanks", "!")
UNCLEAR = (
    "climate",
    "more climate",
    "less climate please",
    "I don't like {}",
    "{}",
    "more or less {}",
    "only {}",
    "more",
    "less please",
    "mute {} until some day",
    "mute everything",
    "not {}",
    "no space",
    "I hate {}",
    "follow the Gazette",
    "newer {}",
)


@dataclass(frozen=True)
class Paraphrase:
    """A sentence and its meaning."""

    sentence: str
    truth: Truth


def names() -> Names:
    """Return the sources, topics and items of the reader of these sentences."""
    titles = [f"A report on {word} today" for word in WORDS] + ["Climate talks resume", "Probe reaches space"]
    items = tuple(
        Candidate(n, "herald.example", title, "", datetime(2026, 3, 18, tzinfo=UTC), AUTHORS[n % 3])
        for n, title in enumerate(titles)
    )
    return Names(SOURCES, ("space",), ("space",), items)


def paraphrases(count: int, seed: int) -> list[Paraphrase]:
    """Return `count` sentences of one to three changes each, with their meaning."""
    draw = random.Random(seed)
    return [_paraphrase(draw) for _ in range(count)]


def unclear(count: int, seed: int) -> list[str]:
    """Return `count` sentences that nobody could act on without asking."""
    draw = random.Random(seed)
    return [draw.choice(UNCLEAR).format(draw.choice(WORDS)) for _ in range(count)]


def _paraphrase(draw: random.Random) -> Paraphrase:
    things = draw.sample([*WORDS, *NAMED], k=3)
    parts, truth = [], set()
    for thing in things[: draw.choice((1, 1, 2, 2, 3))]:
        words, meant = _part(draw, thing)
        parts.append(words)
        truth.add(meant)
    if len(parts) < len(things) and draw.random() < 0.2:
        newer = draw.random() < 0.5
        parts.append(draw.choice(NEWER if newer else OLDER))
        truth.add(("freshness", "freshness", "fresher" if newer else "older"))
    sentence = parts[0]
    for part in parts[1:]:
        sentence += draw.choice(JOINTS) + part
    return Paraphrase(draw.choice(GREETINGS) + sentence + draw.choice(ENDS), frozenset(truth))


def _part(draw: random.Random, thing: str) -> tuple[str, tuple[str, str, str]]:
    if thing not in NAMED and draw.random() < 0.12:
        return draw.choice(ADD_TO).format(thing), ("word", thing, "add")
    if thing not in NAMED and draw.random() < 0.08:
        author = draw.choice(AUTHORS)
        words = draw.choice(("mute {}", "nothing by {} please", "hide {}")).format(author)
        return words, ("author", author, "none")
    turns, direction = draw.choice(((MORE_OF, "more"), (LESS_OF, "less"), (NONE_OF, "none")))
    meant = ("source", NAMED[thing], direction) if thing in NAMED else ("word", thing, direction)
    return draw.choice(turns).format(thing), meant
