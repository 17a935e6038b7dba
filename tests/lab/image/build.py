"""Build deploy/Dockerfile with buildah on a base that debootstrap makes: Debian 12 with its Python 3.11.

buildah's chroot isolation needs root and no daemon. Only the base differs from what Docker would build.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SUITE = "bookworm"
NEEDED = ("python3", "python3-venv", "ca-certificates")
BASE, IMAGE = "localhost/tidings-base", "localhost/tidings"


@dataclass(frozen=True, slots=True)
class Buildah:
    """buildah with its own store in `folder`."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        """Return a command line."""
        store = ["--root", str(self.folder / "store"), "--runroot", str(self.folder / "run")]
        return ["buildah", *store, *arguments]

    def text(self, *arguments: str) -> str:
        """Run a command and return its output. Raises `CalledProcessError`."""
        done = subprocess.run(self.command(*arguments), check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()


def base_make(folder: Path) -> Path:
    """Make a Debian in `folder`, or use an existing one again."""
    if not (folder / "usr/bin/python3").exists():
        extra = f"--include={','.join(NEEDED)}"
        subprocess.run(["debootstrap", "--variant=minbase", extra, SUITE, str(folder)], check=True)
    return folder


def image_build(buildah: Buildah, base: Path) -> None:
    """Build the base's image and ours on it."""
    container = buildah.text("from", "scratch")
    buildah.text("add", "--quiet", container, str(base), "/")
    buildah.text("commit", "--quiet", "--rm", container, BASE)
    build = ["build", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={BASE}"]
    place = ["--file", str(ROOT / "deploy/Dockerfile"), "--tag", IMAGE, str(ROOT)]
    subprocess.run(buildah.command(*build, *pip_as_here(buildah.folder), *place), check=True)


def image_config(buildah: Buildah) -> dict[str, Any]:
    """Return the image's run settings, as Docker reads them."""
    found = json.loads(buildah.text("inspect", "--type", "image", IMAGE))
    config: dict[str, Any] = found["Docker"]["config"]
    return config


def pip_as_here(folder: Path) -> list[str]:
    """Let pip inside the build find packages as pip outside does, with its settings and the files that they
    name.

    They are used for the build only: none of them gets into the image.
    """
    listed = subprocess.run(["pip", "config", "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = (line.partition(".")[2].split("=", 1) for line in listed.splitlines())
    settings = {name: quoted.strip("'").replace("\\n", " ") for name, quoted in pairs}
    lines = ["[global]", *(f"{name} = {value}" for name, value in settings.items())]
    words = [word for value in settings.values() for word in value.split()]
    paths = {word for word in words if Path(word).is_absolute()}
    # An index in a folder may link to packages beside that folder.
    paths |= {str(Path(word.removeprefix("file://")).parent) for word in words if word.startswith("file://")}
    (folder / "pip.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lent = {path: path for path in paths if Path(path).exists()} | {str(folder / "pip.conf"): "/etc/pip.conf"}
    return [word for here, there in lent.items() for word in ("--volume", f"{here}:{there}:ro")]
