"""Pages of suggestions: pending cards, previews side by side, and the forms that answer one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.daily.portrait import source_sparks
from digest.feedback.places import feedback_placed
from digest.feedback.selectors import feedback_recent, reason_tags
from digest.feeds.identity import web_url
from digest.items.own_names import own_names
from digest.items.selectors import source_titles
from digest.models import Reader
from digest.requests import reader_of, return_path
from digest.throttling import DECIDE, rate_limited
from ranking.common.charts import Bar, slopes_make
from ranking.common.phrases import searching_once
from ranking.entities import EffectiveConfig
from ranking.language import stored_text
from ranking.selectors import config_effective, config_version
from suggestions import sentences, wording
from suggestions.always_disliked import mute_offers
from suggestions.changes.registry import PAGE_GROUPS, RULE_NOTES
from suggestions.cut_chart import CutChart, cut_chart
from suggestions.history_pages import decided_words, undone_words
from suggestions.measures import measure_once
from suggestions.models import Evidence, Suggestion
from suggestions.notes import NO_NOTE, Note, note_shown, notes_shown
from suggestions.outcomes.selectors import effects_harmful
from suggestions.outcomes.untaken import record_for
from suggestions.preview import Side, previews_of, suggestion_side_by_side
from suggestions.proposals import Preview, PreviewItem, Refusal, Resolved, WeekEffect, WeekItem
from suggestions.selectors import (
    evidence_muted,
    suggestion_for,
    suggestions_pending,
    suggestions_settled,
)
from suggestions.services import resolve
from suggestions.services.checks import suggestions_checkable
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.waiting import suggestions_wait_until
from suggestions.week import suggestion_weeks

RECENT_MAX = 5
# Each card orders seven days anew. Eighty of them took 14 s with ten thousand articles.
CARDS_MAX = 12
MOVES_SHOWN = 5
# Headlines of today's page on the face of a card.
HEADLINES_SHOWN = 3
# Articles of last week there.
WEEK_ENTERS_SHOWN, WEEK_LEAVES_SHOWN = 3, 2
# More than anybody saves, and less than a number of a database holds.
VERSION_DIGITS = 9
# How long a harmful change is brought up; after that it is in the history only.
HARM_SHOWN = timedelta(days=14)
# A move by one place only makes room for another item.
FAR = 2
# Previews and last weeks of suggestions by id, and the ids of those that headlines can check.
Measured = tuple[Mapping[int, Preview], Mapping[int, WeekEffect], frozenset[int]]
NOTHING: Measured = ({}, {}, frozenset())


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One rated item behind a suggestion."""

    row: Evidence
    href: str
    source: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """One item that would change places in today's digest; `sign` is an arrow up or down."""

    sign: str
    words: str
    item: PreviewItem
    source: str

    @property
    def is_down(self) -> bool:
        """Return whether it falls or drops out."""
        return self.sign == sentences.DOWN


@dataclass(frozen=True, slots=True)
class WeekLines:
    """What a yes to a card would change, for the reader: in sentences, and as a few articles.

    `words` tell of today's page. If its first ten stay the same, they go on with last week, and `later` is
    "". Else `later` is the sentence about last week, which the card shows below the articles.

    `comes` and `goes` are the articles that would come in and drop out, each with the name of its source: of
    today's first ten if these change, else of last week. `source` is the key of the source that the card is
    about, "" if it is about none.
    """

    words: str
    comes: Sequence[tuple[PreviewItem | WeekItem, str]]
    goes: Sequence[tuple[PreviewItem | WeekItem, str]]
    source: str = ""
    later: str = ""

    @property
    def has_others(self) -> bool:
        """Return whether a change of one `source` brings in an article of another."""
        return bool(self.source) and any(item.source != self.source for item, _name in self.comes)


