"""The arms of the simulation: an arm is settings, and what the reader says beside thumbs."""

from dataclasses import dataclass, field

from ranking.entities import Config
from tests.lab.page.readers import NO_PREFERENCES, REAL, SHUFFLED

TODAY, NEWEST, ORACLE = "today", "newest first", "oracle, same rules"


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to make a reader's pages.

    `accepts`: every suggestion is accepted. `answers`: how many questions of an interview the reader answers
    before the first page. `is_dealt`: vectors of meaning are dealt to other items. `law`: the readers it is
    for. `base`: the arm on the same readers that it is compared with, "" for none.
    """

    name: str
    config: Config = field(default_factory=Config)
    accepts: bool = False
    answers: int = 0
    is_dealt: bool = False
    law: str = REAL
    base: str = TODAY


ARMS = (
    Arm(NEWEST),
    Arm(TODAY),
    Arm("every suggestion accepted", accepts=True),
    Arm("after an interview of 20 answers", answers=20),
    Arm(ORACLE),
    Arm(f"{TODAY}, {SHUFFLED}", law=SHUFFLED, base=""),
    Arm(f"{TODAY}, {NO_PREFERENCES}", law=NO_PREFERENCES, base=""),
)
