"""Packets and figures become Markdown notes: whole, ours alone, and never at a run's cost."""

import re
import stat
from datetime import timedelta

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance import notes
from advisor.guidance.notes import NotOurs, exported_states, guidance_export, packets_write, plain
from advisor.models import GuidanceEvent, GuidancePacket, Memory
from tests.advisor.guidance.desk import Desk

SECRET = "my own words about my neighbour"


@pytest.fixture
def folder(tmp_path, settings):
    settings.GUIDANCE = {"export": "true", "export_dir": str(tmp_path / "vault")}
    return tmp_path / "vault"


def memory(reader, now, **more):
    fields = {
        "kind": "pattern",
        "key": f"k{Memory.objects.count()}",
        "title": "Accepted",
        "text": "Add topics.",
    }
    return Memory.objects.create(reader=reader, valid_from=now, updated_at=now, **fields | more)


def packet(reader, now, key="a" * 40, memories=(), **more):
    fields = {"tool": "write_suggestion", "phase": "write", "suggestion_type": "boost_source"}
    fields |= {"target_key": "gazette.example", "memory_version": "1", "made_at": now}
    fields |= {"expires_at": now + timedelta(minutes=15), "stages": {"retrieval": 3.2}}
    fields |= {"ranked": [{"id": one.pk, "score": 0.71} for one in memories]}
    return GuidancePacket.objects.create(reader=reader, key=key, **fields | more)


def event(reader, now, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "level": "silent", "why": "too_weak"}
    return GuidanceEvent.objects.create(reader=reader, at=now, **fields | more)


def front(path):
    return yaml.safe_load(path.read_text().split("---\n")[1])


@pytest.mark.django_db
def test_a_packet_becomes_a_note_with_its_state_and_what_it_holds(ada, now, folder):
    packet(ada, now, memories=[memory(ada, now, title="Boosts", text="Keep steps small.")], uses=3)
    done = guidance_export(now=now + timedelta(minutes=5))
    path = folder / "packets" / f"{'a' * 40}.md"
    assert done.packets == 1
    told = front(path)
    assert told["state"] == "ready"
    assert told["uses"] == 3 and told["seconds_left"] == 600
    assert told["reader"] == str(ada.pk) and "ada" not in path.read_text().replace(str(ada.pk), "")
    assert "| pattern | Boosts | Keep steps small. | 0.71 |" in path.read_text()
    index = (folder / "packets" / "index.md").read_text()
    assert f"({'a' * 40}.md) | ready | 3 |" in index


@pytest.mark.django_db
def test_a_stale_packet_and_an_invalid_one_say_so_and_have_no_time_left(ada, now, folder):
    packet(ada, now, key="b" * 40, expires_at=now - timedelta(seconds=1))
    packet(ada, now, key="c" * 40, invalid_at=now, invalid_why="config_changed")
    guidance_export(now=now)
    stale, invalid = (front(folder / "packets" / f"{letter * 40}.md") for letter in "bc")
    assert (stale["state"], stale["seconds_left"]) == ("stale", 0)
    assert (invalid["state"], invalid["invalid_why"], invalid["seconds_left"]) == (
        "invalid",
        "config_changed",
        0,
    )


@pytest.mark.django_db
def test_notes_of_packets_that_are_no_more_go_and_what_others_wrote_stays(ada, now, folder):
    gone = packet(ada, now)
    guidance_export(now=now)
    mine = folder / "packets" / "my thoughts.md"
    mine.write_text("# Thoughts\n")
    gone.delete()
    assert guidance_export(now=now).removed == 1
    assert sorted(path.name for path in (folder / "packets").iterdir()) == ["index.md", "my thoughts.md"]


@pytest.mark.django_db
def test_a_file_of_somebody_elses_is_never_overwritten(ada, now, folder):
    folder.mkdir()
    (folder / "guidance.md").write_text("# My own page\n")
    with pytest.raises(NotOurs, match=r"guidance\.md is not a note of ours"):
        guidance_export(now=now)
    assert (folder / "guidance.md").read_text() == "# My own page\n"


