"""Figures become a Markdown note: complete, our own, and without any reader's words."""

import stat

import pytest
import yaml

from advisor.guidance.health import guidance_export
from advisor.models import GuidanceEvent

SECRET = "my own words about my neighbour"


@pytest.fixture
def folder(tmp_path, settings):
    settings.GUIDANCE = {"export": "true", "export_dir": str(tmp_path / "vault")}
    return tmp_path / "vault"


def event(reader, now, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "level": "silent", "why": "too_weak"}
    return GuidanceEvent.objects.create(reader=reader, at=now, **fields | more)


@pytest.mark.django_db
def test_a_file_of_somebody_elses_is_never_overwritten(ada, now, folder):
    folder.mkdir()
    (folder / "guidance.md").write_text("# My own page\n")
    with pytest.raises(FileExistsError, match=r"guidance\.md is not a note of ours"):
        guidance_export(now=now)
    assert (folder / "guidance.md").read_text() == "# My own page\n"


@pytest.mark.django_db
def test_the_dashboard_is_replaced_and_holds_figures_and_silence(ada, now, folder):
    guidance_export(now=now)
    assert "None yet." in (folder / "guidance.md").read_text()
    for _ in range(3):
        event(ada, now, why="shown")
    event(ada, now, level="note", why="told", emitted_ids=[1])
    assert guidance_export(now=now) == folder / "guidance.md"
    text = (folder / "guidance.md").read_text()
    assert "| shown | 3 |" in text and "| Calls looked at | 4 |" in text
    assert yaml.safe_load(text.split("---\n")[1])["type"] == "dashboard"


@pytest.mark.django_db
def test_a_write_that_breaks_leaves_the_old_note_whole_and_no_rest(ada, now, folder, monkeypatch):
    guidance_export(now=now)
    before = (folder / "guidance.md").read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    event(ada, now)
    with pytest.raises(OSError):
        guidance_export(now=now)
    assert [path.name for path in folder.iterdir()] == ["guidance.md"]
    assert (folder / "guidance.md").read_text() == before


@pytest.mark.django_db
def test_the_note_is_for_its_owner_alone(now, folder):
    path = guidance_export(now=now)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)) == (0o600, 0o700)


@pytest.mark.django_db
def test_nothing_that_a_reader_wrote_is_named(ada, now, folder):
    event(ada, now, suggestion_type="remove_topic", target_key=SECRET, text=SECRET, facts={"target": SECRET})
    assert SECRET not in guidance_export(now=now).read_text()
