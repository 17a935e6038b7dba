"""Earlier decisions are found cheaply first, then opened one by one, and only their reader sees them."""

import json
from datetime import timedelta

import pytest

from suggestions.models import Evidence, Outcome, Suggestion
from suggestions.outcomes.selectors import outcomes_detail, outcomes_search, outcomes_timeline
from suggestions.outcomes.services import OutcomeValues, outcome_record
from suggestions.selectors import profile_for
from tests.support.factories import CLOCK

pytestmark = pytest.mark.django_db

BODY = {
    "topics": [f"A topic with a rather long name {n}" for n in range(100)],
    "source_weights": {f"source-with-a-long-name-{n}.example": 1.0 + n / 200 for n in range(200)},
    "keyword_boosts": {},
    "recency_half_life_hours": 24.0,
    "ai_score_alpha": 0.1,
    "locked": [],
    "avoided": [],
    "learned": {},
}


def tokens(row: object) -> float:
    """About four characters a token."""
    return len(json.dumps(row, ensure_ascii=False)) / 4


def decided(
    reader,
    n=0,
    kind="boost_source",
    result="accepted",
    target="s1.example",
    said="Because I said so. " * 40,
    title="A very long title " * 20,
) -> Outcome:
    """Return a suggestion made `n` days ago and decided at once, as wordy as it can be."""
    field = "topics" if "topic" in kind else "source_weights"
    suggestion = Suggestion.objects.create(
        reader=reader,
        suggestion_type=kind,
        field=field,
        target_key=target,
        label=target,
        suggested_value="1.3",
        reason="r",
        confidence="high",
        p_helpful=0.9,
        config_version=0,
        status=result,
        created_at=CLOCK - timedelta(days=n),
    )
    Evidence.objects.bulk_create(
        Evidence(
            suggestion=suggestion,
            url=f"https://s1.example/{i}",
            title=title,
            source_key="s1.example",
            useful=True,
            reason_tags=["depth", "hype"],
            rated_at=CLOCK,
        )
        for i in range(12)
    )
    after = {**BODY, "source_weights": {**BODY["source_weights"], target: 1.3}, "topics": [target]}
    values = OutcomeValues(result, BODY, after if result == "accepted" else None, user_reason=said)
    return outcome_record(suggestion=suggestion, values=values, now=CLOCK - timedelta(days=n))


def test_search_gives_one_short_line_each_newest_first(ada, now):
    rows = [decided(ada, n) for n in (5, 1, 3)]
    lines = outcomes_search(reader_id=ada.pk, now=now)
    assert [line["id"] for line in lines] == [rows[1].pk, rows[2].pk, rows[0].pk]
    assert lines[0] == {"id": rows[1].pk, "snippet": "boost_source: s1.example → accepted", "days_ago": 1}


def test_search_filters_by_type_and_by_outcome(ada, now):
    topic = decided(ada, kind="add_topic", result="rejected", target="harbour")
    decided(ada, 1, kind="add_topic", target="ferry")
    decided(ada, 2, result="rejected")
    found = outcomes_search(reader_id=ada.pk, now=now, types=["add_topic"], outcomes=["rejected"])
    assert [line["id"] for line in found] == [topic.pk]
    assert outcomes_search(reader_id=ada.pk, now=now, types=["nonsense"]) == []


@pytest.mark.parametrize(("limit", "most"), [(5, 5), (20, 20), (1000, 20), (0, 0), (-3, 0)])
def test_search_never_gives_more_than_twenty(ada, now, limit, most):
    for n in range(25):
        decided(ada, n, target=f"s{n}.example")
    assert len(outcomes_search(reader_id=ada.pk, now=now, limit=limit)) == most


def found(reader, now, query, **filters) -> list[str]:
    """Return the targets that a search gives, in its order."""
    lines = outcomes_search(reader_id=reader.pk, now=now, query=query, **filters)
    return [line["snippet"].split()[1] for line in lines]


def test_words_find_the_decision_by_its_target_its_reason_or_its_evidence(ada, now):
    decided(ada, 3, target="harbour.example", said="", title="Plain")
    decided(ada, 2, target="ferry.example", said="Too much about harbours", title="Plain")
    decided(ada, 1, target="tram.example", said="", title="The new Harbour opens")
    decided(ada, 0, target="bus.example", said="", title="Plain")
    assert set(found(ada, now, "HARBOUR")) == {"harbour.example", "ferry.example", "tram.example"}
    assert found(ada, now, "ferry") == ["ferry.example"]
    assert found(ada, now, "zeppelin") == []
    assert found(ada, now, "?!") == []
    assert len(found(ada, now, "  ")) == 4


def test_the_better_match_comes_first_and_of_equal_ones_the_newer(ada, now):
    for n, target in enumerate(["old.example", "young.example"]):
        decided(ada, 9 - n, target=target, said="", title="Harbour news")
    decided(ada, 20, target="best.example", said="harbour harbour", title="Harbour at night")
    assert found(ada, now, "harbour night") == ["best.example", "young.example", "old.example"]
    assert found(ada, now, "harbour night") == found(ada, now, "night harbour")


def test_a_search_by_words_keeps_to_the_filters_and_the_reader(ada, ben, now):
    decided(ada, kind="add_topic", result="rejected", target="harbour")
    decided(ada, 1, target="harbour.example")
    decided(ben, 1, target="harbour.example")
    assert found(ada, now, "harbour", types=["add_topic"]) == ["harbour"]
    assert found(ada, now, "harbour", outcomes=["accepted"]) == ["harbour.example"]
    assert len(found(ben, now, "harbour")) == 1


