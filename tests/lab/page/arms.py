"""The arms of the simulation. An arm has settings, and the reader's input besides thumbs."""

from dataclasses import dataclass, field, replace

from ranking.entities import Config
from ranking.taste.entities import TasteLevel
from tests.lab.page.readers import NO_PREFERENCES, REAL, SHUFFLED

NEWEST, ORACLE = "newest first", "oracle, same rules"
BY_HOUR, OFF, ON, STRONG = "by the hour, all stays", "taste off", "taste on", "taste strong"
OFF_PLAIN, ON_PLAIN = "taste off, nothing sinks", "taste on, nothing sinks"
ANSWERS, NAMED, DEALT = "20 answers", "3 named, strong", "vectors dealt anew"
NO_LUCK = "20 answers, no luck"
SURE, TOLD, FREE = "taste on, thumbs without luck", "taste on, groups known", "taste on, no rules"


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to make a reader's pages.

    - `goes`: rated items, and items that stood on two pages, are gone.
    - `sinks`: what stood among the first places of an earlier page stands below the rest.
    - `accepts`: every suggestion is accepted.
    - `answers`: how many questions of an interview the reader answers before the first page.
    - `has_luck`: the answers are thumbs, drawn and flipped alike; else yes for what is to taste, and no.
    - `named`: how many articles they name of each liked group.
    - `has_meaning`: items have vectors of meaning. `is_dealt`: the vectors belong to other items.
    - `is_sure`: every thumb says whether the article is to taste.
    - `knows_groups`: articles of one of the reader's true groups are alike, and others are not.
    - `has_rules`: without them the page has the best articles by score, of any source.
    - `law`: the readers it is for.
    - `base`: the arm to compare with on the same readers, or "".
    """

    name: str
    config: Config = field(default_factory=Config)
    goes: bool = True
    sinks: bool = True
    accepts: bool = False
    answers: int = 0
    has_luck: bool = True
    named: int = 0
    has_meaning: bool = True
    is_dealt: bool = False
    is_sure: bool = False
    knows_groups: bool = False
    has_rules: bool = True
    law: str = REAL
    base: str = BY_HOUR


HOURLY = Config(recency_by_day=False)
TASTE_ON, TASTE_STRONG = Config(taste=TasteLevel.ON), Config(taste=TasteLevel.STRONG)
ON_72, STRONG_72 = (replace(one, recency_half_life_hours=72.0) for one in (TASTE_ON, TASTE_STRONG))


def _under(law: str) -> tuple[Arm, ...]:
    """Return the arms for readers whose thumbs are uninformative."""
    off = Arm(f"{law}: {OFF}", law=law, base="")
    return (
        off,
        Arm(f"{law}: {ON}", TASTE_ON, law=law, base=off.name),
        Arm(f"{law}: {STRONG}", TASTE_STRONG, law=law, base=off.name),
    )


ARMS = (
    Arm(NEWEST, goes=False, sinks=False),
    Arm(BY_HOUR, HOURLY, goes=False, sinks=False, base=""),
    Arm(f"{BY_HOUR}, every suggestion accepted", HOURLY, goes=False, sinks=False, accepts=True),
    Arm(OFF_PLAIN, sinks=False),
    Arm(ON_PLAIN, TASTE_ON, sinks=False),
    Arm(OFF),
    Arm("every suggestion accepted", accepts=True),
    Arm("taste on, without meaning", TASTE_ON, has_meaning=False),
    Arm(ON, TASTE_ON),
    Arm(STRONG, TASTE_STRONG),
    Arm("taste on, 72 hours", ON_72),
    Arm(ANSWERS, TASTE_ON, answers=20),
    Arm(NO_LUCK, TASTE_ON, answers=20, has_luck=False),
    Arm("20 answers, strong", TASTE_STRONG, answers=20),
    Arm("3 named articles a subject", TASTE_ON, named=3),
    Arm(NAMED, TASTE_STRONG, named=3),
    Arm("3 named, strong, 72 hours", STRONG_72, named=3),
    Arm("20 answers and 3 named", TASTE_ON, answers=20, named=3),
    Arm(SURE, TASTE_ON, is_sure=True, base=ON),
    Arm(TOLD, TASTE_ON, knows_groups=True, base=ON),
    Arm(FREE, TASTE_ON, has_rules=False, base=ON),
    Arm(DEALT, TASTE_ON, is_dealt=True, base="taste on, without meaning"),
    *_under(SHUFFLED),
    *_under(NO_PREFERENCES),
    Arm(ORACLE),
)
# Arms that should not differ from their base, because the thumbs know nothing.
CONTROLS = frozenset({f"{SHUFFLED}: {ON}", f"{SHUFFLED}: {STRONG}"})
# Arms that should not gain over their base. Dealt vectors know nothing, and their noise drowns the leans, so
# they should lose.
NO_GAIN = frozenset({DEALT})
