"""Run the image's command as Docker would with `--read-only --tmpfs /tmp --cap-drop ALL`, but by chroot.

It is process 1 of its own namespaces (mounts, processes). It sees the image read-only, an empty /tmp and a
folder as /data, and runs as the image's user without any capability. The network is this machine's.
"""

import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# $1: the image's files, $2: an empty folder, $3: the data. The rest is run inside.
ENTER = """
set -e
mount --make-rprivate /
mount --bind "$1" "$2"
mount -o remount,bind,ro "$2"
mount -t proc proc "$2/proc"
mount --rbind /dev "$2/dev"
mount -t tmpfs tmpfs "$2/tmp"
mount --bind "$3" "$2/data"
root=$2
shift 3
exec chroot "$root" "$@"
"""
STARTS_S, POLL_S = 30.0, 0.05


@dataclass(frozen=True, slots=True)
class Container:
    """A running command of the image."""

    process: subprocess.Popen[str]
    pid: int
    root: Path
    inner: tuple[str, ...]

    def run(self, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        """Run another command in it, as `docker exec` does; `more` is added to its environment."""
        enter = [
            "nsenter",
            "--target",
            str(self.pid),
            "--mount",
            "--pid",
            "chroot",
            str(self.root),
            *self.inner,
        ]
        extra = [f"{name}={value}" for name, value in more.items()]
        return subprocess.run([*enter, *extra, *command], capture_output=True, text=True, check=False)


@contextmanager
def container(
    config: Mapping[str, Any], files: Path, data: Path, *, owner: tuple[int, int], port: int
) -> Iterator[Container]:
    """Run the image's own command until the block ends. `owner` has the ids of its user and group."""
    root = data.parent / "root"
    root.mkdir(exist_ok=True)
    log = (data.parent / "log").open("w+")
    inner = entered(config, owner=owner, port=port)
    begin = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]
    command = [*begin, str(files), str(root), str(data), *inner, *config["Cmd"]]
    process = subprocess.Popen(command, stdout=log, stderr=log, text=True)
    try:
        yield Container(process, first_child(process), root, tuple(inner))
    finally:
        process.kill()
        process.wait()
        log.close()


def entered(config: Mapping[str, Any], *, owner: tuple[int, int], port: int) -> list[str]:
    """Return the beginning of a command inside: its user, folder and environment, and no capabilities."""
    user, group = owner
    drop = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"]
    place = f'cd {shlex.quote(config["WorkingDir"])} && exec "$@"'
    numbers = [f"--reuid={user}", f"--regid={group}"]
    return ["setpriv", *numbers, *drop, "sh", "-c", place, "sh", "env", "-i", *config["Env"], f"PORT={port}"]


def first_child(process: subprocess.Popen[str]) -> int:
    """Return the number, seen from here, of the container's process 1."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + STARTS_S
    while not (found := children.read_text(encoding="ascii").split()):
        assert time.monotonic() < deadline and process.poll() is None, "the container did not start"
        time.sleep(POLL_S)
    return int(found[0])
