"""Parsing apart: a child process with little memory, little time and none of our secrets.

A child is started per document and ends with it (about 0.1 s, most of it imports; one real feed in 240
needs one). A process of its own, not `multiprocessing`: Celery's workers are daemonic and may not have
children of that kind, and a fork of a process with threads inherits its locks.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

from digest.feeds import FeedProblem, ParsedFeed, feed_from_json

# The child limits its own processor time and memory; this is for one that waits instead of working, on
# machines where two seconds of work may take ten.
WALL_S: Final = 20.0
MEMORY_EXIT: Final = 3
PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
COMMAND: Final = (sys.executable, "-s", "-P", "-m", "digest.parse_child")


def parse_contained(
    text: str, *, url: str, command: Sequence[str] = COMMAND, wall_s: float = WALL_S
) -> ParsedFeed:
    """Read the checked document `text`, fetched from `url`, in a child process.

    Raises what `parse_document` raises, and `FeedProblem`: `parse_timeout` (over two seconds of processor
    time), `parse_memory` (over 300 MiB), `parse_crashed` (the child died), `parse_unavailable` (it could
    not be started: no fault of the feed's).
    """
    said = f"{json.dumps({'url': url})}\n{text}".encode("utf-8", "replace")
    try:
        done = subprocess.run(
            command,
            input=said,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            timeout=wall_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _timeout() from error
    except OSError as error:
        message = f"No process could be started to read the document ({error.strerror})."
        raise FeedProblem("parse_unavailable", message) from error
    return _answer(done.returncode, done.stdout)


def _environment() -> dict[str, str]:
    """What the child may know: where the code is. Keys and passwords stay with the parent."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def _answer(code: int, said: bytes) -> ParsedFeed:
    if code in (-signal.SIGPROF, -signal.SIGXCPU):
        raise _timeout()
    if code == MEMORY_EXIT:
        raise FeedProblem("parse_memory", "Reading this document takes more memory than any feed should.")
    try:
        answer: dict[str, Any] = json.loads(said) if code == 0 else {}
        if "problem" in answer:
            problem = answer["problem"]
            raise FeedProblem(str(problem["code"]), str(problem["message"]))
        return feed_from_json(answer["feed"])
    except (ValueError, KeyError, TypeError) as error:
        raise FeedProblem("parse_crashed", "Reading this document broke the parser.") from error


def _timeout() -> FeedProblem:
    return FeedProblem("parse_timeout", "Reading this document takes longer than any feed should.")
