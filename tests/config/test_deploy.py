"""Files for operators name only existing metrics, queues, settings and pages."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import urllib.request
from datetime import timedelta
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from advisor.audit.kpis import KPI_DEFINITIONS
from advisor.models import GuidanceEvent, Run
from advisor.run.workers import job_claim_if_due
from config.jobs.schedule import JOBS, QUEUES
from config.metrics import WebProcessMetrics, metrics_text
from config.models import NightlyReport

ROOT = Path(__file__).resolve().parents[2]
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
BOARD = json.loads((ROOT / "deploy/grafana/tidings.json").read_text())
NAMES = re.compile(r"\b(?:tidings|process)_[a-z_0-9]+\b")
LABELS = re.compile(r'(\w+)="([^"]+)"')


@pytest.fixture
def emitted(db, ada, client: Client, now, settings) -> dict[str, list[dict[str, str]]]:
    """Return all metrics, with labels, of an installation with some data and without its broker."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    client.get("/healthz")
    assert job_claim_if_due(name="reconcile", every=timedelta(minutes=1), now=now)
    over = {"status": Run.Status.COMPLETED, "created_at": now, "finished_at": now}
    Run.objects.create(reader=ada, day=now.date(), trigger=Run.Trigger.UI, **over)
    NightlyReport.objects.create(day=now.date(), started_at=now)
    GuidanceEvent.objects.create(reader=ada, n=1, level="note", why="told", at=now)
    families = text_string_to_metric_families(metrics_text(now=now).decode())
    samples = [sample for family in families for sample in family.samples]
    return {s.name: [t.labels for t in samples if t.name == s.name] for s in samples}


def expressions() -> list[str]:
    panels = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    return [rule["expr"] for rule in ALERTS] + panels


def test_every_metric_that_is_watched_is_emitted(emitted):
    asked = {name for text in expressions() for name in NAMES.findall(text)}
    assert (
        asked - {"tidings_queue_messages", "tidings_backup_age_seconds"} <= set(emitted) and len(asked) > 15
    )
    assert emitted["tidings_build_info"][0]["version"]


@pytest.mark.services
def test_what_waits_in_each_queue_is_told_while_the_broker_answers(db, now):
    families = {f.name: f for f in text_string_to_metric_families(metrics_text(now=now).decode())}
    assert [s.value for s in families["tidings_broker_up"].samples] == [1.0]
    assert {s.labels["queue"] for s in families["tidings_queue_messages"].samples} == set(QUEUES)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc")
def test_memory_and_processor_are_told_of_all_web_processes_together():
    def told() -> dict[str, float]:
        families = WebProcessMetrics(os.getpid()).collect()
        return {sample.name: sample.value for family in families for sample in family.samples}

    alone = told()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        both = told()
        child.communicate()
    assert alone.keys() == {"process_resident_memory_bytes", "process_cpu_seconds_total"} == both.keys()
    assert both["process_resident_memory_bytes"] > alone["process_resident_memory_bytes"] * 0.9
    assert told()["process_cpu_seconds_total"] >= alone["process_cpu_seconds_total"] > 0
    assert list(WebProcessMetrics(2**22 + 1).collect()) == []


def test_jobs_and_figures_named_in_rules_exist():
    named = {value for text in expressions() for label, value in LABELS.findall(text) if label == "job"}
    assert named - {"tidings"} <= {job.name for job in JOBS}
    assert {"acceptance_rate", "silent_readers"} <= {watch.key for watch in KPI_DEFINITIONS}


def test_every_alert_has_a_place_in_the_runbook_that_says_what_to_do():
    runbook = (ROOT / "docs/runbook.md").read_text()
    for rule in ALERTS:
        assert f"## {rule['alert']}" in runbook, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket") and rule["annotations"]["summary"]


def test_the_processes_serve_every_queue_and_one_beat():
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    served = {queue for line in lines.values() for queue in re.findall(r"--queues (\S+)", line)}
    assert {queue for queues in served for queue in queues.split(",")} == set(QUEUES)
    assert sum(" beat" in line for line in lines.values()) == 1


