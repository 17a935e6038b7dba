"""The context of a run's calls: the memories it may use, and the facts of its reader and of each call."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Max, Q, Sum

from advisor.guidance.situations import WRITE, CallFacts, Level, ReaderFacts, Situation, target_of
from advisor.guidance.store import memories_for, memories_in_force
from advisor.models import Memory, Step
from advisor.selectors import NOT_EXECUTED, run_cost_usd
from digest.models import Feedback
from ranking.common.text import fold
from ranking.selectors import config_effective
from suggestions.changes.change import Aspects, Change
from suggestions.changes.registry import KINDS, SUGGESTED
from suggestions.changes.weights import step_share
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.outcomes.profile import SMALLER
from suggestions.proposals import Draft as SuggestionDraft
from suggestions.proposals import Facts
from suggestions.reasons import step_wished
from suggestions.rules import change_parse, target_pinned, types_declined
from suggestions.selectors import answers_by_type, facts_of, targets_at_rest

# The newest thumbs, as the rules weigh evidence by; and the newest weights that a reader chose instead.
THUMBS_MAX, EDITS_MAX = 500, 20
# Codes of writes that no rule and no reviewer has judged.
UNJUDGED = ("", NOT_EXECUTED, "invalid_arguments", "unknown_tool", "tool_failed", "database_failed")
# Codes about a draft's words, evidence or value: the planner has its own, and rules judge those.
OF_THE_DRAFT = (
    *("unsafe_reason", "evidence_not_grounded", "insufficient_evidence", "evidence_off_target"),
    *("evidence_wrong_polarity", "too_few_sources", "invalid_weight", "wrong_direction", "no_change"),
    *("field_mismatch", "invalid_name", "name_unsaid", "name_disliked", "names_late", "question_unknown"),
)


@dataclass(slots=True)
class RunContext:
    """One reader's memories during one run. `fingerprint` changes when the rows it may use do."""

    reader_id: UUID
    run_id: UUID
    fingerprint: str = ""
    memories: Sequence[Memory] = field(default_factory=tuple)

    def renew(self, now: datetime) -> None:
        """Reload the memories if a row changed: one query, two if so."""
        rows = memories_in_force(reader_id=self.reader_id, now=now)
        credit = Sum(F("helpful") + F("unhelpful"))
        stamp = rows.aggregate(n=Count("pk"), last=Max("pk"), changed=Max("updated_at"), credit=credit)
        stamp["changed"] = stamp["changed"] and stamp["changed"].timestamp()
        fingerprint = ".".join(str(value or 0) for value in stamp.values())
        if fingerprint != self.fingerprint:
            self.memories = memories_for(reader_id=self.reader_id, now=now) if stamp["n"] else ()
            self.fingerprint = fingerprint

    @property
    def blocking(self) -> list[Memory]:
        """Return operators' rules that may stop a call: shared, with a condition and leave to block."""
        rules = (memory for memory in self.memories if memory.kind == Memory.Kind.RULE and memory.shared)
        return [rule for rule in rules if rule.predicate and rule.ceiling == Level.BLOCK]


def reader_facts(*, reader_id: UUID, now: datetime) -> ReaderFacts:
    """Return the reader's facts that both planner and model have before the first call."""
    answers, config = answers_by_type(reader_id=reader_id), config_effective(reader_id=reader_id).config
    named = (*config.locked, *config.avoided)
    pins = {(str(kind.field), kind.key_of_setting(pin)) for pin in named for kind in SUGGESTED}
    resting = targets_at_rest(reader_id=reader_id, now=now)
    return ReaderFacts(
        step=_step(reader_id),
        declined={kind: answers[kind][1] for kind in types_declined(answers)},
        cooling=frozenset(resting.waiting | set(resting.cooling) | pins),
    )


def targets_refused(*, run_id: UUID) -> frozenset[tuple[str, str]]:
    """Return the targets about which rules or reviewers refused a proposal in this run. One query.

    A malformed draft does not count against its target. Otherwise a careless or hostile model could cost a
    reader the planner's proposal.
    """
    writes = Step.objects.filter(run_id=run_id, kind=Step.Kind.TOOL, tool=WRITE)
    refused = writes.exclude(error_code__in=(*UNJUDGED, *OF_THE_DRAFT)).values_list("arguments", flat=True)
    kinds = ((str(given.get("suggestion_type")), given) for given in refused if isinstance(given, dict))
    found = ((str(KINDS[kind].field), target_of(kind, given)) for kind, given in kinds if kind in KINDS)
    return frozenset(target for target in found if target[1])


