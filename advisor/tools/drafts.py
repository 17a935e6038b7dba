"""The tools for drafts and writes: test a change, critique drafts, compare configs, write a suggestion."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from advisor.prompts import quotes_prompt
from advisor.result_size import (
    COMPARISON_TOKENS,
    CRITIQUE_TOKENS,
    TRIAL_TOKENS,
    WRITE_TOKENS,
    cut_title,
    error_result,
    fit_rows,
    fit_text,
    item_of_ref,
    item_ref,
    result_fill,
    tokens_left,
)
from advisor.run_values import ToolContext
from advisor.tools import OUTSIDE_TEXT_NOTE, Arguments, SettingName, SuggestionType
from digest.entities import RatedItem
from digest.feedback.selectors import feedback_unmuted, feedback_urls
from suggestions.changes.registry import KINDS
from suggestions.critique import Issue
from suggestions.planner.forecasts import forecast_row
from suggestions.preview import Comparison, Critique, Trial, change_try, configs_compare, drafts_critique
from suggestions.proposals import Draft, Preview, Proposed, Refusal
from suggestions.services.lifecycle import REVIEW_IMPROVE, suggestion_candidate, suggestion_store

EXAMPLES_FOR, EXAMPLES_AGAINST = 5, 3
EXAMPLE_CHARS = 60
DETAILS_TOKENS = 40
VALUE_TOKENS = 16
# What three reviewers ask for needs more room than the name of a rule.
REVIEW_TOKENS = 300
# As many drafts as a run may write.
DRAFTS_MAX = 3
T = TypeVar("T")
# An argument that is accepted, since models send it, but not declared, and ignored.
Ignored = Annotated[T, Field(json_schema_extra={"undeclared": True})]
TEXT_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "number"}]}
Version = Annotated[int, Field(ge=0, lt=2**31)]


class EvidenceItem(Arguments):
    """One rated item that supports a suggestion. Only `url` counts; the rest is looked up."""

    url: Annotated[str, Field(description="As query_user_feedback gave it: #41, or the address.")]
    title: Ignored[str | None] = None
    feedback: Ignored[str | None] = None
    reason_tag: Ignored[str | None] = None
    item_id: Ignored[int | None] = None


class SuggestionArguments(Arguments):
    """One proposed change. Values are checked by the rules behind the tool, not here.

    What is `Ignored` is looked up or measured instead.
    """

    suggestion_type: SuggestionType
    field: Ignored[SettingName | None] = None
    target_key: Annotated[str | None, Field(description="The source, or the word; left out for topics.")] = (
        None
    )
    current_value: Ignored[Any] = None
    suggested_value: Annotated[
        Any, Field(description="The topic, the word, or the new weight.", json_schema_extra=TEXT_OR_NUMBER)
    ] = None
    evidence_items: Annotated[list[EvidenceItem], Field(max_length=50, description="At least three.")]
    reason: Annotated[
        str, Field(description="What you add to the server's counts: one or two plain sentences, or none.")
    ]
    expected_impact: Ignored[str | None] = None
    confidence: Ignored[str | None] = None


class ChangeArguments(Arguments):
    """One change to try: its target and its value."""

    suggestion_type: SuggestionType
    target: Annotated[str, Field(max_length=300, description="The source, the topic, or the word.")]
    suggested_value: Annotated[
        Any,
        Field(description="The new weight; left out: the whole step.", json_schema_extra=TEXT_OR_NUMBER),
    ] = None


class DraftArguments(ChangeArguments):
    """A change with the evidence it would be written with."""

    evidence_urls: Annotated[list[str], Field(max_length=50, description="As for write_suggestion.")] = []


class CritiqueArguments(Arguments):
    """Drafts to judge, before any of them is written."""

    drafts: Annotated[list[DraftArguments], Field(min_length=1, max_length=DRAFTS_MAX)]


class CompareArguments(Arguments):
    """Two versions of the config; or, with `changes`, the current one with and without them."""

    before: Annotated[Version | None, Field(description="Left out: the one before `after`.")] = None
    after: Annotated[Version | None, Field(description="Left out: the current one.")] = None
    changes: Annotated[
        list[ChangeArguments],
        Field(max_length=DRAFTS_MAX, description="Made together; no versions then."),
    ] = []


def evidence_addresses(context: ToolContext, given: Sequence[str]) -> tuple[str, ...]:
    """Return `given` with addresses for references to the reader's rated items; others stay as they are."""
    items = {url: item_id for url in given if (item_id := item_of_ref(url)) is not None}
    urls = feedback_urls(reader_id=context.reader_id, item_ids=set(items.values())) if items else {}
    return tuple(urls.get(items[url], url) if url in items else url for url in given)


