"""The reader's settings: the form, which turns typed text into values of a config, and the pages."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ranking.common.text import topic_key
from ranking.config_body import (
    ALPHA_MAX,
    BOOST_MAX,
    HALF_LIFE_HOURS_MAX,
    HALF_LIFE_HOURS_MIN,
    Body,
    Change,
    ConfigEdit,
    body_changes,
    body_default,
    body_keys,
    body_keys_current,
    body_of,
    learned_changes_undone,
    term_searchable,
    term_visible,
)
from ranking.config_words import (
    CHOICES,
    TARGET_MAX_CHARS,
    boost_lines,
    cause_words,
    sources_named,
    steps_in_force,
)
from ranking.entities import InvalidSetting, StaleVersion, UnknownVersion
from ranking.language import date_words, figure
from ranking.selectors import (
    config_bodies,
    config_effective,
    config_version,
    config_versions,
    config_versions_all,
    keys_current,
    weight_snapshots,
)
from ranking.services import config_edit, config_revert
from ranking.setting_scale import (
    BOOSTS,
    FRESHNESS,
    LEVELS,
    LIKENESS,
    MORE,
    USUAL,
    level_options,
    level_read,
    level_words,
    taste_options,
    word_chips,
)
from ranking.taste.entities import TasteLevel

# Prefixes of the fields of chips, before the topic or word. Their value is a level, or a word's number.
TOPIC, WORD = "topic:", "word:"
# The fields of new topics and words, separated by commas, and the level of those words.
TOPIC_NEW, WORD_NEW, WORD_LEVEL = "topic_new", "word_new", "word_level"
# Prefix of the field with a target's pin. Its value is empty if the pin does not change.
PIN = "pin:"
# The field of ticked categories to add to the topics.
TOPIC_ADD = "topic_add"
# Prefix of the field with a topic's other names, separated by commas.
NAMES = "names:"
# The boxes of topics that match by meaning, and the topics that had one on the page.
MEANING, MEANING_SHOWN = "by_meaning", "by_meaning_shown"
# How freshness falls.
DAY, HOUR = "day", "hour"
# The part of the page that counts the items of each topic and offers others: `?show=topics`.
SHOW_TOPICS = "topics"
# Version numbers have fewer digits. Larger ones would not fit into the database's integers.
VERSION_DIGITS = 9
VERSIONS_PER_PAGE = 20


class ConfigForm(forms.Form):
    """The settings of a reader. `version` is the one that the page showed."""

    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    topics = forms.CharField(required=False)
    keyword_boosts = forms.CharField(required=False)
    recency_half_life_hours = forms.FloatField(
        min_value=HALF_LIFE_HOURS_MIN,
        max_value=HALF_LIFE_HOURS_MAX,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    recency_by_day = forms.ChoiceField(required=False, choices=[(DAY, DAY), (HOUR, HOUR)])
    ai_score_alpha = forms.FloatField(
        min_value=0, max_value=ALPHA_MAX, widget=forms.NumberInput(attrs={"step": "any"})
    )

    taste = forms.ChoiceField(required=False, choices=[(str(level), str(level)) for level in TasteLevel])

    def clean_recency_by_day(self) -> bool | None:
        """Return whether freshness goes by whole days; `None` (no change) if the field was not sent."""
        chosen = self.cleaned_data["recency_by_day"]
        return chosen == DAY if chosen else None

    def clean_ai_score_alpha(self) -> float:
        """Return the share, with −0 as 0."""
        return abs(float(self.cleaned_data["ai_score_alpha"]))

    def clean_taste(self) -> str | None:
        """Return the level, or `None` if none was sent."""
        return self.cleaned_data["taste"] or None

    def clean_topics(self) -> list[str]:
        """Return the topics, one from each non-blank line. Refuse a topic that no text can contain."""
        lines = [line.strip() for line in self.cleaned_data["topics"].splitlines() if line.strip()]
        topics = [(line, term_visible(line)) for line in lines]
        for line, topic in topics:
            _check_findable(topic, line)
        return [topic for _, topic in topics]

    def clean_keyword_boosts(self) -> dict[str, float]:
        """Return the boosts from lines like `word: number`. Refuse two boosts for spellings of one word."""
        boosts: dict[str, float] = {}
        spelled: dict[str, str] = {}
        for line in filter(str.strip, self.cleaned_data["keyword_boosts"].splitlines()):
            word, boost = _boost_read(line)
            first = spelled.setdefault(topic_key(word), word)
            if (had := boosts.setdefault(first, boost)) != boost:
                words = gettext(
                    "“{first}” is one word with two boosts, {had} and {boost}. Keep one of the lines."
                )
                if first != word:
                    words = gettext(
                        "“{first}” and “{word}” are one word with two boosts, {had} and {boost}. "
                        "Keep one of the lines."
                    )
                had_, boost_ = figure(had, "g"), figure(boost, "g")
                raise forms.ValidationError(words.format(first=first, word=word, had=had_, boost=boost_))
        return boosts

    def clean(self) -> dict[str, Any]:
        """Add `pins`, only with values that differ from the page's, the boxes of meaning, and other names."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if any("\0" in name for name in self.data):
            self.add_error(None, gettext("A field is named with a character that no source or topic has."))
        cleaned["pins"] = self.typed_pins()
        cleaned["by_meaning"] = self.typed_meanings()
        cleaned["literal"] = {term: not wide for term, wide in cleaned["by_meaning"].items()}
        cleaned["other_names"] = self.typed_names()
        for name in {name for names in cleaned["other_names"].values() for name in names}:
            if not term_searchable(name):
                words = gettext("“{line}” has no letter, number or sign that a text could have.")
                self.add_error(None, words.format(line=name))
        for target, choice in cleaned["pins"].items():
            if choice not in CHOICES or len(target) > TARGET_MAX_CHARS:
                self.add_error(
                    None,
                    gettext("“{target}” can be one of: {values}.").format(
                        target=target[:40], values=", ".join(map(gettext, CHOICES.values()))
                    ),
                )
        return cleaned

    def typed_meanings(self) -> dict[str, bool]:
        """Return for each topic or word with a box "by meaning" on the page whether it is ticked."""
        if not isinstance(self.data, MultiValueDict):
            return {}
        ticked = set(self.data.getlist(MEANING))
        return {term: term in ticked for term in self.data.getlist(MEANING_SHOWN)}

    def typed_names(self) -> dict[str, list[str]]:
        """Return the other names of each topic with a field for them on the page."""
        return {
            field[len(NAMES) :]: list(filter(None, map(term_visible, typed.split(","))))
            for field, typed in self.data.items()
            if field.startswith(NAMES)
        }

    def typed_pins(self) -> dict[str, str]:
        """Return the choice for each target whose pin changes, valid or not."""
        return {
            name[len(PIN) :]: choice for name, choice in self.data.items() if name.startswith(PIN) and choice
        }


