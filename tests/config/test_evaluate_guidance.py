"""The measurement of guidance runs on the real services, measures what it says, and leaves nothing behind."""

import io
import json
from dataclasses import replace
from functools import lru_cache

import pytest
from django.core.management import CommandError, call_command

from advisor.evaluation.guidance_answers import never, ours
from advisor.evaluation.guidance_metrics import figures_of
from advisor.evaluation.guidance_world import world_make
from advisor.guidance.tunables import tunables
from advisor.models import Memory, Run
from config.guidance_bench import measure
from config.guidance_bench.agent import agent_measure
from config.guidance_bench.asking import answered, prepared
from config.guidance_bench.funnel import admission_row, funnel_rows, gap_row, nested_check, stages_all
from config.guidance_bench.layers import layers_row
from config.guidance_bench.measure import Measured, pooled_rows
from config.guidance_bench.store import Stage, store_make
from config.management.commands import evaluate_guidance
from digest.models import Reader
from suggestions.models import Suggestion

pytestmark = [pytest.mark.alike, pytest.mark.django_db]
READERS = (0, 5)


@lru_cache(maxsize=1)
def small_world():
    """Two readers' part of a development seed, with a tenth of what is shared."""
    world = world_make(1)
    kept = [
        row
        for row in world.written
        if row.owner in READERS or (row.owner is None and row.id % 10 == 0) or row.flaw == "another's"
    ]
    ids = {row.id for row in kept}
    kept = [row for row in kept if row.original is None or row.original in ids]
    queries = tuple(
        replace(query, grades={number: value for number, value in query.grades.items() if number in ids})
        for query in world.queries
        if query.reader in READERS
    )
    return replace(world, written=tuple(kept), queries=queries)


@pytest.fixture
def store():
    """The small world, offered to the real admission."""
    return store_make(small_world())


def test_what_is_wrong_with_a_memory_keeps_it_out_of_the_store(store):
    inside = store.stages[-1].passed
    flaws = {row.flaw for row in store.world.written if row.id in inside}
    assert "expired" not in flaws and "injected" not in flaws
    assert not any(store.by_number[number].layer in ("duplicate", "code") for number in inside)
    shares = admission_row(store)
    assert shares["A"] > 0.9 and shares["garbage"] < 0.1
    assert shares["garbage_worst"] == shares[shares["worst_type"]]


def test_what_was_superseded_is_not_in_force(store):
    older = [row for row in store.world.written if row.flaw == "superseded"]
    newer = {row.key for row in store.world.written if row.id in store.row_of and row.useful}
    assert any(row.key in newer for row in older)
    assert not any(row.id in store.row_of for row in older if row.key in newer)


def test_every_stage_lies_inside_the_one_before(store):
    calls = prepared(store)
    judged = answered(store, calls, ours(tunables()))
    nested_check(stages_all(store, judged))
    rows = funnel_rows(store, judged)
    assert [row["name"] for row in rows][:3] == ["stage offered", "stage admission", "stage distillation"]
    useful = [row["useful"] for row in rows]
    assert useful == sorted(useful, reverse=True)
    assert rows[-2]["useful_impressions"] > rows[-2]["useful"]
    with pytest.raises(RuntimeError, match="later passed 1"):
        nested_check([Stage("first", frozenset({1})), Stage("later", frozenset({1, 2}))])


def test_guidance_finds_tells_and_blocks_and_never_another_readers(store):
    calls = prepared(store)
    found = figures_of(answered(store, calls, ours(tunables())))
    silent = figures_of(answered(store, calls, never))
    assert found["recall_at_8"] > 0.3 and found["emission_precision"] > 0.6
    assert found["block_precision"] == found["block_recall"] == 1.0
    assert found["leaked_another_reader's"] == found["leaked_expired"] == found["leaked_injected"] == 0
    assert silent["recall_at_8"] == silent["emission_recall"] == 0


def test_reading_the_memories_of_a_call_is_one_query(store, django_assert_num_queries):
    calls = len(store.world.queries)
    with django_assert_num_queries(calls):
        prepared(store)


