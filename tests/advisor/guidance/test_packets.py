"""Packets: found again when equal or near, dropped with the reason when what they rest on has changed."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance import packets
from advisor.guidance.entities import Facts, Phase, Situation
from advisor.guidance.packets import (
    EXACT,
    RELAXED,
    Ask,
    Shelf,
    packet_key,
    packets_invalidate,
)
from advisor.guidance.ranking import rank
from advisor.guidance.retrieval import Memories
from advisor.guidance.tunables import Tunables
from advisor.guidance.versions import stamp_of
from advisor.models import GuidancePacket, Memory
from digest.models import Feedback
from suggestions.models import Outcome
from tests.advisor.guidance.desk import memory
from tests.advisor.histories import thumbs
from tests.advisor.test_tools import outcomes

pytestmark = pytest.mark.django_db
TUNABLES = Tunables()
NO_FACTS = Facts({})


def asking(reader, **more):
    values = {"suggestion_type": "reduce_source", "target_key": "loud.example", "words": "too loud"}
    return Situation(reader.pk, **({"tool": "write_suggestion", "phase": Phase.WRITE} | values | more))


def versions(reader, config=0):
    return replace(stamp_of(reader_id=reader.pk, run_id=uuid4()).versions, config=config)


def ask_of(situation, reader, now, config=0, facts=NO_FACTS):
    return Ask(situation, facts, versions(reader, config), Memories(reader.pk), now, TUNABLES)


def keep(situation, reader, now, config=0):
    """What is found for the situation now, stored by a run of its own."""
    shelf, ask = Shelf(reader.pk), ask_of(situation, reader, now, config)
    found = ask.known.about(situation, now=now)
    packet = shelf.keep(ask, rank(situation, found, now=now, tunables=TUNABLES), stages={"rank": 1.0})
    shelf.store(now=now)
    return packet


def find(situation, reader, now, config=0, facts=NO_FACTS):
    """What a run that knows nothing yet finds; it ends at once, so that the use is counted."""
    shelf = Shelf(reader.pk)
    found = shelf.find(ask_of(situation, reader, now, config, facts))
    shelf.store(now=now)
    return found


def test_an_equal_call_is_told_what_was_ranked_and_asks_for_two_rows_only(ada, now):
    row = memory(ada)
    kept = keep(asking(ada), ada, now)
    found = find(asking(ada), ada, now)
    assert (found.how, found.packet.key) == (EXACT, kept.key)
    (scored,) = found.ranked
    assert scored.memory.id == row.pk
    assert scored.score == pytest.approx(kept.ranked[0]["score"])


def test_a_run_that_knows_its_packets_asks_nothing_more(ada, now):
    memory(ada)
    keep(asking(ada), ada, now)
    shelf, ask = Shelf(ada.pk), ask_of(asking(ada), ada, now)
    shelf.find(ask)
    with CaptureQueriesContext(connection) as queries:
        assert shelf.find(ask).how == EXACT
        assert shelf.find(replace(ask, situation=asking(ada, words="else"))).how == RELAXED
    assert len(queries) == 0


def test_what_a_run_found_is_its_own_at_once_and_everybodys_when_it_is_stored(ada, now):
    memory(ada)
    shelf, ask = Shelf(ada.pk), ask_of(asking(ada), ada, now)
    shelf.keep(
        ask,
        rank(ask.situation, ask.known.about(ask.situation, now=now), now=now, tunables=TUNABLES),
        stages={},
    )
    assert shelf.find(ask).how == EXACT
    assert not GuidancePacket.objects.exists()
    shelf.store(now=now)
    assert GuidancePacket.objects.get().uses == 1
    assert shelf.find(ask).how == EXACT


def test_a_long_run_stores_its_packets_fifty_at_a_time(ada, now):
    memory(ada)
    shelf = Shelf(ada.pk)
    for n in range(55):
        shelf.keep(ask_of(asking(ada, words=f"word{n}"), ada, now), [], stages={})
    assert GuidancePacket.objects.count() == 50


def test_a_packet_found_stale_by_another_run_is_not_told(ada, now):
    memory(ada)
    keep(asking(ada), ada, now)
    shelf, ask = Shelf(ada.pk), ask_of(asking(ada), ada, now)
    assert shelf.find(ask, marked=None)
    packets_invalidate(reader_id=ada.pk, why="rule_changed", now=now)
    assert shelf.find(ask, marked=now) is None


def test_a_memory_that_is_over_is_not_told_from_a_packet(ada, now):
    row = memory(ada)
    keep(asking(ada), ada, now)
    Memory.objects.filter(pk=row.pk).update(expires_at=now)
    assert find(asking(ada), ada, now).ranked == []


@pytest.mark.parametrize(
    ("change", "how"),
    [
        ({"words": "far too loud"}, RELAXED),
        ({"phase": Phase.REPAIR}, RELAXED),
        ({"phase": Phase.REPAIR, "words": "x"}, RELAXED),
        ({"target_key": "calm.example"}, None),
        ({"suggestion_type": "boost_source"}, None),
        ({"tool": "test_suggestion", "phase": Phase.HYPOTHESIZE}, RELAXED),
    ],
)
def test_a_near_call_is_told_what_is_ranked_for_it_and_another_change_never(ada, now, change, how):
    memory(ada)
    keep(asking(ada), ada, now)
    found = find(asking(ada, **change), ada, now)
    assert (found and found.how) == how


def test_a_write_takes_no_packet_of_a_mere_look(ada, now):
    memory(ada)
    keep(asking(ada, tool="test_suggestion", phase=Phase.HYPOTHESIZE), ada, now)
    assert find(asking(ada), ada, now) is None


def test_a_packet_found_near_is_ranked_by_this_call_and_not_by_the_other(ada, now):
    memory(ada, phase="hypothesize", tool="")
    keep(asking(ada, tool="test_suggestion", phase=Phase.HYPOTHESIZE), ada, now)
    found = find(asking(ada, tool="self_critique", phase=Phase.CRITIQUE), ada, now)
    stored = GuidancePacket.objects.get().ranked[0]["relevance"]
    assert found.how == RELAXED and found.ranked[0].relevance < stored


def test_no_packet_of_another_reader_is_found_for_an_equal_call(ada, ben, now):
    memory(ada)
    keep(asking(ada), ada, now)
    assert find(asking(ben), ben, now) is None


def test_the_nearest_of_several_is_taken(ada, now):
    memory(ada)
    far = keep(asking(ada, tool="self_critique", phase=Phase.CRITIQUE), ada, now)
    near = keep(asking(ada, phase=Phase.REPAIR), ada, now - timedelta(seconds=30))
    assert find(asking(ada, words="else"), ada, now).packet.key == near.key != far.key


def changed(name, ada, now):
    """Make one of the things that a packet rests on differ."""
    if name == "feedback":
        thumbs(ada, "loud.example", 1)
    elif name == "outcome":
        outcomes(ada, 1, now)
    elif name == "rule_changed":
        memory(None, kind=Memory.Kind.RULE)
    elif name == "memories_changed":
        memory(ada)
    return 1 if name == "config_changed" else 0


@pytest.mark.parametrize(
    "name", ["config_changed", "feedback", "outcome", "rule_changed", "memories_changed"]
)
def test_a_packet_that_no_longer_holds_is_marked_with_what_changed(ada, now, name):
    memory(ada)
    keep(asking(ada), ada, now)
    config = changed(name, ada, now)
    assert find(asking(ada), ada, now, config=config) is None
    packet = GuidancePacket.objects.get()
    assert (packet.invalid_why, packet.invalid_at) == (name, now)


def test_a_changed_thumb_counts_as_feedback_and_a_memory_put_right_as_a_change(ada, now):
    thumbs(ada, "loud.example", 2)
    row = memory(ada)
    before = versions(ada)
    Feedback.objects.update(at=now)
    thumbed = versions(ada)
    assert thumbed.why_stale(0, before.memory_version) == "feedback"
    Memory.objects.filter(pk=row.pk).update(updated_at=now)
    assert versions(ada).why_stale(0, thumbed.memory_version) == "memories_changed"
    assert versions(ada).why_stale(0, "nonsense") == "memories_changed"
    assert len(before.memory_version) <= 64


def test_what_others_rate_and_decide_changes_nothing(ada, ben, now):
    before = versions(ada)
    thumbs(ben, "loud.example", 3)
    outcomes(ben, 2, now)
    memory(ben)
    assert Outcome.objects.exists() and versions(ada) == before


def test_after_fifteen_minutes_a_packet_is_expired(ada, now):
    memory(ada)
    keep(asking(ada), ada, now)
    later = now + timedelta(seconds=900)
    assert find(asking(ada), ada, later - timedelta(seconds=1)) is not None
    assert find(asking(ada), ada, later) is None
    assert GuidancePacket.objects.get().invalid_why == "expired"


def test_invalidation_is_of_one_reader_or_of_all_says_why_and_counts(ada, ben, now):
    for reader in (ada, ben):
        memory(reader)
        keep(asking(reader), reader, now)
    assert find(asking(ada), ada, now)
    assert packets_invalidate(reader_id=ada.pk, why="memories_changed", now=now) == 1
    assert find(asking(ada), ada, now) is None and find(asking(ben), ben, now)
    assert packets_invalidate(reader_id=None, why="rule_changed", now=now) == 1
    assert packets_invalidate(reader_id=None, why="rule_changed", now=now) == 0
    whys = GuidancePacket.objects.order_by("reader__username").values_list("invalid_why", flat=True)
    assert list(whys) == ["memories_changed", "rule_changed"]


def test_a_packet_made_again_takes_the_place_of_the_old_one(ada, now):
    memory(ada)
    first = keep(asking(ada), ada, now)
    find(asking(ada), ada, now)
    packets_invalidate(reader_id=ada.pk, why="feedback", now=now)
    keep(asking(ada), ada, now + timedelta(minutes=1))
    packet = GuidancePacket.objects.get()
    assert packet.key == first.key and packet.invalid_at is None
    assert (packet.uses, packet.made_at) == (0, now + timedelta(minutes=1))


def test_each_use_is_counted(ada, now):
    memory(ada)
    keep(asking(ada), ada, now)
    for _ in range(3):
        find(asking(ada), ada, now)
    assert GuidancePacket.objects.get().uses == 3


def test_no_more_than_the_newest_packets_are_kept(ada, now, monkeypatch):
    monkeypatch.setattr(packets, "PACKETS_MAX", 5)
    memory(ada)
    for n in range(9):
        keep(asking(ada, words=f"word{n}"), ada, now + timedelta(seconds=n))
    assert GuidancePacket.objects.count() == 5
    assert GuidancePacket.objects.order_by("made_at").first().made_at == now + timedelta(seconds=4)


def test_a_rule_that_holds_for_this_very_call_is_told_though_the_packet_was_made_without(ada, now):
    own = memory(ada)
    first = memory(
        None,
        "Stop soon, because few calls are left.",
        kind=Memory.Kind.RULE,
        suggestion_type="",
        target_key="",
        data={"when": {"fact": "calls_left", "op": "lt", "value": 3}},
    )
    many, few = Facts({"calls_left": 20}), Facts({"calls_left": 2})
    keep(asking(ada), ada, now)
    assert {one.memory.id for one in find(asking(ada), ada, now, facts=many).ranked} == {own.pk}
    assert {one.memory.id for one in find(asking(ada), ada, now, facts=few).ranked} == {own.pk, first.pk}


def test_the_key_is_of_the_call_and_its_words_and_of_nothing_else(ada, ben, now):
    memory(ada)
    here = versions(ada)
    key = packet_key(asking(ada), here)
    assert key == packet_key(asking(ada, arguments={"x": 1}, step=0.3, words="Loud, too"), here)
    other = [
        packet_key(asking(ada, **change), here)
        for change in (
            {"words": "quiet"},
            {"tool": "self_critique"},
            {"phase": Phase.REPAIR},
            {"target_key": "a"},
        )
    ]
    other += [packet_key(asking(ben), here), packet_key(asking(ada), replace(here, config=1))]
    assert key not in other and len(set(other)) == 6


def test_looking_for_a_packet_costs_the_same_with_one_and_with_a_hundred(ada, now):
    memory(ada)
    asked = []
    for count in (1, 100):
        for n in range(count):
            keep(asking(ada, words=f"word{count} {n}"), ada, now)
        with CaptureQueriesContext(connection) as queries:
            find(asking(ada, words="else"), ada, now)
        asked.append(len(queries))
    assert asked[0] == asked[1]
