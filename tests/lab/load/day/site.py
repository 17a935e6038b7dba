"""The Procfile's processes, each in its own group, restarted if they end by themselves."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

# As the systemd units wait before they start a process again.
RESTART_S = 2.0
# Longer than any task of this day takes.
STOP_S = 90.0
# The end of its log that a record keeps of a process that ended by itself.
LOG_CHARS = 4_000


class Site:
    """Everything the Procfile names, in the folder `current` (a symbolic link to a release)."""

    def __init__(self, current: Path, environment: Mapping[str, str], logs: Path) -> None:
        self.current, self.logs = current, logs
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        # PWD: gunicorn follows the link again at each reload.
        self.environment = {
            **environment,
            "PATH": path,
            "PWD": str(current),
            "PYTHONPATH": _packages(environment),
        }
        lines = (current / "Procfile").read_text(encoding="utf-8").splitlines()
        self.commands = dict(line.split(": ", 1) for line in lines if line.strip())
        self.unasked: list[dict[str, str | int]] = []
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def manage(self, release: Path, *arguments: str, **more: str) -> str:
        """Run a command of `manage.py` of a release. Return its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=release,
            env={**self.environment, "PWD": str(release), **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-800:]}{done.stderr[-2000:]}"
        return done.stdout

    def code(self, release: Path, *arguments: str) -> int:
        """Run a command as an operator does, with its output in `commands.log`. Return its exit code."""
        with (self.logs / "commands.log").open("ab") as log:
            return subprocess.run(
                [sys.executable, "manage.py", *arguments],
                cwd=release,
                env={**self.environment, "PWD": str(release)},
                stdout=log,
                stderr=log,
                check=False,
            ).returncode

    def start(self) -> None:
        """Start every process."""
        for name in self.commands:
            self._start(name)
        self._watcher.start()

    def pid(self, name: str) -> int:
        """Return the id of a process, which is also its group's."""
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        """kill -9 a process and all it has forked; the watcher starts it again."""
        os.killpg(self.pid(name), signal.SIGKILL)

    def reload(self, name: str) -> None:
        """SIGHUP, which the web server takes for: go on with the new code."""
        os.kill(self.pid(name), signal.SIGHUP)

    def restart(self, name: str) -> float:
        """Stop a process in good order and start it again; how many seconds it took to stop."""
        began = time.monotonic()
        self._stop(name)
        took = time.monotonic() - began
        self._start(name)
        return took

    def stop(self) -> dict[str, int]:
        """Stop everything in good order; each process's exit code."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        return {name: self._stop(name) for name in reversed(list(self._processes))}

    def log(self, name: str) -> str:
        """Return the output of a process so far."""
        return (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _start(self, name: str) -> None:
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {self.commands[name]}"],
                cwd=self.current,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        with self._lock:
            self._processes[name] = process
            self._asked.discard(name)

    def _stop(self, name: str) -> int:
        self._asked.add(name)
        process = self._processes[name]
        process.terminate()
        try:
            return process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()

    def _watch(self) -> None:
        """Restart a process that ended by itself, as systemd does."""
        while not self._over.wait(0.1):
            for name, process in list(self._processes.items()):
                if self._ended_unasked(name, process):
                    log = self.log(name)[-LOG_CHARS:]
                    self.unasked.append({"name": name, "code": process.returncode, "log": log})
                    if self._over.wait(RESTART_S):
                        return
                    self._start(name)

    def _ended_unasked(self, name: str, process: subprocess.Popen[bytes]) -> bool:
        """Return whether this process ended and nobody asked for it. It may have been replaced meanwhile."""
        if process.poll() is None:
            return False
        with self._lock:
            if name in self._asked or self._processes[name] is not process:
                return False
            self._asked.add(name)
            return True


def _packages(environment: Mapping[str, str]) -> str:
    """Folders of packages that we were told of, but for the code at hand: each release has its own."""
    here = Path(__file__).resolve().parents[4]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    first = [path for path in (environment.get("PYTHONPATH"), ".") if path]
    return os.pathsep.join([*first, *(path for path in given if path and Path(path).resolve() != here)])
