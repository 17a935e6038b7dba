"""A steady trickle of page and API requests, and a look at `/metrics` every few seconds."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from tests.lab.load.day.browser import Answer, Browser

# Readers at once, and how often each asks for something: twenty requests a second in all.
READERS, EVERY_S = 10, 0.5
LOOK_S = 3.0
PAGES = (
    "/",
    "/ui/suggestions",
    "/ui/history",
    "/ui/config",
    "/ui/sources",
    "/ui/saved",
    "/ui/search?q=night",
)
Sample = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Trickle:
    """Readers who go on reading and rating until told to stop; every second one keeps its connection."""

    port: int
    names: Sequence[str]
    password: str
    items: Sequence[int]
    browsers: list[Browser] = field(default_factory=list)
    # By reader and item, the thumb that was answered with 200 last.
    thumbs: dict[tuple[str, int], bool] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Sign everybody in, then begin."""
        for number, name in enumerate(self.names[:READERS]):
            browser = Browser(self.port, keeps=bool(number % 2))
            browser.sign_in(name, self.password)
            self.browsers.append(browser)
            thread = threading.Thread(target=self._read, args=(browser, name, number), daemon=True)
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let everybody finish their request."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _read(self, browser: Browser, name: str, number: int) -> None:
        due = time.monotonic() + EVERY_S * number / READERS
        turn = 0
        while not self._over.wait(max(0.0, due - time.monotonic())):
            due, turn = due + EVERY_S, turn + 1
            if turn % 3:
                path = PAGES[(turn + number) % len(PAGES)]
                browser.ask(path.partition("?")[0], "GET", path)
            else:
                self._rate(browser, name, self.items[turn % len(self.items)], bool(turn % 2))

    def _rate(self, browser: Browser, name: str, item: int, useful: bool) -> None:
        kind = {"Content-Type": "application/json"}
        body = json.dumps({"useful": useful}).encode()
        if browser.ask("thumb", "POST", f"/api/items/{item}/feedback", body, kind).status == 200:
            self.thumbs[name, item] = useful


class Watch:
    """Samples of `/metrics` every few seconds, as Prometheus would take them."""

    def __init__(self, port: int) -> None:
        self.browser = Browser(port, keeps=False)
        self.seen: list[tuple[float, dict[Sample, float]]] = []
        self._one, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def look(self) -> dict[Sample, float]:
        """Take a sample now. Return an empty one if there is no answer."""
        with self._one:
            answer = self.browser.ask("metrics", "GET", "/metrics")
        families = text_string_to_metric_families(answer.body.decode()) if answer.status == 200 else ()
        samples = [sample for family in families for sample in family.samples]
        found = {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}
        self.seen.append((answer.at, found))
        return found

    def series(self, name: str, since: float = 0.0, **labels: str) -> list[float]:
        """Return the values of one metric over time, summed over the labels that are not given."""
        wanted = set(labels.items())
        rows = [
            [value for (key, has), value in found.items() if key == name and wanted <= set(has)]
            for at, found in self.seen
            if at >= since
        ]
        return [sum(row) for row in rows if row]

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            self.look()


def counted(answers: Sequence[Answer]) -> int:
    """How many were answered at all."""
    return sum(answer.status > 0 for answer in answers)
