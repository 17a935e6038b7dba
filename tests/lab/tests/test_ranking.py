"""Does the evaluation tell a good order from a bad one, and can it fail?"""

import json
from datetime import timedelta

import numpy as np
import pytest

from ranking.entities import Candidate
from tests.lab.ranking.command import main
from tests.lab.ranking.data import MOVIELENS, NOW, Case, Data
from tests.lab.ranking.rows import (
    FULL,
    POPULARITY,
    RECENCY,
    ROWS,
    SHUFFLED,
    SILENT,
    Figures,
    interval,
    rows_of,
)
from tests.lab.ranking.topics import Labelled, _topic_row, likeness
from tests.lab.ranking.world import World


def world_of(tastes: dict[str, str], rated: int = 12, offered: int = 8, name: str = MOVIELENS) -> World:
    """Return readers who like only the items of one of two subjects and sources."""
    subjects = ("solar panels on roofs", "football cup final")
    items = [
        Candidate(n, f"s{n % 2}", f"{subjects[n % 2]} {n}", "", NOW - timedelta(hours=1)) for n in range(40)
    ]
    cases, said = [], {}
    for n, (reader, wanted) in enumerate(tastes.items()):
        mine = np.random.default_rng(n).permutation(40)[: rated + offered].tolist()
        likes = [wanted in subjects[place % 2] for place in mine]
        thumbs = tuple(zip(mine[:rated], likes[:rated], strict=True))
        said[reader] = thumbs
        cases.append(Case(reader, thumbs, tuple(mine[rated:]), tuple(likes[rated:])))
    return World(Data(name, items, [()] * 40, np.arange(40.0), said, cases), seed=3)


@pytest.fixture(scope="module")
def both() -> World:
    """Twenty readers, half of either taste."""
    return world_of(halves(20))


def halves(readers: int) -> dict[str, str]:
    return {f"r{n}": ("solar", "football")[n % 2] for n in range(readers)}


@pytest.mark.parametrize("name", ["source and topic rates alone", "without community", FULL])
def test_taste_is_found_where_it_is(both, name):
    assert Figures(both, ROWS[name], seed=1).column("auc").mean() > 0.95


def test_similarity_alone_finds_it_for_readers_with_five_likes(both):
    found = Figures(both, ROWS["TF-IDF alone"], seed=1).column("auc")
    assert {*found.tolist()} == {0.5, 1.0} and found.mean() > 0.85


def test_shuffled_thumbs_find_nothing(both):
    shuffled = Figures(both, ROWS[SHUFFLED], seed=1, shuffled=True).column("auc").mean()
    assert abs(shuffled - 0.5) < 0.25 < Figures(both, ROWS[SHUFFLED], seed=1).column("auc").mean() - 0.5


def test_what_nobody_knows_is_ordered_at_random():
    # Without a thumb or a crowd all items are equal, in any order of arrival.
    figures = Figures(world_of(halves(10)), ROWS["no feedback"], seed=1)
    assert figures.column("auc").tolist() == [0.5] * 10


def test_the_community_lifts_what_it_likes_where_enough_rated_it():
    taste = {f"r{n}": "solar" for n in range(300)}
    many, few = world_of(taste), world_of(dict(list(taste.items())[:19]))
    known = many.community(many.data.cases[0])
    assert (known > 0).any() and (known < 0).any()
    assert not few.community(few.data.cases[0]).any()
    assert few.community(few.data.cases[0], noise=False).any()


def test_a_readers_own_thumbs_make_nothing_popular():
    world = world_of({f"r{n}": "solar" for n in range(30)})
    case = world.data.cases[0]
    before = world.likes.sum()
    own = sum(up for place, up in case.thumbs if place in case.offered)
    assert world.popularity(case).sum() == world.likes[list(case.offered)].sum() - own
    assert world.likes.sum() == before


def test_rows_carry_intervals_and_a_missed_target_is_missed(both):
    rows, targets = rows_of(both, seed=1, names=(FULL, POPULARITY, SHUFFLED))
    full = next(row for row in rows if row["name"] == FULL)
    low, high = full["auc_95"]
    assert low <= full["auc"] <= high and full["readers"] == 20 and 0.9 < full["mrr"] <= 1
    assert any("over popularity" in target["metric"] and target["met"] for target in targets)
    swapped = dict(ROWS)
    try:
        ROWS[FULL], ROWS[POPULARITY] = swapped[POPULARITY], swapped[FULL]
        _, missed = rows_of(both, seed=1, names=(FULL, POPULARITY, SHUFFLED))
    finally:
        ROWS.update(swapped)
    assert not all(target["met"] for target in missed)


ASKED = (FULL, POPULARITY, RECENCY, SILENT, SHUFFLED)


@pytest.mark.parametrize("name", ["movielens", "movielens-cut", "mind", "nemig-en", "nemig-de"])
@pytest.mark.parametrize("readers", [19, 20])
def test_popularity_is_to_be_beaten_wherever_twenty_readers_chose(name, readers):
    _, targets = rows_of(world_of(halves(readers), name=name), seed=1, names=ASKED)
    asked = [target for target in targets if target["metric"] == f"{name}: AUC over popularity"]
    assert len(asked) == (readers == 20) and all(target["met"] for target in asked)


def test_falling_below_recency_by_little_is_a_miss_though_chance_may_explain_it(monkeypatch):
    world = world_of(halves(20), name="nemig-en")
    newest = ROWS[RECENCY]

    def worse_for_one(world: World, case: Case, thumbs: tuple[tuple[int, bool], ...]) -> np.ndarray:
        """Put the newest first, except for one reader of twenty, who sees the disliked ones first."""
        return -np.array(case.liked, float) if case.reader == "r0" else newest(world, case, thumbs)

    monkeypatch.setitem(ROWS, SILENT, worse_for_one)
    _, targets = rows_of(world, seed=1, names=ASKED)
    by = {t["metric"].partition(": ")[2]: t for t in targets}
    mean, high = (by[f"nDCG@10 over recency without feedback{end}"] for end in ("", ", high end"))
    assert mean["value"] < 0 and not mean["met"]
    assert high["value"] == 0.0 and high["met"]


def test_an_interval_is_of_the_mean():
    low, high = interval(np.array([0.0, 1.0] * 200), 1)
    assert 0.4 < low < 0.5 < high < 0.6


def test_topics_are_not_read_out_of_other_words():
    texts = [Labelled("", "He said the rain remains", "sport"), Labelled("AI at work", "", "tech")]
    row = _topic_row("AI", {"tech"}, texts)
    assert (row["matches"], row["whole_words"], row["precision"]) == (1, 1, 1.0)
    assert (row["letters_anywhere"], row["letters_precision"]) == (2, 0.5)


def test_likeness_follows_labels():
    texts = [Labelled("", f"solar panels roof {n}", "a") for n in range(40)]
    texts += [Labelled("", f"football cup final {n}", "b") for n in range(40)]
    assert likeness(texts, 1) > 0.95


def test_without_data_the_command_says_so(settings, capsys):
    settings.TIDINGS_DATA = ""
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2 and "TIDINGS_DATA" in capsys.readouterr().err


@pytest.mark.data
def test_the_command_reports_one_json_object(capsys):
    # Twelve readers may well miss a target.
    assert main(["--data", "movielens-cut", "--readers", "12", "--json"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    assert {"command", "data", "seed", "rows", "targets", "seconds"} <= report.keys()
    assert {row["name"] for row in report["rows"]} == set(ROWS)
