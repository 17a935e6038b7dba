"""`manage.py serve`: run the site and its worker in one terminal, for one machine and few readers.

The worker is forked from the site after loading and before the site starts threads, so both share the memory
of loaded code.
"""

import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.errors import MultipartInvariantViolationDefect, StartBoundaryNotFoundDefect
from email.message import Message
from io import BufferedReader
from pathlib import Path
from socket import SocketIO, create_server, socket
from threading import Event, Thread
from typing import Any, cast

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.core.servers import basehttp
from django.db import connections

import config.tasks  # noqa: F401  # load it before the fork
from config.pulse.files import HUNG_S, PulseWatch
from config.readiness import migrations_missing
from ranking.common.commands import manage_command, signals_as_interrupt, whole_number
from ranking.common.heap import heap_trim
from ranking.meaning.table import english_table

# The worker may take this long to finish its job before it is killed.
SHUTDOWN_S = 10.0
# A dead worker is replaced after this long, so that a worker that cannot start does not restart in a tight
# loop.
RESTART_S = 5.0
# How often the site looks after its worker.
WATCH_S = 0.2
# Connections that may wait to be accepted. With Django's limit of ten, the system reset some of about
# twenty-five simultaneous requests (measured; `python -m tests.lab faults replays`).
BACKLOG = 256
# A request that has not arrived after this long is dropped. Without it, idle connections took all threads and
# files (1,100 of them, with 1,024 files). An answer may take longer: exports are long.
ARRIVAL_S = 30.0
SEND_S = 120.0
# Ten browsers have sixty connections. Each connection has a thread of its own.
CONNECTIONS_MAX = 200
# What the parser of headers finds wrong with every form that brings a file: the form is not among them.
FORM_DEFECTS = (StartBoundaryNotFoundDefect, MultipartInvariantViolationDefect)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# After this long without a request, the heap is trimmed.
PAUSE_S = 3.0

log = structlog.get_logger(__name__)


class ArrivingRequest(SocketIO):
    """The bytes of a client. Reading fails once the request has taken too long to arrive."""

    def __init__(self, connection: socket) -> None:
        super().__init__(connection, "rb")
        self._connection, self._deadline = connection, 0.0

    def begin(self) -> None:
        """Wait for another request on this connection."""
        self._deadline = time.monotonic() + ARRIVAL_S

    def readinto(self, buffer: Any) -> int | None:
        """Read the available bytes. Raises `TimeoutError` after the deadline, even if bytes keep coming."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long to arrive")
        self._connection.settimeout(left)
        try:
            return super().readinto(buffer)
        finally:
            self._connection.settimeout(SEND_S)


class Handler(basehttp.WSGIRequestHandler):
    """Django's handler, for clients that do not finish their request, or do not say where it ends."""

    def setup(self) -> None:
        """Read the connection through `ArrivingRequest`."""
        super().setup()
        self.rfile.close()
        self._arriving = ArrivingRequest(cast(socket, self.connection))
        self.rfile = cast(Any, BufferedReader(self._arriving))

    def handle_one_request(self) -> None:
        """Answer one request, or close the connection if it does not arrive in time."""
        self._arriving.begin()
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True

    def parse_request(self) -> bool:
        """Read the request up to its body. Refuse it if we cannot know where the body ends.

        The server reads no body in chunks and believes any length. What it did not read was the next request
        on this connection, which a proxy never saw: without the headers that it adds.
        """
        if not super().parse_request():
            return False
        if "Transfer-Encoding" in self.headers:
            self.send_error(411, "Send the length of the body")
        elif not length_is_certain(self.headers):
            self.send_error(400, "The headers cannot be read")
        else:
            return True
        self.close_connection = True
        return False


def length_is_certain(headers: Message) -> bool:
    """Return whether every reader of `headers` finds the same length of the body (RFC 9112, section 6.3)."""
    lengths = headers.get_all("Content-Length", ["0"])
    is_plain = not any(name != name.strip() or "\n" in value for name, value in headers.items())
    is_number = lengths[0].isascii() and lengths[0].isdigit() and len(lengths) == 1
    are_read = all(isinstance(one, FORM_DEFECTS) for one in headers.defects) and not headers.get_payload()
    return is_plain and is_number and are_read


