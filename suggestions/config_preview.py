"""Preview changes by hand, in Settings or Sources: today's digest before and after."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from digest.items.selectors import reader_source_titles
from digest.items.taken_in import topics_take_in
from digest.requests import reader_of
from digest.sources.change_views import feeds_chosen
from digest.sources.weights import weights_at_level
from ranking.config_body import ConfigEdit, body_changes, effective_body
from ranking.config_words import change_words, sources_named
from ranking.entities import InvalidSetting
from ranking.selectors import config_with_edit
from ranking.views import config_form, config_refused, edit_of
from suggestions.preview import configs_side_by_side
from suggestions.views import sides_page

# Form fields that are no settings.
NOT_TYPED = ("csrfmiddlewaretoken",)


@login_required
@require_POST
def config_preview(request: HttpRequest) -> HttpResponse:
    """Show today's page with the typed settings. Invalid ones get the same errors as when saving."""
    reader, form = reader_of(request), config_form(request)
    if not form.is_valid():
        return config_refused(request, form)
    try:
        page = preview_page(reader_id=reader.pk, edit=edit_of(form.cleaned_data), now=timezone.now())
    except InvalidSetting as error:
        form.add_error(None, error.message)
        return config_refused(request, form)
    page |= {"back": reverse("ranking:config"), "save": reverse("ranking:config"), "section": _("Settings")}
    page["keeps_form"] = True
    return render(request, "suggestions/config_preview.html", page | {"typed": _typed_values(request)})


@login_required
@require_POST
def weights_preview(request: HttpRequest) -> HttpResponse:
    """Show today's page with another weight of the chosen sources."""
    reader, now, level = reader_of(request), timezone.now(), request.POST.get("level", "")
    chosen = feeds_chosen(reader, request.POST, now)
    if not chosen:
        messages.info(request, _("Nothing was chosen. Tick some sources first."))
        return redirect("digest:sources")
    try:
        weights = weights_at_level(reader_id=reader.pk, feed_ids=chosen, level=level)
    except InvalidSetting:
        asked = urlencode({"level": level[:40]})
        return redirect(f"{reverse('digest:source', args=[chosen[0]])}?{asked}")
    page = preview_page(reader_id=reader.pk, edit=ConfigEdit(source_weights=weights), now=now)
    page |= {"back": reverse("digest:sources"), "section": _("Sources"), "typed": _typed_values(request)}
    page["typed"] += [("do", "weigh")]
    return render(
        request, "suggestions/config_preview.html", page | {"save": reverse("digest:sources_change")}
    )


def preview_page(*, reader_id: UUID, edit: ConfigEdit, now: datetime) -> dict[str, Any]:
    """Return today's digest before and after `edit`, with the changes in words. Writes nothing.

    `taken` has the items that each added topic takes in. A constant number of queries. Raises
    `InvalidSetting` as a save does.
    """
    before, after = config_with_edit(reader_id=reader_id, edit=edit)
    changes = body_changes(effective_body(before), effective_body(after))
    names = reader_source_titles(reader_id=reader_id, keys=sources_named(changes))
    added = [topic for topic in after.config.topics if topic not in before.config.topics]
    taken = topics_take_in(reader_id=reader_id, topics=added, now=now) if added else []
    left, right = configs_side_by_side(reader_id=reader_id, before=before, after=after, now=now)
    words = [change_words(change, names) for change in changes]
    return sides_page(left, right, reader_id=reader_id) | {"changes": words, "taken": taken}


def _typed_values(request: HttpRequest) -> list[tuple[str, str]]:
    fields: Iterable[tuple[str, list[Any]]] = request.POST.lists()
    return [(name, str(one)) for name, values in fields if name not in NOT_TYPED for one in values]
