"""The history: what changed the order of a reader's page, each once, in words and with its Undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from digest.items.selectors import reader_source_titles
from digest.models import Reader
from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from ranking.common.text import topic_key
from ranking.config_body import body_effective
from ranking.config_words import LEARNED_OVERNIGHT, REDONE, cause_words, change_words, sources_named
from ranking.entities import EffectiveConfig
from ranking.former_texts import text_today
from ranking.language import stored_text
from ranking.selectors import SnapshotRow, VersionRow, config_effective
from suggestions import sentences, wording
from suggestions.effect_chart import EffectChart, effect_chart
from suggestions.models import Outcome, Suggestion
from suggestions.past_changes import (
    ANSWERS,
    LEARNED,
    VERSION,
    Past,
    PastPage,
    past_changes,
    past_page,
)
from suggestions.proposals import NEVER, Refusal
from suggestions.selectors import (
    suggestion_can_undo,
    suggestion_not_in_force,
    suggestion_undo_forgets,
)
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.past_changes import past_change_undo

PAGE_SIZE = 30
# Sentences of one save, and sources of one learning step, that a row names.
CHANGES_SHOWN = 5
SOURCES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Decided:
    """One settled suggestion in words.

    `change` is the weight before and after ("" after an undo), `until` the end of a snooze, `reason` the
    reader's own reason, `chart` that of a measured effect, `undo` the label of the undo button ("": it
    cannot be undone). `asks_why` marks a no without a reason, `came_back` a copy of an answered one,
    `not_in_force` a change that is no longer in force. `undo_says` tells what Undo does if it takes back
    more than was agreed to.
    """

    suggestion: Suggestion
    headline: str
    status: str
    at: datetime | None
    until: datetime | None
    change: str
    reason: str
    effect: str
    harmed: bool
    chart: EffectChart | None
    undo: str
    asks_why: bool = False
    came_back: str = ""
    not_in_force: str = ""
    undo_says: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """One change that no suggestion made, in words.

    `cause` says who made it, `note` has the reader's own words, `href` leads to all of it. `is_over` marks
    one of which nothing is in force any more. `what` and `ref` name it for Undo ("": it cannot be undone).
    """

    headline: str
    cause: str
    at: date
    what: str
    ref: str
    note: str = ""
    href: str = ""
    is_over: bool = False


def history_page(*, reader: Reader, number: object, now: datetime) -> dict[str, Any]:
    """Return a page of thirty changes, newest first, in ten queries at most. Any `number` finds one."""
    effective = config_effective(reader_id=reader.pk)
    page = Paginator(past_changes(reader=reader), PAGE_SIZE).get_page(str(number or 1))
    found = past_page(reader_id=reader.pk, keys=page.object_list, effective=effective)
    names = _names(reader.pk, found, effective)
    rows = [_row(key, found, names, effective, now) for key in page.object_list]
    return {"page": page, "rows": rows, "why_not": sentences.reasons_offered()}


def _names(reader_id: UUID, found: PastPage, effective: EffectiveConfig) -> dict[str, str]:
    """Return the names of sources by key, and those of topics by the key that a pin has."""
    of_versions = sources_named([change for row in found.versions.values() for change in row.changes])
    of_steps = {step.source for steps in found.steps.values() for step in steps}
    topics = {topic_key(topic): topic for topic in effective.config.topics}
    return topics | reader_source_titles(reader_id=reader_id, keys={*of_versions, *of_steps})


def _row(
    key: Past, found: PastPage, names: Mapping[str, str], effective: EffectiveConfig, now: datetime
) -> Decided | Changed:
    match key.what:
        case "version":
            return _version_words(key, found.versions[int(key.ref)], names, found)
        case "learned":
            return _steps_words(key, found.steps[key.ref], names, found)
        case "answers":
            words = ngettext("You answered {n} headline", "You answered {n} headlines", key.answers)
            return Changed(words.format(n=key.answers), _("Teach Tidings"), key.at, ANSWERS, key.ref)
    return decided_words(found.suggestions[int(key.ref)], effective, now)


def _version_words(key: Past, row: VersionRow, names: Mapping[str, str], found: PastPage) -> Changed:
    words = [change_words(change, names) for change in row.changes]
    return Changed(
        headline=_few(words, CHANGES_SHOWN, "; "),
        cause=cause_words(row.cause, row.cause_ref),
        at=key.at,
        what=VERSION,
        ref=key.ref,
        note=row.note,
        href=reverse("ranking:version", args=[row.version]),
        is_over=row.version not in found.in_force,
    )


def _steps_words(
    key: Past, steps: Sequence[SnapshotRow], names: Mapping[str, str], found: PastPage
) -> Changed:
    words = [
        (_("more from {source}") if step.after > step.before else _("less from {source}")).format(
            source=names.get(step.source, step.source)
        )
        for step in steps
    ]
    href = f"{reverse('ranking:versions')}#learned"
    few, cause, over = _few(words, SOURCES_SHOWN, ", "), _(LEARNED_OVERNIGHT), key.ref not in found.learned
    day = date.fromisoformat(key.ref)
    return Changed(few[:1].upper() + few[1:], cause, day, LEARNED, key.ref, href=href, is_over=over)


def _few(words: Sequence[str], most: int, between: str) -> str:
    """Return the first `most` of the words, and how many others there are."""
    others = len(words) - most
    more = [ngettext("{n} other", "{n} others", others).format(n=others)] if others > 0 else []
    return between.join([*words[:most], *more])


def decided_words(suggestion: Suggestion, effective: EffectiveConfig, now: datetime) -> Decided:
    """Return a settled suggestion in words; its outcomes are prefetched."""
    outcomes = {row.kind: row for row in suggestion.outcomes.all()}
    decision, effect = outcomes.get(Outcome.Kind.DECISION), outcomes.get(Outcome.Kind.EFFECT)
    reason = decision.user_reason if decision else None
    status = sentences.settled_status(
        suggestion.status,
        decided=decision.outcome if decision else "",
        reverted=Outcome.Kind.REVERT in outcomes,
        never=reason == NEVER,
    )
    accepted = suggestion.status == Suggestion.Status.ACCEPTED
    can_undo = suggestion_can_undo(suggestion=suggestion, now=now)
    came_back = any(
        text_today(str(note)) in wording.BROUGHT_BACK.values() for note in suggestion.validation_notes
    )
    over = (
        can_undo
        and accepted
        and not suggestion_undo_forgets(suggestion=suggestion, now=now)
        and suggestion_not_in_force(suggestion=suggestion, decision=decision, effective=effective)
    )
    return Decided(
        suggestion=suggestion,
        headline=sentences.headline(suggestion.suggestion_type, suggestion.label),
        status=status,
        at=suggestion.resolved_at or (decision.decided_at if decision else None),
        change=_change(suggestion, decision) if accepted and Outcome.Kind.REVERT not in outcomes else "",
        until=suggestion.snoozed_until if suggestion.status == Suggestion.Status.SNOOZED else None,
        reason=stored_text(reason) if reason and reason != NEVER else "",
        effect=sentences.effect_words(effect.outcome, effect.measured) if effect else "",
        harmed=bool(effect and effect.outcome == Outcome.Result.HARMED),
        chart=effect_chart(label=suggestion.label, measured=effect.measured) if effect else None,
        undo=_(wording.UNDO) if can_undo and not over else "",
        asks_why=suggestion.status == Suggestion.Status.REJECTED and reason == "",
        came_back=_(wording.CAME_BACK) if came_back else "",
        not_in_force=_(wording.NOT_IN_FORCE) if over else "",
        undo_says=_undo_says(suggestion, decision, effective) if accepted and can_undo and not over else "",
    )


def _undo_says(suggestion: Suggestion, decision: Outcome | None, effective: EffectiveConfig) -> str:
    """Return the words beside Undo if it takes back more than the reader's yes, else ""."""
    if not suggestion.change.kind.weighs:
        return ""
    return sentences.undo_words(effective.weight(suggestion.target_key), *_weights(suggestion, decision))


