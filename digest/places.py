"""Places: how many requests of a web process may do slow work at once, and how many of these one reader may.

A process has sixteen threads. Two may look up sites, three may fetch pictures, two may wait for a run, two
may do long work, two may send exports, two may ask the sign-in's provider and two may send mail. One is left
for pages, however slow all others are.

Everything else a reader asks for takes turns with their own other requests (`turns_open`). A reader who asks
for much at once lets others go first between the queries and the steps of an answer (`turn_let_pass`).
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Condition, local
from typing import Any, Final, NamedTuple, TypeVar

from django.db import connection

# Looking up sites, fetching full texts, sending things on, and first fetches by a page.
LOOKUPS_AT_ONCE: Final = 2
PICTURES_AT_ONCE: Final = 3
# Requests for suggestions that wait for the run's end.
RUNS_AT_ONCE: Final = 2
# Imports and wishes, which need the processor for seconds. They share one interpreter, so each more that
# runs slows all pages down.
LONG_AT_ONCE: Final = 2
# Exports are sent while they are read from the database, as slowly as a browser takes them.
EXPORTS_AT_ONCE: Final = 2
# Sign-ins through a provider (OpenID Connect), and mails about accounts. Strangers cause both, so no reader
# is counted, and while a service hangs only requests to it are refused.
SIGN_INS_AT_ONCE: Final = 2
MAILS_AT_ONCE: Final = 2
# A reader's requests that may wait for a place. Each holds a thread.
WAITING_MAX: Final = 1
# A browser has at most six connections to a site: one request has the turn, and the others may wait. A
# page takes a fifth of a second, and the longest previews a few seconds.
TURNS_WAITING_MAX: Final = 5
TURN_WAIT_S: Final = 10.0
# A request lets others go first for so long, and then for so many times as long as it computed itself:
# counted by the clock that never goes back (`time.monotonic`), and by its thread's processor time. So who
# asks for much at once keeps a quarter of the time, however many others come, and no accomplice can take
# more.
SHARE_WAIT_S: Final = 2.0
SHARE_TIMES: Final = 3.0
# Others let slow work pass for its first tenth of a second. A picture of a quick publisher takes a tenth of
# that, and needs the processor for most of it. What takes longer waits for another site, and nobody need wait
# for that.
SLOW_BESIDE_S: Final = 0.1
# Whoever asks is looked up again if that was done longer ago: a body may take half a minute to arrive.
KNOWN_S: Final = 1.0
PAGE_LINE, PROGRAM_LINE, LONG_LINE = "page", "program", "long"


class Places:
    """A number of places for work at the same time. A reader gets the last free one only if they have no
    other.

    So one reader never has all places, and another finds one. Without a `count` there is one place for each
    reader, and up to `waiting` of their requests may wait for it in each line. Threads may share it.
    """

    def __init__(self, count: int | None, *, waiting: int = WAITING_MAX) -> None:
        self._count, self._waiting_max = count, waiting
        self._taken, self._waiting = Counter[object](), Counter[tuple[object, str]]()
        # Who is answered beside the turns, and until when others let them pass (`time.monotonic`).
        self._beside: list[tuple[object, float]] = []
        self._changed = Condition()

    @contextmanager
    def place(self, who: object, *, wait_s: float = 0.0, line: str = "") -> Iterator[bool]:
        """Yield whether the reader `who` has a place during the block; wait up to `wait_s` for it.

        It does not wait if as many of the reader's requests wait in this `line` as may. A place of slow work
        ends the turn of the request, so that its reader's pages need not wait for it. The first 0.1 s of the
        slow work, and what follows it, are done beside the turn; the latter for a credential that has not
        ended meanwhile.
        """
        if self is not TURNS:
            turn_end()
            _turn_beside(SLOW_BESIDE_S)
        has_place = self._take(who, wait_s, line)
        try:
            yield has_place
        finally:
            if has_place:
                with self._changed:
                    self._less(self._taken, who)
                    self._changed.notify_all()
            if self is not TURNS:
                _turn_beside()
        if self not in (TURNS, LONG, EXPORTS) and who == getattr(_request, "who", None):
            _request.waited = True
            credential_check()

    def _take(self, who: object, wait_s: float, line: str) -> bool:
        with self._changed:
            if not self._is_free(who):
                if wait_s <= 0 or self.is_full(who, line):
                    _request.refused = Refused(self, who, line)
                    return False
                self._waiting[who, line] += 1
                _request.waited = True
                try:
                    if not self._changed.wait_for(lambda: self._is_free(who), timeout=wait_s):
                        _request.refused = Refused(self, who, line)
                        return False
                finally:
                    self._less(self._waiting, (who, line))
            self._taken[who] += 1
            return True

    def is_full(self, who: object, line: str) -> bool:
        """Return whether as many of the reader's requests wait in this `line` as may."""
        return self._waiting[who, line] >= self._waiting_max

    def is_taken(self, who: object) -> bool:
        """Return whether the reader gets no place now."""
        with self._changed:
            return not self._is_free(who)

    @contextmanager
    def beside(self, who: object, for_s: float = math.inf) -> Iterator[None]:
        """Count a request that needs no place, during the block: those who wait for more let it pass.

        They do for `for_s` at most.
        """
        one = who, time.monotonic() + for_s
        with self._changed:
            self._beside.append(one)
        try:
            yield
        finally:
            with self._changed:
                self._beside.remove(one)
                self._changed.notify_all()

    def _is_free(self, who: object) -> bool:
        if self._count is None:
            return not self._taken[who]
        return self._count - self._taken.total() > (1 if self._taken[who] else 0)

    def let_pass(self, who: object, wait_s: float) -> None:
        """Wait up to `wait_s` while others are answered of whom fewer requests wait than of `who`."""
        until = time.monotonic() + wait_s
        with self._changed:
            while (now := time.monotonic()) < until and (ends := self._outdone_until(who)) > now:
                self._changed.wait(min(ends, until) - now)

    def _outdone_until(self, who: object) -> float:
        """Return until when others go before `who`, if nothing changes: minus infinity if none do."""
        in_line = Counter[object]()
        for (one, _line), count in self._waiting.items():
            in_line[one] += count
        others = (*((one, math.inf) for one in self._taken), *self._beside)
        return max((ends for one, ends in others if in_line[one] < in_line[who]), default=-math.inf)

    @staticmethod
    def _less(counts: Counter[Any], who: object) -> None:
        counts[who] -= 1
        if not counts[who]:
            del counts[who]  # or every reader there ever was would stay in memory


