"""The preview of a suggestion: today's digest before and after, side by side, and the answer to it."""

from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.readers import reader_of
from digest.selectors import source_titles
from suggestions import presenters
from suggestions.entities import PreviewItem
from suggestions.models import Suggestion
from suggestions.selectors.pending import suggestion_for
from suggestions.selectors.preview import Side, suggestion_side_by_side
from suggestions.services.lifecycle import suggestions_sweep

# One place up or down is what making room for another item does.
FAR = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a side, and how it gets on; `moved` is "" where it stays.

    `far` items stand out: the rest only make room for them.
    """

    item: PreviewItem
    source: str
    moved: str
    far: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """One place of the digest: what stands there, and what would."""

    rank: int
    before: Line | None
    after: Line | None

    @property
    def still(self) -> bool:
        """Whether nothing comes, goes or moves far here."""
        return not any(line and line.far for line in (self.before, self.after))


@login_required
@require_safe
def preview(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    """Today's digest as it is and as it would be; one that is answered by now is shown in the history."""
    reader, now = reader_of(request), timezone.now()
    suggestions_sweep(now=now, reader_id=reader.pk)
    suggestion = suggestion_for(reader_id=reader.pk, suggestion_id=suggestion_id)
    if suggestion is None:
        raise Http404("There is no such suggestion of yours.")
    if suggestion.status != Suggestion.Status.PENDING:
        return redirect("suggestions:history")
    return render(request, "suggestions/preview.html", _page(suggestion, now))


def _page(suggestion: Suggestion, now: datetime) -> dict[str, Any]:
    left, right = suggestion_side_by_side(suggestion=suggestion, now=now)
    titles = source_titles(keys={item.source for item in (*left, *right)})
    before = [_line(item, titles, leaving=True) for item in left]
    after = [_line(item, titles, leaving=False) for item in right]
    pairs = [Pair(n, *both) for n, both in enumerate(zip_longest(before, after), start=1)]
    return {
        "suggestion": suggestion,
        "headline": presenters.headline(suggestion.suggestion_type, suggestion.label),
        "pairs": pairs,
        "still": sum(pair.still for pair in pairs),
        "words": _words(left, right),
        "why_not": presenters.WHY_NOT,
    }


def _line(item: PreviewItem, titles: dict[str, str], *, leaving: bool) -> Line:
    """On the left only what drops out is marked, on the right whatever stands elsewhere than before."""
    marked = item.after is None if leaving else item.before != item.after
    words = presenters.move_words(item.before, item.after) if marked else ""
    way = abs(item.before - item.after) if item.before and item.after else FAR
    return Line(item, titles.get(item.source, item.source), words, bool(words) and way >= FAR)


def _words(left: Side, right: Side) -> str:
    """What happens to today's digest, counted."""
    enter = sum(item.before is None for item in right)
    move = sum(item.before is not None and item.before != item.after for item in right)
    leave = sum(item.after is None for item in left)
    if not enter and not leave and not move:
        return "Nothing moves today; it shows once fitting news arrives."
    counted = ((enter, "would come in"), (leave, "would drop out"), (move, "would change places"))
    return f"{', '.join(f'{count} {words}' for count, words in counted if count)}."
