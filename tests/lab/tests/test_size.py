"""The figures of `python -m tests.lab size`, on trees of a few files."""

from pathlib import Path
from threading import Thread

import pytest

from digest.models import Reader
from ranking.common.categories import topics_among
from ranking.common.text import fold
from ranking.entities import clamp_weight
from suggestions.changes.change import Field, Kind
from tests.lab.size import source
from tests.lab.size.command import Figure, table
from tests.lab.size.tracer import traced


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a product of three modules and a migration."""
    files = {
        "digest/__init__.py": "",
        "digest/feeds.py": "from digest.parse import read\n\n\ndef fetch():\n    return _once(read)\n\n\n"
        "def _once(told_by):\n    return told_by\n",
        "digest/parse.py": "from ranking import scoring\nread = scoring\n",
        "ranking/scoring.py": "import digest\n" + "told = 1\n" * 40,
        "digest/migrations/0001_initial.py": "held = 1\n",
        "docs/glossary.md": "| word | meaning |\n|---|---|\n| **item** | a thing |\n| **feed** | a URL |\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_files_and_modules_are_counted(tree):
    assert len(source.files_of(tree)) == 5
    assert [path.name for path in source.modules_of(tree)] == [
        "__init__.py",
        "feeds.py",
        "parse.py",
        "scoring.py",
    ]
    assert [path.name for path in source.small_modules(tree)] == ["feeds.py", "parse.py"]


def test_importers_are_counted_once_a_module(tree):
    assert source.one_importer(tree) == ["digest", "digest.parse", "ranking.scoring"]


def test_private_functions_are_counted_by_their_uses(tree):
    assert source.private_calls(tree) == {"digest/feeds.py:_once": 1}


def test_banned_words_are_found_as_parts_of_names(tree):
    found = source.banned_names(tree)
    assert {name.split()[-1] for name in found} == {"told_by", "told"}
    assert "digest/feeds.py:8 told_by" in found


@pytest.mark.parametrize(
    ("name", "banned"),
    [("told", True), ("wasTold", True), ("kept_by", True), ("Standing", True), ("upheld", False)],
)
def test_a_part_of_a_name_is_a_whole_word(tree, name, banned):
    (tree / "ranking" / "scoring.py").write_text(f"{name} = 1\n", encoding="utf-8")
    assert any("scoring" in one for one in source.banned_names(tree)) is banned


def test_docs_are_counted(tree):
    assert source.glossary_entries(tree) == 2
    assert source.page_words(tree)["docs/glossary.md"] > 5


def test_figures_are_printed_as_numbers_and_as_shares():
    figures = [Figure("a", 3000), Figure("b", 0.2, percent=True, note="of ten")]
    assert [line.split() for line in table(figures).splitlines()] == [
        ["a", "3,000"],
        ["b", "20.0%", "of", "ten"],
    ]


def test_a_trace_holds_the_files_whose_functions_ran_in_any_thread():
    """Importing a module is not running it, and a class body is no function."""
    with traced() as trace:
        Thread(target=lambda: fold("Über")).start()
        clamp_weight(3.0)
    assert trace.summary["files"] == ["ranking/common/text.py", "ranking/entities.py"]


def test_a_trace_counts_calls_between_files_and_their_depth(db):
    """`topics_among` folds its arguments in another file, and a query counts as one."""
    with traced() as trace:
        topics_among(["Über"], ["über"])
        assert not Reader.objects.filter(username="nobody").exists()
    found = trace.summary
    assert ("ranking/common/categories.py", "ranking/common/text.py") in trace.edges
    assert found["depth"] >= 2 and found["mutual"] == [] and found["queries"] == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *((f"x is Kind.{name}\nx == {name}", 2) for name in Kind.__members__),
        *((f"x in (Field.{field.name}, None)\nx == {field.value!r}", 2) for field in Field),
        ("len(body['topics']) > 3\nreason is Reason.DAILY_LIMIT", 0),
    ],
)
def test_a_comparison_of_any_kind_or_setting_is_counted(tree, text, count):
    (tree / "ranking" / "scoring.py").write_text(text, encoding="utf-8")
    assert source.kind_comparisons(tree) == count