def _boost_read(line: str) -> tuple[str, float]:
    """Return the word and the number of a line like “rust: 0.5”. Raises `ValidationError`."""
    word, _, number = line.rpartition(":")
    try:
        boost = BOOSTS.get(level_read(number)) or float(number.replace(",", ".").replace("−", "-"))
    except ValueError:
        boost = None
    if not word.strip() or boost is None or not abs(boost) <= BOOST_MAX:
        raise forms.ValidationError(
            gettext(
                "“{line}” should read like “rust: more”, “rust: less” or “rust: 0.8”, the number with "
                "a point, from −{boost_max} to {boost_max}."
            ).format(line=line.strip(), boost_max=figure(BOOST_MAX, "g"))
        )
    seen = term_visible(word)
    _check_findable(seen, line.strip())
    return seen, boost


def _check_findable(word: str, line: str) -> None:
    if not term_searchable(word):
        raise forms.ValidationError(
            gettext("“{line}” has no letter, number or sign that a text could have.").format(line=line)
        )


def form_values(body: Body, version: int) -> dict[str, Any]:
    """Return the initial values of the form's fields for a config's body, without weights and pins."""
    return {
        "version": version,
        "topics": "\n".join(body["topics"]),
        "keyword_boosts": boost_lines(body["keyword_boosts"]),
        "recency_half_life_hours": f"{body['recency_half_life_hours']:g}",
        "recency_by_day": DAY if body.get("recency_by_day") else HOUR,
        "ai_score_alpha": f"{body['ai_score_alpha']:g}",
        "taste": body.get("taste", str(TasteLevel.OFF)),
    }


def values_merged(typed: Mapping[str, str], base: Body, current: Body, version: int) -> dict[str, Any]:
    """Return the form's values after a stale save: typed values that differ from `base`, else `current`.

    Saving the result again at `version` then changes exactly the fields that the reader changed.
    """
    old, new = form_values(base, 0), form_values(current, version)
    for name, before in old.items():
        # A field of text that was not sent was emptied; a choice that was not sent was not made.
        unsent = before if name == "recency_by_day" else ""
        value = typed.get(name, unsent).replace("\r\n", "\n").strip()
        if name != "version" and value != before:
            new[name] = value
    return new


