"""`python tracer.py button|thumb`: trace the way through the product while a reader does one thing.

It runs in its own process, in the root of the tree to trace, on a SQLite database below TIDINGS_VAR_DIR that
is seeded like the demo. Every module is imported first, so a file counts only if one of its functions is
executed. It prints a JSON object (see `Trace`).
"""

import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
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
    print(json.dumps(DEEDS[deed]().summary))


def everything_import() -> None:
    """Import every module of the product, so that code run at import does not count."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts and "__main__" not in parts and parts[-1] not in ("wsgi", "asgi"):
                # A module of an app that the settings leave out, such as a provider's forms, cannot run.
                with suppress(ImproperlyConfigured):
                    import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


@dataclass
class Trace:
    """The calls between the product's functions, and the queries.

    `edges` are (file that calls, file that is called), the nearest function of the product counting as the
    caller; `depth` is the most functions of the product on the stack at once, and `deepest` names them. The
    bodies of modules and classes, and comprehensions, are no functions.
    """

    functions: set[CodeType] = field(default_factory=set)
    edges: set[tuple[str, str]] = field(default_factory=set)
    deepest: tuple[str, ...] = ()
    queries: int = 0

    @property
    def depth(self) -> int:
        """Return how many functions were on the stack at once, at most."""
        return len(self.deepest)

    @property
    def summary(self) -> dict[str, Any]:
        """Return the figures, with the files and the pairs of files that call each other."""
        mutual = sorted(edge for edge in self.edges if edge[0] < edge[1] and edge[::-1] in self.edges)
        return {
            "files": sorted({file_of(code) for code in self.functions}),
            "functions": len(self.functions),
            "edges": len(self.edges),
            "mutual": mutual,
            "depth": self.depth,
            "deepest": self.deepest,
            "queries": self.queries,
        }


def file_of(code: CodeType) -> str:
    """Return the path of a function of the product, below the root; "" for any other code."""
    # A generator's own expression or comprehension is no function: its name begins with "<".
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_name.startswith("<"):
        return ""
    path = Path(code.co_filename)
    inner = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return inner.as_posix() if inner.parts[0] in ROOMS else ""


@contextmanager
def traced() -> Iterator[Trace]:
    """Collect the calls of the product's functions, in any thread, and the queries, until the block ends."""
    trace, known, stacks = Trace(), dict[CodeType, str](), threading.local()

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code not in known:
            known[code] = file_of(code)
        if not (called := known[code]):
            return
        stack: list[CodeType] = stacks.__dict__.setdefault("functions", [])
        if event == "return":
            # A function that was called before the trace began returns within it.
            if stack:
                stack.pop()
            return
        if stack and known[stack[-1]] != called:
            trace.edges.add((known[stack[-1]], called))
        stack.append(code)
        trace.functions.add(code)
        if len(stack) > trace.depth:
            trace.deepest = tuple(f"{known[one]}:{one.co_qualname}" for one in stack)

    def count(execute: Callable[..., Any], *given: Any) -> Any:
        trace.queries += 1
        return execute(*given)

    with connection.execute_wrapper(count):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            yield trace
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def button() -> Trace:
    """Press the button of the suggestions page: the planner's run, until its suggestion is stored."""
    client, reader = signed_in()
    with traced() as trace:
        answer = client.post("/ui/suggestions/generate")
    assert answer.status_code == 302, answer.status_code
    stored = import_module("suggestions.models").Suggestion.objects.filter(reader=reader)
    assert stored.exists(), "no suggestion was stored"
    return trace


def thumb() -> Trace:
    """Rate an item on the page, learn and build as the night does; the digest must have another order."""
    build = import_module("digest.daily.services").digest_build
    learn = import_module("digest.feedback.services").weights_update
    shown = import_module("digest.daily.selectors").digest_impressions
    client, reader = signed_in()
    now, day = timezone.now(), timezone.localdate(timezone=reader.zone)
    digest = build(reader=reader, date=day, now=now)
    before = [(one.item_id, one.score) for one in shown(digest=digest, now=now)]
    with traced() as trace:
        later = now + timedelta(minutes=1)
        answer = client.post(f"/ui/item/{before[0][0]}/feedback", {"useful": "0"})
        learn(reader_id=reader.pk, now=later)
        digest = build(reader=reader, date=day, now=later)
    assert answer.status_code == 302, answer.status_code
    assert before != [(one.item_id, one.score) for one in shown(digest=digest, now=now)], "nothing changed"
    return trace


def signed_in() -> tuple[Client, Any]:
    """Seed the demo; return a client signed in as its first reader, and the reader."""
    import_module("config.demo.seed").demo_seed(now=timezone.now())
    reader = import_module("digest.models").Reader.objects.get(username=READER)
    client = Client(HTTP_HOST="localhost")
    client.force_login(reader)
    return client, reader


DEEDS: dict[str, Callable[[], Trace]] = {"button": button, "thumb": thumb}

if __name__ == "__main__":
    main(sys.argv[1])
