"""The release that `make day` deploys is made of this tree."""

from pathlib import Path

from tests.lab.load.day.release import NEXT, release_next

ROOT = Path(__file__).resolve().parents[3]


def test_the_next_release_has_its_columns_and_its_migration(tmp_path: Path):
    made = release_next(tmp_path / "next")
    assert NEXT in (made / "config" / "__init__.py").read_text()
    for name in ("feeds.py", "digests.py"):
        assert "edition = " in (made / "digest" / "models" / name).read_text()
    before, after = (len(list((tree / "digest" / "migrations").glob("[0-9]*.py"))) for tree in (ROOT, made))
    assert after == before + 1
