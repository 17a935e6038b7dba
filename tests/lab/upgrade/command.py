"""`python -m tests.lab upgrade REVISION [--feeds N] [--json]`: try an upgrade from REVISION to this tree.

The command sets up the tree of REVISION, a commit of this repository, in its own folder. It runs the demo,
subscribes a new reader to N real feeds (250), and gives thumbs, stars and reads through the API. A local
server publishes the feeds: the documents of `feeds/real-*` below `TIDINGS_DATA`, with their dates moved to
yesterday. Then this tree migrates the database, looks at it, fetches every feed again and looks once more.
One extra document has posts without guid and link whose words earlier versions read differently. They must
not come twice.

Each look is compared with the one before the upgrade: items gained and lost, items that are unread again,
lost marks, changed titles and links, and Today with the place each item had before. Exit code 1 if a mark was
lost, or an item is unread again or came twice.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.lab.command import fail, progress
from tests.support.publishers import address, dated_anew, publishers

ROOT = Path(__file__).resolve().parents[3]
VISIT = Path(__file__).with_name("visit.py")
MARKS = ("useful", "read_at", "saved_at")
SHOWN = 15
CHANGES = ("titles_changed", "links_changed")
Look = dict[str, Any]
# Neither guid nor link, so their words are their names; and all are read better than by earlier versions.
UNNAMED = ("Nameless: markup in plain text", "Nameless: escaped markup", "Nameless: tags in the title")
UNNAMED_DOCUMENT = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Nameless</title>
<entry><title>Nameless: markup in plain text</title><updated>{at:%Y-%m-%dT%H:%M:01Z}</updated>
<content type="text">How do I write a &lt;system&gt; prompt before a &lt;user&gt; prompt?</content></entry>
<entry><title>Nameless: escaped markup</title>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><pre>&lt;b&gt;bold words here&lt;/b&gt;</pre>
</div></content></entry>
<entry><title type="text">Nameless: tags in the title &lt;i&gt; and &lt;b&gt;</title>
<updated>{at:%Y-%m-%dT%H:%M:03Z}</updated><summary>One summary of some words.</summary></entry>
</feed>"""


def main() -> int:
    """Print the comparison, or one JSON object; return 1 if something of the reader's was lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("revision", help="a commit of this repository, such as the last release's")
    parser.add_argument("--feeds", type=int, default=250, help="how many real feeds the reader takes")
    parser.add_argument(
        "--database", default="", help="URL of an empty PostgreSQL database; SQLite by default"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    if not os.environ.get("TIDINGS_DATA"):
        fail("Set TIDINGS_DATA to the folder of real feeds.", 2)
    documents = real_documents(options.feeds)
    with tempfile.TemporaryDirectory(prefix="tidings-upgrade-") as name, publishers(documents) as (port, _):
        folder = Path(name)
        old = tree_of(options.revision, folder / "old")
        environment = environment_of(folder, options.database, documents)
        feeds = [f"http://{host}:{port}/feed" for host in documents]
        before, migrated, fetched = looks(old, environment, feeds)
    report = {
        "command": f"python -m tests.lab upgrade {options.revision}",
        "feeds": len(documents),
        "items": len(before["items"]),
        "migrated": difference(before, migrated),
        "fetched_again": difference(before, fetched),
    }
    print(json.dumps(report, ensure_ascii=False) if options.json else words(report))
    lost = [
        report[step][name]
        for step in ("migrated", "fetched_again")
        for name in ("marks_lost", "unread_again", "came_twice")
    ]
    return int(any(lost))


def real_documents(most: int) -> dict[str, bytes]:
    """Return up to `most` captured documents, each by a loopback address, their newest entry a day old."""
    paths = sorted((Path(os.environ["TIDINGS_DATA"]) / "feeds").glob("real-*/**/*"))
    found: dict[str, bytes] = {}
    newest = datetime.now(UTC) - timedelta(days=1)
    for path in (path for path in paths if path.is_file()):
        body = path.read_bytes()
        body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
        try:
            # The hour differs by feed, so that the order of Today depends on more than one date.
            at = newest + timedelta(minutes=17 * len(found) % 1200)
            body = dated_anew(body.decode("utf-8"), at).encode()
        except UnicodeDecodeError:
            pass  # another encoding: published as it is, with its old dates
        found[address(len(found))] = body
        if len(found) == most:
            break
    found[address(len(found))] = UNNAMED_DOCUMENT.format(at=newest).encode()
    return found


def tree_of(revision: str, folder: Path) -> Path:
    """Write the tree of `revision` to `folder` and install its packages there."""
    progress(f"Setting up {revision} in a folder of its own.")
    folder.mkdir()
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if archive.returncode:
        fail(f"There is no revision {revision!r} here.", 2)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    made = subprocess.run(["make", "setup"], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        fail(f"`make setup` of {revision} failed:\n{made.stderr[-2000:]}")
    return folder


def environment_of(folder: Path, database: str, hosts: Iterable[str]) -> dict[str, str]:
    """Return the settings of both trees: one database, no model, and `hosts` allowed to be fetched."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return kept | {
        "TIDINGS_VAR_DIR": str(folder / "var"),
        "DATABASE_URL": database or f"sqlite:///{folder}/tidings.sqlite3",
        "REDIS_URL": "",
        "LOCAL_LLM_BASE_URL": "",
        "LOG_LEVEL": "CRITICAL",
        "FETCH_ALLOW_HOSTS": ",".join(hosts),
    }


