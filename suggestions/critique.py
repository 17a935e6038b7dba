"""The weaknesses of a draft, judged against the reader's whole record.

| code | serious | when |
|---|---|---|
| `would_be_refused` | yes | a rule of `suggestions.rules` refuses it; its own code is in `rule` |
| `duplicate_draft` | yes | another draft is about the same target, or about a topic inside this one |
| `cherry_picked` | yes | the cited items agree, all ratings of the target do not (below) |
| `tags_contradict` | yes | liked items carry reasons of dislike, or disliked ones of value: 30 % or more |
| `undoes_accepted` | yes | the reader accepted the opposite change of this target last |
| `repeats_rejected`, `repeats_reverted`, `repeats_harmed` | yes | the same change was rejected, \
reverted, or found harmful |
| `forecast_negative` | no | the holdout ratings measured a loss |
| `few_items` | no | fewer than five items cited |
| `old_evidence` | no | no cited rating is from the last 30 days |
| `few_days` | no | the cited ratings are from fewer than three days |
| `one_source` | no | a topic whose cited items come to 80 % from one source |

Cherry-picking compares the share of ratings on the target that agree with the draft to the share everywhere
else. A lead below ten points also arises from picking three items out of noise. The thresholds of count and
age are those of the feedback tool, for its sample (30 days) and its support (five items). The shares were set
by reading drafts, not measured. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from digest.days import utc_day
from digest.entities import RatedItem
from suggestions.changes.change import Change
from suggestions.proposals import EVIDENCE_MIN, Refusal

CITED_FEW = 5
OLD = timedelta(days=30)
DAYS_MIN = 3
ONE_SOURCE_SHARE = 0.8
LEAD_MIN = 0.1
CONFLICT_SHARE, CONFLICT_MIN = 0.3, 2
ACCEPTED, REJECTED, REVERTED, HARMED = "accepted", "rejected", "reverted", "harmed"
REPEATS = {REJECTED: "rejected this", REVERTED: "reverted this", HARMED: "had a worse digest with this"}
VALUED, DISLIKED = "valued", "disliked"


@dataclass(frozen=True, slots=True)
class Issue:
    """One weakness of a draft: a stable code and how to mend it; `rule` is the code of a refusal."""

    code: str
    details: str
    serious: bool = True
    rule: str = ""


@dataclass(frozen=True, slots=True)
class PastOutcome:
    """The outcome of an earlier suggestion about the same target."""

    suggestion_type: str
    outcome: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """A draft beside the reader's ratings of its target.

    The evidence of `change` are the ratings it names, `target_ratings` the newest ones of the target; `liked`
    of `rated` are all of the target, `all_liked` of `all_rated` all there are. `gain` is the measured change
    of nDCG@10.
    """

    change: Change
    target_ratings: tuple[RatedItem, ...]
    liked: int
    rated: int
    all_liked: int
    all_rated: int
    gain: float | None
    past: tuple[PastOutcome, ...] = ()
    refusal: Refusal | None = None

    @property
    def expects_likes(self) -> bool:
        """True if the draft rests on liked items."""
        return self.change.kind.liked


def critique(record: DraftRecord, kinds: Mapping[str, str], now: datetime) -> list[Issue]:
    """Return the issues of one draft, serious ones first. `kinds` has "valued" or "disliked" by reason."""
    found = [
        refused_issue(record.refusal) if record.refusal else None,
        _cherry_picked(record),
        _tags_contradict(record, kinds),
        *_past(record),
        _minor(
            "forecast_negative",
            f"Ratings held back as a test measured {record.gain or 0:+.3f} nDCG@10.",
            record.gain is not None and record.gain < 0,
        ),
        *_evidence(record, now),
    ]
    return sorted((issue for issue in found if issue), key=lambda issue: not issue.serious)


def duplicates(drafts: Mapping[int, Change]) -> dict[int, Issue]:
    """Return an issue for each draft, by number, that repeats an earlier one."""
    issues: dict[int, Issue] = {}
    for n, one in drafts.items():
        for m, other in drafts.items():
            pairs = ((one.target, other.target), (other.target, one.target))
            alike = one.target == other.target or any(one.kind.nested(*pair) for pair in pairs)
            if m < n and one.field is other.field and alike:
                details = f"Draft {m + 1} is about “{other.label}” already. Keep the better one."
                issues[n] = Issue("duplicate_draft", details)
    return issues


def confidence_after(confidence: str, issues: Sequence[Issue]) -> str:
    """Lower the measured confidence: to low by a serious issue, from high to medium by any other."""
    if any(issue.serious for issue in issues):
        return "low"
    return "medium" if issues and confidence == "high" else confidence


def refused_issue(refusal: Refusal) -> Issue:
    """Return the issue of a draft that a rule refuses."""
    return Issue("would_be_refused", refusal.message, rule=refusal.code)


def _cherry_picked(record: DraftRecord) -> Issue | None:
    elsewhere = record.all_rated - record.rated
    if record.change.words or record.rated < EVIDENCE_MIN or not elsewhere:
        return None
    own = record.liked / record.rated
    base = (record.all_liked - record.liked) / elsewhere
    lead = own - base if record.expects_likes else base - own
    if lead >= LEAD_MIN:
        return None
    return Issue(
        "cherry_picked",
        f"All ratings together do not agree: {record.liked} of {record.rated} liked on this target, "
        f"{record.all_liked - record.liked} of {elsewhere} elsewhere.",
    )


def _tags_contradict(record: DraftRecord, kinds: Mapping[str, str]) -> Issue | None:
    against = DISLIKED if record.expects_likes else VALUED
    agreeing = [i for i in record.target_ratings if i.useful is record.expects_likes and i.tags]
    wrong = [i for i in agreeing if any(kinds.get(tag) == against for tag in i.tags)]
    if len(wrong) < CONFLICT_MIN or len(wrong) < CONFLICT_SHARE * len(agreeing):
        return None
    found = (
        "liked items carry reasons of dislike"
        if record.expects_likes
        else "disliked items carry reasons of value"
    )
    return Issue("tags_contradict", f"{len(wrong)} of {len(agreeing)} {found}. Is it really the target?")


def _past(record: DraftRecord) -> list[Issue]:
    issues = []
    decided = sorted(record.past, key=lambda past: past.at, reverse=True)
    last = next((past for past in decided if past.outcome in (ACCEPTED, REJECTED)), None)
    if last and last.outcome == ACCEPTED and last.suggestion_type == record.change.kind.opposite:
        issues.append(
            Issue("undoes_accepted", f"The reader accepted the opposite on {last.at:%F}. What changed since?")
        )
    for outcome, verb in REPEATS.items():
        same = [
            p for p in decided if p.outcome == outcome and p.suggestion_type == record.change.suggestion_type
        ]
        if same:
            issues.append(Issue(f"repeats_{outcome}", f"The reader {verb} on {same[0].at:%F}."))
    return issues


def _evidence(record: DraftRecord, now: datetime) -> list[Issue | None]:
    cited = record.change.evidence
    if not cited:
        return []
    sources = [item.source for item in cited]
    top = max(sources.count(source) for source in sources)
    days = len({utc_day(item.at) for item in cited})
    newest = (now - max(item.at for item in cited)).days
    return [
        _minor("few_items", f"Only {len(cited)} items cited.", len(cited) < CITED_FEW),
        _minor("old_evidence", f"The newest cited rating is {newest} days old.", newest > OLD.days),
        _minor("few_days", f"All cited ratings are from {days} days.", days < DAYS_MIN),
        _minor(
            "one_source",
            f"{top} of {len(cited)} cited items come from one source. Is it the topic, or the source?",
            record.change.kind.of_many_sources and top >= ONE_SOURCE_SHARE * len(cited),
        ),
    ]


def _minor(code: str, details: str, found: bool) -> Issue | None:
    return Issue(code, details, serious=False) if found else None
