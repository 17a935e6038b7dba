"""`python -m tests.lab image`: build the image without a Docker daemon and run it to a first page.

It needs root, and buildah and debootstrap (Debian's packages of these names). Two parts are not Docker's: the
base, which debootstrap makes, and the container, which is a chroot in its own namespaces. Exit code 0 if
every check held, 1 if one did not, 2 if nothing could be built.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.lab.bench.book import book_text
from tests.lab.bench.running import machine
from tests.lab.image.build import Buildah, base_make, image_build, image_config
from tests.lab.image.container import Container, container

PROGRAMS = ("buildah", "debootstrap", "unshare", "nsenter", "setpriv")
OPERATOR, PASSWORD = "olga", "a password of the lab"
PATIENCE_S, ENDS_S, POLL_S = 300.0, 30.0, 0.5
# The numbers of Unraid's and Umbrel's users: the data is theirs there.
OTHERS = ((99, 100), (1000, 1000))
Json = dict[str, Any]


def main() -> int:
    """Build, run, print the figures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab image", description=__doc__)
    parser.add_argument("--base", type=Path, help="a folder that debootstrap has filled, or fills")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    given = parser.parse_args()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        print(f"Needs root, and {', '.join(missing) or 'nothing else'}.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tidings-image-", ignore_cleanup_errors=True) as folder:
        try:
            found = tried(Path(folder), given.base)
        except subprocess.CalledProcessError as error:
            print(
                f"The image could not be built: {error.cmd[0]} ended with {error.returncode}.",
                file=sys.stderr,
            )
            return 2
    text = book_text(found)
    if given.json:
        given.json.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if all(check for run in found["runs"] for check in run["checks"].values()) else 1


def tried(folder: Path, base: Path | None) -> Json:
    """Build in `folder`; return the figures of the build and of one run for each user."""
    buildah, began = Buildah(folder), time.monotonic()
    base = base_make(base or folder / "base")
    based = time.monotonic()
    image_build(buildah, base)
    built = time.monotonic()
    config = image_config(buildah)
    holder = buildah.text("from", "localhost/tidings")
    files = Path(buildah.text("mount", holder))
    try:
        owner = user_of(files, config["User"])
        runs = [run_of(config, files, folder / f"run{n}", one) for n, one in enumerate((owner, *OTHERS))]
        size = int(subprocess.check_output(["du", "-sm", "--one-file-system", files], text=True).split()[0])
    finally:
        buildah.text("umount", holder)
        buildah.text("rm", holder)
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "buildah": subprocess.check_output(["buildah", "--version"], text=True).strip(),
        "base_s": round(based - began),
        "build_s": round(built - based),
        "size_mb": size,
        "runs": runs,
    }


def user_of(files: Path, name: str) -> tuple[int, int]:
    """Return the numbers that the image gives its user and group."""
    lines = (files / "etc/passwd").read_text(encoding="utf-8").splitlines()
    user, group = next(line.split(":")[2:4] for line in lines if line.startswith(f"{name}:"))
    return int(user), int(group)


def run_of(config: Json, files: Path, folder: Path, owner: tuple[int, int]) -> Json:
    """Start from an empty /data, check the health and the pages, stop, and start again. Return the checks
    that held."""
    data = folder / "data"
    data.mkdir(parents=True)
    data.chmod(0o700)
    os.chown(data, *owner)
    port = port_free()
    site, checks, began = f"http://127.0.0.1:{port}", dict[str, bool](), time.monotonic()
    with container(config, files, data, owner=owner, port=port) as running:
        checks["healthy"] = until(lambda: healthy(running, config))
        healthy_s = time.monotonic() - began
        checks["first page"] = b"asks" in read(site)
        checks["static files"] = b"--" in read(f"{site}/static/tidings.css")
        checks["worker alive"] = until(lambda: not json.loads(read(f"{site}/readyz"))["degraded"])
        create = ["tidings", "createsuperuser", "--noinput", "--username", OPERATOR]
        made = running.run([*create, "--email", "olga@example.org"], DJANGO_SUPERUSER_PASSWORD=PASSWORD)
        checks["a command inside"] = made.returncode == 0
        checks["signed in"] = signed_in(site)
        checks["root is read-only"] = read_only(running)
        checks["no capabilities"] = capabilities(running) == {"0000000000000000"}
        checks["stops when asked"] = stopped(running) == 0
    with container(config, files, data, owner=owner, port=port) as running:
        checks["healthy again"] = until(lambda: healthy(running, config))
        checks["data is there again"] = signed_in(site)
        os.kill(running.pid, signal.SIGTERM)
        running.process.wait(ENDS_S)
        checks["unhealthy once stopped"] = not answers(f"{site}/healthz")
    owners = {(path.stat().st_uid, path.stat().st_mode & 0o077) for path in data.rglob("*")}
    checks["data is its owner's alone"] = {user for user, _ in owners} == {owner[0]} and (
        (data / "tidings.sqlite3").stat().st_mode & 0o077 == 0
    )
    return {"user": ":".join(map(str, owner)), "healthy_s": round(healthy_s), "checks": checks}


def healthy(running: Container, config: Json) -> bool:
    """Return the result of the image's own health check."""
    kind, *command = config["Healthcheck"]["Test"]
    return kind == "CMD" and running.run(command).returncode == 0


def read_only(running: Container) -> bool:
    """Return whether /tmp can be written, and a folder of the image that is open to everybody cannot."""
    tried = {place: running.run(["touch", f"{place}/x"]) for place in ("/tmp", "/var/tmp")}
    return tried["/tmp"].returncode == 0 and "Read-only file system" in tried["/var/tmp"].stderr


def capabilities(running: Container) -> set[str]:
    """Return the sets of capabilities of the container's process 1."""
    status = Path(f"/proc/{running.pid}/status").read_text(encoding="ascii")
    return set(re.findall(r"^Cap(?:Prm|Eff|Bnd|Inh):\s*(\w+)$", status, re.MULTILINE))


def stopped(running: Container) -> int:
    """Ask process 1 to stop, as `docker stop` does; return its exit code."""
    os.kill(running.pid, signal.SIGTERM)
    return running.process.wait(ENDS_S)


def signed_in(site: str) -> bool:
    """Sign in as the operator; return whether the admin opens."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    form = browser.open(f"{site}/accounts/login/", timeout=PATIENCE_S).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token is not None
    fields = {"login": OPERATOR, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    browser.open(f"{site}/accounts/login/", urlencode(fields).encode(), timeout=PATIENCE_S)
    answer = browser.open(f"{site}/admin/", timeout=PATIENCE_S)
    return answer.status == 200 and answer.url.endswith("/admin/")


def read(url: str) -> bytes:
    """Return a page."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return bytes(answer.read())


def answers(url: str) -> bool:
    """Return whether anybody answers there."""
    try:
        read(url)
    except urllib.error.URLError:
        return False
    return True


def until(done: Callable[[], bool]) -> bool:
    """Wait for `done`; return whether it came."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def port_free() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