class Refused(NamedTuple):
    """The places of which a reader got none, and the line in which too many of their requests wait."""

    places: Places
    who: object
    line: str


LOOKUPS: Final = Places(LOOKUPS_AT_ONCE)
PICTURES: Final = Places(PICTURES_AT_ONCE)
RUNS: Final = Places(RUNS_AT_ONCE)
LONG: Final = Places(LONG_AT_ONCE)
EXPORTS: Final = Places(EXPORTS_AT_ONCE)
SIGN_INS: Final = Places(SIGN_INS_AT_ONCE)
MAILS: Final = Places(MAILS_AT_ONCE)
# How many articles a computation reads before it looks for others: a millisecond or two of work. A look takes
# some microseconds.
ARTICLES_A_LOOK: Final = 100
Step = TypeVar("Step")
TURNS: Final = Places(None, waiting=TURNS_WAITING_MAX)
_request = local()


@contextmanager
def arriving(who: object) -> Iterator[None]:
    """Let those who ask for more at once wait for this request, which is probably one of `who`.

    They do until its session and its reader are read and it takes its turn, and for 0.1 s at most. If `who`
    is None, nobody waits.
    """
    with ExitStack() as arrival:
        if who is not None:
            arrival.enter_context(TURNS.beside(who, SLOW_BESIDE_S))
        _request.arrival = arrival
        try:
            yield
        finally:
            _request.arrival = None


@contextmanager
def turns_open() -> Iterator[None]:
    """Let the request of this thread take its reader's turn, until the block ends.

    So one reader computes at most one answer at a time in a process, whatever pages, lists, searches,
    previews and imports they ask for at once.
    """
    with ExitStack() as turn:
        _request.turn, _request.had, _request.waited = turn, False, False
        _request.check, _request.checked_s = None, time.monotonic()
        try:
            yield
        finally:
            _request.turn, _request.check = None, None


def turn_take(who: object, line: str) -> bool:
    """Take the turn of the reader `who` for this request, once their earlier ones are answered.

    Pages and programs wait in lines of their own, so that an app never keeps its reader out of the pages.

    Return whether it has it. A request that had it already, or is outside `turns_open`, goes on.
    """
    turn = getattr(_request, "turn", None)
    if turn is None or _request.had:
        return True
    _share_begin(who)
    _request.had = turn.enter_context(TURNS.place(who, wait_s=TURN_WAIT_S, line=line))
    return bool(_request.had)