def commands() -> dict[str, dict[str, str]]:
    """Return the command of each process in the Procfile, the units and the compose file."""
    procfile = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    units = {
        path.stem.removeprefix("tidings-"): re.search(r"^ExecStart=(.+)$", path.read_text(), re.M)[1]
        for path in (ROOT / "deploy/systemd").glob("*.service")
        if "Type=oneshot" not in path.read_text()
    }
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
    compose = {name: " ".join(one["command"]) for name, one in services.items() if name in procfile}
    return {"Procfile": procfile, "systemd": units, "compose": compose}


def test_every_way_of_running_starts_the_same_processes_with_the_same_queues():
    ways = commands()
    assert ways["Procfile"].keys() == ways["systemd"].keys() == ways["compose"].keys()
    for name in ways["Procfile"]:
        queues = {re.search(r"--queues (\S+)", way[name]) for way in ways.values()}
        assert len({match and match[1] for match in queues}) == 1, name
    assert all("deploy/gunicorn.conf.py config.wsgi" in way["web"] for way in ways.values())


def test_no_worker_talks_to_the_others():
    """With gossip and mingle a worker may stop taking tasks after Redis was away."""
    workers = [line for lines in commands().values() for line in lines.values() if " worker " in line]
    assert len(workers) == 12
    assert all("--without-gossip --without-mingle" in line for line in workers)


def filled(command: str, here: Path) -> list[str]:
    """Return the words of a command as a shell or systemd makes them, with the places of this checkout."""
    command = re.sub(r"\$\{\w+:-(\w+)\}|\$\{\w+\}", lambda found: found[1] or "2", command).replace("%%", "%")
    command = command.replace("/opt/tidings/.venv/bin/", "").replace("/opt/tidings", str(ROOT))
    command = command.replace("/var/lib/tidings", str(here))
    name, *words = shlex.split(command)
    return [f"{Path(sys.executable).parent}/{name}", *words]


STARTS = [(way, name, line) for way, lines in commands().items() for name, line in lines.items()]


