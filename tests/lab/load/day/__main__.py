"""`python -m tests.lab load day [--json FILE]`: takes minutes. Exit 1 if work was lost, refused or not in the
metrics.

It needs `redis-server`, gunicorn (`.[server]`), and TEST_DATABASE_URL, the address of a PostgreSQL with the
right to create databases. Everything listens on this machine only and is removed at the end.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import django

from tests.lab.bench.book import book_text
from tests.lab.bench.publisher import address, publishers
from tests.lab.load.day.release import release_copy, release_next, release_switch
from tests.lab.load.day.servers import OwnRedis, database, port_free
from tests.lab.load.day.site import Site
from tests.support.mailbox import mailbox_open

DEFAULT_URL = "postgres://postgres@127.0.0.1:5432/postgres"
# Publishers of hostile feeds and of a hostile reader's sites.
HOSTS = 700
# Makes the functions of hostile rows fail, in every process that has it on its path.
CUSTOM = Path(__file__).parent / "hostile_rows"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "LOCAL_LLM_BASE_URL")


def main() -> int:
    """Set the stage, live through the day, judge it."""
    parser = argparse.ArgumentParser(description="A day in the life of a distributed installation.")
    parser.add_argument("--json", type=Path, help="where to write the record")
    parser.add_argument("--logs", type=Path, help="a folder for what the processes say; else nothing is kept")
    parser.add_argument(
        "--worst", action="store_true", help="with hostile feeds, and a reader who does the worst all day"
    )
    options = parser.parse_args()
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stop the started processes, too
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidings-day-")))
        logs = options.logs or folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        url = stack.enter_context(database(os.environ.get("TEST_DATABASE_URL", DEFAULT_URL)))
        publisher = stack.enter_context(publishers()) if options.worst else 0
        box = stack.enter_context(mailbox_open())
        record = live(folder, url, logs, publisher, box.port)
    record |= {"seconds": round(time.monotonic() - began, 1)}
    if options.json:
        options.json.write_text(book_text({"rows": {"day": record}}), encoding="utf-8")
    for row in record["report"]["rows"]:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    for target in record["targets"]:
        sign = "met   " if target["met"] else "MISSED"
        print(f"{sign}  {target['metric']}: {target['value']} ({target['target']})")
    return 0 if all(target["met"] for target in record["targets"]) else 1


def live(folder: Path, url: str, logs: Path, publisher: int, mail: int) -> dict[str, Any]:
    """Run the whole day, with a mail server at the port `mail`. Return its record.

    With a `publisher` there are hostile feeds and a hostile reader.
    """
    first = release_copy(folder / "release-1")
    following = release_next(folder / "release-2")
    release_switch(folder / "current", first)
    redis, port = OwnRedis(folder), port_free()
    redis.start()
    told = environment(folder, url, redis.url, port, mail) | (hosts_allowed(publisher) if publisher else {})
    poison = {"DAY_POISON": str(folder / "poison.json"), "PYTHONPATH": str(CUSTOM)} if publisher else {}
    site = Site(folder / "current", told | poison, logs)
    try:
        site.manage(first, "migrate", "--verbosity", "0")
        site.manage(first, "seed_demo")
        os.environ |= told
        django.setup()
        # Only now: these read the settings.
        from tests.lab.load.day.run import day_run  # noqa: PLC0415

        return day_run(site, redis, port, following, publisher)
    finally:
        site.stop()
        redis.kill()


def hosts_allowed(publisher: int) -> dict[str, str]:
    """Return the settings that let the site ask the publishers at this port of the loopback."""
    hosts = [address(n) for n in range(HOSTS)]
    ports = {"FETCH_ALLOW_HOSTS": ",".join(hosts), "FETCH_PORTS": f"80,443,{publisher}"}
    return ports | {"NOTIFY_ALLOW_HOSTS": f"{hosts[2]}:{publisher}", "FULL_TEXT": "true"}


def environment(folder: Path, url: str, redis: str, port: int, mail: int) -> dict[str, str]:
    """Return the settings of the installation, without the operator's own."""
    own = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": url,
        "REDIS_URL": redis,
        "BIND": f"127.0.0.1:{port}",
        "TIDINGS_VAR_DIR": str(folder / "var"),
        "TIDINGS_ENV_FILE": "",
        "LOG_LEVEL": "INFO",
        "SECRET_KEY": "of this day alone " * 4,
        "EMAIL_URL": f"smtp://127.0.0.1:{mail}",
        "METRICS_TOKEN": "",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "requests"),
        "PYTHONUNBUFFERED": "1",
    }
    kept = {key: os.environ[key] for key in ("HOME", "LANG", "LC_ALL", "TZ") if key in os.environ}
    return {**kept, **dict.fromkeys(KEYS, ""), **own}


if __name__ == "__main__":
    sys.exit(main())
