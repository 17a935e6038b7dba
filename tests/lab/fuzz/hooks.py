"""Hooks of schemathesis before each request: sign in as one of the readers, and use existing ids."""

import itertools
import json
import os
import random
import uuid
from pathlib import Path
from typing import Any

import schemathesis

KNOWN = json.loads(Path(os.environ["FUZZ_KNOWN"]).read_text(encoding="utf-8"))
READERS = itertools.cycle(KNOWN["readers"])
OWNERS = {one: reader for reader in KNOWN["readers"] for one in (*reader["suggestions"], reader["run"])}
SUGGESTIONS = [one for reader in KNOWN["readers"] for one in reader["suggestions"]]
OPERATOR, KEY = KNOWN["readers"][0], "Idempotency-Key"
# The share of valid requests that use existing ids.
REAL = 0.7
chance = random.Random(1)
SEEN = Path(os.environ["FUZZ_SEEN"])


@schemathesis.auth(refresh_interval=None)
class Tokens:
    """A personal token, another reader's each time."""

    def get(self, case: Any, context: Any) -> str:
        """Return the token for a case."""
        return str(next(READERS)["token"])

    def set(self, case: Any, data: str, context: Any) -> None:
        """Send it."""
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Replace most drawn ids by existing ones, if the request fits the description."""
    if not (case.meta and case.meta.generation.mode == schemathesis.GenerationMode.POSITIVE):
        return
    if chance.random() > REAL:
        return
    headers, path = case.headers or {}, case.path_parameters or {}
    real = {
        "item_id": chance.choice(KNOWN["items"]),
        "suggestion_id": chance.choice(SUGGESTIONS),
        "run_id": chance.choice(KNOWN["readers"])["run"],
        "date": KNOWN["today"],
    }
    for name in path.keys() & real:
        path[name] = real[name]
    owner = OWNERS.get(path.get("suggestion_id") or path.get("run_id"))
    if case.path == "/api/costs":
        owner = OPERATOR
    if owner and "Authorization" in headers:
        headers["Authorization"] = f"Bearer {owner['token']}"
    if KEY in headers:  # drawn keys are short, and would soon repeat one of another request
        headers[KEY] = uuid.uuid4().hex


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Note the answer."""
    with SEEN.open("a", encoding="utf-8") as seen:
        seen.write(json.dumps([case.operation.label, case.method, response.status_code]) + "\n")
