"""An advisor and three reviewers on one scripted server, each with its own script, asked at the same time."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.scripted_model import PATH, Script, Step, text

ROLES = ("trust", "value", "voice")
ADVISOR = "advisor"


def vote(
    verdict: str = "approve", *issues: str, mend: Sequence[str] = (), sure: float = 0.9, **more: Any
) -> Step:
    """Return a reviewer's answer."""
    said = {
        "verdict": verdict,
        "confidence": sure,
        "issues": list(issues),
        "suggestions": list(mend),
        "reasoning": "Because.",
    }
    return text(json.dumps(said), **more)


class Reviewers:
    """Plays one script for each role; a request goes to the role that its system prompt names.

    `server` must be threaded: reviewers are asked at once. Every step must be used, as with any script.
    """

    def __init__(self, server: HTTPServer, **steps: Sequence[Step]) -> None:
        self.scripts = {role: Script(server, steps.get(role, ())) for role in (ADVISOR, *ROLES)}
        server.clear()
        server.expect_request(PATH, method="POST").respond_with_handler(self._answer)
        self._stack = ExitStack()

    def __enter__(self) -> "Reviewers":
        for script in self.scripts.values():
            self._stack.enter_context(script)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _answer(self, request: Request) -> Response:
        system = json.loads(request.data)["messages"][0]["content"]
        role = next((role for role in ROLES if f"the {role} reviewer" in system), ADVISOR)
        return self.scripts[role]._answer(request)

    def material(self, role: str, n: int = 0) -> dict[str, Any]:
        """Return the content of the role's request `n` (from 0), read from its fence."""
        user = self.scripts[role].bodies[n]["messages"][1]["content"]
        return json.loads(user.split("<data>")[1].split("</data>")[0])
