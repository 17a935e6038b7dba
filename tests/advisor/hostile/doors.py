"""The three doors an injection can come through, each driven for real: the page, the schedule, MCP."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from pytest_httpserver import HTTPServer

from advisor.mcp_server import session_call, session_close, session_open
from advisor.models import Run
from advisor.prompts import prompt_load
from advisor.run.request import run_request
from tests.advisor.hostile.payloads import LOOKS, Turns
from tests.advisor.hostile.world import World
from tests.support.scripted_model import Body, Script, Step, calls, garbage, status, text

DOORS = ("ui", "scheduled", "mcp")
APPROVAL = {"vote": "approve", "verdict": "approve", "confidence": 1.0, "helps": True, "accepts": True}
Statement = tuple[str, Any]


@dataclass
class Attempt:
    """One attack: the calls made, their answers, the requests to models, and the SQL that ran."""

    run: Run
    emitted: int = 0
    answers: list[str] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    sql: list[Statement] = field(default_factory=list)


@dataclass
class Compromised:
    """A model that looks round, obeys the injection turn by turn, and ends with its words."""

    turns: Turns
    closing: Mapping[str, object]
    noise: Sequence[Step] = ()
    emitted: int = 0
    played: int = 0

    def __call__(self, body: Body) -> Step:
        """Return the next answer. Asked as a reviewer, it approves of everything."""
        if not body.get("tools"):
            return text(json.dumps(APPROVAL))
        self.played += 1
        if self.played == 1:
            turn = [(name, {}) for name in LOOKS]
        elif self.played - 2 < len(self.turns):
            turn = self.turns[self.played - 2]
        elif self.played - 2 - len(self.turns) < len(self.noise):
            return self.noise[self.played - 2 - len(self.turns)]
        else:
            turn = [("finish", self.closing)]
        self.emitted += len(turn)
        return calls(*[(name, _filled(arguments, body)) for name, arguments in turn])


NOISE = {
    "direct": (garbage(b"<html>" * 1000),),
    "forged": (garbage(b'{"choices": []}'),),
    "encoded": (status(429, headers={"Retry-After": "0"}),) * 2,
    "multilingual": (garbage(b'{"choices": [{"message": {"content": null}}]}'),),
    "split": (status(500),),
}


def attack(
    door: str,
    world: World,
    turns: Turns,
    closing: Mapping[str, object],
    server: HTTPServer,
    noise: Sequence[Step] = (),
) -> Attempt:
    """Let a compromised model loose through `door`."""
    with statements() as sql:
        if door == "mcp":
            attempt = _by_mcp(world, turns)
        else:
            attempt = _by_run(door, world, Compromised(turns, closing, noise), server)
    attempt.sql = sql
    return attempt


def _by_run(door: str, world: World, model: Compromised, server: HTTPServer) -> Attempt:
    """Return a request as the page or the schedule makes it, with the model on a real socket."""
    with Script(server, [], beyond=model) as script:
        result = run_request(reader=world.ada, trigger=Run.Trigger(door), now=world.now)
    assert result.run_id, f"no run: {result.status} {result.reason}"
    # Reviewers are asked on the same wire; only the agent's own requests carry tools.
    own = [body for body in script.bodies if body.get("tools")]
    answers = [m["content"] for body in own[-1:] for m in body["messages"] if m["role"] == "tool"]
    return Attempt(Run.objects.get(pk=result.run_id), model.emitted, answers, script.bodies)


def _by_mcp(world: World, turns: Turns) -> Attempt:
    """Attack as an MCP client: no model of ours, but the same registry and the same record.

    The protocol parses arguments first, so broken JSON arrives as a value.
    """
    session = session_open(reader=world.ada, now=world.now)
    attempt = Attempt(session.run)
    for name, arguments in [(name, {}) for name in LOOKS] + [call for turn in turns for call in turn]:
        given = {"raw": arguments} if isinstance(arguments, str) else _filled(arguments, None)
        attempt.emitted += 1
        answer = session_call(session=session, name=name, arguments=given, now=world.now)
        attempt.answers.append(answer.content)
    session_close(session=session, now=world.now)
    return attempt


def _filled(arguments: Any, body: Body | None) -> Any:
    """Return the arguments with `{prompt}` replaced by the model's prompt."""
    if isinstance(arguments, str) or "{prompt}" not in json.dumps(arguments):
        return arguments
    told = body["messages"][0]["content"] if body else prompt_load()
    return {k: v.replace("{prompt}", told[:450]) if isinstance(v, str) else v for k, v in arguments.items()}


@contextmanager
def statements() -> Iterator[list[Statement]]:
    """Yield every statement run meanwhile that reads, changes or deletes, with its parameters."""
    seen: list[Statement] = []

    def note(execute, sql, params, many, context):
        if not sql.startswith("INSERT"):
            seen.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen
