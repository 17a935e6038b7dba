"""Docs and pages about reader apps: every app that is named has its line, and no advice leaks a token."""

import re
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.SITE_FILES)
APPS = ("Newsboat", "RSS Guard", "Liferea", "NetNewsWire", "Read You", "Capy Reader", "Fluent Reader")
# Other programs are named beside ours as peers, not as apps to use with Tidings.
PEERS = ("peers.md", "benchmarks.md")
WRITTEN = [path for pattern in ("docs/*.md", "*.md", "templates/**/*.html") for path in ROOT.glob(pattern)]


def test_who_names_the_mode_feedhq_names_the_line_that_keeps_the_token_here():
    texts = {path: path.read_text() for path in WRITTEN}
    named = {path for path, text in texts.items() if re.search(r"`feedhq`|urls-source .?feedhq", text)}
    assert ROOT / "docs" / "api.md" in named
    assert [path for path in named if "feedhq-show-special-feeds no" not in texts[path]] == []


def test_every_app_that_is_named_has_a_line_about_its_hosts():
    docs = (ROOT / "docs" / "api.md").read_text()
    table = docs[docs.index("### Where an app sends your token") : docs.index("## Limits")]
    rows = " ".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE))
    named = {app for path in WRITTEN if path.name not in PEERS for app in APPS if app in path.read_text()}
    assert named == {app for app in APPS if app in rows}
