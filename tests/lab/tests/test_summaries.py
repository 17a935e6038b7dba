"""The measurements of extracts and of the grounding check."""

import pytest

from tests.lab.summaries.command import main
from tests.lab.summaries.trials import Sample, trials_report
from tests.support.summaries import long_text

WORDS = ["gulls", "terns", "crabs", "seals", "whelks", "mussels", "herring", "cod"]


def test_an_evaluation_without_data_says_what_to_set(settings, tmp_path, capsys):
    settings.TIDINGS_DATA = str(tmp_path)
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 1 and "TIDINGS_DATA" in capsys.readouterr().err


def test_the_trials_tell_right_from_wrong_and_the_control_from_both():
    samples = [
        Sample(
            f"Report on {word}",
            long_text(word),
            f"In town, 12 {word} of the harbour were counted by the council.",
        )
        for word in WORDS
    ]
    rows = {
        row["name"]: row
        for row in trials_report(samples, [("Empty", "none"), ("Long", long_text("eels"))], 1)
    }
    assert rows["extracts"]["covered"] == 0.5 and rows["extracts"]["citations_exact"] == 1.0
    assert rows["kept: faithful"]["false_alarms"] == {"number": len(WORDS)}
    assert rows["overlap, faithful"]["median"] > rows["overlap, cross-wired"]["median"]
    assert rows["caught: another text's summary and citations"]["share"] == 1.0