def draft_from_change(change: ChangeArguments, evidence_urls: Sequence[str] = ()) -> Draft:
    """Return the draft of `change`; a topic is its own value."""
    kind = KINDS[change.suggestion_type]
    return Draft(
        suggestion_type=change.suggestion_type,
        field=str(kind.field),
        target_key=change.target,
        suggested_value=change.suggested_value if kind.of_source else change.target,
        evidence_urls=tuple(evidence_urls),
        reason="",
    )


def test_suggestion(context: ToolContext, arguments: ChangeArguments) -> dict[str, Any]:
    """Return the past items that match, the forecast, and what would enter and leave. Writes nothing.

    `examples` are references to cite: items that speak for the change first, then some against it. Holdout
    ratings measure `ndcg_gain` (90 % interval); `would_be_refused` is the refusing rule or "".
    """
    trial = change_try(reader_id=context.reader_id, draft=draft_from_change(arguments), now=context.now)
    if isinstance(trial, Refusal):
        return error_result(trial.code, trial.message) | {"target": trial.target}
    weighed, refusal = trial.weighed, trial.refusal
    change = weighed.change
    chosen = {"p_helpful": round(weighed.p_helpful, 3), "confidence": weighed.confidence}
    result = {
        "change": f"{change.suggestion_type} {change.target}"[:120],
        "current_value": change.current_value,
        "suggested_value": change.suggested_value,
        "would_match": trial.rated,
        "liked": trial.liked,
        "looked_at": trial.ratings_considered,
        "offered_this_week": trial.preview.about,
        "forecast": chosen | forecast_row(weighed.forecast),
        "would_be_refused": refusal.code if refusal else "",
        "note": OUTSIDE_TEXT_NOTE,
    }
    examples = _examples(context, trial)
    digest = preview_moves(trial.preview)
    lists = {"examples": examples, "enters": digest["enters"], "leaves": digest["leaves"]}
    return result_fill(result, lists, TRIAL_TOKENS)


def preview_moves(preview: Preview) -> dict[str, list[Any]]:
    """Return what enters and leaves today's digest, by title, and the moves as [title, before, after]."""
    moves = sorted(preview.moves, key=lambda item: -abs((item.before or 0) - (item.after or 0)))
    return {
        "enters": [cut_title(item.title) for item in preview.enters],
        "leaves": [cut_title(item.title) for item in preview.leaves],
        "moves": [[cut_title(item.title), item.before, item.after] for item in moves],
    }


def _examples(context: ToolContext, trial: Trial) -> list[dict[str, Any]]:
    """Return matching items of both thumbs: five that speak for the change, three against it."""
    rated = feedback_unmuted(reader_id=context.reader_id, rated=trial.ratings, now=context.now)
    wanted = trial.weighed.change.kind.liked
    fitting = [item for item in rated if item.useful is wanted][:EXAMPLES_FOR]
    against = [item for item in rated if item.useful is not wanted][:EXAMPLES_AGAINST]
    return [_example(item, trial.weighed.change.target) for item in (*fitting, *against)]


def _example(item: RatedItem, target: str) -> dict[str, Any]:
    """Return a matching item; with its source where that is not the target of the change."""
    row: dict[str, Any] = {
        "url": item_ref(item.item_id),
        "title": cut_title(item.title, EXAMPLE_CHARS),
        "useful": int(item.useful),
    }
    return row if item.source == target else row | {"source": item.source}


def self_critique(context: ToolContext, arguments: CritiqueArguments) -> dict[str, Any]:
    """Return per draft its issues by code, serious ones first, and its confidence. Writes nothing."""
    found = drafts_critique(
        reader_id=context.reader_id,
        run_id=context.run_id,
        drafts=[
            draft_from_change(draft, evidence_addresses(context, draft.evidence_urls))
            for draft in arguments.drafts
        ],
        now=context.now,
    )
    share = CRITIQUE_TOKENS / len(found) - 10
    return result_fill({}, {"drafts": [_row(critique, share) for critique in found]}, CRITIQUE_TOKENS)


