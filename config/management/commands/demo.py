"""`manage.py demo`: show the main job in the terminal, from feeds to a changed digest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import fill, shorten
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from advisor.guidance.store import memories_sync
from advisor.models import Run
from advisor.run.request import GenerateResult, run_request
from advisor.run_values import PLANNER_MODEL
from config.demo.people import ACCOUNTS, ADA, BEN, CLEO, OLGA, PASSWORD
from config.demo.seed import DemoNotAllowed, demo_seed
from digest.daily.item_words import score_explain
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build
from digest.days import day_of
from digest.feedback.selectors import feedback_counts
from digest.items.selectors import source_titles
from digest.models import Impression, Item, Reader
from ranking.common.start import SettingsCommand
from suggestions.models import Evidence, Suggestion
from suggestions.notes import note_shown
from suggestions.preview import suggestion_preview
from suggestions.proposals import Refusal
from suggestions.selectors import suggestions_pending
from suggestions.sentences import confidence_stated, forecast_words, headline, model_adds, weight_step
from suggestions.services.resolve import suggestion_accept
from suggestions.wording import CONFIDENCE

WIDTH = 96
INDENT = "   "
TITLE_CHARS = 62
TOP_SHOWN, MOVES_SHOWN = 5, 8
Write = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WalkthroughResult:
    """The status of the run, the accepted suggestion (or ""), and the number of items that it moved."""

    status: str
    accepted: str = ""
    moved: int = 0


def walkthrough_run(*, now: datetime, write: Write) -> WalkthroughResult:
    """Do the main job for the demo's first reader, and report each step by `write`, line by line.

    A second call on the same day accepts nothing more and shows the current state. Raises `DemoNotAllowed`.
    """
    write("Tidings, the main job once. Every name, place and item in it is made up.")
    seeded = demo_seed(now=now)
    # Give the advisor its built-in insights, as a site's first night does.
    memories_sync(now=now)
    write("\nFEEDS")
    write(f"   {seeded.feeds} feeds in five formats read: {seeded.items_seen} items, {seeded.items_new} new.")
    readers = {person.name: Reader.objects.get(pk=seeded.reader_ids[person.name]) for person in ACCOUNTS}
    ada = readers[ADA.name]
    before = _digest(ada, now)
    write(f"\nADA'S DIGEST, the best {len(before)} of the last seven days")
    for line in _digest_lines(before):
        write(line)
    result = _advice_show(ada, before, now, write)
    write("\nTHE OTHERS")
    for reader in (readers[BEN.name], readers[CLEO.name]):
        advice = _advice(reader, now)
        waiting = len(suggestions_pending(reader_id=reader.pk))
        text = f"{_count_words(waiting, 'suggestion')} to decide on." if waiting else advice.reason
        write(_wrap(f"{reader.username.title()}: {text}"))
    names = f"{ADA.name}, {BEN.name}, {CLEO.name} (readers) or {OLGA.name} (operator)"
    write(f"\nNEXT: `make run` (or `tidings run`) serves it on {settings.SITE_URL.rstrip('/')}/")
    write(f"      Log in as {names}; the password is {PASSWORD}.")
    write("      The suggestions that wait are at /ui/suggestions, the runs step by step in /admin/.")
    return result


def _digest(reader: Reader, now: datetime) -> list[Impression]:
    return digest_impressions(
        digest=digest_build(reader=reader, date=day_of(now, reader.zone), now=now), now=now
    )


def _advice(reader: Reader, now: datetime) -> GenerateResult:
    return run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=True, inline=True)


def _advice_show(ada: Reader, before: list[Impression], now: datetime, write: Write) -> WalkthroughResult:
    result = _advice(ada, now)
    counts = feedback_counts(reader_id=ada.pk)
    write(f"\nTHE ADVISOR reads her {counts.total} ratings, {counts.tagged} of them with a reason")
    if result.run_id is None or not result.suggestions_created:
        # There is no new suggestion: show the reason, and the decided and waiting ones.
        write(_wrap(result.reason))
        rows = Suggestion.objects.filter(reader=ada).order_by("pk")
        titles = source_titles(keys={row.target_key for row in rows})
        for row in rows:
            write(f"   {row.status:<9} {_title(row, titles)}")
        return WalkthroughResult(result.status)
    run = Run.objects.get(pk=result.run_id)
    made = _count_words(result.suggestions_created, "suggestion")
    write(_wrap(f"{made} after {_effort(run)}. The one that would move most:"))
    suggestion = _suggestion_show(ada, now, write)
    return _decision_show(suggestion, before, now, result.status, write)


def _effort(run: Run) -> str:
    """Return the turns, tool calls and cost of a run. Say so if the planner made them without a model."""
    calls = f"{run.turns} turns and {run.tool_calls} tool calls of {run.model}"
    if run.steps.filter(kind="model").exclude(model=PLANNER_MODEL).exists():
        return f"{calls}, for ${run.cost_usd:.2f}"
    return f"{calls}; no model was asked, and rules alone reviewed"


def _suggestion_show(ada: Reader, now: datetime, write: Write) -> Suggestion:
    """Show the pending suggestion that would change today's digest most, with its evidence."""
    previews = {s: suggestion_preview(suggestion=s, now=now) for s in suggestions_pending(reader_id=ada.pk)}
    chosen = max(previews, key=lambda s: len(previews[s].enters) + len(previews[s].moves))
    preview, evidence = previews[chosen], list(chosen.evidence.all())
    titles = source_titles(keys={row.source_key for row in evidence} | {chosen.target_key})
    write(f"\n   {_title(chosen, titles)}?")
    for line in (*_change_lines(chosen), *_evidence_lines(evidence, titles)):
        write(line)
    moves = f"{len(preview.enters)} new, {len(preview.leaves)} gone, {len(preview.moves)} moved"
    write(f"   Preview:  of today's 30 best {moves}.")
    return chosen


