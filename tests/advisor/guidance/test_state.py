"""What guidance remembers: per reader and per run, for as long as it says, and without its cache as well."""

import time
from dataclasses import asdict
from uuid import uuid4

import pytest
from django.core.cache import cache

from advisor.guidance.entities import Why
from advisor.guidance.state import (
    SHOWN,
    TEXT,
    TOOL,
    CacheLost,
    RunState,
    claim,
    forget_own,
    histories_read,
    key_of,
    state_keep,
    state_load,
    tool_cooling,
)
from advisor.guidance.tunables import Tunables
from tests.advisor.guidance.desk import Desk, memory

ADA, BEN, RUN = uuid4(), uuid4(), uuid4()
T0 = 1_000_000.0
TUNABLES = Tunables()


@pytest.fixture
def no_cache(settings):
    """Our Redis cache with no Redis behind it."""
    place = {"BACKEND": "config.cache.PatientRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": place}


def took(reader=ADA, kind=SHOWN, name="7", at=T0, ttl_s=600.0):
    return claim(reader_id=reader, kind=kind, name=name, now_s=at, ttl_s=ttl_s)


def test_of_two_runs_one_may_tell_and_another_reader_s_may_too():
    assert took() and not took()
    assert took(reader=BEN) and took(kind=TEXT) and took(name="8")


def test_a_claim_is_over_by_the_clock_it_was_made_by():
    assert took()
    assert not took(at=T0 + 599)
    assert took(at=T0 + 600)
    assert not took(at=T0 + 601)


def test_what_was_told_is_read_back_for_its_reader_alone():
    took(name="7", at=T0), took(kind=TEXT, name="abc", at=T0 + 1), took(kind=TOOL, name="t", at=T0 + 2)
    asked = {"memories": [7, 9], "texts": ["abc", ""], "tool": "t"}
    own = histories_read(reader_id=ADA, **asked)
    assert (own.shown, own.texts, own.tools) == ({7: T0}, {"abc": T0 + 1}, {"t": T0 + 2})
    other = histories_read(reader_id=BEN, **asked)
    assert (other.shown, other.texts, other.tools) == ({}, {}, {})


def test_a_tool_rests_ten_seconds():
    assert not tool_cooling(reader_id=ADA, tool="t", now_s=T0, tunables=TUNABLES)
    took(kind=TOOL, name="t", ttl_s=10)
    assert tool_cooling(reader_id=ADA, tool="t", now_s=T0 + 9.9, tunables=TUNABLES)
    assert not tool_cooling(reader_id=ADA, tool="t", now_s=T0 + 10, tunables=TUNABLES)
    assert not tool_cooling(reader_id=BEN, tool="t", now_s=T0 + 1, tunables=TUNABLES)


def test_a_run_s_state_is_kept_whole_and_is_its_own():
    state = RunState(told=[3], holds={"a|b|0.7": ["g1-x", "text"]})
    for n in range(25):
        state.called(f"tool{n}", recent_max=20)
    state.ended("write_suggestion", failed=True)
    state_keep(run_id=RUN, state=state, tunables=TUNABLES)
    back = state_load(run_id=RUN)
    assert asdict(back) == asdict(state)
    assert (back.calls, len(back.recent), back.recent[-1], back.failed_writes) == (25, 20, "tool24", 1)
    assert state_load(run_id=uuid4()) == RunState()


def test_failed_writes_are_counted_in_a_row_and_other_tools_do_not_matter():
    state = RunState()
    for tool, failed in (("write_suggestion", True), ("test_suggestion", True), ("write_suggestion", True)):
        state.ended(tool, failed=failed)
    assert state.failed_writes == 2
    state.ended("write_suggestion", failed=False)
    assert state.failed_writes == 0


def test_keys_name_the_reader_and_suit_every_cache():
    key = key_of(ADA, SHOWN, "12")
    assert ADA.hex in key and len(key) < 200 and " " not in key


def test_a_lost_cache_is_said_and_this_process_goes_on_remembering(no_cache):
    with pytest.raises(CacheLost):
        took()
    assert took() is False
    assert histories_read(reader_id=ADA, memories=[7], texts=[], tool="t").shown == {7: T0}
    forget_own()
    with pytest.raises(CacheLost):
        took()


def test_what_was_told_before_the_cache_was_lost_is_not_told_again(settings, no_cache):
    lost = settings.CACHES
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert took(name="lost-later")
    settings.CACHES = lost
    assert took(name="lost-later") is False


@pytest.mark.django_db
def test_without_its_cache_guidance_goes_on_and_counts_it(ada, settings, no_cache):
    settings.GUIDANCE = {"holdout": "0"}
    memory(ada)
    desk, began = Desk(ada), time.monotonic()
    held = desk.write()
    assert held.why is Why.HELD
    assert desk.write().why is Why.HELD and desk.write(ack=held.guidance_id).why is Why.ACKNOWLEDGED
    assert desk.events[0].error_code == "CacheLost" and desk.events[0].why == "held"
    assert Desk(ada, trigger="mcp").write().why is Why.SHOWN
    assert time.monotonic() - began < 4


@pytest.mark.services
def test_in_a_real_redis_one_of_two_processes_may_tell():
    reader = uuid4()
    assert took(reader=reader)
    forget_own()
    assert took(reader=reader) is False
    cache.delete(key_of(reader, SHOWN, "7"))
