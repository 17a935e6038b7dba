"""Packets: used again for an equal call while the memories are the same, marked when they are not."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance.entities import Phase, Situation
from advisor.guidance.facts import RunContext
from advisor.guidance.packets import PacketCache, packet_key
from advisor.guidance.ranking import rank
from advisor.guidance.tunables import Tunables
from advisor.models import GuidancePacket, Memory
from tests.advisor.guidance.desk import memory
from tests.advisor.tools.test_tools import outcomes
from tests.support.histories import thumbs

pytestmark = pytest.mark.django_db
TTL_S = Tunables().packet_ttl_s


def asking(reader, **more):
    values = {"suggestion_type": "reduce_source", "target_key": "loud.example", "words": "too loud"}
    return Situation(reader.pk, **({"tool": "write_suggestion", "phase": Phase.WRITE} | values | more))


def context_of(reader, now):
    context = RunContext(reader.pk, uuid4())
    context.renew(now)
    return context


def add(situation, reader, now, cache=None):
    """What is ranked for the situation now, stored by a run of its own unless it has a cache."""
    context, own = context_of(reader, now), cache or PacketCache(reader.pk)
    ranked = rank(situation, context.memories, now=now, relevance_min=0.45)
    own.add(situation, context, ranked, now=now, ttl_s=TTL_S)
    if cache is None:
        own.store(context, now=now)
    return packet_key(situation, context.fingerprint)


def find(situation, reader, now):
    """What a run that knows nothing yet finds; it ends at once, so that the use is counted."""
    cache, context = PacketCache(reader.pk), context_of(reader, now)
    found = cache.find(situation, context, now=now)
    cache.store(context, now=now)
    return found


def test_an_equal_call_gets_what_was_ranked(ada, now):
    row = memory(ada)
    add(asking(ada), ada, now)
    (scored,) = find(asking(ada), ada, now)
    assert scored.memory.id == row.pk
    assert scored.score == pytest.approx(GuidancePacket.objects.get().ranked[0]["score"])


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


def test_what_a_run_ranked_is_its_own_at_once_and_everybodys_when_it_is_stored(ada, now):
    memory(ada)
    cache, context = PacketCache(ada.pk), context_of(ada, now)
    add(asking(ada), ada, now, cache)
    with CaptureQueriesContext(connection) as queries:
        assert cache.find(asking(ada), context, now=now)
        assert cache.find(asking(ada), context, now=now)
    assert len(queries) == 1 and not GuidancePacket.objects.exists()
    cache.store(context, now=now)
    assert GuidancePacket.objects.get().uses == 2


def test_no_packet_of_another_reader_is_found_for_an_equal_call(ada, ben, now):
    memory(ada)
    add(asking(ada), ada, now)
    assert find(asking(ben), ben, now) is None


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
def test_a_packet_of_other_memories_is_not_used_and_is_marked_when_the_run_ends(ada, now, name):
    memory(ada)
    add(asking(ada), ada, now)
    changed(name, ada, now)
    assert find(asking(ada), ada, now) is None
    add(asking(ada), ada, now)
    old = GuidancePacket.objects.get(invalid_at=now)
    assert (
        old.invalid_why == "memories_changed" and GuidancePacket.objects.filter(invalid_at=None).count() == 1
    )


def test_what_others_rate_decide_and_learn_changes_nothing(ada, ben, now):
    memory(ada)
    before = context_of(ada, now).fingerprint
    thumbs(ben, "loud.example", 3)
    outcomes(ben, 2, now)
    memory(ben)
    assert context_of(ada, now).fingerprint == before and len(before) <= 64


def test_after_fifteen_minutes_a_packet_is_stale(ada, now):
    memory(ada)
    add(asking(ada), ada, now)
    later = now + timedelta(seconds=900)
    assert find(asking(ada), ada, later - timedelta(seconds=1)) is not None
    assert find(asking(ada), ada, later) is None


def test_a_packet_made_again_takes_the_place_of_the_old_one(ada, now):
    memory(ada)
    first = add(asking(ada), ada, now)
    find(asking(ada), ada, now)
    GuidancePacket.objects.update(invalid_at=now)
    add(asking(ada), ada, now + timedelta(minutes=1))
    packet = GuidancePacket.objects.get()
    assert packet.key == first and packet.invalid_at is None
    assert (packet.uses, packet.made_at) == (0, now + timedelta(minutes=1))


def test_the_key_is_of_the_call_and_its_words_and_of_nothing_else(ada, ben):
    key = packet_key(asking(ada), "1")
    assert key == packet_key(asking(ada, arguments={"x": 1}, words="Loud, too"), "1")
    changes = ({"words": "quiet"}, {"tool": "self_critique"}, {"phase": Phase.REPAIR}, {"target_key": "a"})
    other = [packet_key(asking(ada, **change), "1") for change in changes]
    other += [packet_key(asking(ben), "1"), packet_key(asking(ada), "2")]
    assert key not in other and len(set(other)) == 6
