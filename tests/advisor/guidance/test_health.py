"""The health check finds problems, names who must act, and ends with a code that scripts can use."""

import json
import re
from dataclasses import fields, replace
from datetime import date, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.checks.registry import registry
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from advisor.apps import check_guidance
from advisor.guidance import health as health_module
from advisor.guidance.admission import FACTS
from advisor.guidance.events import HOLDOUT, SERIES, Observed
from advisor.guidance.health import State, guidance_checks, guidance_export, worst
from advisor.guidance.situations import Tunables
from advisor.management.commands import guidance_health
from advisor.models import GuidanceEvent, Memory
from advisor.tasks import guidance_notes_task

WELL = Observed(
    days=(date(2026, 3, 18),),
    calls=1000,
    levels=dict.fromkeys(SERIES, (0,)) | {"note": (359,), HOLDOUT: (41,)},
    reasons={"failed": (2,)},
    p95_ms=35,
    faults=(),
)


@pytest.fixture(autouse=True)
def defaults(settings):
    """Use the default settings, which hold out a tenth of the notes for measurement."""
    settings.GUIDANCE = {}


@pytest.fixture
def state_of(monkeypatch, now):
    """Return the result of a check if the figures differ from those of a healthy installation."""

    def state(code: str, **more: object) -> State:
        monkeypatch.setattr(health_module, "guidance_observed", lambda **_: replace(WELL, **more))
        return next(check.state for check in guidance_checks(now=now) if check.code.startswith(code))

    return state


# --- The judgement ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_well_installation_is_fine_in_every_check(now, monkeypatch):
    monkeypatch.setattr(health_module, "guidance_observed", lambda **_: WELL)
    assert worst(guidance_checks(now=now)) is State.FINE


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("code", "more", "state"),
    [
        ("engine", {"calls": 0}, State.FINE),
        ("failures", {"reasons": {"failed": (10,)}}, State.FINE),
        ("failures", {"reasons": {"failed": (11,)}}, State.BROKEN),
        ("failures", {"reasons": {"failed": (1,)}, "calls": 20}, State.LOOK),
        ("time", {"p95_ms": 1001}, State.LOOK),
        ("time", {"p95_ms": 4001}, State.BROKEN),
        ("time", {"p95_ms": None}, State.FINE),
        ("holdout", {"levels": {**WELL.levels, HOLDOUT: (0,)}}, State.LOOK),
        ("holdout", {"levels": {**WELL.levels, HOLDOUT: (120,)}}, State.LOOK),
        ("holdout", {"levels": {**WELL.levels, "note": (20,), HOLDOUT: (0,)}}, State.FINE),
    ],
)
def test_each_trouble_is_found_and_weighed(state_of, code, more, state):
    assert state_of(code, **more) is state


@pytest.mark.django_db
def test_what_is_not_fine_says_what_to_do(now, monkeypatch):
    ill = replace(WELL, p95_ms=9000, reasons={"failed": (500,)})
    monkeypatch.setattr(health_module, "guidance_observed", lambda **_: ill)
    troubled = [check for check in guidance_checks(now=now) if check.state is not State.FINE]
    assert len(troubled) == 2 and all(check.todo for check in troubled)


@pytest.mark.django_db
def test_guidance_switched_off_is_to_be_looked_at(state_of, settings):
    settings.ADVISOR_GUIDANCE = False
    assert state_of("engine") is State.LOOK


# --- The limits it uses -----------------------------------------------------------------------------------


def memory(now, **more):
    fields = {"kind": "insight", "key": f"k{Memory.objects.count()}", "title": "T", "text": "t"}
    fields |= {"tokens": ["t"], "text_sig": "s", "valid_from": now, "updated_at": now}
    return Memory.objects.create(**fields | more)


@pytest.mark.django_db
def test_memories_that_nobody_retires_and_rules_that_never_hold_are_counted(now):
    memory(now)
    memory(now, expires_at=now - timedelta(days=3))
    memory(now, expires_at=now - timedelta(days=1))
    memory(now, kind="rule", title="Odd", data={"when": {"fact": "mood", "op": "eq", "value": 1}})
    memory(now, kind="rule", title="Empty")
    memory(now, kind="rule", data={"when": {"fact": "waiting", "op": "eq", "value": True}})
    checks = {check.code: check for check in guidance_checks(now=now)}
    assert checks["expired"].found.startswith("1 ")
    assert "Empty" in checks["rules"].found and "Odd" in checks["rules"].found
    assert checks["rules"].state is State.BROKEN
    assert checks["expired"].state is State.LOOK and checks["expired"].todo


@pytest.mark.django_db
def test_the_check_costs_the_same_however_much_there_is(ada, now, settings, tmp_path):
    settings.GUIDANCE = {"export": "true", "export_dir": str(tmp_path)}

    def queries(count):
        looked_at(ada, count, at=now)
        for _ in range(count):
            memory(now)
        with CaptureQueriesContext(connection) as seen:
            guidance_checks(now=now)
        return len(seen)

    assert queries(1) == queries(30) <= 10


