"""Other names of topics: an article that says one counts as one that says the topic."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from ranking.config_body import (
    ConfigEdit,
    body_changes,
    body_default,
    body_edit,
    body_effective,
    body_validate,
)
from ranking.config_words import body_words, change_words
from ranking.entities import Candidate, Config, EffectiveConfig, InvalidSetting, Score
from ranking.other_names import NAMES_MAX
from ranking.pool import Pool
from ranking.scoring import rank, rank_all

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
TENNIS = Config(topics=("Tennis",), other_names={"tennis": ("Wimbledon", "grand slam")})


def item(title: str, item_id: int = 1) -> Candidate:
    return Candidate(item_id, "a", title, "", NOW)


def scored(title: str, config: Config = TENNIS) -> Score:
    return rank([item(title)], EffectiveConfig(config), NOW)[0]


def edited(body: dict, **edit: object) -> dict:
    changed = {**body}
    body_edit(changed, ConfigEdit(**edit))
    body_validate(changed)
    return changed


def test_an_article_that_says_another_name_counts_as_one_that_says_the_topic():
    by_topic, by_name, other = (scored(title) for title in ("Tennis today", "At Wimbledon", "At Epsom"))
    assert by_name.total == by_topic.total > other.total
    assert (by_name.parts.topics, by_name.parts.named) == (("Tennis",), {"Tennis": "Wimbledon"})
    assert by_topic.parts.named == other.parts.named == {}


def test_who_says_the_topic_and_all_its_names_counts_once():
    assert scored("Tennis at Wimbledon, a grand slam").total == scored("Tennis").total
    assert scored("Tennis at Wimbledon").parts.named == {}


def test_names_match_as_whole_words_like_topics():
    assert scored("Wimbledonia").total == scored("Epsom").total
    assert scored("Two grand slams").parts.named == {"Tennis": "grand slam"}


def test_an_article_that_says_a_name_is_not_also_about_the_topic_by_meaning():
    items = [item("At Wimbledon", 1), item("A match on clay", 2)]
    pool = Pool(items, lambda topics, ids: {"tennis": (np.array([0, 1]), np.array([0.7, 0.7]))})
    scores = rank_all(pool, EffectiveConfig(TENNIS), NOW).scores_of([1, 2])
    assert [(one.parts.topics, one.parts.about) for one in scores] == [(("Tennis",), ()), ((), ("Tennis",))]


def test_names_are_stored_with_the_score_only_if_one_matched():
    assert scored("At Wimbledon").parts.as_dict()["named"] == {"Tennis": "Wimbledon"}
    assert "named" not in scored("Tennis").parts.as_dict()


def test_an_edit_names_single_topics_and_a_topic_that_leaves_takes_its_names_along():
    body = edited(
        body_default(), topics=["Tennis", "Chess"], other_names={"Tennis": ["ATP"], "Chess": ["FIDE"]}
    )
    assert body["other_names"] == {"tennis": ["ATP"], "chess": ["FIDE"]}
    body = edited(body, other_names={"chess": ["FIDE", "blitz"]})
    assert body["other_names"] == {"tennis": ["ATP"], "chess": ["FIDE", "blitz"]}
    body = edited(body, topics=["Chess"])
    assert body["other_names"] == {"chess": ["FIDE", "blitz"]}
    assert body_effective(body).config.other_names == {"chess": ("FIDE", "blitz")}
    assert edited(body, other_names={"chess": []})["other_names"] == {}


def test_a_name_stands_once_and_is_never_the_topic_itself():
    body = edited(
        body_default(), topics=["Tennis"], other_names={"Tennis": ["ATP", "tennis", "atp", " ", "WTA"]}
    )
    assert body["other_names"] == {"tennis": ["ATP", "WTA"]}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([f"name {n}" for n in range(NAMES_MAX + 1)], "A topic may have 16 other names; “Tennis” has 17."),
        (["x" * 65], "A name of a topic may have 64 characters; “xxxxxxxxxxxxxxxxxxxx…” has 65."),
    ],
)
def test_too_many_names_and_long_ones_are_refused(names: list[str], words: str):
    with pytest.raises(InvalidSetting, match=words):
        edited(body_default(), topics=["Tennis"], other_names={"Tennis": names})


def test_versions_tell_names_in_words():
    before = edited(body_default(), topics=["Tennis"])
    after = edited(before, other_names={"Tennis": ["ATP", "WTA"]})
    (change,) = body_changes(before, after)
    assert change == {"field": "other_names", "target": "tennis", "before": None, "after": ["ATP", "WTA"]}
    assert change_words(change) == "“tennis”: other names none → “ATP”, “WTA”"
    assert dict(body_words(after))["Topics"] == "Tennis (“ATP”, “WTA”)"


def test_a_body_of_before_names_has_none():
    body = {name: value for name, value in body_default().items() if name != "other_names"}
    assert body_effective(body) == EffectiveConfig(Config())
    assert body_changes(body, body_default()) == []


def test_without_names_a_score_is_what_it_was():
    plain = replace(TENNIS, other_names={})
    assert [scored(title, plain).total for title in ("Tennis", "Wimbledon")] == [
        scored("Tennis").total,
        scored("Epsom").total,
    ]