def test_layers_cost_less_than_fetching_all(store):
    calls = prepared(store)
    row = layers_row(store, calls, answered(store, calls, ours(tunables())))
    assert row["questions"] > 10 and row["tokens_two"] < row["tokens_eight"] < row["tokens"]
    assert 0 < row["sufficiency_two"] <= row["sufficiency_eight"] <= 1
    assert row["ratio_two"] > row["ratio_eight"] > row["ratio"] > 1
    unseen = layers_row(store, calls, answered(store, calls, never))
    assert unseen["sufficiency_eight"] == 0
    assert unseen["ratio"] <= 1, "who finds nothing pays for the index, and then for all"


def test_every_gap_has_a_reason(store):
    calls = prepared(store)
    silent = gap_row(store, answered(store, calls, never))
    deserved = sum(query.gold != "silent" for query in store.world.queries)
    assert silent["missed"] == deserved > 0
    assert sum(value for key, value in silent.items() if key not in ("name", "missed")) == deserved
    assert set(silent) <= {"name", "missed", "not_stored", "not_found"}


def test_the_agent_fails_less_with_guidance_and_leaves_nothing_behind():
    rows = {row["name"]: row for row in agent_measure(seed=1, readers=2)}
    without, guided = rows["agent without guidance"], rows["agent with guidance"]
    assert without["failed_writes"] > guided["failed_writes"] and without["stopped_writes"] == 0
    assert guided["stopped_writes"] > 0 and guided["stored"] > 0
    assert rows["agent"]["failed_fewer"] == pytest.approx(
        1 - guided["failed_writes"] / without["failed_writes"], abs=1e-4
    )
    assert not (Reader.objects.exists() or Run.objects.exists() or Suggestion.objects.exists())


def test_one_seed_is_measured_and_undone(monkeypatch):
    monkeypatch.setattr(measure, "world_make", lambda seed: small_world())
    said: list[str] = []
    found = measure.seed_measure(1, ablations=False, say=said.append)
    names = [row["name"] for row in found.rows]
    assert names[0] == "guidance" and names[-1] == "stage cleanup" and "null: never" in names
    assert not Memory.objects.exists() and not Reader.objects.exists() and len(said) == 2
    assert found.row("null: never")["gates_failed"] >= 2


def _measured(seed: int, recall: float, told: int, leaked: int) -> Measured:
    sorts = {f"leaked_{sort}": 0 for sort in measure.SORTS} | {"leaked_garbage": leaked}
    row = {"name": "guidance", "recall_at_8": recall, "emissions": told, "emissions_told": told, **sorts}
    return Measured(seed, (row,))


def test_seeds_are_pooled_with_an_interval_and_leaks_with_a_bound():
    leakage, guidance = pooled_rows([_measured(42, 0.4, 30, 0), _measured(43, 0.6, 70, 0)])
    assert guidance["recall_at_8"] == 0.5 and guidance["recall_at_8_ci95"] > 0.5
    assert (leakage["garbage"], leakage["garbage_at_most"], leakage["told"]) == (0, 0.03, 100)
    leaked, _ = pooled_rows([_measured(42, 0.4, 30, 3)])
    assert leaked["garbage"] == 3 and leaked["garbage_at_most"] > 0.1


def _report(monkeypatch, row, *options):
    monkeypatch.setattr(evaluate_guidance, "seed_measure", lambda seed, **more: row)
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("evaluate_guidance", "--json", "--readers", "0", *options, stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue(), ended.value.code


def test_the_command_prints_one_object_and_fails_on_a_missed_target(monkeypatch, settings):
    settings.TIDINGS_DATA = ""
    report, said, code = _report(monkeypatch, _measured(42, 0.4, 30, 0))
    assert set(report) == {"command", "data", "seed", "rows", "targets", "seconds"}
    assert code == 1 and report["seed"] == 42
    assert {row["metric"]: row["met"] for row in report["targets"]}["recall@8"] is False
    assert "skipped: TIDINGS_DATA names no folder" in said


def test_several_seeds_are_a_range_or_a_list(monkeypatch, settings):
    settings.TIDINGS_DATA = ""
    report, _, _ = _report(monkeypatch, _measured(42, 0.4, 30, 0), "--seeds", "42-43")
    assert report["seed"] == [42, 43]
    report, _, _ = _report(monkeypatch, _measured(42, 0.4, 30, 0), "--dev")
    assert report["seed"] == [1, 2, 3, 4, 5]
    with pytest.raises(CommandError, match="neither a range"):
        call_command("evaluate_guidance", "--seeds", "many")
