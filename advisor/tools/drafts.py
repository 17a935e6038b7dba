"""The tools for drafts and writes: test a change, critique drafts, compare configs, write a suggestion."""

from typing import Annotated, Any

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
    item_ref,
    result_fill,
    tokens_left,
)
from advisor.run_values import ToolContext
from advisor.selectors import names_tried
from advisor.tools import OUTSIDE_TEXT_NOTE, Arguments, SuggestionType
from advisor.tools.references import evidence_addresses
from digest.entities import RatedItem
from digest.feedback.selectors import feedback_unmuted
from ranking.other_names import NAMES_MAX
from suggestions.critique import Issue
from suggestions.planner.forecasts import forecast_row
from suggestions.preview import Comparison, Critique, Trial, change_try, configs_compare, drafts_critique
from suggestions.proposals import Draft, Preview, Proposed, Refusal
from suggestions.services.lifecycle import REVIEW_IMPROVE, suggestion_candidate, suggestion_store

EXAMPLES_FOR, EXAMPLES_AGAINST = 5, 3
EXAMPLE_CHARS = 60
DETAILS_TOKENS = 40
# A refusal may name several of sixteen names.
REFUSAL_TOKENS = 100
VALUE_TOKENS = 16
# The requests of three reviewers need more room than the name of a rule.
REVIEW_TOKENS = 300
# As many drafts as a run may write.
DRAFTS_MAX = 3
TEXT_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "number"}]}
Version = Annotated[int, Field(ge=0, lt=2**31)]


class ChangeArguments(Arguments):
    """One change: its target and its value. Values are checked by the rules behind the tools, not here."""

    suggestion_type: SuggestionType
    target: Annotated[str, Field(max_length=300, description="The source, the topic, or the word.")]
    suggested_value: Annotated[
        Any,
        Field(description="The new weight; left out: the whole step.", json_schema_extra=TEXT_OR_NUMBER),
    ] = None
    other_names: Annotated[
        list[str], Field(max_length=NAMES_MAX, description="Other words for a new topic.")
    ] = []


class DraftArguments(ChangeArguments):
    """A change with the evidence it is written with."""

    evidence: Annotated[
        list[str], Field(max_length=50, description="References to rated items, such as #41; at least three.")
    ] = []


class SuggestionArguments(DraftArguments):
    """One proposed change."""

    reason: Annotated[
        str, Field(description="What you add to the server's counts: one or two plain sentences, or none.")
    ] = ""
    question: Annotated[
        int | None, Field(ge=1, lt=2**63, description="The reader's answer that led to it, by its id.")
    ] = None


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


def draft_of(context: ToolContext, given: ChangeArguments) -> Draft:
    """Return the draft that `given` means; a topic is its own value.

    A reason that recites the prompt is dropped: the server's own sentence then stands alone.
    """
    cited = given.evidence if isinstance(given, DraftArguments) else ()
    reason = given.reason if isinstance(given, SuggestionArguments) else ""
    topic = given.target if given.other_names else ""
    earlier = names_tried(run_id=context.run_id, topic=topic)
    return Draft(
        suggestion_type=given.suggestion_type,
        target_key=given.target,
        suggested_value=given.suggested_value,
        evidence_urls=evidence_addresses(context, cited),
        reason="" if quotes_prompt(reason) else reason,
        other_names=given.other_names,
        names_tried=earlier.names,
        topics_tried=earlier.topics,
        question=given.question if isinstance(given, SuggestionArguments) else None,
    )


def test_suggestion(context: ToolContext, arguments: ChangeArguments) -> dict[str, Any]:
    """Return the matching past items, the forecast, and the items that would enter and leave. Writes nothing.

    `examples` are references to cite: items that support the change first, then some against it. `names` are
    the other names of a new topic, each with the number of rated items that say it. Holdout ratings
    measure `ndcg_gain` (90 % interval). `would_be_refused` is the refusing rule or "", `details` its words.
    """
    trial = change_try(reader_id=context.reader_id, draft=draft_of(context, arguments), now=context.now)
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
        "offered_this_week": trial.effect.about,
        "forecast": chosen | forecast_row(weighed.forecast),
        "would_be_refused": refusal.code if refusal else "",
        "note": OUTSIDE_TEXT_NOTE,
    }
    if refusal:
        result["details"] = fit_text(refusal.message, REFUSAL_TOKENS)
    examples = _examples(context, trial)
    enters = [cut_title(one.title) for one in trial.effect.enters]
    leaves = [cut_title(one.title) for one in trial.effect.leaves]
    lists: dict[str, Any] = {"examples": examples, "enters": enters, "leaves": leaves}
    if change.names and change.kind.is_named:
        lists = {"names": trial.names} | lists
    return result_fill(result, lists, TRIAL_TOKENS)


def preview_moves(preview: Preview) -> dict[str, list[Any]]:
    """Return the items that enter and leave today's digest, by title, and the moves as [title, before,
    after]."""
    moves = sorted(preview.moves, key=lambda item: -abs((item.before or 0) - (item.after or 0)))
    return {
        "enters": [cut_title(item.title) for item in preview.enters],
        "leaves": [cut_title(item.title) for item in preview.leaves],
        "moves": [[cut_title(item.title), item.before, item.after] for item in moves],
    }


def _examples(context: ToolContext, trial: Trial) -> list[dict[str, Any]]:
    """Return items to cite: five that speak for the change, by thumbs or by words, and three against it."""
    wanted = trial.weighed.change.kind.liked
    others = [item for item in trial.ratings if item.useful is not wanted and item not in trial.cited]
    rated = feedback_unmuted(reader_id=context.reader_id, rated=[*trial.cited, *others], now=context.now)
    fitting = [item for item in rated if item in trial.cited][:EXAMPLES_FOR]
    against = [item for item in rated if item not in trial.cited][:EXAMPLES_AGAINST]
    return [_example(item, trial.weighed.change.target) for item in (*fitting, *against)]


def _example(item: RatedItem, target: str) -> dict[str, Any]:
    """Return a matching item, with its source if that is not the target of the change."""
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
        drafts=[draft_of(context, draft) for draft in arguments.drafts],
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
        drafts=[draft_of(context, change) for change in arguments.changes],
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

    If it passes every rule, the run's reviewers judge it, outside any transaction.
    """
    candidate = suggestion_candidate(
        reader_id=context.reader_id,
        run_id=context.run_id,
        draft=draft_of(context, arguments),
        now=context.now,
        known=context.facts,
    )
    if isinstance(candidate, Refusal):
        return _refusal_row(candidate)
    review = context.review(candidate.proposal) if context.review else None
    answer = suggestion_store(candidate=candidate, review=review, now=context.now, fence=context.fence)
    return _refusal_row(answer) if isinstance(answer, Refusal) else _written_row(answer)


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