@dataclass(frozen=True, slots=True)
class Card:
    """One pending suggestion in words and figures. `note` is a model's addition to the reason.

    `because` ends the headline, and `spark` draws the source's ratings by week. `week` has the articles of
    last week that would have come or gone. Without any, `effect` are the headlines of today's page that rise
    or fall most, and `still` explains why there are none. `checked` is the finding of a check by headlines,
    and `is_checkable` tells whether one is offered. `cut` draws what a rule cuts off. `names` are the other
    names of a new topic in words, and `asked` is the answer of the reader that led to it. It expires at
    `until` if the reader stays here.
    """

    suggestion: Suggestion
    headline: str
    because: str
    effect: tuple[Move, ...]
    still: str
    note: str
    notes: tuple[str, ...]
    sentence: str
    current: str
    proposed: str
    bounds: sentences.Bounds | None
    shown: str
    confidence: str
    forecast: str
    today: str
    since: str
    others: str
    evidence: tuple[EvidenceLine, ...]
    moves: tuple[Move, ...]
    more_moves: int
    week: WeekLines | None = None
    spark: Sequence[Bar] = ()
    checked: str = ""
    is_checkable: bool = False
    cut: CutChart | None = None
    names: str = ""
    asked: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a side; `moved` is its move in words, "" if it stays.

    `highlighted` items come, go or move far: the rest only make room for them.
    """

    item: PreviewItem
    source: str
    moved: str
    highlighted: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """One place of the digest: the item before and after."""

    rank: int
    before: Line | None
    after: Line | None

    @property
    def unchanged(self) -> bool:
        """True if no item comes, goes or moves far here."""
        return not any(line and line.highlighted for line in (self.before, self.after))


def cards_page(*, reader: Reader, now: datetime) -> dict[str, Any]:
    """Return the context of the suggestions page: cards by group, harmful changes, recent decisions."""
    reader_id = reader.pk
    waiting = suggestions_pending(reader_id=reader_id)
    pending = waiting[:CARDS_MAX]
    effective = config_effective(reader_id=reader_id)
    previews, weeks, checkable = _measured(reader, effective, pending, now)
    cited = {row.source_key for suggestion in pending for row in suggestion.evidence.all()}
    moved = {i.source for p in previews.values() for i in (*p.enters, *p.leaves, *p.moves)}
    moved |= {i.source for effect in weeks.values() for i in (*effect.enters, *effect.leaves)}
    titles = own_names(reader_id=reader_id).over(source_titles(keys=cited | moved))
    labels = {tag.slug: _(tag.label.lower()) for tag in reason_tags()}
    notes = notes_shown(pending)
    muted = evidence_muted(reader_id=reader_id, suggestions=pending, now=now)
    sparks = source_sparks(reader_id=reader_id, now=now) if pending else {}
    is_cut = any(row.change.kind.axis for row in pending)
    rated = feedback_placed(reader_id=reader_id, rated=feedback_recent(reader_id=reader_id)) if is_cut else []
    ends = suggestions_wait_until(rows=Suggestion.objects.filter(pk__in=[s.pk for s in pending]), now=now)
    cards = [
        replace(
            _card(row, effective, previews[row.pk], titles, labels, notes.get(row.pk, NO_NOTE), muted),
            week=_week(row, weeks[row.pk], previews[row.pk], titles),
            still=sentences.still_words(row.suggestion_type, row.label, previews[row.pk], weeks[row.pk]),
            spark=sparks.get(row.target_key, ()) if row.change.kind.of_source else (),
            is_checkable=row.pk in checkable,
            cut=cut_chart(row.change, rated),
            until=ends.get(row.pk),
        )
        for row in pending
    ]
    groups = [
        (name, _(heading), [c for c in cards if c.suggestion.change.kind.group[0] == name])
        for name, heading in PAGE_GROUPS
    ]
    recent = suggestions_settled(reader_id=reader_id)[:RECENT_MAX]
    harmful = effects_harmful(reader_id=reader_id, effective=effective)
    return {
        "record": record.words if (record := record_for(reader_id=reader_id)) else "",
        "groups": [group for group in groups if group[2]],
        "count": len(cards),
        "later": len(waiting) - len(cards),
        "disliked": mute_offers(reader_id=reader_id, now=now) if reader.suggestions_enabled else [],
        "decided": [decided_words(row, effective, now) for row in recent],
        "harmful": [line for line in harmful if now - line.checked_at < HARM_SHOWN],
        "why_not": sentences.reasons_offered(),
        "words": sentences.script_words(),
    }


def _measured(
    reader: Reader, effective: EffectiveConfig, pending: Sequence[Suggestion], now: datetime
) -> Measured:
    """Return each suggestion's preview of today's page and effect on last week, by its id, and the ids of
    those that can be checked by headlines. Measured once, as long as nothing it rests on changes.
    """

    def make() -> Measured:
        with searching_once():  # today's articles are among last week's
            afters = [row.change.applied(effective) for row in pending]
            made = previews_of(reader_id=reader.pk, before=effective, afters=afters, now=now)
            previews = {row.pk: preview for row, preview in zip(pending, made, strict=True)}
            weeks = suggestion_weeks(reader_id=reader.pk, before=effective, suggestions=pending, now=now)
        return previews, weeks, suggestions_checkable(reader=reader, suggestions=pending, now=now)

    about = [(row.pk, row.label, row.suggested_value, row.checked) for row in pending]
    return (
        measure_once(make, about=about, reader_id=reader.pk, effective=effective, now=now)
        if pending
        else NOTHING
    )


def _card(
    suggestion: Suggestion,
    effective: EffectiveConfig,
    preview: Preview,
    titles: Mapping[str, str],
    labels: Mapping[str, str],
    note: Note,
    muted: Collection[int],
) -> Card:
    """Return the card with the current weight, which may have been learned since the suggestion."""
    kind, label = suggestion.suggestion_type, suggestion.label
    is_topic = not suggestion.change.kind.weighs
    weight = effective.weight(suggestion.target_key)
    before = suggestion.current_value if is_topic else weight
    current, proposed = sentences.weight_step(before, suggestion.suggested_value)
    shown = [row for row in suggestion.evidence.all() if row.item_id not in muted]
    evidence = tuple(_evidence_line(row, titles, labels) for row in shown)
    return Card(
        suggestion=suggestion,
        headline=sentences.headline(kind, label),
        because=sentences.because(suggestion.reason),
        effect=_effect(preview, titles),
        still="",
        note=sentences.model_adds(note.text),
        notes=tuple(stored_text(str(one), RULE_NOTES) for one in suggestion.validation_notes),
        sentence=sentences.sentence(kind, label, suggestion.suggested_value),
        names=sentences.names_words(suggestion.other_names),
        asked=_asked(suggestion),
        current=current,
        proposed=proposed,
        bounds=None if is_topic else sentences.bounds(kind, weight),
        shown=sentences.evidence_words(len(evidence)),
        confidence=sentences.confidence_words(
            sentences.confidence_stated(suggestion.confidence, suggestion.forecast),
            kind,
            by_words="by_words" in suggestion.forecast,
        ),
        forecast=sentences.forecast_words(suggestion.forecast, kind),
        today=sentences.today_words(preview),
        since=sentences.since_words(preview),
        others=sentences.others_words(suggestion.forecast),
        evidence=evidence,
        moves=moves_shown(preview, titles),
        more_moves=max(0, len(preview.moves) - MOVES_SHOWN),
        checked=sentences.checked_words(
            suggestion.checked or {}, label=suggestion.label, of_source=suggestion.change.kind.of_source
        ),
    )


def _asked(suggestion: Suggestion) -> str:
    """Return the reader's answer that led to a suggestion in words; "" if none did."""
    question = suggestion.question
    return sentences.asked_words(question.text, question.answer) if question else ""


