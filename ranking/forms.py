"""The settings form: text areas and number inputs in, the plain values of a config out."""

from collections.abc import Mapping
from typing import Any

from django import forms

from ranking.common.text import topic_key
from ranking.config_body import (
    ALPHA_MAX,
    BOOST_MAX,
    HALF_LIFE_HOURS_MAX,
    HALF_LIFE_HOURS_MIN,
    Body,
    term_searchable,
    term_visible,
)
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN
from ranking.explain import CHOICES, TARGET_MAX_CHARS, boost_lines

# Prefixes of the fields of a source's weight, before its key: as typed, and as the page had shown it.
TYPED, SHOWN = "weight:", "was:"
# Prefix of the field of a target's pin; its value is empty where nothing changes.
PIN = "pin:"


class ConfigForm(forms.Form):
    """The settings of a reader, at the version at which the page showed them."""

    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    topics = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 6}))
    keyword_boosts = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}))
    recency_half_life_hours = forms.FloatField(
        min_value=HALF_LIFE_HOURS_MIN,
        max_value=HALF_LIFE_HOURS_MAX,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    ai_score_alpha = forms.FloatField(
        min_value=0, max_value=ALPHA_MAX, widget=forms.NumberInput(attrs={"step": "any"})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.weight_errors: dict[str, str] = {}

    def clean_ai_score_alpha(self) -> float:
        """Return the share; −0 is 0."""
        return abs(float(self.cleaned_data["ai_score_alpha"]))

    def clean_topics(self) -> list[str]:
        """Return one topic a line, without blank lines; refuse one that could be in no text."""
        lines = [line.strip() for line in self.cleaned_data["topics"].splitlines() if line.strip()]
        topics = [(line, term_visible(line)) for line in lines]
        for line, topic in topics:
            _findable_checked(topic, line)
        return [topic for _, topic in topics]

    def clean_keyword_boosts(self) -> dict[str, float]:
        """Return boosts from `word: number` lines; refuse two boosts for spellings of one word."""
        boosts: dict[str, float] = {}
        spelled: dict[str, str] = {}
        for line in filter(str.strip, self.cleaned_data["keyword_boosts"].splitlines()):
            word, boost = _boost_read(line)
            first = spelled.setdefault(topic_key(word), word)
            if (had := boosts.setdefault(first, boost)) != boost:
                same = f"“{first}” and “{word}” are" if first != word else f"“{first}” is"
                raise forms.ValidationError(
                    f"{same} one word with two boosts, {had:g} and {boost:g}. Keep one of the lines."
                )
        return boosts

    def clean(self) -> dict[str, Any]:
        """Add `source_weights`, those that differ from what the page had shown, and the changed `pins`.

        Errors of weights are in `weight_errors` by source, since only the page knows the titles.
        """
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if any("\0" in name for name in self.data):
            self.add_error(None, "A field is named with a character that no source or topic has.")
        cleaned["pins"] = self.typed_pins()
        for target, choice in cleaned["pins"].items():
            if choice not in CHOICES or len(target) > TARGET_MAX_CHARS:
                self.add_error(None, f"“{target[:40]}” can be one of: {', '.join(CHOICES.values())}.")
        cleaned["source_weights"], self.weight_errors = {}, {}
        for source, typed in self.typed_weights().items():
            self._weight_take(cleaned["source_weights"], source, typed.strip())
        if self.weight_errors:
            self.add_error(None, "A weight cannot be saved as it was typed.")
        return cleaned

    def _weight_take(self, weights: dict[str, float | None], source: str, typed: str) -> None:
        """Read a weight; an empty field hands the source back to the learning loop (`None`)."""
        try:
            weights[source] = float(typed) if typed else None
        except ValueError:
            self.weight_errors[source] = f"The weight must be a number such as 1.2; you gave “{typed}”."
            return
        if typed and not WEIGHT_MIN <= float(typed) <= WEIGHT_MAX:
            words = f"The weight must lie between {WEIGHT_MIN} and {WEIGHT_MAX}; you gave {typed}."
            self.weight_errors[source] = words

    def typed_weights(self) -> dict[str, str]:
        """Return what was typed in each changed weight field, valid or not."""
        return {
            name[len(TYPED) :]: typed
            for name, typed in self.data.items()
            if name.startswith(TYPED) and typed.strip() != self.data.get(SHOWN + name[len(TYPED) :], "")
        }

    def typed_pins(self) -> dict[str, str]:
        """Return what was chosen for each target whose pin was changed, valid or not."""
        return {
            name[len(PIN) :]: choice for name, choice in self.data.items() if name.startswith(PIN) and choice
        }


def _boost_read(line: str) -> tuple[str, float]:
    """Return the word and the number of a line like “rust: 0.5”. Raises `ValidationError`."""
    word, _, number = line.rpartition(":")
    try:
        boost = float(number)
    except ValueError:
        boost = None
    if not word.strip() or boost is None or not abs(boost) <= BOOST_MAX:
        raise forms.ValidationError(
            f"“{line.strip()}” should read like “rust: 0.5”, the number with a point, "
            f"from −{BOOST_MAX:g} to {BOOST_MAX:g}."
        )
    seen = term_visible(word)
    _findable_checked(seen, line.strip())
    return seen, boost


def _findable_checked(word: str, line: str) -> None:
    if not term_searchable(word):
        raise forms.ValidationError(f"“{line}” has no letter, number or sign that a text could have.")


def form_values(body: Body, version: int) -> dict[str, Any]:
    """Return the initial values of the form's plain fields for a config's body."""
    return {
        "version": version,
        "topics": "\n".join(body["topics"]),
        "keyword_boosts": boost_lines(body["keyword_boosts"]),
        "recency_half_life_hours": f"{body['recency_half_life_hours']:g}",
        "ai_score_alpha": f"{body['ai_score_alpha']:g}",
    }


def values_merged(typed: Mapping[str, str], base: Body, current: Body, version: int) -> dict[str, Any]:
    """Return the form's values after a stale save: what was typed where it changed `base`, else `current`.

    Saving the result again then changes exactly what the reader meant, at `version`.
    """
    old, new = form_values(base, 0), form_values(current, version)
    for name, before in old.items():
        value = typed.get(name, "").replace("\r\n", "\n").strip()
        if name != "version" and value != before:
            new[name] = value
    return new
