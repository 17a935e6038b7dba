"""The page of figures counts what guidance did, honestly and at the same cost however much it was."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.figures import HOLDOUT, guidance_observed, percentile, stages_of
from advisor.models import GuidanceEvent, GuidancePacket


def event(reader, at, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "level": "silent", "why": "too_weak"}
    return GuidanceEvent.objects.create(reader=reader, at=at, **fields | more)


def packet(reader, now, key, **more):
    fields = {"tool": "t", "phase": "write", "memory_version": "1", "made_at": now, "uses": 2}
    fields |= {"expires_at": now + timedelta(minutes=1)}
    return GuidancePacket.objects.create(reader=reader, key=key, **fields | more)


@pytest.mark.django_db
def test_calls_are_counted_by_day_and_level_and_those_held_out_apart(ada, now):
    event(ada, now, level="note", why="told")
    event(ada, now - timedelta(days=1), level="block", why="blocked")
    event(ada, now, why="held_out", holdout=True)
    event(ada, now, why="shown")
    seen = guidance_observed(now=now, days=3)
    assert (seen.calls, seen.holdout) == (4, 1)
    assert seen.levels["note"] == [0, 0, 1] and seen.levels["block"] == [0, 1, 0]
    assert seen.levels[HOLDOUT] == [0, 0, 1]
    assert seen.reasons == {"shown": [0, 0, 1]}


@pytest.mark.django_db
def test_what_a_run_was_told_at_its_start_is_no_call_and_older_days_are_out(ada, now):
    event(ada, now, n=0, level="note")
    event(ada, now - timedelta(days=4))
    event(ada, now + timedelta(seconds=1))
    assert guidance_observed(now=now, days=4).calls == 0


@pytest.mark.django_db
def test_a_day_is_a_utc_day(ada, now):
    midnight = now.replace(hour=0)
    event(ada, midnight)
    event(ada, midnight - timedelta(microseconds=1))
    assert guidance_observed(now=now, days=2).reasons["too_weak"] == [1, 1]


@pytest.mark.django_db
def test_errors_and_packets_are_counted(ada, now):
    event(ada, now, why="failed", error_code="KeyError")
    event(ada, now - timedelta(hours=1), n=0, why="failed", error_code="export_OSError")
    packet(ada, now, "a")
    packet(ada, now, "b", expires_at=now)
    packet(ada, now, "c", invalid_at=now)
    seen = guidance_observed(now=now)
    assert {code: times for code, times, _ in seen.faults} == {"KeyError": 1, "export_OSError": 1}
    assert seen.failed == 1
    assert seen.packets == {"ready": 1, "stale": 1, "invalid": 1, "uses": 6}


@pytest.mark.django_db
def test_stages_are_slowest_first(ada, now):
    for ms in (1, 2, 100):
        event(ada, now, stages={"facts": ms, **({"rank": 300} if ms == 100 else {})}, ms=ms)
    seen = guidance_observed(now=now)
    assert [(one.name, round(one.share, 2), one.p50, one.p95) for one in seen.stages] == [
        ("rank", 0.33, 300, 300),
        ("facts", 1.0, 2, 100),
    ]
    assert seen.p95_ms == 100


@pytest.mark.django_db
def test_the_page_costs_the_same_for_one_call_and_for_many(operator, ada, client):
    client.force_login(operator)

    def queries(calls):
        now = timezone.now()
        GuidanceEvent.objects.bulk_create(
            GuidanceEvent(reader=ada, n=n + 1, level="note", why="told", at=now, stages={"facts": 1})
            for n in range(calls)
        )
        with CaptureQueriesContext(connection) as seen:
            assert client.get(reverse("admin:advisor_guidance")).status_code == 200
        return len(seen)

    queries(1)
    assert queries(1) == queries(300) <= 12


@pytest.mark.django_db
def test_the_page_says_that_there_is_nothing_yet(operator, client):
    client.force_login(operator)
    body = client.get(reverse("admin:advisor_guidance")).content.decode()
    assert "No call was looked at yet." in body and "<svg class=" not in body


@pytest.mark.django_db
def test_the_page_draws_and_tabulates_and_escapes(operator, ada, client):
    client.force_login(operator)
    event(ada, timezone.now(), level="note", why="told", stages={"<b>": 3})
    event(ada, timezone.now(), why="failed", error_code="<i>")
    body = client.get(reverse("admin:advisor_guidance")).content.decode()
    assert 'role="img" aria-label="28 days: 1 note."' in body
    assert "As a table" in body and "&lt;b&gt;" in body and "&lt;i&gt;" in body
    assert "<b>" not in body and "<i>" not in body
    assert "Nothing to compare yet" in body


@given(st.lists(st.floats(0, 1e6), max_size=50), st.floats(0, 1))
def test_a_percentile_is_one_of_the_values_and_grows_with_its_share(values, share):
    found = percentile(values, share)
    assert (found is None) is (not values)
    if values:
        assert found in values and percentile(values, 0) <= found <= max(values)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(0, 5000)), max_size=30))
def test_a_stage_ran_in_a_share_of_calls_and_its_percentiles_are_in_order(samples):
    for stage in stages_of(samples):
        assert 0 <= stage.share <= 1 and stage.p50 <= stage.p95
