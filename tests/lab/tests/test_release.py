"""The release that `make day` deploys is made of the tree at hand."""

from pathlib import Path

from tests.lab.load.day.release import NEXT, release_next


def test_the_next_release_has_its_columns_and_its_migration(tmp_path: Path):
    made = release_next(tmp_path / "next")
    assert NEXT in (made / "pyproject.toml").read_text()
    for name in ("feeds.py", "digests.py"):
        assert "edition = " in (made / "digest" / "models" / name).read_text()
    assert len(list((made / "digest" / "migrations").glob("[0-9]*.py"))) == 2