def test_a_search_by_words_reads_five_hundred_rows_in_two_queries(ada, now, django_assert_num_queries):
    ids = [decided(ada, n, target=f"harbour{n}.example").pk for n in range(3)]
    with django_assert_num_queries(2):
        lines = outcomes_search(reader_id=ada.pk, now=now, query="boost", limit=2)
    assert [line["id"] for line in lines] == ids[:2]
    assert all(tokens(line) <= 50 and line["score"] > 0 for line in lines)


def test_timeline_shows_the_target_before_and_after_and_its_neighbours(ada, now):
    rows = [decided(ada, n, target=f"t{n}") for n in range(6)]
    (line,) = outcomes_timeline(reader_id=ada.pk, ids=[rows[3].pk], now=now)
    assert (line["before"], line["after"]) == ("1.0", "1.3")
    assert [near["id"] for near in line["neighbours"]] == [rows[i].pk for i in (1, 2, 4, 5)]


@pytest.mark.parametrize("place", range(7))
def test_neighbours_are_two_on_either_side_though_decided_at_the_same_moment(ada, now, place):
    rows = [decided(ada, n // 3, target=f"t{n}") for n in range(7)]
    order = [rows[i].pk for i in (2, 1, 0, 5, 4, 3, 6)]
    (line,) = outcomes_timeline(reader_id=ada.pk, ids=[order[place]], now=now)
    near = [*order[max(0, place - 2) : place], *order[place + 1 : place + 3]]
    assert [row["id"] for row in line["neighbours"]] == near


def test_a_revert_is_no_decision_of_its_own(ada, now):
    decision = decided(ada)
    values = OutcomeValues("reverted", BODY, BODY, kind="revert")
    revert = outcome_record(suggestion=decision.suggestion, values=values, now=now)
    for layer in (outcomes_timeline, outcomes_detail):
        assert [r["id"] for r in layer(reader_id=ada.pk, ids=[revert.pk, decision.pk], now=now)] == [
            decision.pk
        ]


def test_a_timeline_reads_no_more_of_a_long_history_than_it_shows(ada, now, monkeypatch):
    rows = [decided(ada, n, target=f"t{n}") for n in range(12)]
    read = []
    monkeypatch.setattr(Outcome, "from_db", classmethod(_counting(Outcome.from_db.__func__, read)))
    outcomes_timeline(reader_id=ada.pk, ids=[rows[6].pk], now=now)
    assert len(read) == 6


def _counting(original, read):
    def from_db(cls, *args):
        read.append(cls)
        return original(cls, *args)

    return from_db


def test_timeline_of_a_topic_says_present_or_absent(ada, now):
    accepted = decided(ada, kind="add_topic", target="harbour")
    rejected = decided(ada, 1, kind="add_topic", result="rejected", target="ferry")
    one, two = outcomes_timeline(reader_id=ada.pk, ids=[accepted.pk, rejected.pk], now=now)
    assert (one["before"], one["after"]) == ("absent", "present")
    assert (two["before"], two["after"]) == ("absent", None)


def test_detail_opens_the_whole_case(ada, now):
    (detail,) = outcomes_detail(reader_id=ada.pk, ids=[decided(ada).pk], now=now)
    assert detail["evidence"]["items"] == detail["evidence"]["liked"] == 12
    assert detail["evidence"]["reason_tags"] == ["depth", "hype"]
    assert detail["user_reason"].startswith("Because I said so.")
    assert detail["config_before"]["topics_in_all"] == 100


def test_each_layer_keeps_its_budget_however_wordy_the_case(ada, now):
    ids = [decided(ada, n, target=f"{'long-' * 20}{n}").pk for n in range(8)]
    assert all(tokens(line) <= 50 for line in outcomes_search(reader_id=ada.pk, now=now))
    timeline = outcomes_timeline(reader_id=ada.pk, ids=ids, now=now)
    assert len(timeline) == 5
    assert all(tokens(line) <= 200 for line in timeline)
    details = outcomes_detail(reader_id=ada.pk, ids=ids, now=now)
    assert len(details) == 2
    assert all(tokens(line) <= 500 for line in details)


def test_foreign_and_unknown_ids_are_silently_absent(ada, ben, now):
    own, foreign = decided(ada).pk, decided(ben).pk
    for layer in (outcomes_timeline, outcomes_detail):
        assert [row["id"] for row in layer(reader_id=ada.pk, ids=[foreign, own, 999_999, own], now=now)] == [
            own
        ]
    assert [row["id"] for row in outcomes_search(reader_id=ada.pk, now=now)] == [own]


def test_the_layers_cost_a_fixed_number_of_queries(ada, now, django_assert_num_queries):
    ids = [decided(ada, n).pk for n in range(6)]
    with django_assert_num_queries(4):
        outcomes_search(reader_id=ada.pk, now=now)
        outcomes_timeline(reader_id=ada.pk, ids=ids, now=now)
        outcomes_detail(reader_id=ada.pk, ids=ids, now=now)


def test_the_profile_follows_each_outcome_and_is_the_readers_own(ada, ben, now):
    assert profile_for(reader_id=ada.pk) is None
    for n in range(3):
        decided(ada, n, kind="reduce_source", result="rejected")
    profile = profile_for(reader_id=ada.pk)
    assert profile["patterns"]["never_reduce_sources"] is True
    assert profile["total_outcomes"] == 3
    assert tokens(profile) <= 500
    assert profile_for(reader_id=ben.pk) is None
