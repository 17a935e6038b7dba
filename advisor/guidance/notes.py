"""The figures of guidance as a Markdown note with front matter, `guidance.md`.

Off unless the tunable `export` is set. The file is written whole or not at all, and only one that begins with
our mark is replaced. It holds counts and nothing that a reader wrote.
"""

import os
import tempfile
from datetime import datetime
from pathlib import Path

from django.conf import settings

from advisor.guidance.figures import Observed, guidance_observed
from advisor.guidance.tunables import tunables

MARK = "---\nmade_by: tidings-guidance\n"
DASHBOARD = "guidance.md"


def export_folder() -> Path:
    """Return where notes go: the tunable `export_dir`, else `guidance` in the data folder."""
    named = tunables().export_dir
    return Path(named).expanduser() if named else Path(settings.VAR_DIR) / "guidance"


def guidance_export(*, now: datetime) -> Path:
    """Write the dashboard anew; where. Raises `OSError` where that cannot be, or the file is another's."""
    folder = export_folder()
    # A folder we make is its owner's alone, as the note is; one that is there keeps its rights.
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o700)
    _write(folder / DASHBOARD, _dashboard(guidance_observed(now=now), now))
    return folder / DASHBOARD


def _write(path: Path, text: str) -> None:
    """Replace a file of ours, or make it: whole, or not at all. Raises `OSError`."""
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        raise FileExistsError(
            f"{path.name} is not a note of ours, so it is left alone. Choose another folder."
        )
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _dashboard(seen: Observed, now: datetime) -> str:
    """Return the dashboard: summary, and silence by its reasons."""
    reasons = {why: sum(days) for why, days in seen.reasons.items()}
    front = f"{MARK}type: dashboard\nexported_at: {now:%Y-%m-%d %H:%M:%S} UTC\n---"
    lines = [front, "", "# Guidance", ""]
    lines += [f"{len(seen.days)} days to {now:%Y-%m-%d %H:%M} UTC.", ""]
    for title, head, rows in (
        ("Summary", "| Figure | Value |", seen.summary),
        ("Silence", "| Why | Calls |", reasons.items()),
    ):
        body = [f"| {name} | {value} |" for name, value in rows]
        lines += [f"## {title}", "", *([head, "| --- | --- |", *body] if body else ["None yet."]), ""]
    return "\n".join(lines)
