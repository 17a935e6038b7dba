"""Which tests run again on PostgreSQL, and the order in which workers take tests."""

from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

import pytest

from tests.support import needs_postgres, selection
from tests.support.needs_postgres import PostgresTests, postgres_functions_of, postgres_tests_of
from tests.support.thinned import mostly_alternating

ROOT = Path(__file__).resolve().parent.parent


@dataclass(eq=False)
class Test:
    """A collected test: its file, its markers and its fixtures."""

    __test__ = False
    path: Path
    markers: tuple[str, ...] = ()
    fixturenames: tuple[str, ...] = ("db",)
    name: str = "test_one"
    nodeid: str = field(init=False)

    def __post_init__(self) -> None:
        self.nodeid = f"{self.path}::{self.name}[case]"

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.markers else None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("digest.items.search", "items_search"),
        ("digest.llm.ledger", "spend_reserve"),
        ("ranking.services", "config_edit"),
        ("suggestions.services.resolve", "suggestion_accept"),
    ],
)
def test_functions_with_own_sql_locks_and_upserts_are_found(module: str, name: str):
    assert name in postgres_functions_of(module)


def test_a_pure_module_needs_no_postgres():
    assert postgres_functions_of("ranking.scoring") == frozenset()
    assert postgres_functions_of("digest.nothing") == frozenset()


def test_a_test_needs_postgres_if_it_or_its_helpers_name_such_a_function(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(needs_postgres, "ROOT", tmp_path)
    postgres_functions_of.cache_clear()
    (tmp_path / "digest").mkdir()
    (tmp_path / "digest/rows.py").write_text(
        "def _locked(rows):\n    return rows.select_for_update()\n\n"
        "def row_take(rows):\n    return _locked(rows)\n\n"
        "def row_count(rows):\n    return len(rows)\n"
    )
    beside = tmp_path / "tests/digest/test_rows.py"
    beside.parent.mkdir(parents=True)
    beside.write_text(
        "from digest.rows import row_count, row_take\n\n"
        "def test_first():\n    pass\n\n"
        "def taken():\n    return row_take([])\n\n"
        "def test_by_a_helper():\n    assert taken()\n\n"
        "def test_by_a_fixture(taken):\n    assert taken\n\n"
        "def test_counting():\n    assert row_count([]) == 0\n\n"
        "def test_a_constraint():\n    raises(IntegrityError)\n"
    )
    assert postgres_functions_of("digest.rows") == {"_locked", "row_take"}
    found = {name for name in postgres_tests_of(beside).names if name.startswith("test_")}
    assert found == {"test_first", "test_by_a_helper", "test_by_a_fixture", "test_a_constraint"}
    assert postgres_tests_of(beside).every_case == {"test_a_constraint"}, "of the others one case is enough"
    elsewhere = tmp_path / "tests/ranking/test_pages.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text(beside.read_text())
    found = {name for name in postgres_tests_of(elsewhere).names if name.startswith("test_")}
    assert found == {"test_first", "test_by_a_helper", "test_a_constraint"}, "the first that takes a row"
    postgres_functions_of.cache_clear()


@pytest.mark.parametrize(
    ("services", "markers", "fixtures", "name", "runs"),
    [
        ("own", ("services",), (), "test_any", True),
        ("own", (), ("db",), "test_any", False),
        ("own", (), ("transactional_db",), "test_any", True),
        ("all", (), ("db",), "test_any", True),
        ("all", (), (), "test_any", False),
        ("all", ("alike", "django_db"), ("db",), "test_any", False),
    ],
)
def test_what_runs_with_services(monkeypatch, services, markers, fixtures, name, runs):
    monkeypatch.setattr(selection, "SERVICES", services)
    one = Test(ROOT / "tests/ranking/test_scoring.py", markers, fixtures, name)
    assert selection.runs_with_services(one) is runs


def test_of_many_cases_the_first_runs_with_services_or_all_if_rows_decide(monkeypatch, tmp_path: Path):
    needing = PostgresTests(frozenset({"test_lock", "test_search"}), frozenset({"test_search"}))
    monkeypatch.setattr(selection, "postgres_tests_of", lambda path: needing)
    monkeypatch.setattr(selection, "SERVICES", "own")
    cases = [Test(tmp_path, name=name) for name in ("test_lock", "test_search") for _ in range(2)]
    cases += [Test(tmp_path, ("every_case",), name="test_lock")]
    assert [*selection.without_need_of_services(cases)] == [cases[1]]


def test_each_worker_begins_with_a_slow_file_and_no_file_is_cut(tmp_path: Path):
    quick = [Test(tmp_path / "quick.py", name=f"test_{n}") for n in range(8)]
    slow = [Test(tmp_path / f"slow{n}.py", ("slow",)) for n in range(2)]
    pages = [Test(tmp_path / "pages.py", ("browser",), name=f"test_{n}") for n in range(2)]
    ordered = selection.slow_first([*quick, *pages, *slow], workers=2)
    assert [test.path.name for test in ordered[:3]] == ["slow0.py", "pages.py", "pages.py"]
    assert [test.path.name for test in ordered].index("slow1.py") == 6
    assert sorted(map(id, ordered)) == sorted(map(id, [*quick, *pages, *slow]))


def test_what_is_required_fails_instead_of_being_skipped(monkeypatch):
    monkeypatch.setattr(selection, "missing_needs", lambda: {"browser": "none", "data": "none"})
    monkeypatch.setattr(selection, "REQUIRED", ["browser"])
    marked: list[str] = []
    for name in ("browser", "data"):
        one = Test(ROOT, (name,))
        one.add_marker = lambda mark, name=name: marked.append(name)
        selection.skip_without_needs([one])
    assert marked == ["data"]


@pytest.mark.parametrize("sizes", [(2, 2), (4, 2), (2, 2, 2), (3, 2, 2), (3, 3, 3)])
def test_of_all_combinations_those_of_every_change_have_each_value_with_each_other(sizes: tuple[int, ...]):
    factors = [range(size) for size in sizes]
    cases = mostly_alternating(*factors)
    assert [case.values for case in cases] == [*product(*factors)]
    always = [case.values for case in cases if not case.marks]
    assert len(always) == len(cases) // sizes[-1]
    for some in combinations(range(len(sizes)), len(sizes) - 1 if len(sizes) < 3 else 2):
        found = {tuple(values[n] for n in some) for values in always}
        assert found == {*product(*(factors[n] for n in some))}, some