def moves_shown(preview: Preview, titles: Mapping[str, str]) -> tuple[Move, ...]:
    """Return the items that come in, those that drop out, and the longest moves of the rest."""
    longest = sorted(preview.moves, key=lambda i: -abs((i.before or 0) - (i.after or 0)))[:MOVES_SHOWN]
    longest.sort(key=lambda i: i.after or 0)
    return tuple(_move(item, titles) for item in (*preview.enters, *preview.leaves, *longest))


def _effect(preview: Preview, titles: Mapping[str, str]) -> tuple[Move, ...]:
    """Return the headlines of today's page that rise or fall most: gains first, and one of the losses."""
    below = preview.shown + 1
    moves = [_move(item, titles) for item in (*preview.enters, *preview.moves, *preview.leaves)]

    def distance(move: Move) -> tuple[int, int]:
        before, after = (place or below for place in (move.item.before, move.item.after))
        return -abs(before - after), after

    gains, losses = (sorted((m for m in moves if m.is_down is down), key=distance) for down in (False, True))
    shown = gains[: HEADLINES_SHOWN - min(1, len(losses))]
    return tuple([*shown, *losses[: HEADLINES_SHOWN - len(shown)]])


def _week(
    row: Suggestion, effect: WeekEffect, preview: Preview, titles: Mapping[str, str]
) -> WeekLines | None:
    """Return what a yes to the suggestion `row` would change, or `None` if last week shows no change.

    `effect` is its effect on last week, `preview` that on today's page, and `titles` has the names of sources
    by key. Up to three articles that come in are listed, and two that drop out. They are those of today's
    first ten if these change, because the reader can look at that page. Else they are those of last week.
    """
    source = row.target_key if row.change.kind.of_source else ""
    name = titles.get(source, source)
    if not (words := sentences.week_words(effect, source=source, name=name)):
        return None
    today = sentences.ten_words(preview, source=source, name=name)
    lists: Sequence[Sequence[PreviewItem | WeekItem]] = (effect.enters, effect.leaves)
    later = ""
    if any(changes := sentences.ten_changes(preview)):
        lists = [sorted(items, key=lambda one: one.source != source) for items in changes]
        later = words
    most = WEEK_ENTERS_SHOWN, WEEK_LEAVES_SHOWN
    comes, goes = (
        [(item, titles.get(item.source, item.source)) for item in items[:n]]
        for items, n in zip(lists, most, strict=True)
    )
    return WeekLines(today if later else f"{today} {words}", comes, goes, source, later)