def reader_id_of(request: HttpRequest) -> UUID:
    """Return the id of the signed-in reader. Every view here requires a sign-in."""
    assert request.user.pk is not None, "login_required comes first"
    return request.user.pk


@login_required
@require_http_methods(["GET", "POST"])
def config(request: HttpRequest) -> HttpResponse:
    """Show the settings, or save the form. After a refused save the page keeps the typed values."""
    if request.method == "GET":
        page = _page(reader_id_of(request))
        page["counted"] = request.GET.get("show") == SHOW_TOPICS
        return render(request, "ranking/config.html", page)
    form = config_form(request)
    if not form.is_valid():
        return config_refused(request, form)
    if "again" in request.POST:
        return render(request, "ranking/config.html", _page(reader_id_of(request), form))
    try:
        _save(reader_id_of(request), form.cleaned_data)
    except StaleVersion as error:
        return render(request, "ranking/config.html", _stale_page(request, form, error), status=409)
    except InvalidSetting as error:
        form.add_error(None, error.message)
        return config_refused(request, form)
    messages.success(request, gettext("Saved. Your digest follows these settings."))
    return redirect("ranking:config")


def config_form(request: HttpRequest) -> ConfigForm:
    """Return the form with the sent data."""
    return ConfigForm(_sent_data(request.POST))


def _sent_data(sent: QueryDict) -> QueryDict:
    """Return the sent data with the chips, new words and ticked categories as lines of topics and boosts.

    A topic at `less` becomes a word with less, which still counts by meaning, too. At `usual` a topic or word
    is left out.
    """
    typed = sent.copy()
    topics, boosts = [sent.get("topics", "")], [sent.get("keyword_boosts", "")]
    for name, level in sent.items():
        if name.startswith(TOPIC) and level == MORE:
            topics.append(name[len(TOPIC) :])
        elif name.startswith((TOPIC, WORD)) and level != USUAL:
            boosts.append(f"{name.partition(':')[2]}: {level}")
            if name.startswith(TOPIC):
                for field in (MEANING, MEANING_SHOWN):
                    typed.appendlist(field, name[len(TOPIC) :])
        if name.startswith((TOPIC, WORD)):
            del typed[name]
    topics += [*sent.get(TOPIC_NEW, "").split(","), *sent.getlist(TOPIC_ADD)]
    level = sent.get(WORD_LEVEL, MORE)
    boosts += [f"{word}: {level}" for word in sent.get(WORD_NEW, "").split(",") if word.strip()]
    typed["topics"] = "\n".join(filter(str.strip, topics))
    typed["keyword_boosts"] = "\n".join(filter(str.strip, boosts))
    return typed


def config_refused(request: HttpRequest, form: ConfigForm) -> HttpResponse:
    """Show the settings page with the typed values and their errors (status 422)."""
    return render(request, "ranking/config.html", _page(reader_id_of(request), form), status=422)


def edit_of(cleaned: Mapping[str, Any]) -> ConfigEdit:
    """Return the changes that a valid form asks for."""
    return ConfigEdit(
        **{field.name: cleaned[field.name] for field in fields(ConfigEdit) if field.name in cleaned}
    )


def _save(reader_id: UUID, cleaned: Mapping[str, Any]) -> int:
    return config_edit(
        reader_id=reader_id,
        edit=edit_of(cleaned),
        expected_version=cleaned["version"],
        now=timezone.now(),
    )


@login_required
@require_POST
def revert(request: HttpRequest, version: int) -> HttpResponse:
    """Restore all settings of an earlier `version`. From a stale page, show the newer changes instead."""
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
        newer = config_versions(reader_id=reader_id_of(request))
        missed = [change for row in newer if row.version > error.seen for change in row.changes]
        page = _versions_page(request) | {"missed": missed}
        return render(request, "ranking/versions.html", page, status=409)
    back = gettext("Everything is back as it was before your first change.")
    if version:
        back = gettext("Everything is back as it was at version {version}.").format(version=version)
    messages.success(request, back)
    return redirect("ranking:versions")


def _stale_page(request: HttpRequest, form: ConfigForm, error: StaleVersion) -> dict[str, Any]:
    """Return the page after a stale save: the newer changes, and the typed values, ready to save again."""
    reader_id = reader_id_of(request)
    versions = config_versions(reader_id=reader_id)
    current = body_of((effective := config_effective(reader_id=reader_id)).config, effective.deltas)
    seen = next((row.body for row in versions if row.version == error.seen), body_default())
    merged = values_merged(form.data, seen, current, error.current)
    page = _page(reader_id, ConfigForm(initial=merged))
    missed = [change for row in versions if row.version > error.seen for change in row.changes]
    names = form.typed_names()
    typed = {"chosen": form.typed_pins(), "typed_names": names, "counted": bool(names)}
    return {**page, **typed, "missed": missed}


