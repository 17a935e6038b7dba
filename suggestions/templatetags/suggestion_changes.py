"""Tags for pages below suggestions: the effect of a change on today's page, and an early change to offer."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from digest.daily.catch_up import away_since, first_visit
from digest.daily.changes import OrderChange, change_words
from digest.days import day_begin, day_of
from digest.items.selectors import reader_source_titles
from digest.requests import reader_of
from ranking.config_words import (
    LEARNED_FROM_ANSWERS,
    LEARNED_OVERNIGHT,
    cause_words,
    sources_named,
)
from ranking.config_words import change_words as change_in_words
from ranking.language import gettext_noop
from ranking.selectors import VersionRow, config_version, learning_count, learning_steps
from suggestions.models import Suggestion
from suggestions.selectors import effects_unseen
from suggestions.sentences import unclear_words
from suggestions.services.early import EarlyChange, early_change_find
from suggestions.waiting import suggestions_wait_until

register = template.Library()
NAMES_MAX = 3
LAST_CHANGE_SHOWN = timedelta(days=1)
MADE_AGAIN = gettext_noop("This page was made again by your ratings")


@register.simple_tag(takes_context=True)
def early_change(context: Mapping[str, Any]) -> EarlyChange | None:
    """Return the early change to offer the reader of the page; `None` if there is none."""
    return early_change_find(reader=reader_of(context["request"]), now=timezone.now())


@register.simple_tag(takes_context=True)
def effect_news(context: Mapping[str, Any]) -> str:
    """Return what the checks two weeks after a change found, until the reader has seen it; one query.

    One check is told with its result, and with the reason if that is unclear. Of several the number is told,
    and how many of the changes did harm.
    """
    reader, now = reader_of(context["request"]), timezone.now()
    today = day_begin(day_of(now, reader.zone), reader.zone)
    found = effects_unseen(reader_id=reader.pk, today=today, now=now)
    if len(found) > 1:
        words = ngettext("{n} of your changes was checked.", "{n} of your changes were checked.", len(found))
        harmed = sum(one.harmed for one in found)
        harm = ngettext("{n} did harm.", "{n} did harm.", harmed).format(n=harmed) if harmed else ""
        return f"{words.format(n=len(found))} {harm}".rstrip()
    return "".join(f"{one.words} {unclear_words(one.measured)}".rstrip() for one in found)


@register.inclusion_tag("suggestions/_while_away.html", takes_context=True)
def while_away(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return how much changed by itself while the reader was away, and what waits for them.

    The reader's own decisions, in the minutes after their last page or by an app, are no news to them. A
    constant number of queries. The absence ends with their first page of today.
    """
    reader, now = reader_of(context["request"]), timezone.now()
    since = away_since(reader=reader, now=now)
    if since is None:
        return {}
    until = first_visit(reader=reader, now=now) or now
    rows = Suggestion.objects.filter(reader=reader, status=Suggestion.Status.PENDING)
    waits = suggestions_wait_until(rows=rows, now=now) if reader.suggestions_enabled else {}
    return {
        "is_back": True,
        "changes": learning_count(reader_id=reader.pk, since=since, until=until),
        "waiting": len(waits),
        "until": min(waits.values(), default=None),
        "hide_counts": reader.hide_counts,
    }


def _learned_sources(reader_id: UUID, cycle: str) -> dict[str, str]:
    """Return the names of the sources that the learning cycle moved up (`more`) and down (`less`)."""
    since = date.fromisoformat(cycle)
    found = learning_steps(reader_ids=[reader_id], since=since).get(reader_id)
    if found is None or found[0] != since:
        return {}
    titles = reader_source_titles(reader_id=reader_id, keys=found[1])
    ways: dict[str, list[str]] = {"more": [], "less": []}
    for source, (before, after) in sorted(found[1].items(), key=lambda one: -abs(one[1][1] - one[1][0])):
        ways["more" if after > before else "less"].append(titles.get(source, source))
    return {way: _few_names(names) for way, names in ways.items()}


def _few_names(names: Sequence[str]) -> str:
    """Return up to three names, and how many others there are."""
    others = len(names) - NAMES_MAX
    more = ngettext("{n} other", "{n} others", others).format(n=others) if others > 0 else ""
    return ", ".join([*names[:NAMES_MAX], *([more] if more else [])])


@register.simple_tag(takes_context=True)
def change_is_latest(
    context: Mapping[str, Any], change: OrderChange | None, marked_at: datetime | str
) -> bool:
    """Return whether `change` came after a marking as read ("" if there is none), so that its Undo is first.

    One query if both are there. What was learned overnight or from answers has no moment and stands second.
    """
    if not change or not isinstance(marked_at, datetime):
        return True
    row = config_version(reader_id=reader_of(context["request"]).pk, version=change.version)
    return row is not None and row.created_at > marked_at


@register.simple_tag(takes_context=True)
def last_change(context: Mapping[str, Any]) -> VersionRow | None:
    """Return the last change of the settings on the page if it is less than a day old, for its Undo.

    One query.
    """
    reader_id, now = reader_of(context["request"]).pk, timezone.now()
    row = config_version(reader_id=reader_id, version=context["settings"].version)
    return row if row and now - row.created_at < LAST_CHANGE_SHOWN else None


@register.inclusion_tag("suggestions/_change.html", takes_context=True)
def change_strip(context: Mapping[str, Any], change: OrderChange, *, is_list: bool = False) -> dict[str, Any]:
    """Return the strip about `change`: why, the moves, and a link to the moved articles.

    On the list of these (`is_list`) it names what was changed, and the link is to the version of the
    settings. Four queries at most.

    If weights were learned, it names their sources, about which no early change asks any more.
    """
    reader_id = reader_of(context["request"]).pk
    cause = LEARNED_FROM_ANSWERS if change.answers else LEARNED_OVERNIGHT if change.cycle else MADE_AGAIN
    sentences: list[str] = []
    # Answers that moved no weight show in likeness alone, which no page lists.
    href = f"{reverse('ranking:versions')}#learned" if change.cycle else ""
    if change.version:
        row = config_version(reader_id=reader_id, version=change.version)
        cause = cause_words(row.cause, row.cause_ref) if row else _("Your settings changed")
        href = reverse("ranking:version", args=[change.version])
        rows = row.changes if row and is_list else []
        titles = reader_source_titles(reader_id=reader_id, keys=sources_named(rows)) if rows else {}
        sentences = [change_in_words(one, titles) for one in rows]
    return {
        "change": change,
        "cause": _(cause),
        "words": change_words(change),
        "href": href,
        "is_list": is_list,
        "sentences": sentences,
        **(_learned_sources(reader_id, change.cycle) if change.cycle else {}),
        "csrf_token": context.get("csrf_token"),
    }