def _row(critique: Critique, tokens: float) -> dict[str, Any]:
    """Return one draft within `tokens`; the least serious issues may be missing, but all are counted."""
    p_helpful = critique.p_helpful
    row: dict[str, Any] = {
        "type": critique.suggestion_type,
        "target": critique.target[:64],
        "confidence": critique.confidence,
        "p_helpful": None if p_helpful is None else round(p_helpful, 3),
        "issues_in_all": len(critique.issues),
    }
    room = tokens - 45
    return row | {"issues": fit_rows((_issue(issue) for issue in critique.issues), room)}


def _issue(issue: Issue) -> dict[str, Any]:
    row: dict[str, Any] = {"code": issue.code, "serious": issue.serious}
    if issue.rule:
        row["rule"] = issue.rule
    return row | {"details": fit_text(issue.details, DETAILS_TOKENS)}


def compare_configs(context: ToolContext, arguments: CompareArguments) -> dict[str, Any]:
    """Return the differences, their estimated impact, and today's digest before and after. Writes nothing."""
    found = configs_compare(
        reader_id=context.reader_id,
        before=arguments.before,
        after=arguments.after,
        drafts=[draft_from_change(change) for change in arguments.changes],
        now=context.now,
    )
    if isinstance(found, Refusal):
        return error_result(found.code, found.message) | {"target": found.target}
    before, after = found.names
    result = {"before": before, "after": after, "impact_estimate": _impact(found), "note": OUTSIDE_TEXT_NOTE}
    diffs = [
        {key: fit_text(text, VALUE_TOKENS) if isinstance(text, str) else text for key, text in change.items()}
        for change in found.changes
    ]
    lists = {"diffs": diffs, **preview_moves(found.preview)}
    return result_fill(result, lists, COMPARISON_TOKENS)


def _impact(found: Comparison) -> dict[str, Any]:
    """Return the change of nDCG@10 on the holdout ratings, and the counts of changes in today's digest."""
    preview = found.preview
    counts = {"enter": len(preview.enters), "leave": len(preview.leaves), "move": len(preview.moves)}
    return forecast_row(found.forecast) | counts


def write_suggestion(context: ToolContext, arguments: SuggestionArguments) -> dict[str, Any]:
    """Store a pending suggestion, or return the refusal of a rule or a reviewer. Raises `FenceLost`.

    The run's reviewers judge what passed every rule, outside any transaction.
    """
    addresses = evidence_addresses(context, [item.url for item in arguments.evidence_items])
    candidate = suggestion_candidate(
        reader_id=context.reader_id,
        run_id=context.run_id,
        draft=draft_from_suggestion(arguments, addresses),
        now=context.now,
        known=context.facts,
    )
    if isinstance(candidate, Refusal):
        return _refusal_row(candidate)
    review = context.review(candidate.proposal) if context.review else None
    answer = suggestion_store(candidate=candidate, review=review, now=context.now, fence=context.fence)
    return _refusal_row(answer) if isinstance(answer, Refusal) else _written_row(answer)


def draft_from_suggestion(arguments: SuggestionArguments, evidence_urls: Sequence[str]) -> Draft:
    """Return the proposal as the model wrote it, without its own `current_value` and confidence.

    A reason that recites the prompt is dropped: the server's own sentence then stands alone.
    """
    return Draft(
        suggestion_type=arguments.suggestion_type,
        field=arguments.field or str(KINDS[arguments.suggestion_type].field),
        target_key=arguments.target_key,
        suggested_value=arguments.suggested_value,
        evidence_urls=tuple(evidence_urls),
        reason="" if quotes_prompt(arguments.reason) else arguments.reason,
    )


def _written_row(proposed: Proposed) -> dict[str, Any]:
    result: dict[str, Any] = {
        "success": True,
        "suggestion_id": proposed.suggestion_id,
        "status": proposed.status,
    }
    notes = fit_rows(proposed.notes, tokens_left(result, WRITE_TOKENS) - 8)
    return result | {"validation_notes": notes, "target": proposed.target}


def _refusal_row(refusal: Refusal) -> dict[str, Any]:
    """Return the refusal. A request to improve is no failure: the repeat guard does not count it."""
    result = error_result(refusal.code, refusal.message)
    counted = refusal.code != REVIEW_IMPROVE
    if not counted:
        result["details"] = fit_text(refusal.message, REVIEW_TOKENS)
    return result | {"target": refusal.target, "counted": counted}