def call_facts(
    *, situation: Situation, context: RunContext, failed_writes: int, calls_left: int | None, now: datetime
) -> CallFacts:
    """Return the facts about one call. Only a write needs queries."""
    kind, reader_id = situation.suggestion_type, context.reader_id
    values: dict[str, Any] = {"tool": situation.tool, "phase": situation.phase.value}
    values["failed_writes"] = failed_writes
    if calls_left is not None:
        values["calls_left"] = calls_left
    if kind:
        values |= {"suggestion_type": kind, "field": str(KINDS[kind].field), "target": situation.target_key}
    if situation.tool != WRITE:
        return CallFacts(situation, values)
    rules = facts_of(reader_id=reader_id, now=now, run_id=context.run_id)
    values["accepted_of_type"], values["rejected_of_type"] = rules.answers.get(kind, (0, 0))
    target = (values.get("field", ""), situation.target_key)
    values |= {
        "waiting": all(target) and target in rules.waiting,
        "cooling": all(target) and target in rules.cooling,
        "pinned": all(target) and target_pinned(target, rules.effective),
        "declined": kind in rules.declined,
        "written": len(rules.written),
        "written_in_field": list(rules.written).count(target[0]),
    }
    values |= _change_values(situation, replace(rules, sources=frozenset({situation.target_key})))
    # Unknown for a run that has spent nothing: the planner pays for nothing.
    if spent := run_cost_usd(run_id=context.run_id):
        values["money_left_usd"] = round(settings.ADVISOR_RUN_CAP_USD - spent, 6)
    return CallFacts(situation, values, rules)


def _change_values(situation: Situation, rules: Facts) -> dict[str, Any]:
    """Return the step, the number of items cited and the thumbs on the target, as far as they are clear."""
    given, values = situation.arguments, dict[str, Any]()
    draft = SuggestionDraft(
        suggestion_type=situation.suggestion_type,
        target_key=given.get("target"),
        suggested_value=given.get("suggested_value"),
        evidence_urls=(),
        reason="",
        other_names=names if isinstance(names := given.get("other_names"), list) else (),
    )
    change = change_parse(draft, rules)
    accepted = change if isinstance(change, Change) else None
    if accepted is not None and accepted.weight is not None:
        values["step"] = round(accepted.weight - rules.effective.weight(accepted.target), 4)
    cited = given.get("evidence")
    if isinstance(cited, list) and all(isinstance(url, str) for url in cited):
        values["cited"] = len({*cited} - {""})
    return values | _thumbs(situation, accepted)


def _step(reader_id: UUID) -> float:
    """Return the share of the permitted step that this reader takes: 1 unless the profile says less."""
    profiles = PreferenceProfile.objects.filter(reader_id=reader_id)
    patterns = profiles.values_list("patterns", flat=True).first()
    if not (isinstance(patterns, dict) and patterns.get("prefers_smaller_steps") is True):
        return 1.0
    about_steps = ~Q(edited_value="") | ~Q(user_reason="") & Q(outcome=Outcome.Result.REJECTED)
    rows = Outcome.objects.filter(about_steps, reader_id=reader_id, kind=Outcome.Kind.DECISION)
    rows = rows.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
    values = ("edited_value", "suggestion__current_value", "suggestion__suggested_value")
    edits = rows.order_by("-decided_at").values_list("suggestion_type", "user_reason", *values)[:EDITS_MAX]
    wished = (
        step_share(edited, *states) if edited else step_wished(kind, reason)
        for kind, reason, edited, *states in edits
    )
    shares = [share for share in wished if share is not None]
    return min(SMALLER, max(0.1, sum(shares) / len(shares))) if shares else SMALLER


def _thumbs(situation: Situation, change: Change | None) -> dict[str, int]:
    """Return how many of the newest thumbs there are: all, likes, on the target, and fitting ones.

    A like fits more of something, a dislike less; unknown beyond the newest 500 and for a reader without any.
    """
    kind, key = KINDS.get(situation.suggestion_type), situation.target_key
    if change is None and kind is not None and key:
        change = Change(kind, key, key, None, None)
    rows = Feedback.objects.filter(reader_id=situation.reader_id).order_by("-at")
    about = ("item__source_id", "item__title", "item__categories", "item__author")
    newest = list(rows.values_list("useful", *about)[:THUMBS_MAX])
    on_target: list[bool] = []
    if change is not None:
        finds = change.finder
        on_target = [
            useful
            for useful, source, title, named, author in newest
            if finds(Aspects.of(source, fold(title), named, author))
        ]
    likes = sum(useful for useful, *_ in newest)
    counts = {"thumbs": len(newest), "likes": likes, "thumbs_on_target": len(on_target)}
    if change is not None and 0 < len(newest) < THUMBS_MAX and not change.kind.hides:
        counts["fitting_on_target"] = on_target.count(change.kind.liked)
    return counts
