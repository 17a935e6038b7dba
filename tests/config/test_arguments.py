"""Numbers on the command line: what makes no sense is a usage error, never a traceback."""

import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("evaluate_memory", "--readers", "-3"),
        ("evaluate_memory", "--readers", "many"),
        ("evaluate_advisor", "--readers", "0"),
        ("evaluate_advisor", "--weeks", "-1"),
        ("evaluate_reflector", "--history", "0"),
        ("evaluate_reflector", "--history", "-15"),
    ],
)
def test_a_number_without_sense_is_a_usage_error_that_names_it(command, option, value):
    with pytest.raises(CommandError, match=f"“{value}” is not a whole number of"):
        call_command(command, f"{option}={value}")