@pytest.mark.parametrize(("way", "name", "line"), STARTS, ids=[f"{way}-{name}" for way, name, _ in STARTS])
def test_every_process_takes_the_words_it_is_started_with(way, name, line, tmp_path):
    """gunicorn checks its settings and loads the site. Celery reads its options and prints its help."""
    program, *words = filled(line, tmp_path)
    if find_spec(Path(program).name) is None:
        pytest.skip("needs the extra `server`")
    words += ["--check-config"] if name == "web" else ["--help"]
    place = os.environ | {"TIDINGS_VAR_DIR": str(tmp_path), "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run([program, *words], cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if name != "web":
        known = set(re.findall(r"(--[a-z-]+)", done.stdout))
        assert {word for word in words if word.startswith("--")} <= known


def test_the_backup_of_the_timer_writes_a_file(installed: Path, tmp_path):
    unit = (ROOT / "deploy/systemd/tidings-backup.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.+)$", unit, re.M)
    assert (ROOT / "deploy/systemd/tidings-backup.timer").is_file()
    place = os.environ | {"TIDINGS_VAR_DIR": str(tmp_path), "DATABASE_URL": "", "REDIS_URL": ""}
    shutil.copy(installed, tmp_path / "tidings.sqlite3")
    subprocess.run(filled(line, tmp_path), cwd=ROOT, env=place, capture_output=True, check=True)
    assert len([*(tmp_path / "backups").glob("tidings-*.zip")]) == 1


def loaded(code: str, folder: Path) -> set[str]:
    """Return the modules that a new interpreter has loaded after running `code`."""
    place = os.environ | {"TIDINGS_VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    look = f"{code}; import sys; print(*sys.modules)"
    command = [sys.executable, "-c", look]
    done = subprocess.run(
        command, cwd=ROOT, env=place | {"REDIS_URL": ""}, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_a_web_process_has_loaded_its_pages_before_it_is_asked_and_nothing_that_it_need_not(tmp_path):
    names = loaded("import config.wsgi", tmp_path)
    assert "digest.web.pages.reading" in names
    heavy = {"sklearn", "scipy", "requests", "redis", "openai", "mcp", "genai_prices", "trafilatura", "bm25s"}
    heavy |= {"celery", "yaml", "httpcore2", "feedparser", "charset_normalizer", "psycopg", "http_ece"}
    assert not names & (heavy | {"advisor.run.execute", "config.api.mcp_tools"})


def test_a_start_loads_no_page_no_admin_and_no_broker(tmp_path):
    names = loaded("import django; django.setup()", tmp_path)
    heavy = {"ninja", "celery", "kombu", "httpcore2", "advisor.admin", "digest.web", "advisor.run"}
    heavy |= {"numpy", "pydantic", "css_inline", "nh3", "ranking.selectors", "digest.items.selectors"}
    assert not names & heavy


def test_a_command_loads_no_page_for_its_checks_and_refuses_a_wrong_setting(tmp_path, monkeypatch):
    begin = (
        "import django; django.setup(); from digest.management.commands.fetch_feeds import Command as One; "
        "One().check(tags=One.requires_system_checks)"
    )
    assert not loaded(begin, tmp_path) & {"config.urls", "ninja", "psycopg", "pydantic"}
    run = "from django.core.management import execute_from_command_line as run; run(['manage.py', '{}'])"
    monkeypatch.setenv("NIGHTLY_HOUR", "24")
    for command in ("check_outcomes", "migrate", "work", "run_nightly"):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            loaded(run.format(command), tmp_path)
        assert "tidings.E011" in refused.value.stderr


def test_the_embedded_worker_needs_neither_scipy_nor_a_client_of_models(tmp_path):
    names = loaded("import django; django.setup(); import config.tasks", tmp_path)
    assert "digest.items.clustering" in names and not names & {"sklearn", "scipy", "openai", "mcp"}


def test_a_web_process_counts_on_where_its_predecessor_stopped(tmp_path, monkeypatch):
    """Each process has the lowest free number, so there are no more files than processes at one time."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    conf = runpy.run_path(str(ROOT / "deploy/gunicorn.conf.py"))
    (tmp_path / "counter_0.db").touch()
    conf["on_starting"](None)
    assert list(tmp_path.iterdir()) == [] and conf["chdir"] == str(ROOT)
    slots = []
    for taken in ([], [0], [0, 2], [1, 2]):
        worker = SimpleNamespace()
        others = {n: SimpleNamespace(slot=slot) for n, slot in enumerate(taken)}
        conf["pre_fork"](SimpleNamespace(WORKERS=others, num_workers=2), worker)
        slots.append(worker.slot)
    assert slots == [0, 1, 1, 0]


AGGREGATES = re.compile(r"\b(?:sum|avg|min|max|count|quantile|topk)\b(?: (?:by|without) \(\w+\))?\s*\(")
SELECTOR = re.compile(r"\b(?:tidings|process)_\w+")
OPERATOR = re.compile(r" (?:[-+*/%^]|[<>]=?|[!=]=|and|or|unless) ")


def unmatched(expression: str) -> list[tuple[str, str]]:
    """Return pairs of operands of which one has lost its labels in an aggregation and the other has not.

    Prometheus finds no match for such a pair, so the rule never fires. Pairs with `on` or `ignoring` name
    their labels, so they count as matched.
    """
    depth, inner, flat = 0, [""], ""
    for sign in expression:
        depth += (sign in "([{") - (sign in ")]}")
        flat += "\0" if depth and OPERATOR.search(f" {sign} ") else sign
        inner.append("") if depth == 0 and sign in ")]}" else None
        inner[-1] += sign if depth and not (depth == 1 and sign in "([{") else ""
    ends = [match.span() for match in OPERATOR.finditer(flat)]
    cuts = [0, *(end for _, end in ends)], [*(start for start, _ in ends), len(expression)]
    sides = [expression[start:end].strip() for start, end in zip(*cuts, strict=True)]
    found = [
        (left, right)
        for left, right in pairwise(sides)
        if SELECTOR.search(left) and SELECTOR.search(right) and not right.startswith(("on", "ignoring"))
        if bool(AGGREGATES.search(left)) != bool(AGGREGATES.search(right))
    ]
    return found + [pair for part in inner if SELECTOR.search(part) for pair in unmatched(part)]


def test_no_rule_divides_series_by_an_aggregate_that_lost_their_labels():
    assert unmatched("tidings_a / clamp_min(sum(tidings_b), 100) > 0.01")
    assert unmatched("clamp_min(sum(tidings_b) - tidings_a, 0)")
    assert not unmatched("sum(tidings_a) / sum(tidings_b) > 1")
    assert not unmatched("tidings_a / on() sum(tidings_b)")
    assert [pair for text in expressions() for pair in unmatched(text)] == []


def unit(name: str) -> str:
    return (ROOT / f"deploy/systemd/tidings-{name}.service").read_text()


@pytest.mark.parametrize("name", ["work", "night", "advise", "fetch"])
def test_each_worker_of_systemd_goes_by_the_name_of_its_machine(name):
    """`%h` is the home of systemd's manager; Celery gets its own `%h`, the machine, by `%%h`."""
    assert f"--hostname {name}@%%h\n" in unit(name)


@pytest.mark.parametrize("name", ["work", "night", "advise"])
def test_how_many_runs_at_once_is_a_setting_wherever_workers_run(name):
    setting = f"{name.upper()}_CONCURRENCY"
    assert f"\nEnvironment={setting}=2\n" in unit(name) and f"--concurrency ${{{setting}}} " in unit(name)
    for way in ("Procfile", "compose"):
        assert f"--concurrency ${{{setting}:-2}} " in commands()[way][name]


@pytest.mark.parametrize(
    "hosts", ["news.example.org", ".example.org,127.0.0.1", "*", "", "127.0.0.1,localhost"]
)
def test_the_probe_of_the_image_asks_by_a_name_the_site_answers_to(hosts, client, settings, monkeypatch):
    asked = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: asked.append(request))
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    if hosts:
        settings.ALLOWED_HOSTS = hosts.split(",")
    runpy.run_path(str(ROOT / "deploy/healthcheck.py"))
    (request,) = asked
    assert client.get(request.selector, headers={"Host": request.get_header("Host")}).status_code == 200
    assert client.get(request.selector, headers={"Host": "evil.test"}).status_code == (
        200 if hosts == "*" else 400
    )


def test_no_settings_and_no_backup_get_into_an_image():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"**/.env", "**/*.zip", "**/*.sqlite3*", "var", ".git"} <= set(ignored)
    image = (ROOT / "deploy/Dockerfile").read_text()
    assert "chown" not in image and "\nUSER tidings\n" in image


def test_one_health_check_asks_the_site_and_no_worker():
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
    ours = {name: one["healthcheck"] for name, one in services.items() if one["image"] == "tidings"}
    web = ours.pop("web")
    image = (ROOT / "deploy/Dockerfile").read_text()
    assert f"CMD {json.dumps(web['test'][1:])}" in image
    assert len(ours) == 6 and all(check == {"disable": True} for check in ours.values())


@pytest.fixture
def release(tmp_path, monkeypatch) -> Path:
    """Return a release as in /opt with settings as in /etc/tidings/environment, for a non-root user."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    shutil.copy(ROOT / "deploy/tidings", tmp_path / "deploy/tidings")
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    (tmp_path / "environment").write_text(
        f"DATABASE_URL=sqlite:///{tmp_path}/right.sqlite3\nLOG_LEVEL=ERROR\n"
    )
    for name, text in {".venv/bin/python": f'exec "{sys.executable}" "$@"', "id": "echo 1000"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("DATABASE_URL", "REDIS_URL", "TIDINGS_VAR_DIR", "LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TIDINGS_ENV_FILE", str(tmp_path / "environment"))
    return tmp_path


def by_wrapper(release: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(release / "deploy/tidings"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_commands_by_the_wrapper_work_on_the_database_of_the_units(release):
    with (release / "environment").open("a") as settings:
        settings.write(f"TIDINGS_VAR_DIR={release}/state\n")
    look = "from django.conf import settings as s; print(s.DATABASES['default']['NAME'], s.VAR_DIR)"
    done = by_wrapper(release, "shell", "-v", "0", "-c", look)
    assert (done.stdout.split(), done.returncode) == ([f"{release}/right.sqlite3", f"{release}/state"], 0)


def test_the_wrapper_becomes_the_user_of_the_units_and_does_nothing_without_their_settings(release):
    (release / "environment").unlink()
    done = by_wrapper(release, "check")
    assert done.returncode == 2 and "environment cannot be read" in done.stderr
    (release / "id").write_text("#!/bin/sh\necho 0\n")
    (release / "runuser").write_text('#!/bin/sh\necho "$@"\n')
    (release / "runuser").chmod(0o755)
    told = by_wrapper(release, "backup", "x.zip").stdout
    assert told == f"-u tidings -- {release}/deploy/tidings backup x.zip\n"
