"""The reader's settings: topics, weights and the rest, every version they had, and the way back."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from ranking.body import Body, Change, body_changes, body_default, body_keys, body_keys_now, body_of
from ranking.entities import EffectiveConfig
from ranking.errors import InvalidSetting, StaleVersion, UnknownVersion
from ranking.forms import ConfigForm, form_values, values_merged
from ranking.presenters import cause_words, steps_in_force, taught_back, weight_words
from ranking.readers import reader_id_of
from ranking.selectors import (
    SnapshotRow,
    VersionRow,
    config_effective,
    config_versions,
    keys_now,
    weight_snapshots,
)
from ranking.services import ConfigEdit, config_edit, config_revert

# More than anybody saves, and less than a database's numbers hold.
VERSION_DIGITS = 9


@login_required
@require_http_methods(["GET", "POST"])
def config(request: HttpRequest) -> HttpResponse:
    """Show the settings, or save what the form says; a stale or impossible save keeps what was typed."""
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


def _save(reader_id: UUID, said: Mapping[str, Any]) -> int:
    fields = (
        "topics",
        "source_weights",
        "keyword_boosts",
        "recency_half_life_hours",
        "ai_score_alpha",
        "pins",
    )
    edit = ConfigEdit(**{name: said[name] for name in fields})
    return config_edit(reader_id=reader_id, edit=edit, expected_version=said["version"], now=timezone.now())


@login_required
@require_POST
def revert(request: HttpRequest, version: int) -> HttpResponse:
    """Put everything back as it was at `version`; from a stale page nothing, but what changed meanwhile."""
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
    """The page after a refused save: what changed meanwhile, what was typed kept, ready to be saved again."""
    reader_id = reader_id_of(request)
    versions = config_versions(reader_id=reader_id)
    current = body_of((effective := config_effective(reader_id=reader_id)).config, effective.deltas)
    merged = values_merged(request.POST, _body_at(versions, error.seen), current, error.current)
    page = _page(reader_id, ConfigForm(initial=merged))
    missed = [change for row in versions if row.version > error.seen for change in row.changes]
    return {**page, "missed": missed, "typed": form.typed_weights(), "chosen": form.typed_pins()}


def _body_at(versions: list[VersionRow], version: int) -> Body:
    return next((row.body for row in versions if row.version == version), body_default())


def _page(reader_id: UUID, form: ConfigForm | None = None) -> dict[str, Any]:
    """Everything the settings page shows, in six queries."""
    effective = config_effective(reader_id=reader_id)
    body = body_of(effective.config, effective.deltas)
    versions = config_versions(reader_id=reader_id)
    lost = _lost(body, [*(row.body for row in versions), body_default()])
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
        "learned": _learned(weight_snapshots(reader_id=reader_id, limit=20), effective),
        "versions": [
            (row, cause_words(row.cause, row.cause_ref), gone)
            for row, gone in zip(versions, lost, strict=False)
        ],
        "lost_by_defaults": lost[-1],
    }


def _learned(steps: Sequence[SnapshotRow], effective: EffectiveConfig) -> list[tuple[SnapshotRow, bool]]:
    """Each learning step, and whether the settings of today still hold it."""
    moves = [(step.source, step.before, step.after) for step in steps]
    return list(zip(steps, steps_in_force(moves, effective.weights(), effective.deltas), strict=True))


def _lost(current: Body, bodies: Sequence[Body]) -> list[list[Change]]:
    """For each of `bodies`, what going back to it takes away of what thumbs have taught; one query."""
    renamed = keys_now(keys=set().union(*(body_keys(body) for body in bodies)))
    found = []
    for body in bodies:
        wanted = body_keys_now(body, renamed)
        found.append([dict(row) for row in taught_back(body_changes(current, wanted), current, wanted)])
    return found
