"""The main job once, told in the terminal: feeds, a digest, a suggestion, a decision, another digest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from advisor.models import Run
from advisor.services.memories import memories_sync
from advisor.services.runs import GenerateResult, run_request
from config.demo.people import ADA, BEN, CAST, CLEO, OLGA, PASSWORD
from config.demo.readers import Seeded, demo_seed
from config.demo.words import (
    change_lines,
    counted,
    digest_lines,
    move_lines,
    preview_words,
    proof_lines,
    wrapped,
)
from digest.days import day_of
from digest.models import Impression, Reader
from digest.selectors import digest_impressions, feedback_counts, source_titles
from digest.services.build import digest_build
from suggestions.entities import Refusal
from suggestions.models import Suggestion
from suggestions.presenters import headline
from suggestions.selectors import suggestion_preview, suggestions_pending
from suggestions.services.resolve import suggestion_accept

MOVES_SHOWN = 8
ADDRESS = "http://127.0.0.1:8000/"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Told:
    """How the request for suggestions ended, what was accepted ("": nothing), how many items it moved."""

    status: str
    accepted: str = ""
    moved: int = 0


def story_tell(*, now: datetime, say: Say) -> Told:
    """Do the main job for the demo's first reader and say what happens, line by line.

    Told again on the same day it accepts nothing more and shows how things stand. Raises `DemoRefused`.
    """
    say("Tidings, the main job once. Every name, place and item in it is made up.")
    seeded = _feeds_told(now, say)
    readers = {person.name: Reader.objects.get(pk=seeded.reader_ids[person.name]) for person in CAST}
    ada = readers[ADA.name]
    before = _digest_told(ada, now, say)
    result = _advice(ada, now)
    told = _advice_told(ada, result, before, now, say)
    _others_told([readers[BEN.name], readers[CLEO.name]], now, say)
    _farewell(say)
    return told


def _feeds_told(now: datetime, say: Say) -> Seeded:
    seeded = demo_seed(now=now)
    # As on a site that has been up for a night: the advisor knows the insights that come with it.
    memories_sync(now=now)
    say("\nFEEDS")
    say(f"   {seeded.feeds} feeds in five formats read: {seeded.items_seen} items, {seeded.items_new} new.")
    return seeded


def _digest_told(ada: Reader, now: datetime, say: Say) -> list[Impression]:
    shown = _digest(ada, now)
    say(f"\nADA'S DIGEST, the best {len(shown)} of the last seven days")
    for line in digest_lines(shown):
        say(line)
    return shown


def _digest(reader: Reader, now: datetime) -> list[Impression]:
    return digest_impressions(digest=digest_build(reader=reader, date=day_of(now, reader.zone), now=now))


def _advice(reader: Reader, now: datetime) -> GenerateResult:
    return run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=True, inline=True)


def _advice_told(
    ada: Reader, result: GenerateResult, before: list[Impression], now: datetime, say: Say
) -> Told:
    counts = feedback_counts(reader_id=ada.pk)
    say(f"\nTHE ADVISOR reads her {counts.total} thumbs, {counts.tagged} of them with a reason")
    if result.run_id is None or not result.suggestions_created:
        _standing_told(ada, result, say)
        return Told(result.status)
    run = Run.objects.get(pk=result.run_id)
    effort = f"{run.turns} turns and {run.tool_calls} tool calls of {run.model}"
    made = counted(result.suggestions_created, "suggestion")
    say(wrapped(f"{made} after {effort}, for ${run.cost_usd:.2f}. The one that would move most:"))
    suggestion = _suggestion_told(ada, now, say)
    return _decision_told(ada, suggestion, before, now, result.status, say)


def _suggestion_told(ada: Reader, now: datetime, say: Say) -> Suggestion:
    """Show the pending suggestion that would change today's digest most, with all that speaks for it."""
    previews = {s: suggestion_preview(suggestion=s, now=now) for s in suggestions_pending(reader_id=ada.pk)}
    chosen = max(previews, key=lambda s: len(previews[s].enters) + len(previews[s].moves))
    evidence = list(chosen.evidence.all())
    titles = source_titles(keys={row.source_key for row in evidence} | {chosen.target_key})
    say(f"\n   {_title(chosen, titles)}?")
    for line in (*change_lines(chosen), *proof_lines(evidence, titles), *preview_words(previews[chosen])):
        say(line)
    return chosen


def _decision_told(
    ada: Reader, suggestion: Suggestion, before: list[Impression], now: datetime, status: str, say: Say
) -> Told:
    title = headline(suggestion.suggestion_type, suggestion.label)
    say("\nADA ACCEPTS, and only now anything changes")
    answer = suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    if isinstance(answer, Refusal):
        say(wrapped(f"It could not be applied: {answer.message}"))
        return Told(status)
    lines = move_lines(before, _digest(ada, now))
    moved = f"{counted(len(lines), 'place')} of today's digest changed" if lines else "no item had to move"
    say(f"   Settings version {answer.config_version}; {moved}.")
    for line in lines[:MOVES_SHOWN]:
        say(line)
    return Told(status, title, len(lines))


def _standing_told(ada: Reader, result: GenerateResult, say: Say) -> None:
    """Why there is nothing new, what was decided already and what still waits."""
    say(wrapped(result.reason))
    rows = Suggestion.objects.filter(reader=ada).order_by("pk")
    titles = source_titles(keys={row.target_key for row in rows})
    for row in rows:
        say(f"   {row.status:<9} {_title(row, titles)}")


def _title(suggestion: Suggestion, titles: Mapping[str, str]) -> str:
    return headline(suggestion.suggestion_type, titles.get(suggestion.target_key, suggestion.label))


def _others_told(readers: list[Reader], now: datetime, say: Say) -> None:
    say("\nTHE OTHERS")
    for reader in readers:
        result = _advice(reader, now)
        waiting = len(suggestions_pending(reader_id=reader.pk))
        words = f"{counted(waiting, 'suggestion')} to decide on." if waiting else result.reason
        say(wrapped(f"{reader.username.title()}: {words}"))


def _farewell(say: Say) -> None:
    names = f"{ADA.name}, {BEN.name}, {CLEO.name} (readers) or {OLGA.name} (operator)"
    say(f"\nNEXT: `make run` serves it on {ADDRESS}")
    say(f"      Log in as {names}; the password is {PASSWORD}.")
    say("      The suggestions that wait are at /ui/suggestions, the runs step by step in /admin/.")