def _weights(suggestion: Suggestion, decision: Outcome | None) -> tuple[object, object]:
    """Return the weight before the decision and the one agreed to."""
    body = decision.config_before if decision else {}
    before = body_effective(body).weight(suggestion.target_key) if body else suggestion.current_value
    return before, (decision.edited_value if decision else "") or suggestion.suggested_value


def _change(suggestion: Suggestion, decision: Outcome | None) -> str:
    """Return the weight before and after, with a value that the reader chose, or a new topic's other names.

    The weight before is that of the decision, because it may have been learned after the suggestion was made.
    If that config is archived, it is that of the suggestion.
    """
    if not suggestion.change.kind.weighs:
        return sentences.names_words(suggestion.other_names)
    words = " → ".join(sentences.weight_step(*_weights(suggestion, decision)))
    if decision and decision.edited_value:
        return _("{change}, your own choice").format(change=words)
    return words


@login_required
@require_safe
def history(request: HttpRequest) -> HttpResponse:
    """Show what changed the order of the reader's page, newest first."""
    now = timezone.now()
    reader = reader_of(request)
    suggestions_sweep(now=now, reader_id=reader.pk)
    page = history_page(reader=reader, number=request.GET.get("page"), now=now)
    return render(request, "suggestions/history.html", page)


@login_required
@require_POST
@rate_limited(DECIDE)
def history_undo(request: HttpRequest) -> HttpResponse:
    """Undo one change of the history, and show the page again with a sentence that says what is different.

    The form says which: `what` is the kind of change, `ref` its number or its day. If nothing of it is left,
    change nothing, and say so.
    """
    what, ref = request.POST.get("what", ""), request.POST.get("ref", "")
    reader = reader_of(request)
    done = past_change_undo(reader=reader, what=what, ref=ref, now=timezone.now())
    if isinstance(done, Refusal):
        messages.info(request, done.message)
    else:
        messages.success(request, undone_words(reader_id=reader.pk, row=done))
    number = request.POST.get("page", "")
    query = f"?page={number}" if number.isascii() and number.isdigit() and number != "1" else ""
    return redirect(f"{reverse('suggestions:history')}{query}")


def undone_words(*, reader_id: UUID, row: VersionRow | None) -> str:
    """Return the sentence after an undo: `row` is the version of the settings that it made, if any.

    The undo of an undo brings a change back, and says so.
    """
    if row is None:
        return f"{_('Undone')}."
    names = reader_source_titles(reader_id=reader_id, keys=sources_named(row.changes))
    words = _few([change_words(change, names) for change in row.changes], CHANGES_SHOWN, "; ")
    head = _("On again") if row.cause_ref.startswith(REDONE) else _("Undone")
    return f"{head}: {words}."
