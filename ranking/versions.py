"""The settings over time: every version, what it changed, what going back to it would change."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ranking.body import Body, body_changes, body_default, body_keys, body_keys_now, body_of
from ranking.presenters import body_words, cause_words
from ranking.readers import reader_id_of
from ranking.selectors import VersionRow, config_effective, config_version, config_versions_all, keys_now

VERSIONS_A_PAGE = 20


@login_required
@require_safe
def version_list(request: HttpRequest) -> HttpResponse:
    """Every version of the reader's settings, newest first, twenty a page."""
    reader_id = reader_id_of(request)
    page = Paginator(config_versions_all(reader_id=reader_id), VERSIONS_A_PAGE).get_page(
        request.GET.get("page")
    )
    found = {
        "page": page,
        "rows": [(row, cause_words(row.cause, row.cause_ref)) for row in page],
        "current": (config := config_effective(reader_id=reader_id).config).version,
        "topics": config.topics,
    }
    return render(request, "ranking/versions.html", found)


@login_required
@require_safe
def version_page(request: HttpRequest, version: int) -> HttpResponse:
    """One version: what it said, what it changed, and how it differs from the settings in force."""
    reader_id = reader_id_of(request)
    row = config_version(reader_id=reader_id, version=version)
    if row is None and version != 0:
        raise Http404("You never had settings of that number.")
    effective = config_effective(reader_id=reader_id)
    current = body_of(effective.config, effective.deltas)
    config, body = effective.config, row.body if row else body_default()
    found = {**_shown(version, row, body, current), "current": config.version, "topics": config.topics}
    return render(
        request,
        "ranking/version.html",
        {**found, "current": effective.config.version, "topics": effective.config.topics},
    )


def _shown(version: int, row: VersionRow | None, body: Body, current: Body) -> dict[str, Any]:
    """`back` is told as `config_revert` does it: sources that were renamed since by their keys of now."""
    wanted = body_keys_now(body, keys_now(keys=body_keys(body)))
    return {
        "version": version,
        "row": row,
        "cause": cause_words(row.cause, row.cause_ref) if row else "",
        "settings": body_words(body),
        "weights": body["source_weights"],
        "back": body_changes(current, wanted),
    }
