"""Packets: used again for an equal call while the memories are the same, and for their time."""

import time
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache

from advisor.guidance import run_context
from advisor.guidance.entities import Level, Phase, Situation
from advisor.guidance.ranking import rank
from advisor.guidance.run_context import RunContext, packet_add, packet_find, packet_key
from advisor.guidance.wording import Scored
from advisor.models import Memory
from tests.advisor.guidance.desk import Desk, memory
from tests.advisor.tools.test_tools import outcomes
from tests.support.histories import thumbs

pytestmark = pytest.mark.django_db


def asking(reader, **more):
    values = {"suggestion_type": "reduce_source", "target_key": "loud.example", "words": "too loud"}
    return Situation(reader.pk, **({"tool": "write_suggestion", "phase": Phase.WRITE} | values | more))


def context_of(reader, now):
    context = RunContext(reader.pk, uuid4())
    context.renew(now)
    return context


def add(situation, reader, now, ttl_s=900.0):
    """What is ranked for the situation now, cached."""
    context = context_of(reader, now)
    packet_add(situation, context, rank(situation, context.memories, now=now, relevance_min=0.45), ttl_s)


def find(situation, reader, now):
    return packet_find(situation, context_of(reader, now))


def test_an_equal_call_gets_what_was_ranked_without_a_query(ada, now, django_assert_num_queries):
    row = memory(ada)
    context = context_of(ada, now)
    (ranked,) = rank(asking(ada), context.memories, now=now, relevance_min=0.45)
    add(asking(ada), ada, now)
    with django_assert_num_queries(0):
        (scored,) = packet_find(asking(ada), context)
    assert scored == ranked and scored.memory.id == row.pk


@pytest.mark.parametrize(
    "change",
    [
        {"words": "far too loud"},
        {"phase": Phase.REPAIR},
        {"target_key": "calm.example"},
        {"suggestion_type": "boost_source"},
        {"tool": "test_suggestion", "phase": Phase.HYPOTHESIZE},
    ],
)
def test_another_call_is_ranked_afresh(ada, now, change):
    memory(ada)
    add(asking(ada), ada, now)
    assert find(asking(ada, **change), ada, now) is None


def test_no_packet_of_another_reader_is_found_for_an_equal_call(ada, ben, now):
    memory(ada)
    add(asking(ada), ada, now)
    assert find(asking(ben), ben, now) is None
    assert find(asking(ada), ada, now)


def test_a_packet_under_another_reader_s_key_names_nothing_that_this_reader_may_not_see(ada, ben, now):
    memory(ada)
    add(asking(ada), ada, now)
    rows = cache.get(packet_key(asking(ada), context_of(ada, now).fingerprint))
    cache.set(packet_key(asking(ben), context_of(ben, now).fingerprint), rows)
    assert rows and find(asking(ben), ben, now) == []


def changed(name, ada, now):
    """Make one of the things that ranking rests on differ."""
    if name == "credit":
        Memory.objects.filter(reader=ada).update(helpful=1)
    elif name == "rule":
        memory(None, kind=Memory.Kind.RULE)
    elif name == "memory":
        memory(ada)
    elif name == "expired":
        Memory.objects.filter(reader=ada).update(expires_at=now)
    else:
        Memory.objects.filter(reader=ada).update(updated_at=now)


@pytest.mark.parametrize("name", ["credit", "rule", "memory", "expired", "renewed"])
def test_a_packet_of_other_memories_is_not_used(ada, now, name):
    memory(ada)
    add(asking(ada), ada, now)
    changed(name, ada, now)
    assert find(asking(ada), ada, now) is None


def test_what_others_rate_decide_and_learn_changes_nothing(ada, ben, now):
    memory(ada)
    before = context_of(ada, now).fingerprint
    thumbs(ben, "loud.example", 3)
    outcomes(ben, 2, now)
    memory(ben)
    assert context_of(ada, now).fingerprint == before and len(before) <= 64


def test_a_packet_is_cached_for_its_time(ada, now, monkeypatch):
    memory(ada)
    monkeypatch.setattr(run_context, "cache", LocMemCache("packets", {}))
    add(asking(ada), ada, now)
    began = time.time()
    monkeypatch.setattr("time.time", lambda: began + 890)
    assert find(asking(ada), ada, now)
    monkeypatch.setattr("time.time", lambda: began + 910)
    assert find(asking(ada), ada, now) is None


def test_rules_are_in_no_packet(ada, now):
    memory(None, kind=Memory.Kind.RULE, data={"when": {"fact": "tool", "op": "eq", "value": "x"}})
    (scored,) = map(Scored, [context_of(ada, now).memories[0]], [1.0], [1.0], [1.0], [1.0])
    packet_add(asking(ada), context_of(ada, now), [scored], 900.0)
    assert find(asking(ada), ada, now) == []


def test_a_cache_that_breaks_means_ranking_afresh(ada, now, monkeypatch):
    memory(ada)
    monkeypatch.setattr(run_context, "cache", None)
    desk = Desk(ada)
    assert [desk.write().level, desk.write("calm.example").level] == [Level.WARNING, Level.SILENT]
    assert not any(event.packet or event.error_code for event in desk.events)


def test_the_key_is_of_the_call_and_its_words_and_of_nothing_else(ada, ben):
    key = packet_key(asking(ada), "1")
    assert key == packet_key(asking(ada, arguments={"x": 1}, words="Loud, too"), "1")
    changes = ({"words": "quiet"}, {"tool": "self_critique"}, {"phase": Phase.REPAIR}, {"target_key": "a"})
    other = [packet_key(asking(ada, **change), "1") for change in changes]
    other += [packet_key(asking(ben), "1"), packet_key(asking(ada), "2")]
    assert key not in other and len(set(other)) == 6
