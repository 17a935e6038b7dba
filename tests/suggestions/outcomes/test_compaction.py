"""Long histories put their weight away, and nothing about them is lost."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import transaction

from ranking.selectors import config_effective
from suggestions.models import Outcome, OutcomeArchive, PreferenceProfile
from suggestions.outcomes import services
from suggestions.outcomes.selectors import outcomes_detail, outcomes_search, outcomes_timeline
from suggestions.outcomes.services import OutcomeValues, outcome_record, outcomes_compact, reader_compact
from suggestions.proposals import Resolved
from suggestions.selectors import profile_for
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.suggestions.outcomes.test_selectors import decided
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import proposed, tastes

pytestmark = pytest.mark.django_db
OLD, YOUNG = 40, 5


@pytest.fixture(autouse=True)
def short_histories_count_as_long(monkeypatch):
    """Three decisions in place of a hundred, two rows a batch."""
    monkeypatch.setattr(services, "DECISIONS_FULL", 3)
    monkeypatch.setattr(services, "BATCH", 2)


def history(reader) -> list[Outcome]:
    """Five old decisions and one young one."""
    rows = [decided(reader, OLD + n, target=f"t{n}.example") for n in range(5)]
    return [*rows, decided(reader, YOUNG, target="young.example")]


def heavy(reader) -> dict[int, tuple]:
    rows = Outcome.objects.filter(reader=reader)
    return {row.pk: (row.config_before, row.config_after, row.evidence_summary) for row in rows}


def test_old_rows_of_a_long_history_move_to_the_archive_as_they_were(ada, now):
    rows = history(ada)
    before = heavy(ada)
    assert outcomes_compact(now=now)["archived"] == 5
    archived = {
        a.outcome_id: (a.config_before, a.config_after, a.evidence_summary)
        for a in OutcomeArchive.objects.all()
    }
    assert archived == {row.pk: before[row.pk] for row in rows[:5]}
    after = heavy(ada)
    assert all(after[row.pk] == ({}, None, []) for row in rows[:5])
    assert after[rows[5].pk] == before[rows[5].pk]


def test_the_profile_says_how_far_and_keeps_its_counts(ada, now):
    rows = history(ada)
    counts = profile_for(reader_id=ada.pk)["acceptance_stats"]["boost_source"]["accepted"]
    outcomes_compact(now=now)
    profile = PreferenceProfile.objects.get(reader=ada)
    assert profile.compacted_through == rows[0].decided_at
    assert profile.acceptance_stats["boost_source"]["accepted"] == counts == 6


def test_every_layer_reads_the_same_from_the_archive(ada, now):
    ids = [row.pk for row in history(ada)][:2]
    layers = (
        lambda: outcomes_search(reader_id=ada.pk, now=now, query="long title"),
        lambda: outcomes_timeline(reader_id=ada.pk, ids=ids, now=now),
        lambda: outcomes_detail(reader_id=ada.pk, ids=ids, now=now),
    )
    before = [layer() for layer in layers]
    outcomes_compact(now=now)
    assert [layer() for layer in layers] == before


def test_a_second_run_finds_nothing_to_do(ada, now):
    history(ada)
    outcomes_compact(now=now)
    before = list(OutcomeArchive.objects.values())
    again = outcomes_compact(now=now)
    assert (again["archived"], again["profiles"]) == (0, 0)
    assert list(OutcomeArchive.objects.values()) == before


def test_short_histories_stay_whole(ada, ben, now):
    history(ada)
    for n in range(3):
        decided(ben, OLD + n)
    before = heavy(ben)
    assert outcomes_compact(now=now)["readers"] == 1
    assert heavy(ben) == before


def test_a_run_that_breaks_off_leaves_whole_batches_and_the_next_goes_on(ada, now, monkeypatch):
    history(ada)
    work, calls = services.profile_lock, []

    def breaks(**who):
        calls.append(who)
        if len(calls) == 2:
            raise RuntimeError("power cut")
        work(**who)

    monkeypatch.setattr(services, "profile_lock", breaks)
    with pytest.raises(RuntimeError):
        reader_compact(reader_id=ada.pk, now=now)
    assert OutcomeArchive.objects.count() == 2
    assert reader_compact(reader_id=ada.pk, now=now) == 3


def test_a_change_from_the_archive_can_still_be_put_back(ada, monkeypatch):
    monkeypatch.setattr(services, "DECISIONS_FULL", 0)
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    later = CLOCK + timedelta(days=31)
    assert outcomes_compact(now=later)["archived"] == 1
    done = suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=later)
    assert isinstance(done, Resolved)
    assert config_effective(reader_id=ada.pk).weight(suggestion.target_key) == 1.0


def test_reverts_are_compacted_and_effects_have_nothing_to_compact(ada, now):
    row = history(ada)[0]
    past = now - timedelta(days=35)
    outcome_record(
        suggestion=row.suggestion, values=OutcomeValues("reverted", {"a": 1}, {}, kind="revert"), now=past
    )
    effect = OutcomeValues("helped", {}, kind="effect", measured={"p_helped": 0.95})
    outcome_record(suggestion=row.suggestion, values=effect, now=past)
    assert outcomes_compact(now=now)["archived"] == 6
    assert OutcomeArchive.objects.get(outcome__kind="revert").config_before == {"a": 1}
    assert Outcome.objects.get(kind="effect").measured == {"p_helped": 0.95}


def test_a_profile_nobody_touched_fades_by_itself(ada, now):
    for n in range(3):
        decided(ada, n, kind="reduce_source", result="rejected")
    assert profile_for(reader_id=ada.pk)["patterns"]["never_reduce_sources"] is True
    later = now + timedelta(days=100)
    assert outcomes_compact(now=later)["profiles"] == 1
    assert profile_for(reader_id=ada.pk)["patterns"]["never_reduce_sources"] is False


@pytest.mark.django_db(transaction=True)
def test_compacting_beside_readers_who_answer_loses_nothing(ada, now, tmp_path):
    with transaction.atomic():
        rows = history(ada)
    before = heavy(ada)
    tastes(ada)
    suggestion = proposed(ada)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        done = at_once(
            lambda n: (
                suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
                if n == 0
                else reader_compact(reader_id=ada.pk, now=now)
            )
        )
        archived, decisions, stats = seen_by_writers(
            lambda: (
                {a.outcome_id: a.config_before for a in OutcomeArchive.objects.all()},
                Outcome.objects.filter(reader=ada).count(),
                PreferenceProfile.objects.get(reader=ada).acceptance_stats,
            )
        )
    assert isinstance(done[0], Resolved)
    assert sum(done[1:]) == 5
    assert archived == {row.pk: before[row.pk][0] for row in rows[:5]}
    assert (decisions, stats["boost_source"]["accepted"]) == (7, 7)


def test_the_command_reports_one_json_object(ada):
    history(ada)
    out = io.StringIO()
    call_command("compact_outcomes", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert set(report) == {"readers", "archived", "profiles", "failed", "errors", "seconds"}
    call_command("compact_outcomes", stdout=out)
    assert "0 old outcomes of 1 readers archived" in out.getvalue()