def turn_spare(who: object) -> None:
    """Answer this request of the reader `who` at once, without waiting for their other requests.

    For small answers, such as pictures: a page with many of them would wait for each. Like all requests, it
    lets readers who ask for less go first between its steps.
    """
    if turn := getattr(_request, "turn", None):
        _share_begin(who)
        _request.had = True
        turn.enter_context(TURNS.beside(who))


def _share_begin(who: object) -> None:
    """Note whose request this is, and that it has let nobody go first yet: its computing time begins here."""
    if arrival := getattr(_request, "arrival", None):
        arrival.close()
    _request.who, _request.shared_s, _request.began_s = who, 0.0, time.thread_time()


def credential_keep(check: Callable[[], object]) -> None:
    """Let `check` look up the credential of this request again: now if it waited, and after each later wait.

    It raises if the credential has ended: a session that was signed out, a token that was revoked.
    """
    if getattr(_request, "turn", None):
        _request.check = check
        credential_check()


def credential_check() -> None:
    """Look up the credential of this request again if the request has waited since that was done last."""
    check = getattr(_request, "check", None)
    if check is None:
        return
    if _request.waited or time.monotonic() - _request.checked_s > KNOWN_S:
        _request.waited, _request.checked_s = False, time.monotonic()
        check()


def _turn_beside(for_s: float = math.inf) -> None:
    """Count this request again after its turn has ended, for `for_s` at most.

    As long as it is counted, readers who ask for more at once wait for it.
    """
    if (turn := getattr(_request, "turn", None)) and _request.had:
        turn.enter_context(TURNS.beside(_request.who, for_s))


def last_refused() -> Refused | None:
    """Return the places of which the last request of this thread got none, and forget it."""
    refused: Refused | None = getattr(_request, "refused", None)
    _request.refused = None
    return refused


def turn_end() -> None:
    """Let the reader's next request begin: this one waits for others, or has a place of another kind."""
    if turn := getattr(_request, "turn", None):
        turn.close()


def turn_give_way() -> None:
    """Let the reader's requests that wait go first, then go on with the turn: between the steps of long work.

    Without the turn after ten seconds, or else whoever asks for pages without end would stop their import.
    Then it lets other readers go first, as `turn_share` does.
    """
    turn_end()
    if (turn := getattr(_request, "turn", None)) and _request.had:
        turn.enter_context(TURNS.place(_request.who, wait_s=TURN_WAIT_S, line=LONG_LINE))
        credential_check()
        turn_let_pass()


def turn_let_pass() -> None:
    """Let readers go first who ask for less at once: between two steps of an answer.

    In a transaction nobody goes first, because the others may wait for its locks.
    """
    if not (getattr(_request, "turn", None) and _request.had) or connection.in_atomic_block:
        return
    allowed_s = SHARE_WAIT_S + SHARE_TIMES * (time.thread_time() - _request.began_s)
    if (left_s := allowed_s - _request.shared_s) > 0:
        began = time.monotonic()
        TURNS.let_pass(_request.who, left_s)
        _request.shared_s += time.monotonic() - began


def turn_shared(steps: Iterable[Step], *, every: int = 1) -> Iterator[Step]:
    """Yield the steps of a long computation that asks no database, and let others go first.

    It looks for others before every step, or before the first of `every` so many.
    """
    for n, step in enumerate(steps):
        if not n % every:
            turn_let_pass()
        yield step


def articles_shared(articles: Iterable[Step]) -> Iterator[Step]:
    """Yield many articles that a computation reads, and let others go first now and then."""
    return turn_shared(articles, every=ARTICLES_A_LOOK)


def stream_shared(who: object, parts: Iterable[Step]) -> Generator[Step, None, None]:
    """Yield the parts of an answer to `who` that is sent as it is made, after its request has ended.

    It lets others go first before each part, and at each query, as the steps of a request do.
    """
    with turns_open(), connection.execute_wrapper(turn_share):
        _share_begin(who)
        _request.had = True
        yield from turn_shared(parts)


def turn_share(
    execute: Callable[..., object], sql: str, params: object, many: bool, context: Mapping[str, Any]
) -> object:
    """Run a query, but let others go first (`turn_let_pass`), for `connection.execute_wrapper`."""
    turn_let_pass()
    return execute(sql, params, many, context)