def _decision_show(
    suggestion: Suggestion, before: list[Impression], now: datetime, status: str, write: Write
) -> WalkthroughResult:
    ada, title = suggestion.reader, headline(suggestion.suggestion_type, suggestion.label)
    write("\nADA ACCEPTS, and only now anything changes")
    answer = suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    if isinstance(answer, Refusal):
        write(_wrap(f"It could not be applied: {answer.message}"))
        return WalkthroughResult(status)
    lines = _move_lines(before, _digest(ada, now))
    moved = (
        f"{_count_words(len(lines), 'place')} of today's digest changed" if lines else "no item had to move"
    )
    write(f"   Settings version {answer.config_version}; {moved}.")
    for line in lines[:MOVES_SHOWN]:
        write(line)
    return WalkthroughResult(status, title, len(lines))


def _digest_lines(shown: Sequence[Impression]) -> list[str]:
    lines = []
    for one in shown[:TOP_SHOWN]:
        source = str(one.item.source)
        why = score_explain(one.parts, one.score, source)
        lines.append(f"   {one.rank:>2}  {_item_text(one.item.title, source)}")
        if why.chips:
            lines.append(_wrap(" · ".join(why.chips), first=" " * 7))
    return lines


def _change_lines(suggestion: Suggestion) -> list[str]:
    """Return lines with the change, the reason and the forecast of a suggestion."""
    sure = CONFIDENCE[confidence_stated(suggestion.confidence, suggestion.forecast)]
    if suggestion.change.kind.weighs:
        old, new = weight_step(suggestion.current_value, suggestion.suggested_value)
        change = f"   {old} → {new}; {sure.lower()}"
    else:
        change = f"   {suggestion.expected_impact} {sure}."
    why = [_wrap(suggestion.reason, first="   Why:      ")]
    if note := model_adds(note_shown(suggestion).text):
        why.append(_wrap(note, first=" " * 13))
    return [
        change,
        *why,
        _wrap(forecast_words(suggestion.forecast, suggestion.suggestion_type), first="   Forecast: "),
    ]


def _evidence_lines(evidence: Iterable[Evidence], titles: Mapping[str, str]) -> list[str]:
    lines = ["   Evidence, her own ratings:"]
    for row in evidence:
        reasons = f", {', '.join(row.reason_tags)}" if row.reason_tags else ""
        item = _item_text(row.title, titles.get(row.source_key, row.source_key))
        lines.append(f"     {'+' if row.useful else '–'} {item}{reasons}")
    return lines


def _move_lines(before: Sequence[Impression], after: Sequence[Impression]) -> list[str]:
    """Return a line for each item whose rank differs between two digests, the longest move first."""
    items: dict[int, Item] = {one.item_id: one.item for one in (*before, *after)}
    old, new = ({one.item_id: one.rank for one in shown} for shown in (before, after))
    # An item outside a digest counts as just below its end.
    end = max(len(before), len(after)) + 1
    moved = [pk for pk in items if old.get(pk) != new.get(pk)]
    moved.sort(key=lambda pk: (-abs(old.get(pk, end) - new.get(pk, end)), new.get(pk, end)))
    return [
        f"   {old.get(pk) or 'new':>4} → {new.get(pk) or 'out':<4} "
        f"{_item_text(items[pk].title, str(items[pk].source))}"
        for pk in moved
    ]


def _title(suggestion: Suggestion, titles: Mapping[str, str]) -> str:
    return headline(suggestion.suggestion_type, titles.get(suggestion.target_key, suggestion.label))


def _item_text(title: str, source: str) -> str:
    return f"{shorten(title, TITLE_CHARS, placeholder='…')} ({source})"


def _wrap(text: str, first: str = INDENT) -> str:
    """Return `text` wrapped to the page's width, with lines after the first indented."""
    return fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def _count_words(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class Command(SettingsCommand):
    """Seed the demo and show the main job for one of its readers."""

    help = "Seed the demo and show the main job, from feeds to a digest, a suggestion and a decision."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the walkthrough. Exit code 1 if the demo is refused."""
        try:
            walkthrough_run(now=timezone.now(), write=self.stdout.write)
        except DemoNotAllowed as refused:
            raise CommandError(str(refused)) from refused
