"""A reader with a hundred past decisions, and questions about them with known answers.

Every text is made from its decision, so an answer is right or wrong without judging words.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from digest.models import Reader
from ranking.config_body import Body, body_default
from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.outcomes.services import OutcomeValues, outcome_build, profile_lock, profile_update
from tests.support.changes import FIELD_OF_TYPE, SOURCE_WEIGHTS

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
DECISIONS, EVERY_DAYS = 100, 3
EVIDENCE = 5
TYPES = ("boost_source", "add_topic", "reduce_source", "boost_source", "remove_topic")
RESULTS = ("accepted", "rejected", "accepted", "expired", "accepted", "rejected", "superseded")
SYLLABLES = (
    "ba",
    "ke",
    "lo",
    "mi",
    "nu",
    "ra",
    "se",
    "ti",
    "vo",
    "zu",
    "fel",
    "gor",
    "hin",
    "jas",
    "pel",
    "dun",
)
REASONS = (
    "the articles hide behind a wall",
    "I read it at work anyway",
    "it was a phase",
    "my partner reads that",
)
STORIES = (
    "opens a bridge",
    "counts its trees",
    "buys trams",
    "loses a case",
    "wins a cup",
    "bakes for charity",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question of an adviser: how to look it up, and the parts of any sufficient answer.

    `layer` is the deepest layer needed. `types` and `outcomes` filter a search, and `query` are its words.
    """

    kind: str
    layer: str
    expected: tuple[str, ...]
    query: str = ""
    types: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision as it was made."""

    n: int
    outcome: Outcome
    target: str
    story: str


def history_make(seed: int) -> tuple[Reader, list[Decided]]:
    """Return the reader, and their decisions oldest first: three days apart, each with five rated items."""
    rng = np.random.default_rng(seed)
    reader = Reader.objects.create(username=f"bench-history-{seed}", email="")
    names = _names(rng, DECISIONS)
    profile_lock(reader_id=reader.pk, now=NOW)
    decided = [_decision(reader, n, name, rng) for n, name in enumerate(names)]
    profile_update(reader_id=reader.pk, now=NOW)
    return reader, decided


def questions_make(decided: list[Decided], seed: int) -> list[Question]:
    """Return some fifty questions, a few of each kind, about decisions drawn from the whole history."""
    rng = np.random.default_rng(seed + 1)
    order = [decided[i] for i in rng.permutation(len(decided))]
    said = [row for row in order if row.outcome.user_reason]
    accepted = [row for row in order if row.outcome.outcome == "accepted"]
    weighed = [row for row in accepted if FIELD_OF_TYPE[row.outcome.suggestion_type] == SOURCE_WEIGHTS]
    inner = [row for row in order if 1 < row.n < len(decided) - 2]
    return [
        *(_how(row) for row in order[:12]),
        *(_why(row) for row in said[:8]),
        *(_weights(row) for row in weighed[:8]),
        *(_before(row, decided[row.n - 1]) for row in inner[:8]),
        *(_evidence(row) for row in order[12:20]),
        *(_by_story(row) for row in order[20:26]),
        *(_latest(decided, kind) for kind in dict.fromkeys(TYPES)),
    ]


def _how(row: Decided) -> Question:
    snippet = f"{row.outcome.suggestion_type}: {row.target} → {row.outcome.outcome}"
    return Question("what became of it", "search", (snippet,), query=row.target)


def _why(row: Decided) -> Question:
    return Question(
        "what the reader said", "detail", (row.outcome.user_reason,), query=row.target, outcomes=("rejected",)
    )


def _weights(row: Decided) -> Question:
    after = row.outcome.suggestion.suggested_value
    return Question(
        "from where to where", "timeline", ('"before":"1.0"', f'"after":"{after}"'), query=row.target
    )


def _before(row: Decided, earlier: Decided) -> Question:
    snippet = f"{earlier.outcome.suggestion_type}: {earlier.target} → {earlier.outcome.outcome}"
    return Question("what was decided just before", "timeline", (snippet,), query=row.target)


def _evidence(row: Decided) -> Question:
    return Question("what it was based on", "detail", (f"{row.story} (0)",), query=row.target)


def _by_story(row: Decided) -> Question:
    """Return a question by the words of an item, for its unknown target."""
    return Question("which one was about this", "search", (row.target,), query=row.story)


def _latest(decided: list[Decided], kind: str) -> Question:
    """Return a question without words to search: the newest answers to one type."""
    newest = [row for row in reversed(decided) if row.outcome.suggestion_type == kind][:3]
    snippets = tuple(f"{kind}: {row.target} → {row.outcome.outcome}" for row in newest)
    return Question("the last three of a type", "search", snippets, types=(kind,))


def _names(rng: np.random.Generator, count: int) -> list[str]:
    """Made-up words, all different."""
    names: dict[str, None] = {}
    while len(names) < count:
        names.setdefault("".join(str(s) for s in rng.choice(SYLLABLES, 3)))
    return list(names)


def _body(value: float | None = None, target: str = "", topic: str = "") -> Body:
    body = body_default()
    body["topics"] = [f"standing topic {n}" for n in range(12)] + ([topic] if topic else [])
    body["source_weights"] = {f"standing{n}.example": 1.0 + n / 50 for n in range(25)}
    if value is not None:
        body["source_weights"][target] = value
    return body


def _decision(reader: Reader, n: int, name: str, rng: np.random.Generator) -> Decided:
    kind, result = TYPES[n % len(TYPES)], RESULTS[n % len(RESULTS)]
    is_source = FIELD_OF_TYPE[kind] == SOURCE_WEIGHTS
    target = f"{name}.example" if is_source else name
    step = round(float(rng.uniform(0.1, 0.3)), 2) * (1 if kind == "boost_source" else -1)
    at = NOW - timedelta(days=EVERY_DAYS * (DECISIONS - n))
    suggestion = Suggestion.objects.create(
        reader=reader,
        suggestion_type=kind,
        field=FIELD_OF_TYPE[kind],
        target_key=target,
        label=target,
        current_value="1.0" if is_source else "",
        suggested_value=f"{1 + step:.2f}".rstrip("0") if is_source else name,
        reason="The thumbs say so.",
        confidence="medium",
        p_helpful=0.85,
        config_version=n,
        status=result,
        created_at=at,
        resolved_at=at,
    )
    story = f"{name[::-1]} {STORIES[n % len(STORIES)]}"
    evidence = Evidence.objects.bulk_create(_rated(suggestion, story, i) for i in range(EVIDENCE))
    after = _body(1 + step, target) if is_source else _body(topic=name)
    reason = f"{REASONS[n % len(REASONS)]}, case {n}" if result == "rejected" else ""
    values = OutcomeValues(result, _body(), after if result == "accepted" else None, user_reason=reason)
    outcome = outcome_build(suggestion=suggestion, values=values, evidence=evidence, now=at)
    outcome.save(force_insert=True)
    return Decided(n, outcome, target, story)


def _rated(suggestion: Suggestion, story: str, i: int) -> Evidence:
    return Evidence(
        suggestion=suggestion,
        url=f"https://news.example/{suggestion.pk}/{i}",
        title=f"{story} ({i})",
        source_key=suggestion.target_key,
        useful=suggestion.suggestion_type in ("boost_source", "add_topic"),
        reason_tags=["depth"],
        rated_at=suggestion.created_at - timedelta(days=i + 1),
    )
