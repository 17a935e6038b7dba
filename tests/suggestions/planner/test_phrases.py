"""Topics in titles: phrases of several items and sources, chosen by how often they occur."""

from hypothesis import given
from hypothesis import strategies as st

from suggestions.planner.phrases import phrases_frequent
from tests.support.suggestion_worlds import thumb


def test_topics_are_phrases_of_several_titles_and_sources():
    rated = [thumb(n, source="ab"[n % 2], title=f"The harbour tunnel opens, {n} times") for n in range(4)]
    rated += [thumb(n, source="c", title="Only here forever") for n in range(4, 9)]
    found = {c.label for c in phrases_frequent(rated, {"a": "A", "b": "B"})}
    assert "harbour tunnel opens" in found
    assert not found & {"The harbour", "harbour", "opens, 1", "Only here forever"}


def test_a_source_is_no_topic():
    rated = [thumb(n, source="ab"[n % 2], title="Reuters") for n in range(4)]
    assert phrases_frequent(rated, {"a": "Reuters"}) == []


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_titles_give_candidates(titles):
    rated = [thumb(n, source="ab"[n % 2], title=title) for n, title in enumerate(titles)]
    for candidate in phrases_frequent(rated, {}):
        assert len(candidate.items) >= 3
