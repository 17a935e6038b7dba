"""Pages of the reader's settings: the form, every version, and going back to one."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ranking.config_body import (
    Body,
    Change,
    body_changes,
    body_default,
    body_keys,
    body_keys_current,
    body_of,
)
from ranking.entities import InvalidSetting, StaleVersion, UnknownVersion
from ranking.explain import body_words, cause_words, learned_changes_undone, steps_in_force, weight_words
from ranking.forms import ConfigForm, form_values, values_merged
from ranking.selectors import (
    config_effective,
    config_version,
    config_versions,
    config_versions_all,
    keys_current,
    weight_snapshots,
)
from ranking.services import ConfigEdit, config_edit, config_revert


def reader_id_of(request: HttpRequest) -> UUID:
    """Return whose settings these are; every view here asks for a sign-in first."""
    assert request.user.pk is not None, "login_required comes first"
    return request.user.pk


# More than anybody saves, and less than a database's numbers hold.
VERSION_DIGITS = 9
VERSIONS_PER_PAGE = 20


@login_required
@require_http_methods(["GET", "POST"])
def config(request: HttpRequest) -> HttpResponse:
    """Show the settings, or save the form; after a refused save the page has what was typed."""
    if request.method == "GET":
        return render(request, "ranking/config.html", _page(reader_id_of(request)))
    form = ConfigForm(request.POST)
    if not form.is_valid():
        return render(request, "ranking/config.html", _page(reader_id_of(request), form), status=422)
    try:
        _save(reader_id_of(request), form.cleaned_data)
    except StaleVersion as error:
        return render(request, "ranking/config.html", _stale(request, form, error), status=409)
    except InvalidSetting as error:
        form.add_error(None, error.message)
        return render(request, "ranking/config.html", _page(reader_id_of(request), form), status=422)
    messages.success(request, "Saved. Your digest follows these settings.")
    return redirect("ranking:config")


def _save(reader_id: UUID, cleaned: Mapping[str, Any]) -> int:
    edit = ConfigEdit(**{field.name: cleaned[field.name] for field in fields(ConfigEdit)})
    return config_edit(
        reader_id=reader_id, edit=edit, expected_version=cleaned["version"], now=timezone.now()
    )


@login_required
@require_POST
def revert(request: HttpRequest, version: int) -> HttpResponse:
    """Restore everything as it was at `version`; from a stale page show what changed meanwhile instead."""
    expected = request.POST.get("version", "")
    try:
        config_revert(
            reader_id=reader_id_of(request),
            version=version,
            expected_version=int(expected)
            if expected.isdecimal() and len(expected) < VERSION_DIGITS
            else None,
            now=timezone.now(),
        )
    except UnknownVersion as error:
        raise Http404(error.message) from error
    except StaleVersion as error:
        page = _page(reader_id_of(request))
        missed = [row for row in page["versions"] if row[0].version > error.seen]
        changes = [change for row, *_ in missed for change in row.changes]
        return render(request, "ranking/config.html", {**page, "missed": changes, "back": True}, status=409)
    at = f"at version {version}" if version else "before your first change"
    messages.success(request, f"Everything is back as it was {at}.")
    return redirect("ranking:config")


def _stale(request: HttpRequest, form: ConfigForm, error: StaleVersion) -> dict[str, Any]:
    """Return the page after a stale save: what changed meanwhile, and what was typed, to be saved again."""
    reader_id = reader_id_of(request)
    versions = config_versions(reader_id=reader_id)
    current = body_of((effective := config_effective(reader_id=reader_id)).config, effective.deltas)
    seen = next((row.body for row in versions if row.version == error.seen), body_default())
    merged = values_merged(request.POST, seen, current, error.current)
    page = _page(reader_id, ConfigForm(initial=merged))
    missed = [change for row in versions if row.version > error.seen for change in row.changes]
    return {**page, "missed": missed, "typed": form.typed_weights(), "chosen": form.typed_pins()}


def _page(reader_id: UUID, form: ConfigForm | None = None) -> dict[str, Any]:
    """Return everything the settings page shows, in six queries."""
    effective = config_effective(reader_id=reader_id)
    body = body_of(effective.config, effective.deltas)
    versions = config_versions(reader_id=reader_id)
    lost = _lost(body, [*(row.body for row in versions), body_default()])
    steps = weight_snapshots(reader_id=reader_id, limit=20)
    moves = [(step.source, step.before, step.after) for step in steps]
    in_force = steps_in_force(moves, effective.weights(), effective.deltas)
    return {
        "form": form or ConfigForm(initial=form_values(body, effective.config.version)),
        "version": effective.config.version,
        "weights": [
            (source, f"{weight:.2f}", weight_words(weight), source in effective.deltas)
            for source, weight in sorted(effective.weights().items())
        ],
        "typed": form.typed_weights() if form and form.is_bound else {},
        "chosen": form.typed_pins() if form and form.is_bound else {},
        "weight_errors": form.weight_errors if form else {},
        "missed": [],
        "settings": effective.config,
        "learned": list(zip(steps, in_force, strict=True)),
        "versions": [
            (row, cause_words(row.cause, row.cause_ref), gone)
            for row, gone in zip(versions, lost, strict=False)
        ],
        "lost_by_defaults": lost[-1],
    }


def _lost(current: Body, bodies: Sequence[Body]) -> list[list[Change]]:
    """Return, for each of `bodies`, what was learned from thumbs and goes if it is restored; one query."""
    renamed = keys_current(keys=set().union(*(body_keys(body) for body in bodies)))
    found = []
    for body in bodies:
        wanted = body_keys_current(body, renamed)
        found.append(
            [dict(row) for row in learned_changes_undone(body_changes(current, wanted), current, wanted)]
        )
    return found


@login_required
@require_safe
def version_list(request: HttpRequest) -> HttpResponse:
    """Show every version of the reader's settings, newest first, twenty a page."""
    reader_id = reader_id_of(request)
    page = Paginator(config_versions_all(reader_id=reader_id), VERSIONS_PER_PAGE).get_page(
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
    """Show one version: its settings, what it changed, how it differs from the settings in force."""
    reader_id = reader_id_of(request)
    row = config_version(reader_id=reader_id, version=version)
    if row is None and version != 0:
        raise Http404("You never had settings of that number.")
    effective = config_effective(reader_id=reader_id)
    current = body_of(effective.config, effective.deltas)
    config, body = effective.config, row.body if row else body_default()
    # What `config_revert` would change: sources that were renamed since have their current keys.
    restored = body_keys_current(body, keys_current(keys=body_keys(body)))
    found = {
        "version": version,
        "row": row,
        "cause": cause_words(row.cause, row.cause_ref) if row else "",
        "settings": body_words(body),
        "weights": body["source_weights"],
        "back": body_changes(current, restored),
        "current": config.version,
        "topics": config.topics,
    }
    return render(request, "ranking/version.html", found)
