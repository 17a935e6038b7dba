"""Which memories a call may be told: a reader's own and the shared, in force, never another reader's."""

from datetime import timedelta
from uuid import uuid4

import pytest

from advisor.guidance.run_context import RunContext
from advisor.guidance.situations import Level
from advisor.guidance.store import CANDIDATES_MAX, memories_for
from advisor.guidance.wording import Kind
from advisor.models import Memory
from tests.advisor.guidance.desk import memory
from tests.advisor.tools.test_tools import outcomes
from tests.support.histories import thumbs

pytestmark = pytest.mark.django_db


def found(reader, now):
    return [one.id for one in memories_for(reader_id=reader.pk, now=now)]


def test_a_reader_gets_their_own_and_the_shared_and_nothing_of_anothers_about_the_same_target(ada, ben, now):
    own = memory(ada)
    shared = memory(None, kind=Memory.Kind.INSIGHT)
    memory(ben)
    assert set(found(ada, now)) == {own.pk, shared.pk}


@pytest.mark.parametrize("name", ["retired_at", "expires_at"])
def test_what_is_out_of_force_is_not_there(ada, now, name):
    row = memory(ada)
    Memory.objects.filter(pk=row.pk).update(**{name: now})
    assert found(ada, now) == []
    if name == "expires_at":
        assert found(ada, now - timedelta(seconds=1)) == [row.pk]


def test_what_was_superseded_or_is_not_yet_so_is_not_there(ada, now):
    old, new, later = memory(ada), memory(ada, "Newer.", target_key=""), memory(ada, "Later.")
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    Memory.objects.filter(pk=later.pk).update(valid_from=now + timedelta(minutes=1))
    assert found(ada, now) == [new.pk]


def test_of_more_than_five_hundred_the_rules_and_the_surest_are_read(ada, now):
    made = Memory.objects.bulk_create(
        Memory(
            reader=ada,
            kind="pattern",
            key=f"m{n}",
            title="t",
            text="t",
            valid_from=now,
            updated_at=now,
            unified=0.9,
        )
        for n in range(CANDIDATES_MAX + 20)
    )
    own = memory(None, kind=Memory.Kind.RULE, confidence=0.1)
    ids = found(ada, now)
    assert len(ids) == CANDIDATES_MAX and ids[0] == own.pk and made


def test_figures_over_many_readers_are_for_those_who_share(ada, now, settings):
    own = memory(ada)
    memory(None, kind=Memory.Kind.PATTERN)
    memory(ada, kind=Memory.Kind.PEER)
    insight = memory(None, kind=Memory.Kind.INSIGHT)
    assert len(found(ada, now)) == 4
    type(ada).objects.filter(pk=ada.pk).update(peers_enabled=False)
    assert set(found(ada, now)) == {own.pk, insight.pk}
    type(ada).objects.filter(pk=ada.pk).update(peers_enabled=True)
    settings.PEERS_ENABLED = False
    assert set(found(ada, now)) == {own.pk, insight.pk}


def test_a_row_becomes_a_memory_with_all_that_ranking_asks_for(ada, now):
    condition = {"fact": "step", "op": "lt", "value": -0.2}
    row = memory(ada, kind=Memory.Kind.RULE, ceiling="note", data={"when": condition}, helpful=3)
    (one,) = memories_for(reader_id=ada.pk, now=now)
    assert (one.id, one.kind, one.ceiling, one.predicate) == (row.pk, Kind.RULE, Level.NOTE, condition)
    assert (one.helpful, one.polarity, one.tokens) == (3, -1, row.tokens)


def test_only_shared_rules_with_a_condition_and_leave_to_block_may_block(ada, now):
    data = {"when": {"fact": "written", "op": "ge", "value": 1}}
    blocking = memory(None, kind="rule", ceiling="block", data=data)
    memory(None, kind="rule", ceiling="warning", data=data)
    memory(None, kind="rule", ceiling="block")
    memory(ada, kind="rule", ceiling="block", data=data)
    memory(None, kind="insight", ceiling="block", data=data)
    context = RunContext(ada.pk, uuid4())
    context.renew(now)
    assert [rule.id for rule in context.blocking] == [blocking.pk]


def test_what_others_rate_decide_and_learn_reloads_nothing(ada, ben, now):
    memory(ada)
    context = RunContext(ada.pk, uuid4())
    context.renew(now)
    before = context.fingerprint
    thumbs(ben, "loud.example", 3)
    outcomes(ben, 2, now)
    memory(ben)
    context.renew(now)
    assert context.fingerprint == before


@pytest.mark.parametrize("name", ["credit", "rule", "memory", "expired", "renewed"])
def test_a_change_of_any_row_reloads_the_memories(ada, now, name):
    own = memory(ada)
    context = RunContext(ada.pk, uuid4())
    context.renew(now)
    before = context.fingerprint
    if name in ("rule", "memory"):
        memory(None if name == "rule" else ada, kind="rule" if name == "rule" else "insight")
    changes = {"credit": {"helpful": 1}, "expired": {"expires_at": now}, "renewed": {"updated_at": now}}
    Memory.objects.filter(pk=own.pk).update(**changes.get(name, {"title": own.title}))
    context.renew(now)
    assert context.fingerprint != before