@pytest.mark.django_db
def test_a_write_that_breaks_leaves_the_old_note_whole_and_no_rest(ada, now, folder, monkeypatch):
    row = packet(ada, now)
    packets_write(folder, [row], now)
    before = (folder / "packets" / f"{row.key}.md").read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    row.uses = 9
    with pytest.raises(OSError):
        packets_write(folder, [row], now)
    assert [path.name for path in (folder / "packets").iterdir()] == [f"{row.key}.md"]
    assert (folder / "packets" / f"{row.key}.md").read_text() == before


@pytest.mark.django_db
def test_notes_are_for_their_owner_alone(ada, now, folder):
    row = packet(ada, now)
    packets_write(folder, [row], now)
    assert stat.S_IMODE((folder / "packets" / f"{row.key}.md").stat().st_mode) == 0o600
    assert [stat.S_IMODE(made.stat().st_mode) for made in (folder, folder / "packets")] == [0o700, 0o700]


@pytest.mark.django_db
def test_no_topic_and_no_retired_memory_is_named(ada, now, folder):
    retired = memory(ada, now, text=SECRET, retired_at=now)
    packet(ada, now, memories=[retired], suggestion_type="remove_topic", target_key=SECRET)
    event(ada, now, suggestion_type="remove_topic", target_key=SECRET, text=SECRET, facts={"target": SECRET})
    guidance_export(now=now)
    written = "".join(path.read_text() for path in folder.rglob("*.md"))
    assert SECRET not in written and "(a topic)" in written


@pytest.mark.django_db
def test_the_dashboard_holds_silence_and_stages(ada, now, folder):
    for _ in range(3):
        left_out = [{"id": 1, "why": "shown"}]
        event(ada, now, why="shown", stages={"facts": 1, "rank": 55}, candidates=left_out)
    event(ada, now, level="note", why="told", emitted_ids=[1], tool="test_suggestion", stages={"facts": 1})
    guidance_export(now=now)
    text = (folder / "guidance.md").read_text()
    assert "| shown | 3 |" in text and "| rank | 75% |" in text
    assert "[Packets](packets/index.md): 0." in text


@pytest.mark.django_db
def test_a_run_s_end_writes_its_notes_where_that_is_switched_on(ada, now, folder, settings):
    memory(ada, now, suggestion_type="reduce_source", target_key="loud.example")
    desk = Desk(ada)
    for switched_on in ("false", "true"):
        settings.GUIDANCE = settings.GUIDANCE | {"export": switched_on}
        desk.guide = desk.again()
        desk.write(f"{switched_on}.example")
        desk.guide.close()
        assert folder.exists() is (switched_on == "true")
    assert len(exported_states(folder)) == 1


@pytest.mark.django_db
def test_a_folder_that_cannot_be_written_is_a_stored_failure_and_not_a_broken_run(ada, now, folder):
    folder.write_text("a file where the folder should be")
    memory(ada, now, suggestion_type="reduce_source", target_key="loud.example")
    desk = Desk(ada)
    desk.write()
    desk.guide.close()
    stored = GuidanceEvent.objects.get(n=0)
    assert (stored.why, stored.error_code) == ("failed", "export_NotADirectoryError")


@pytest.mark.django_db
def test_an_empty_installation_exports_a_dashboard_that_says_so(now, folder):
    assert guidance_export(now=now).packets == 0
    assert "None yet." in (folder / "guidance.md").read_text()


@pytest.mark.django_db
def test_only_the_newest_packets_up_to_the_limit_are_written(ada, now, folder, monkeypatch):
    monkeypatch.setattr(notes, "PACKETS_MAX", 2)
    for n, letter in enumerate("abc"):
        packet(ada, now, key=letter * 40, made_at=now + timedelta(seconds=n))
    guidance_export(now=now)
    assert set(exported_states(folder)) == {"b" * 40, "c" * 40}


@pytest.mark.django_db
@pytest.mark.parametrize("packets", [1, 30])
def test_an_export_takes_as_many_queries_however_many_packets(
    ada, now, folder, packets, django_assert_num_queries
):
    for n in range(packets):
        packet(ada, now, key=f"{n:040d}", memories=[memory(ada, now)])
        event(ada, now)
    with django_assert_num_queries(7):
        guidance_export(now=now)


@given(st.text(max_size=200))
def test_no_text_breaks_out_of_its_cell(text):
    shown = plain(text)
    assert not re.search(r"(?<!\\)[|`*_\[\]]|[<>\n\r]", shown)
