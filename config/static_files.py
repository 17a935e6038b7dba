"""Addresses of static files, which change with the content, so that browsers may keep files. Pure."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

VERSION_CHARS = 12


def static_version(folder: Path, versions: Iterable[str]) -> str:
    """Return a hash of the files below `folder` and of `versions`, those of packages with static files.

    It is a part of each file's address. So scripts that import one another, and fonts that styles name, keep
    their relative addresses, and no command has to collect files before the server starts.
    """
    found = sha256("\n".join(versions).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0")
        found.update(path.read_bytes())
    return found.hexdigest()[:VERSION_CHARS]
