"""A reader's browser: cookies, a connection, and a record of every answer."""

import http.client
import re
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

TIMEOUT_S = 60.0
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: when it was made (monotonic), its purpose, its status (0: no answer), and its duration.

    `again` counts repeats after a kept connection turned out to be closed before any answer. Browsers and
    proxies repeat such a request on a new one, too (RFC 9112, section 9.3.1).
    """

    at: float
    name: str
    status: int
    ms: float
    error: str = ""
    again: int = 0
    body: bytes = field(default=b"", repr=False)


class Browser:
    """One reader. `keeps` its connection open between requests, or makes a new one for each."""

    def __init__(self, port: int, *, keeps: bool) -> None:
        self.port, self.keeps = port, keeps
        self.answers: list[Answer] = []
        self._cookies: dict[str, str] = {}
        self._connection: http.client.HTTPConnection | None = None

    def sign_in(self, username: str, password: str) -> None:
        """Sign in by the form. Raises if it fails."""
        page = self.ask("sign in", "GET", "/accounts/login/")
        token = TOKEN.search(page.body.decode())
        assert token, f"no form: {page.status}"
        form = {"login": username, "password": password, "csrfmiddlewaretoken": token[1]}
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        done = self.ask("sign in", "POST", "/accounts/login/", urlencode(form).encode(), kind)
        assert done.status == 302, f"{username} cannot sign in: {done.status}"

    def ask(
        self, name: str, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        """Make a request and note the answer. Failures of the server raise nothing."""
        sent = {"Cookie": "; ".join(f"{key}={value}" for key, value in self._cookies.items())}
        sent |= {"X-CSRFToken": self._cookies.get("csrftoken", ""), **(headers or {})}
        began, again = time.monotonic(), 0
        while True:
            used = self._connection is not None
            try:
                status, told = self._exchange(method, path, body, sent)
                error = ""
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as closed:
                self._hang_up()
                if used and not again:
                    again += 1
                    continue
                status, told, error = 0, b"", type(closed).__name__
            except (OSError, http.client.HTTPException) as broken:
                self._hang_up()
                status, told, error = 0, b"", type(broken).__name__
            break
        ms = (time.monotonic() - began) * 1000
        answer = Answer(began, name, status, ms, error, again, told)
        self.answers.append(Answer(began, name, status, ms, error, again))
        return answer

    def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        kept = {"Connection": "keep-alive" if self.keeps else "close"}
        self._connection.request(method, path, body or None, {**headers, **kept})
        response = self._connection.getresponse()
        told = response.read()
        for line in response.headers.get_all("Set-Cookie") or ():
            self._cookies |= {key: morsel.value for key, morsel in SimpleCookie(line).items()}
        if not self.keeps or response.will_close:
            self._hang_up()
        return response.status, told

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