class Server(basehttp.WSGIServer):
    """Django's server with a longer queue of connections, and a limit to those that are open.

    It trims its heap when requests pause.
    """

    request_queue_size = BACKLOG
    _last_request: float | None = None

    def __init__(self, address: tuple[str, int], handler: Any, **more: Any) -> None:
        super().__init__(address, Handler, **more)
        self._open: set[int] = set()  # by the ids of sockets that this server holds

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse a connection beyond `CONNECTIONS_MAX`: each takes a thread and a file."""
        if len(self._open) >= CONNECTIONS_MAX:
            with suppress(OSError):
                request.send(BUSY)
            return False
        self._open.add(id(request))
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, which makes room for another."""
        self._open.discard(id(request))
        super().shutdown_request(request)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection and record the time."""
        self._last_request = time.monotonic()
        return super().get_request()

    def service_actions(self) -> None:
        """Trim the heap after a pause. This is called twice a second and after each request."""
        super().service_actions()
        if self._last_request and time.monotonic() - self._last_request > PAUSE_S:
            self._last_request = None
            heap_trim()


class Command(BaseCommand):
    """Serve the site with its static files, and run `manage.py work`. Ctrl-C ends both."""

    help = "Serve the site on this machine together with its worker. Ctrl-C ends both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--host` and `--port`."""
        parser.add_argument(
            "--host", default="127.0.0.1", help="The address to listen at. Default: 127.0.0.1."
        )
        port = whole_number(0, 65535)
        parser.add_argument(
            "--port",
            type=port,
            default=settings.PORT,
            help="The port to listen at. 0 takes any that is free.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until stopped. Exit code 1 if tables are missing or the port is in use."""
        if migrations_missing():
            raise CommandError("The database is not up to date. Run `make migrate`, or `tidings migrate`.")
        signals_as_interrupt()
        try:
            # What both processes need is loaded once, before the fork: the site, and the table of meaning.
            application = basehttp.get_internal_wsgi_application()
            english_table()
            with worker_process(first=worker_fork, write=self.stderr.write):
                self._serve(application, options["host"], options["port"])
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")

    def _serve(self, application: WSGIHandler, host: str, port: int) -> None:
        def bound(actual: object) -> None:
            self.stdout.write(f"Tidings is on http://{host}:{actual}/ with its worker. Ctrl-C ends both.")
            self.stdout.flush()

        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        try:
            basehttp.run(host, port, application, threading=True, on_bind=bound, server_cls=Server)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error


def port_check(host: str, port: int) -> None:
    """Raise `CommandError` if nobody can listen there now."""
    try:
        create_server((host, port)).close()
    except OSError as error:
        raise _cannot_listen(host, port, error) from error


def _cannot_listen(host: str, port: int, error: OSError) -> CommandError:
    return CommandError(
        f"Cannot listen on {host}:{port}: {error.strerror}. "
        "Choose another port: by --port for serve, by PORT for run."
    )


@contextmanager
def worker_process(
    *,
    first: Callable[[], int],
    write: Callable[[str], object],
    restart_s: float = RESTART_S,
    hung_s: float = HUNG_S,
) -> Iterator[list[int]]:
    """Run `manage.py work` as a child process during the block, then let it finish its job.

    `first` starts the first worker and returns its process id. If a worker ends by itself, or is killed
    because it has no pulse for `hung_s` seconds, report that by `write` and start another after `restart_s`
    seconds.
    Meanwhile requests run inline. Yield the process ids of all workers; the last one is running.
    """
    ending, workers = Event(), [first()]

    def watch() -> None:
        while True:
            end = _worker_wait(workers[-1], hung_s)
            if ending.is_set():
                return
            write(f"{end} Another starts in {restart_s:g} seconds.")
            if ending.wait(restart_s):
                return
            workers.append(worker_spawn())

    watcher = Thread(target=watch, daemon=True, name="worker-watch")
    watcher.start()
    try:
        yield workers
    finally:
        ending.set()
        _worker_end(workers, watcher)


def _worker_wait(pid: int, hung_s: float) -> str:
    """Wait until a worker has ended, and return how. Kill it if it hangs: stopped ones ignore SIGTERM."""
    watch, hung = PulseWatch(settings.VAR_DIR, pid, hung_s), False
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if not hung and watch.is_hung():
            hung = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(WATCH_S)
    watch.end()
    if hung:
        return f"The worker gave no sign of life for {hung_s:g} seconds, and was killed."
    return f"The worker ended by itself (exit code {os.waitstatus_to_exitcode(ended[1])})."


def worker_fork() -> int:
    """Fork a worker from this process, which must not have other threads yet. Return its process id."""
    connections.close_all()
    sys.stdout.flush()
    parent = os.getpid()
    if pid := os.fork():
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        call_command("work", parent=parent)
        code = 0
    except KeyboardInterrupt:
        code = 0  # stopped before it began
    except BaseException:
        log.exception("worker_failed")
    finally:
        sys.stdout.flush()
        os._exit(code)  # do not run the parent's exit handlers


def worker_spawn() -> int:
    """Start a worker as a separate program, which is safe if there are threads. Return its process id."""
    # It has its own process group, so that Ctrl-C in the terminal reaches only the site, which then ends the
    # worker. A killed site cannot do that, so the worker watches its parent.
    command = manage_command("work", "--parent", str(os.getpid()))
    return os.posix_spawn(command[0], command, os.environ, setpgroup=0)


def _worker_end(workers: list[int], watcher: Thread) -> None:
    """Terminate the last worker. Kill it if it takes too long, or at a second Ctrl-C."""
    for number, patience_s in ((signal.SIGTERM, SHUTDOWN_S), (signal.SIGKILL, None)):
        if not watcher.is_alive():
            return
        with suppress(ProcessLookupError):
            os.kill(workers[-1], number)
        with suppress(KeyboardInterrupt):
            watcher.join(patience_s)
