"""The dashboard of guidance as a Markdown note: what was told, what was not and why, how fast. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from advisor.guidance.notes import note, plain, table

# Milliseconds from which a stage is warm and hot.
WARM_MS, HOT_MS = 10.0, 40.0
HEAT = ((HOT_MS, "●●● hot"), (WARM_MS, "●● warm"), (0.0, "● cool"))
TREND_DAYS = 7


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One decision of guidance, without its words."""

    at: datetime
    reader: str
    tool: str
    phase: str
    suggestion_type: str
    level: str
    why: str
    told: int
    ms: int


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage: the share of calls it ran in, 0 to 1, and its milliseconds at two percentiles.

    `missing` as `stages` defines it.
    """

    name: str
    share: float
    p50: float
    p95: float
    missing: bool = False

    @property
    def heat(self) -> str:
        """How hot it runs, by its 95th percentile."""
        return next(word for least, word in HEAT if self.p95 >= least)

    @property
    def percent(self) -> int:
        """The share in whole percent."""
        return round(100 * self.share)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """All that the dashboard shows. Courses have one count a day of `days`, oldest first.

    `parts` are calls by tool, phase and type; `absent` the missing stages that ran in no call.
    """

    days: Sequence[date]
    summary: Sequence[tuple[str, object]]
    reasons: Mapping[str, Sequence[int]]
    kept_back: Mapping[str, int]
    parts: Mapping[str, Sequence[tuple[str, int, int]]]
    stages: Sequence[StageLine]
    absent: Sequence[str]
    ledger: Sequence[LedgerLine]


def dashboard_note(board: Dashboard, packets: int, now: datetime) -> str:
    """The note, with a link to the packets; `packets` is how many of them were exported."""
    front = {"type": "dashboard", "packets": packets, "exported_at": f"{now:%Y-%m-%d %H:%M:%S UTC}"}
    lines = [
        f"[Packets](packets/index.md): {packets}. {len(board.days)} days to {now:%Y-%m-%d %H:%M} UTC.",
        "",
        *table(("Figure", "Value"), [(label, plain(value)) for label, value in board.summary]),
        *_trend(board),
        *_parts(board),
        *_stages(board),
        *_ledger(board),
    ]
    return note(front, "Guidance", lines)


def _trend(board: Dashboard) -> list[str]:
    """Why calls were told nothing: this week beside the one before, most frequent first."""
    rows = []
    for why, course in board.reasons.items():
        late, early = sum(course[-TREND_DAYS:]), sum(course[-2 * TREND_DAYS : -TREND_DAYS])
        rows.append((plain(why), sum(course), early, late, _arrow(early, late)))
    head = ("Why nothing was told", "Calls", "Week before", "Last week", "Trend")
    kept = [(plain(why), times) for why, times in board.kept_back.items()]
    return [
        *("## Silence and its reasons", "", *table(head, rows)),
        *("## What kept memories back", "", *table(("Why", "Memories"), kept)),
    ]


def _arrow(early: int, late: int) -> str:
    return "↑" if late > early else "↓" if late < early else "→"


def _parts(board: Dashboard) -> list[str]:
    lines = []
    for what, rows in board.parts.items():
        cells = [(plain(name or "none"), calls, told) for name, calls, told in rows]
        lines += [f"## Calls by {what}", "", *table((what.capitalize(), "Calls", "Told"), cells)]
    return lines


def _stages(board: Dashboard) -> list[str]:
    rows = [
        (
            plain(one.name),
            f"{one.share:.0%}" + (" (missing)" if one.missing else ""),
            f"{one.p50:.1f}",
            f"{one.p95:.1f}",
            one.heat,
        )
        for one in board.stages
    ]
    rows += [(plain(name), "0% (missing)", "", "", "○ never") for name in board.absent]
    return ["## Stages", "", *table(("Stage", "Ran in", "p50 ms", "p95 ms", "Heat"), rows)]


def _ledger(board: Dashboard) -> list[str]:
    rows = [
        (
            f"{one.at:%Y-%m-%d %H:%M:%S}",
            one.reader,
            *(plain(word or "") for word in (one.tool, one.phase, one.suggestion_type, one.level, one.why)),
            one.told,
            one.ms,
        )
        for one in board.ledger
    ]
    head = ("At", "Reader", "Tool", "Phase", "Type", "Level", "Why", "Told", "ms")
    return ["## The last decisions", "", *table(head, rows)]
