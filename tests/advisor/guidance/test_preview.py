"""A preview says what a rule would have done to past calls: no more, no less, and quickly."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance.curated import PREVIEW_MAX, curated_preview
from advisor.guidance.entities import Level
from advisor.guidance.wording import Kind
from advisor.models import GuidanceEvent, Memory
from tests.conftest import NOW

FEW = {"fact": "thumbs_on_target", "op": "lt", "value": 20}
RULE = dict(
    kind=Kind.RULE,
    title="Few thumbs",
    text="Leave a source alone that has fewer than 20 thumbs, because so few say little.",
    valid_from=NOW,
    suggestion_type="reduce_source",
    confidence=0.8,
    polarity=-1,
    ceiling=Level.BLOCK,
    data={"when": FEW, "written": FEW},
)


def rule(**changed) -> Memory:
    return Memory(**RULE | changed)


def event(reader, at, thumbs=5, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "suggestion_type": "reduce_source"}
    fields |= {"target_key": "gazette.example", "level": "whisper", "why": "told"}
    fields |= {"facts": {"thumbs_on_target": thumbs}}
    return GuidanceEvent(reader=reader, at=at, **fields | more)


def stored(*events):
    GuidanceEvent.objects.bulk_create(events)


@pytest.mark.django_db
def test_a_rule_that_blocks_would_have_blocked_where_its_condition_held(ada, now):
    hits = [event(ada, now - timedelta(minutes=n), thumbs=n) for n in range(10)]
    stored(*hits, event(ada, now, thumbs=20), event(ada, now, facts={}))
    seen = curated_preview(rule(), now=now)
    assert (seen.looked_at, sum(seen.levels.values()), dict(seen.levels), seen.more) == (
        12,
        10,
        {Level.BLOCK: 10},
        False,
    )
    assert [call.facts["thumbs_on_target"] for call, _ in seen.newest] == list(range(10))


@pytest.mark.django_db
def test_a_ceiling_is_kept_and_a_caution_with_a_condition_may_warn(ada, now):
    stored(event(ada, now))
    levels = {
        ceiling: list(curated_preview(rule(ceiling=ceiling), now=now).levels)
        for ceiling in (Level.WHISPER, Level.NOTE, Level.WARNING)
    }
    assert levels[Level.WHISPER] == [Level.WHISPER] and levels[Level.NOTE] == [Level.NOTE]
    assert levels[Level.WARNING] in ([Level.WARNING], [Level.NOTE])


@pytest.mark.django_db
def test_an_insight_touches_calls_of_its_type_and_no_others(ada, now):
    stored(event(ada, now), event(ada, now, suggestion_type="add_topic"))
    insight = rule(kind=Kind.INSIGHT, data={}, ceiling=Level.NOTE, tool="write_suggestion", phase="write")
    seen = curated_preview(insight, now=now)
    assert [call.suggestion_type for call, _ in seen.newest] == ["reduce_source"]


@pytest.mark.django_db
def test_only_calls_of_thirty_days_count_and_no_starts(ada, now):
    stored(event(ada, now - timedelta(days=30)), event(ada, now, n=0), event(ada, now + timedelta(seconds=1)))
    assert curated_preview(rule(), now=now).looked_at == 0


@pytest.mark.django_db
def test_of_very_many_calls_the_newest_are_looked_at_in_one_query(ada, now):
    stored(*(event(ada, now - timedelta(seconds=n)) for n in range(PREVIEW_MAX + 5)))
    with CaptureQueriesContext(connection) as queries:
        seen = curated_preview(rule(), now=now)
    assert len(queries) == 1 and (seen.looked_at, sum(seen.levels.values()), seen.more) == (
        PREVIEW_MAX,
        PREVIEW_MAX,
        True,
    )
    assert len(seen.newest) == 20 and seen.newest[0][0].at == now
