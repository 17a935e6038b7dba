"""Send one `Idempotency-Key` again and again: by many at once, a thousand times, and with another body.

It uses HTTP at the site itself: gunicorn's processes by the `Procfile` if there is a broker, else `serve`.
The product's limit of requests per minute stays in force, and the caller waits as `Retry-After` says.
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from digest.accounts.tokens import token_issue
from digest.models import ApiToken, Reader
from ranking.models import ConfigVersion
from suggestions.models import Outcome
from tests.lab.faults.boundaries import Json
from tests.lab.faults.races import told
from tests.lab.fuzz.__main__ import site as site_embedded
from tests.lab.load.server import site as site_distributed
from tests.support.browser import suggested
from tests.support.factories import ReaderFactory

WRITERS, AT_ONCE = 32, 8
RACES, REPLAYS, OTHERS, CONTROLS = (4, 20), (100, 1000), (20, 100), 3
ANSWER_S, TRIES = 60.0, 200
TOO_OFTEN, IN_FLIGHT, REUSED = 429, "request_in_flight", "idempotency_key_reused"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as its caller sees it, without the header that marks a repeated one."""

    status: int
    content_type: str
    body: bytes

    @property
    def code(self) -> str:
        """Return the stable code of a refusal, or "" if there is none."""
        return str(json.loads(self.body).get("error", ""))


@dataclass(frozen=True, slots=True)
class Caller:
    """A reader's script with a token, and the suggestion it accepts."""

    address: str
    token: str
    suggestion_id: int

    def accept(self, key: str = "", **body: str) -> Answer:
        """Accept it under `key`; asked too often, wait as long as the site says. Raises `TimeoutError`."""
        url = f"{self.address}/api/suggestions/{self.suggestion_id}/accept"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
        for _ in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_S) as said:
                    return Answer(said.status, said.headers["Content-Type"], said.read())
            except urllib.error.HTTPError as refused:
                answer = Answer(refused.code, refused.headers["Content-Type"], refused.read())
                if refused.code != TOO_OFTEN:
                    return answer
                time.sleep(float(refused.headers["Retry-After"]))
        raise TimeoutError(f"asked too often {TRIES} times: {answer.code}")


def run(name: str, full: bool) -> Json:
    """Return the figures: races for a key first, then one key for each replay."""
    began = time.monotonic()
    with running() as address:
        races = [raced(address) for _ in range(RACES[full])]
        found = replayed(address, REPLAYS[full], OTHERS[full])
        control = sum(_differs(address) for _ in range(CONTROLS))
    return {
        **found,
        "writers": WRITERS,
        "rounds": RACES[full],
        "rounds_off": sum(row["off"] for row in races),
        "refused_in_flight": sum(row["in_flight"] for row in races),
        "errors": sum(len(row["broken"]) for row in races) + found["errors"],
        "said": [said for row in races for said in row["broken"]][:3],
        "control_found": control,
        "seconds": round(time.monotonic() - began, 1),
    }


@contextmanager
def running() -> Iterator[str]:
    """Yield the address of a site on this row's database."""
    if settings.REDIS_URL:
        with site_distributed() as served:
            yield f"http://127.0.0.1:{served.port}"
        return
    with site_embedded(dict(os.environ), Path(settings.VAR_DIR)) as address:
        yield address


def raced(address: str) -> Json:
    """Send one key by many at once. One call decides, and all callers that are not told to wait get its
    answer."""
    reader, caller = somebody(address)
    answers, broken = told(lambda _: caller.accept("k"), WRITERS)
    done = {answer for answer in answers if answer.status == 200}
    refused = Counter(answer.code for answer in answers if answer.status != 200)
    fine = len(done) == 1 and set(refused) <= {IN_FLIGHT} and decided_once(reader)
    return {"off": not fine, "in_flight": refused[IN_FLIGHT], "broken": broken}


def replayed(address: str, replays: int, others: int) -> Json:
    """Send one key many times, a few at once, then the same key with other bodies."""
    reader, caller = somebody(address)
    first = caller.accept("k")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        again = list(pool.map(lambda _: caller.accept("k"), range(replays)))
        strange = list(pool.map(lambda n: caller.accept("k", reason=f"because {n}"), range(others)))
    everything = [first, *again, *strange]
    return {
        "replays": len(again),
        "others": len(strange),
        "first": first.status,
        "differing": sum(answer != first for answer in again) + (first.status != 200),
        "taken": sum((answer.status, answer.code) != (422, REUSED) for answer in strange),
        "decided_again": int(not decided_once(reader)),
        "errors": sum(answer.status >= 500 for answer in everything),
    }


def _differs(address: str) -> bool:
    """Without a key: whether the second accept is answered other than the first."""
    _, caller = somebody(address)
    first, second = caller.accept(), caller.accept()
    return first != second


def somebody(address: str) -> tuple[Reader, Caller]:
    """Create a reader with one suggestion, and a script of theirs."""
    reader = ReaderFactory(time_zone="UTC")
    token = token_issue(
        reader=reader, name="script", scope=ApiToken.Scope.FULL, expires_at=None, now=timezone.now()
    )
    return reader, Caller(address, token.secret, suggested(reader).pk)


def decided_once(reader: Reader) -> bool:
    """Return whether there is one outcome and one version of the settings."""
    traces = (Outcome.objects.filter(reader=reader), ConfigVersion.objects.filter(reader=reader))
    return [rows.count() for rows in traces] == [1, 1]
