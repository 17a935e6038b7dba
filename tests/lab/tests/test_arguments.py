"""Bad numbers on the command line are a usage error, never a traceback."""

import pytest

from tests.lab.advisor import command as advisor
from tests.lab.memory import command as memory
from tests.lab.reflector import command as reflector


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        (memory, "--readers", "-3"),
        (memory, "--readers", "many"),
        (advisor, "--readers", "0"),
        (advisor, "--weeks", "-1"),
        (reflector, "--history", "0"),
        (reflector, "--history", "-15"),
    ],
)
def test_a_number_without_sense_is_a_usage_error_that_names_it(command, option, value, capsys):
    with pytest.raises(SystemExit) as left:
        command.main([f"{option}={value}"])
    assert left.value.code == 2
    assert f"“{value}” is not a whole number of" in capsys.readouterr().err