def looks(old: Path, environment: dict[str, str], feeds: list[str]) -> tuple[Look, Look, Look]:
    """Return three looks: in the old tree, after the migration, and after fetching every feed again."""

    def run(tree: Path, *command: str) -> str:
        python = tree / ".venv/bin/python" if tree is old else Path(sys.executable)
        around = environment | {"PYTHONPATH": str(tree)}
        done = subprocess.run(
            [python, *command], cwd=tree, env=around, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def visit(tree: Path, *step: str) -> str:
        # -P: the folder of the script is no place to import from.
        return run(tree, "-P", str(VISIT), *step)

    Path(environment["TIDINGS_VAR_DIR"]).mkdir()
    progress("The old tree: demo, feeds, marks.")
    run(old, "manage.py", "migrate", "--verbosity", "0")
    run(old, "manage.py", "demo")
    visit(old, "fill", *feeds)
    before = json.loads(visit(old, "look"))
    progress("This tree: migrate, look, fetch again, look.")
    run(ROOT, "manage.py", "migrate", "--verbosity", "0")
    migrated = json.loads(visit(ROOT, "look"))
    visit(ROOT, "fetch", *feeds)
    return before, migrated, json.loads(visit(ROOT, "look"))


def difference(before: Look, after: Look) -> dict[str, Any]:
    """Compare two looks. `today` has the new order, each entry with its place before."""
    old = {item["item_id"]: item for item in before["items"]}
    new = {item["item_id"]: item for item in after["items"]}
    both = old.keys() & new.keys()
    place = {entry["item_id"]: n for n, entry in enumerate(before["today"], 1)}
    gained = [new[pk]["title"] for pk in sorted(new.keys() - old.keys())]
    return {
        "gained": gained,
        "came_twice": [title for title in gained if title.startswith(UNNAMED)],
        "lost": [old[pk]["title"] for pk in sorted(old.keys() - new.keys())],
        "unread_again": [
            old[pk]["title"] for pk in sorted(both) if old[pk]["read_at"] and not new[pk]["read_at"]
        ],
        "marks_lost": [
            (mark, old[pk]["title"])
            for pk in sorted(old)
            for mark in MARKS
            if old[pk][mark] is not None and (pk not in new or new[pk][mark] is None)
        ],
        "titles_changed": [
            (old[pk]["title"], new[pk]["title"]) for pk in both if old[pk]["title"] != new[pk]["title"]
        ],
        "links_changed": [
            (old[pk]["url"], new[pk]["url"]) for pk in both if old[pk]["url"] != new[pk]["url"]
        ],
        "unread": (before["unread"], after["unread"]),
        "today": [
            {
                "now": n,
                "before": place.get(entry["item_id"]),
                "title": entry["title"],
                "source": entry["source"],
            }
            for n, entry in enumerate(after["today"], 1)
        ],
    }


def words(report: dict[str, Any]) -> str:
    """Return the report in lines: counts, up to five examples of each, and the order of Today."""
    lines = [f"{report['items']} items of {report['feeds']} feeds before the upgrade."]
    for step in ("migrated", "fetched_again"):
        found = report[step]
        lines += ["", f"{step.replace('_', ' ')}: unread {found['unread'][0]} → {found['unread'][1]}"]
        for name in ("gained", "came_twice", "lost", "unread_again", "marks_lost", *CHANGES):
            lines.append(f"  {name.replace('_', ' ')}: {len(found[name])}")
            lines += [f"    {example}" for example in found[name][:5]]
        lines.append("  today, with the place before:")
        lines += [
            f"    {entry['now']:2} ({entry['before'] or 'new'}) {entry['title']} · {entry['source']}"
            for entry in found["today"][:SHOWN]
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