# --- The folder -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(settings, tmp_path):
    settings.GUIDANCE = {"export": "true", "export_dir": str(tmp_path / "vault")}
    return tmp_path / "vault"


def exports(now) -> dict[str, str]:
    checks = guidance_checks(now=now)
    return {check.code: check.found for check in checks if check.code.startswith("export") and check.state}


@pytest.mark.django_db
def test_a_folder_without_the_dashboard_says_how_to_write_it(now, folder):
    assert exports(now)["export"] == f"There is no {folder}/guidance.md."
    guidance_export(now=now)
    assert exports(now) == {}


# --- The commands -----------------------------------------------------------------------------------------


def health(*args):
    out = StringIO()
    try:
        call_command("guidance_health", *args, stdout=out)
    except SystemExit as end:
        return end.code, out.getvalue()
    return 0, out.getvalue()


def test_a_database_that_is_away_is_broken(monkeypatch):
    def away(**_: object) -> None:
        raise OperationalError("no route")

    monkeypatch.setattr(guidance_health, "guidance_checks", away)
    with pytest.raises(CommandError) as error:
        call_command("guidance_health")
    assert error.value.returncode == 2 and "database" in str(error.value)


def looked_at(ada, count, **more):
    fields = {"n": 1, "level": "silent", "why": "shown", "at": timezone.now() - timedelta(hours=1)}
    fields |= {"ms": 5}
    GuidanceEvent.objects.bulk_create(GuidanceEvent(reader=ada, **fields | more) for _ in range(count))


@pytest.mark.django_db
def test_exit_codes_are_0_fine_1_look_2_broken(ada, settings):
    assert health()[0] == 0  # a new installation
    looked_at(ada, 1, at=timezone.now() - timedelta(days=8))
    assert health()[0] == 1  # it once looked at calls, and stopped
    looked_at(ada, 150)
    code, text = health()
    assert code == 0 and "150 calls were looked at" in text
    looked_at(ada, 5, why="failed", error_code="KeyError")
    code, text = health("--json")
    report = json.loads(text)
    assert code == 2 and report["state"] == "broken"
    [failures] = [check for check in report["checks"] if check["code"] == "failures"]
    assert failures["state"] == "broken" and failures["todo"]


@pytest.mark.django_db
def test_a_bad_tunable_is_a_finding_and_fails_the_check_at_the_start(settings):
    settings.GUIDANCE = {"note_min": "high"}
    code, text = health()
    assert code == 2 and "note_min: Input should be a valid number" in text
    assert check_guidance in registry.get_checks()
    assert [found.id for found in check_guidance()] == ["tidings.E013"]
    settings.GUIDANCE = {"note_min": "0.5"}
    assert check_guidance() == []


@pytest.mark.django_db
def test_the_export_by_hand_writes_whether_or_not_it_is_switched_on(tmp_path, settings):
    settings.GUIDANCE = {"export_dir": str(tmp_path)}
    out = StringIO()
    call_command("export_guidance", stdout=out)
    assert "guidance.md written" in out.getvalue() and (tmp_path / "guidance.md").exists()


@pytest.mark.django_db
def test_an_export_that_cannot_be_written_says_where_and_why(tmp_path, settings):
    (tmp_path / "file").write_text("")
    settings.GUIDANCE = {"export_dir": str(tmp_path / "file")}
    with pytest.raises(CommandError, match="Not a directory"):
        call_command("export_guidance", stdout=StringIO())


@pytest.mark.django_db
@pytest.mark.parametrize("switched_on", [True, False])
def test_the_daily_job_writes_only_where_export_is_switched_on(settings, tmp_path, switched_on):
    settings.GUIDANCE = {"export_dir": str(tmp_path), "export": str(switched_on)}
    guidance_notes_task()
    assert (tmp_path / "guidance.md").exists() is switched_on


# --- The documentation ------------------------------------------------------------------------------------


def test_every_tunable_stands_in_the_documentation_with_its_default():
    text = (Path(__file__).resolve().parents[3] / "docs" / "guidance.md").read_text(encoding="utf-8")
    table = text[text.index("## Tunables") :]
    listed = dict(re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", table, re.MULTILINE))
    assert listed == {field.name: _written(getattr(Tunables(), field.name)) for field in fields(Tunables)}


def test_every_fact_that_rules_may_ask_for_stands_in_the_documentation():
    text = (Path(__file__).resolve().parents[3] / "docs" / "guidance.md").read_text(encoding="utf-8")
    assert [name for name in FACTS if f"`{name}`" not in text] == []


def _written(value: object) -> str:
    """Return a default as it is typed into the environment."""
    return str(value).lower() if isinstance(value, bool) else str(value) or "empty"