def _move(item: PreviewItem, titles: Mapping[str, str]) -> Move:
    sign, words = (say(item.before, item.after) for say in (sentences.move_sign, sentences.move_words))
    return Move(sign, words, item, titles.get(item.source, item.source))


def _evidence_line(row: Evidence, titles: Mapping[str, str], labels: Mapping[str, str]) -> EvidenceLine:
    return EvidenceLine(
        row=row,
        href=web_url(row.url),
        source=titles.get(row.source_key, row.source_key),
        reasons=tuple(labels.get(tag, tag) for tag in row.reason_tags),
    )


def preview_page(*, suggestion: Suggestion, now: datetime) -> dict[str, Any]:
    """Return the context of the preview page: today's digest before and after, place by place."""
    left, right = suggestion_side_by_side(suggestion=suggestion, now=now)
    return sides_page(left, right, reader_id=suggestion.reader_id) | {
        "suggestion": suggestion,
        "headline": sentences.headline(suggestion.suggestion_type, suggestion.label),
        "reason": sentences.reason_shown(suggestion.reason),
        "names": sentences.names_words(suggestion.other_names),
        "asked": _asked(suggestion),
        "note": sentences.model_adds(note_shown(suggestion).text),
        "why_not": sentences.reasons_offered(),
    }


def sides_page(left: Side, right: Side, *, reader_id: UUID) -> dict[str, Any]:
    """Return the context of `suggestions/_before_after.html`: a digest before and after, place by place."""
    titles = source_titles(keys={item.source for item in (*left, *right)})
    titles = own_names(reader_id=reader_id).over(titles)
    before = [_line(item, titles, leaving=True) for item in left]
    after = [_line(item, titles, leaving=False) for item in right]
    pairs = [Pair(n, *both) for n, both in enumerate(zip_longest(before, after), start=1)]
    places = [(item.before, item.after, item.title) for item in right]
    places += [(item.before, None, item.title) for item in left if item.after is None]
    return {
        "pairs": pairs,
        "chart": slopes_make(places),
        "unchanged": sum(pair.unchanged for pair in pairs),
        "words": _counted_words(left, right),
    }


def _line(item: PreviewItem, titles: dict[str, str], *, leaving: bool) -> Line:
    """Mark on the left only the items that drop out, on the right all that are new or elsewhere."""
    marked = item.after is None if leaving else item.before != item.after
    words = sentences.move_words(item.before, item.after) if marked else ""
    distance = abs(item.before - item.after) if item.before and item.after else FAR
    return Line(item, titles.get(item.source, item.source), words, bool(words) and distance >= FAR)


def _counted_words(left: Side, right: Side) -> str:
    enter = sum(item.before is None for item in right)
    move = sum(item.before is not None and item.before != item.after for item in right)
    leave = sum(item.after is None for item in left)
    return sentences.counted_words(enter, leave, move)


VERBS: dict[str, Callable[..., Resolved | Refusal]] = {
    "accept": resolve.suggestion_accept,
    "reject": resolve.suggestion_reject,
    "snooze": resolve.suggestion_snooze,
    "never": resolve.suggestion_never,
    "revert": resolve.suggestion_revert,
    "undo": resolve.suggestion_undo,
}


