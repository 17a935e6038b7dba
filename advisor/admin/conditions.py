"""The field a rule's condition is typed into: JSON of a bearable size, and what was typed is never lost."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

# Six conditions deep and twenty in a row of the longest facts stay far below.
CHARS_MAX = 10_000
TOO_LONG = f"The condition is longer than {CHARS_MAX:,} characters. Split the rule into several."
TOO_DEEP = "This holds too many brackets inside one another to be read. A condition is six deep at most."
TOO_LARGE = "This holds a number too long to be read. No fact is larger than 1e12."
UNSTORABLE = "This holds a sign that is no text (\\u0000, or half of a pair such as \\ud800). Leave it out."


class ConditionField(forms.JSONField):
    """JSON as it was typed, or a field error; nothing that is typed raises anything else."""

    def to_python(self, value: Any) -> Any:
        """The value; raises `ValidationError` for what cannot be read, shown again or stored."""
        if isinstance(value, str) and len(value) > CHARS_MAX:
            raise ValidationError(TOO_LONG, code="too_long")
        try:
            found = super().to_python(value)
            text = json.dumps(found, ensure_ascii=False)
        except RecursionError:
            raise ValidationError(TOO_DEEP, code="too_deep") from None
        except ValueError:
            # The interpreter reads no integer of more than some thousand digits.
            raise ValidationError(TOO_LARGE, code="too_large") from None
        if "\\u0000" in text.replace("\\\\", "") or any("\ud800" <= char <= "\udfff" for char in text):
            raise ValidationError(UNSTORABLE, code="unstorable")
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed, letter by letter, whether or not it can be read."""
        if self.disabled:
            return initial
        return None if data is None else InvalidJSONInput(data)

    def prepare_value(self, value: Any) -> Any:
        """The text to show: none for no condition."""
        return "" if value is None else super().prepare_value(value)