def _page(reader_id: UUID, form: ConfigForm | None = None) -> dict[str, Any]:
    """Return the context of the page of ranking settings. Two queries."""
    effective = config_effective(reader_id=reader_id)
    body = body_of(effective.config, effective.deltas)
    form = form or ConfigForm(initial=form_values(body, effective.config.version))
    names = form.typed_names() if form.is_bound else {}
    return {
        "form": form,
        "topics": lines_of(str(form["topics"].value() or "")),
        "words": word_chips(lines_of(str(form["keyword_boosts"].value() or ""))),
        "levels": [(name, level_words(name)) for name in LEVELS],
        "freshness": level_options(FRESHNESS, str(form["recency_half_life_hours"].value())),
        "likeness": level_options(LIKENESS, str(form["ai_score_alpha"].value())),
        "tastes": taste_options(str(form["taste"].value() or effective.config.taste)),
        "chosen": form.typed_pins() if form.is_bound else {},
        "typed_names": names,
        "counted": bool(names),
        "missed": [],
        "settings": effective.config,
        "weighed": effective.weights(),
    }


def lines_of(text: str) -> list[str]:
    """Return the lines of `text` that are not blank, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _learned_losses(current: Body, bodies: Sequence[Body]) -> list[list[Change]]:
    """Return for each of `bodies` the changes to learned weights that restoring it would undo. One query."""
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
    """Show the learned weights and all versions of the reader's settings, newest first, twenty on a page."""
    return render(request, "ranking/versions.html", _versions_page(request))


def _versions_page(request: HttpRequest) -> dict[str, Any]:
    """Return the context of the page of versions. Eight queries."""
    reader_id = reader_id_of(request)
    page = Paginator(config_versions_all(reader_id=reader_id), VERSIONS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    effective = config_effective(reader_id=reader_id)
    body = body_of(effective.config, effective.deltas)
    bodies = config_bodies(reader_id=reader_id, versions=[row.version for row in page])
    lost = _learned_losses(body, [*(bodies[row.version] for row in page), body_default()])
    steps = weight_snapshots(reader_id=reader_id, limit=20)
    moves = [(step.source, step.before, step.after) for step in steps]
    in_force = steps_in_force(moves, effective.weights(), effective.deltas)
    rows = [(row, cause_words(row.cause, row.cause_ref), gone) for row, gone in zip(page, lost, strict=False)]
    today = timezone.localdate()
    weeks = groupby(rows, lambda one: _week_of(timezone.localdate(one[0].created_at)))
    return {
        "page": page,
        "weeks": [(week_words(monday, today), list(some)) for monday, some in weeks],
        "lost_by_defaults": lost[-1],
        "learned": list(zip(steps, in_force, strict=True)),
        "current": effective.config.version,
        "topics": effective.config.topics,
        "weighed": effective.weights(),
        "named": sources_named([change for row in page for change in row.changes]),
        "missed": [],
    }


def _week_of(day: date) -> date:
    """Return the Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def week_words(monday: date, today: date) -> str:
    """Return the name of the week that begins on `monday`."""
    weeks = (_week_of(today) - monday).days // 7
    if weeks <= 0:
        return gettext("This week")
    return gettext("Last week") if weeks == 1 else gettext("Week of {day}").format(day=date_words(monday))


@login_required
@require_safe
def version_page(request: HttpRequest, version: int) -> HttpResponse:
    """Show one version: its settings, its changes, and its differences from the current settings."""
    reader_id = reader_id_of(request)
    row = config_version(reader_id=reader_id, version=version)
    if row is None and version != 0:
        raise Http404(gettext("You never had settings of that number."))
    effective = config_effective(reader_id=reader_id)
    current = body_of(effective.config, effective.deltas)
    config, body = effective.config, row.body if row else body_default()
    # Compare as `config_revert` would restore it: renamed sources have their current keys.
    restored = body_keys_current(body, keys_current(keys=body_keys(body)))
    back = body_changes(current, restored)
    found = {
        "version": version,
        "row": row,
        "cause": cause_words(row.cause, row.cause_ref) if row else "",
        "body": body,
        "weights": body["source_weights"],
        "named": sources_named([*(row.changes if row else ()), *back]) | body_keys(body),
        "back": back,
        "current": config.version,
        "topics": config.topics,
    }
    return render(request, "ranking/version.html", found)
