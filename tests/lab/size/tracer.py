"""`python tracer.py button|thumb`: the product's files that run while a reader does one thing.

Runs in a process of its own, in the root of the tree to be traced, on a SQLite database below TIDINGS_VAR_DIR
that is seeded as the demo is. Every module is imported first: a file counts only where one of its functions
is executed. Prints a JSON list of paths.
"""

import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import django
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

ROOT = Path.cwd()
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
READER = "ada"


def main(deed: str) -> None:
    """Seed, do one thing, print the files it ran through."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    everything_import()
    print(json.dumps(DEEDS[deed]()))


def everything_import() -> None:
    """Import every module of the product, so that what runs at import is over."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts and "__main__" not in parts and parts[-1] not in ("wsgi", "asgi"):
                import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


@contextmanager
def traced() -> Iterator[set[str]]:
    """Collect the product's files in which a function is called, in any thread, until the block ends."""
    codes: set[CodeType] = set()
    files: set[str] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        for code in codes:
            path = Path(code.co_filename)
            # The body of a module or class is no function: it lacks this flag.
            if code.co_flags & inspect.CO_OPTIMIZED and path.is_relative_to(ROOT):
                inner = path.relative_to(ROOT)
                files |= {inner.as_posix()} if inner.parts[0] in ROOMS else set()


def button() -> list[str]:
    """Press the button of the suggestions page: the planner's run, until its suggestion is stored."""
    client, reader = signed_in()
    with traced() as files:
        answer = client.post("/ui/suggestions/generate")
    assert answer.status_code == 302, answer.status_code
    stored = import_module("suggestions.models").Suggestion.objects.filter(reader=reader)
    assert stored.exists(), "no suggestion was stored"
    return sorted(files)


def thumb() -> list[str]:
    """Rate an item on the page, learn and build as the night does; the digest must have another order."""
    build = import_module("digest.daily.services").digest_build
    learn = import_module("digest.feedback.services").weights_update
    shown = import_module("digest.daily.selectors").digest_impressions
    client, reader = signed_in()
    now, day = timezone.now(), timezone.localdate(timezone=reader.zone)
    digest = build(reader=reader, date=day, now=now)
    before = [(one.item_id, one.score) for one in shown(digest=digest, now=now)]
    with traced() as files:
        later = now + timedelta(minutes=1)
        answer = client.post(f"/ui/item/{before[0][0]}/feedback", {"useful": "0"})
        learn(reader_id=reader.pk, now=later)
        digest = build(reader=reader, date=day, now=later)
    assert answer.status_code == 302, answer.status_code
    assert before != [(one.item_id, one.score) for one in shown(digest=digest, now=now)], "nothing changed"
    return sorted(files)


def signed_in() -> tuple[Client, Any]:
    """Seed the demo; return a client signed in as its first reader, and the reader."""
    import_module("config.demo.seed").demo_seed(now=timezone.now())
    reader = import_module("digest.models").Reader.objects.get(username=READER)
    client = Client(HTTP_HOST="localhost")
    client.force_login(reader)
    return client, reader


DEEDS: dict[str, Callable[[], list[str]]] = {"button": button, "thumb": thumb}

if __name__ == "__main__":
    main(sys.argv[1])