@login_required
@require_safe
def suggestion_list(request: HttpRequest) -> HttpResponse:
    """Show the pending suggestions with their evidence, and the latest decisions."""
    now = timezone.now()
    suggestions_sweep(now=now, reader_id=reader_of(request).pk)
    return render(request, "suggestions/list.html", cards_page(reader=reader_of(request), now=now))


@login_required
@require_safe
def preview(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    """Show today's digest as it is and as it would be; a settled suggestion leads to the history."""
    reader, now = reader_of(request), timezone.now()
    suggestions_sweep(now=now, reader_id=reader.pk)
    suggestion = suggestion_for(reader_id=reader.pk, suggestion_id=suggestion_id)
    if suggestion is None:
        raise Http404(_("There is no such suggestion of yours."))
    if suggestion.status != Suggestion.Status.PENDING:
        return redirect("suggestions:history")
    return render(request, "suggestions/preview.html", preview_page(suggestion=suggestion, now=now))


@login_required
@require_POST
@rate_limited(DECIDE)
def decide(request: HttpRequest, suggestion_id: int, verb: str) -> HttpResponse:
    """Answer one suggestion by `verb`; raises `Http404` for a suggestion of somebody else."""
    if verb not in VERBS:
        raise Http404(_("There is no “{verb}”.").format(verb=verb))
    # The form comes filled in with the proposed value: only another one is the reader's own choice.
    typed = request.POST.get("value", "").strip()
    typed = "" if typed == request.POST.get("proposed") else typed
    reason = request.POST.get("user_reason", "").strip()
    value = sentences.number_of(typed)
    extra: dict[str, Any] = {"user_reason": reason} if verb == "reject" else {}
    if verb == "accept" and typed:
        extra = {"value": value}
    outcome: Resolved | Refusal
    if verb == "accept" and typed and value is None:
        outcome = Refusal("invalid_weight", _("“{typed}” is not a number.").format(typed=typed))
    else:
        reader_id = reader_of(request).pk
        outcome = VERBS[verb](reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now(), **extra)
    if isinstance(outcome, Refusal):
        if outcome.code == "not_found":
            raise Http404(outcome.message)
        messages.error(request, sentences.refusal_words(outcome.code, outcome.message))
    else:
        kind = sentences.answer_kind(verb, {"user_reason": reason, "value": typed}, outcome.status)
        done = _(wording.DONE[kind if kind in wording.DONE else verb])
        messages.success(
            request, " ".join(filter(None, (f"{done}.", outcome.note, sentences.teaching_of(kind))))
        )
    return redirect(_next_page(request))


def _next_page(request: HttpRequest) -> str:
    """Return the page of the answer: the list, or the same page of the history."""
    if request.POST.get("next") != "history":
        return reverse("suggestions:list")
    number = request.POST.get("page", "")
    query = f"?page={number}" if number.isascii() and number.isdigit() and number != "1" else ""
    return f"{reverse('suggestions:history')}{query}"


@login_required
@require_POST
@rate_limited(DECIDE)
def accept_all(request: HttpRequest) -> HttpResponse:
    """Accept every pending suggestion, each on its own, and name the refused ones."""
    outcomes = resolve.suggestions_accept_all(reader_id=reader_of(request).pk, now=timezone.now())
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    for outcome in refused:
        messages.error(request, f"{outcome.target}: {sentences.error_words(outcome.code)}")
    if outcomes and not refused:
        messages.success(request, f"{_(wording.ALL_DONE)} {sentences.teaching_of('accept')}")
    return redirect("suggestions:list")


@login_required
@require_POST
@rate_limited(DECIDE)
def undo_change(request: HttpRequest) -> HttpResponse:
    """Undo the last change of the settings, or the one that today's page mentions, and go back to the page.

    A change that is already undone stays so.
    """
    reader, typed = reader_of(request), request.POST.get("version", "")
    seen = config_effective(reader_id=reader.pk).config.version
    refusal = resolve.change_undo(
        reader=reader,
        version=int(typed) if typed.isascii() and typed.isdigit() and len(typed) < VERSION_DIGITS else 0,
        cycle=request.POST.get("cycle", ""),
        now=timezone.now(),
    )
    made = config_effective(reader_id=reader.pk).config.version
    if refusal:
        messages.info(request, refusal.message)
    else:
        row = config_version(reader_id=reader.pk, version=made) if made != seen else None
        messages.success(request, undone_words(reader_id=reader.pk, row=row))
    return redirect(return_path(request))
