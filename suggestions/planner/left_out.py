"""Why the planner left out changes that it weighed: the nearest, each with its figure and the bar. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from suggestions.changes.change import Change
from suggestions.planner.hypotheses import EvaluatedChange
from suggestions.planner.tastes import FALSE_SIGN_MAX, LEAN_MIN, READER_MIN, TARGET_MIN

# So many are kept with a run.
LEFT_OUT_MAX: Final = 5
# For operators, by code: of the rules, and of the planner's own steps.
WORDS: Final = {
    "few_ratings": "The reader’s thumbs, older ones for less, count as {figure:.1f}. {bar:.0f} are needed.",
    "few_thumbs": "The thumbs on it, older ones for less, count as {figure:.1f}. {bar:.0f} are needed.",
    "small_lean": "The reader leans that way by {figure:.2f} in log-odds. {bar:.2f} are needed.",
    "chance": "The lean is chance with a probability of {figure:.0%}. At most {bar:.0%} are allowed.",
    "decided": "The reader decided on it, and gave {figure:.0f} ratings of it since. {bar:.0f} are needed.",
    "harmed": "It did harm when it was made before.",
    "no_room": "{figure:.0f} changes were clear, and others came first: a run weighs {bar:.0f}.",
    "tests_against": "The ratings kept as a test oppose it: at best {figure:+.3f} nDCG@10, not {bar:.0f}.",
    "all_against": "By all ratings it helps with a probability of {figure:.0%}. {bar:.0%} are needed.",
    "unseen": "It would have moved {figure:.0f} places last week. {bar:.0f} are needed to be seen.",
    "repeated": "It asks about the same thing as another change that waits or was chosen.",
    "kind_off": "This installation leaves its kind out (ADVISOR_KINDS).",
    "type_declined": "The reader turned down every change of its kind.",
    "pinned": "The reader keeps it as it is, or never wants it suggested.",
    "duplicate_pending": "A suggestion about it waits for an answer.",
    "on_cooldown": "The reader decided on it lately.",
}


# The code of a reason, the figure and the bar.
Reason = tuple[str, float | None, float | None]


def unclear_reason(choice: EvaluatedChange) -> Reason | None:
    """Return why a reader does not lean clearly enough the way of a change, or `None` if they do."""
    taste = choice.taste
    if taste.thumbs_all < READER_MIN:
        return "few_ratings", taste.thumbs_all, READER_MIN
    if taste.thumbs < TARGET_MIN:
        return "few_thumbs", taste.thumbs, TARGET_MIN
    if choice.lean < LEAN_MIN:
        return "small_lean", choice.lean, LEAN_MIN
    return None if choice.clear else ("chance", taste.false_sign, FALSE_SIGN_MAX)


def nearest_unclear(alone: Iterable[EvaluatedChange]) -> list[tuple[Change, Reason]]:
    """Return the changes that the reader leans to, but not clearly enough, the nearest first."""
    leaning = sorted((one for one in alone if one.lean > 0), key=lambda one: (-one.merit, one.change.target))
    reasons = [(one.change, unclear_reason(one)) for one in leaning]
    return [(change, reason) for change, reason in reasons if reason]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A change that was weighed and not proposed, with a stable `code` for the reason.

    `figure` is what it had, and `bar` what it needed; `None` for a reason without numbers.
    """

    suggestion_type: str
    target: str
    label: str
    code: str
    figure: float | None = None
    bar: float | None = None

    @classmethod
    def of(cls, change: Change, label: str, reason: "Reason") -> "LeftOut":
        """Return a change, by the reader's name for its target, with the reason why it was left out."""
        return cls(change.suggestion_type, change.target, label, *reason)

    def as_dict(self) -> dict[str, Any]:
        """Return the values as they are stored."""
        values = asdict(self)
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in values.items()}


def left_out_words(row: Mapping[str, Any]) -> str:
    """Return why a stored change was left out, in a sentence for operators."""
    code = str(row.get("code", ""))
    figures = {key: row.get(key) or 0.0 for key in ("figure", "bar")}
    words = WORDS.get(code)
    return words.format(**figures) if words else f"A rule refused it: {code.replace('_', ' ')}."
