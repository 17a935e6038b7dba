"""The forms operators write rules and insights with: each refuses what guidance would never tell."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils import timezone

from advisor.admin.conditions import ConditionField
from advisor.guidance.entities import Kind, Level, Phase
from advisor.models import Memory
from advisor.services.guidance_rules import AS_WRITTEN, CONDITION, Curated, curated_problems
from advisor.tools.registry import TOOLS
from suggestions.entities import FIELD_OF_TYPE

if TYPE_CHECKING:  # django-stubs makes it generic, Django does not.
    _MemoryForm = forms.ModelForm[Memory]
else:
    _MemoryForm = forms.ModelForm

ANY = ("", "any")
EXAMPLE = '{"fact": "thumbs_on_target", "op": "lt", "value": 20}'
POLARITIES = [(0, "neither: it informs"), (1, "do this"), (-1, "a caution: rather not")]
CEILINGS = [
    (Level.WHISPER, "whisper: its title only"),
    (Level.NOTE, "note: beside the tool's result"),
    (Level.WARNING, "warning: holds a write once"),
]
BLOCK = (Level.BLOCK, "block: the call is not made")


class CuratedForm(_MemoryForm):
    """What rules and insights have in common."""

    kind = Kind.INSIGHT
    title = forms.CharField(max_length=80, help_text="A few words; all that a whisper shows.")
    text = forms.CharField(
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
        help_text="What to do and why, in one or two sentences, of nobody in particular.",
    )
    tool = forms.ChoiceField(required=False, choices=[ANY, *((name, name) for name in TOOLS)])
    suggestion_type = forms.ChoiceField(
        required=False, choices=[ANY, *((kind, kind) for kind in FIELD_OF_TYPE)]
    )
    phase = forms.ChoiceField(required=False, choices=[ANY, *((phase.value, phase.value) for phase in Phase)])
    polarity = forms.TypedChoiceField(choices=POLARITIES, coerce=int, initial=0)
    ceiling = forms.ChoiceField(
        choices=CEILINGS, initial=Level.NOTE, help_text="The loudest it may be told at."
    )
    confidence = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=0.7,
        help_text="0 to 1; halves each 90 days until readers bear it out.",
    )
    expires_at = forms.SplitDateTimeField(
        required=False,
        widget=forms.SplitDateTimeWidget(
            date_attrs={"type": "date", "aria-label": "Expires on"},
            time_attrs={"type": "time", "aria-label": "Expires at"},
        ),
        help_text="UTC; empty for never.",
    )

    class Meta:
        model = Memory
        fields = [
            "title",
            "text",
            "tool",
            "suggestion_type",
            "phase",
            "polarity",
            "ceiling",
            "confidence",
            "expires_at",
        ]

    @property
    def curated(self) -> Curated:
        """What was written, as the service takes it; only once the form is valid."""
        given: dict[str, Any] = self.cleaned_data
        return Curated(
            kind=self.kind,
            title=given["title"],
            text=" ".join(given["text"].split()),
            tool=given["tool"],
            suggestion_type=given["suggestion_type"],
            target_key=self.instance.target_key,
            phase=given["phase"],
            polarity=given["polarity"],
            ceiling=Level(given["ceiling"]),
            confidence=given["confidence"],
            expires_at=given["expires_at"],
            when=given.get("when"),
        )

    def clean(self) -> dict[str, Any] | None:
        """Refuse what speaks against storing it, each problem at its field with its code."""
        cleaned = super().clean()
        if self.errors:
            return cleaned
        for problem in curated_problems(self.curated, replacing=self.instance.pk, now=timezone.now()):
            self.add_error(problem.field or None, forms.ValidationError(problem.message, code=problem.code))
        return cleaned


class InsightForm(CuratedForm):
    """An insight: advice without a condition."""


class RuleForm(CuratedForm):
    """A rule: it holds where its condition certainly does, and then it may also block."""

    kind = Kind.RULE
    ceiling = forms.ChoiceField(
        choices=[*CEILINGS, BLOCK], initial=Level.NOTE, help_text="The loudest it may be told at."
    )
    when = ConditionField(
        label="Condition",
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "spellcheck": "false"}),
        help_text=f"JSON of all, any, not and facts (docs/guidance.md), such as {EXAMPLE}",
    )

    class Meta(CuratedForm.Meta):
        pass

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        data = self.instance.data if isinstance(self.instance.data, dict) else {}
        if self.instance.pk:
            self.initial["when"] = data.get(AS_WRITTEN, data.get(CONDITION))
