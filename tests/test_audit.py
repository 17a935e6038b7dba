"""The audit of packages: the answers it accepts, and that a missing answer never counts as one."""

import pytest

from tests.lab.bench.peers import ROOT
from tests.support.audit import CONTROLS, Finding, NotAudited, findings, pinned

PINS = ("django==5.2.19", "ast_serialize==0.13.1")
CVE = {"id": "PYSEC-1", "fix_versions": ["5.2.20"], "aliases": [], "description": "…"}


def report(**vulns: list) -> dict:
    """pip-audit's report on controls and pins: nothing against any but those named."""
    known = {"bleach": [CVE], "pillow": [CVE]} | vulns
    pairs = [pin.split("==") for pin in (*CONTROLS, *PINS)]
    rows = [{"name": name, "version": version, "vulns": known.get(name, [])} for name, version in pairs]
    return {"dependencies": rows, "fixes": []}


def test_what_is_known_against_a_pin_is_found_and_the_controls_are_not_ours():
    assert findings(report(), PINS) == []
    assert findings(report(django=[CVE]), PINS) == [Finding("django==5.2.19", "PYSEC-1", ("5.2.20",))]


def test_a_database_that_reports_no_control_is_no_database():
    for silent in ({"bleach": []}, {"pillow": []}):
        with pytest.raises(NotAudited, match="was not reported"):
            findings(report(**silent), PINS)


def test_a_package_that_was_not_looked_up_ends_the_audit():
    skipped = report()
    skipped["dependencies"][2] = {"name": "django", "skip_reason": "not found on PyPI"}
    with pytest.raises(NotAudited, match=r"django==5\.2\.19 was not looked up: not found on PyPI"):
        findings(skipped, PINS)
    left_out = report()
    del left_out["dependencies"][3]
    other = report()
    other["dependencies"][2]["version"] = "5.2.18"
    for odd in (left_out, other, {"dependencies": []}, {}):
        with pytest.raises(NotAudited, match="was not looked up"):
            findings(odd, PINS)


def test_every_pin_of_ours_is_asked_about_and_none_is_a_control():
    ours = pinned((ROOT / "constraints.txt").read_text())
    assert len(ours) > 80 and not {pin.partition("==")[0].lower() for pin in ours} & {"bleach", "pillow"}
    with pytest.raises(NotAudited, match="no pin"):
        pinned("django>=5.2\n")
