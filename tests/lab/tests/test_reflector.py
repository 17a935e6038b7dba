"""The evaluation of the reflector: figures by hand, a world in which others help, and one in which they
cannot."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from digest.feedback.records import record_render
from tests.lab.reflector.command import main
from tests.lab.reflector.data import Rating, ratings_movielens, ratings_nemig, ratings_records
from tests.lab.reflector.metrics import calibration_error, flip_metrics, forecast_metrics, kappa
from tests.lab.reflector.report import rows_of, targets_of
from tests.lab.reflector.trials import forecast_own, others_shuffled, record_of, trials_run

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_forecast_figures_by_hand():
    p, liked = np.array([0.9, 0.8, 0.6, 0.2]), np.array([True, True, False, True])
    figures = forecast_metrics(p, liked)
    assert (figures["accuracy"], figures["precision"], figures["recall"]) == (0.5, 0.6667, 0.6667)
    assert figures["brier"] == pytest.approx((0.01 + 0.04 + 0.36 + 0.64) / 4, abs=1e-4)
    assert calibration_error(p, liked) == pytest.approx((0.1 + 0.2 + 0.6 + 0.8) / 4)


def test_flips_count_what_was_put_right_and_wrong():
    first, second = np.array([0.4, 0.6, 0.6, 0.4, 0.4]), np.array([0.6, 0.4, 0.6, 0.6, 0.4])
    liked = np.array([True, True, True, True, True])
    flips = flip_metrics(first, second, liked, list("abcde"), seed=1)
    assert (flips["put_right"], flips["put_wrong"], flips["net_gain"]) == (2, 1, 0.2)
    assert flips["mcnemar_p"] == 1.0 and flips["net_low"] <= 0.2 <= flips["net_high"]


def test_kappa_is_one_for_equal_rounds_and_zero_for_chance():
    yes = np.array([True, True, False, False])
    assert kappa(yes, yes) == 1.0 and kappa(yes, np.array([True, False, True, False])) == 0.0
    assert kappa(np.array([True]), np.array([True])) == 1.0


def world(rng: np.random.Generator, readers: int = 45, items: int = 40) -> list[Rating]:
    """Return ratings in a world where readers agree nine times in ten on the good items, and sources do not
    matter."""
    good = rng.random(items) < 0.5
    return [
        Rating(
            reader=f"r{u}",
            item=f"i{i}",
            title=f"Item {i}",
            source=f"s{i % 4}",
            topics=(),
            liked=bool(good[i] ^ (rng.random() < 0.1)),
            at=START + timedelta(hours=100 * u + n),
        )
        for u in range(readers)
        for n, i in enumerate(rng.permutation(items).tolist())
    ]


def test_where_others_know_the_second_round_gains_and_on_their_shuffled_thumbs_it_does_not():
    ratings = world(np.random.default_rng(5))
    rows = rows_of("world", ratings, seed=1, history=20, say=lambda words: None)
    by_name = {row["name"]: row for row in rows}
    assert by_name["world: round 2"]["net_low"] > 0
    assert by_name["world: control, others' thumbs shuffled"]["net_low"] <= 0
    assert all(target["met"] for target in targets_of(rows))


def test_nobody_is_judged_by_thumbs_given_after_their_history():
    ratings = [r for r in world(np.random.default_rng(5)) if r.reader in {f"r{n}" for n in range(10)}]
    # No reader comes before the first ones, so they get no figures of others.
    trials = trials_run(ratings, seed=1)
    first = [news for reader, news in zip(trials.reader, trials.news, strict=True) if reader == "r0"]
    assert first and not any(first)


def test_the_first_round_knows_the_history_alone():
    rng = np.random.default_rng(5)
    history = [
        Rating("r", str(n), str(n), "good" if n % 2 else "bad", (), bool(n % 2), START) for n in range(20)
    ]
    liked, disliked = (Rating("r", "x", "x", source, (), True, START) for source in ("good", "bad"))
    assert forecast_own(record_of(history, liked)) > 0.6 > 0.4 > forecast_own(record_of(history, disliked))
    assert sorted(r.liked for r in others_shuffled(history, int(rng.integers(9)))) == sorted(
        r.liked for r in history
    )


def records_file(path: Path) -> Path:
    """Return a file of records in which everybody's history is there once."""
    by_reader: dict[str, list[Rating]] = {}
    for rating in world(np.random.default_rng(5), readers=40):
        by_reader.setdefault(rating.reader, []).append(rating)
    lines = [record_render(record_of(said[:-1], said[-1])) for said in by_reader.values()]
    path.write_text("\n".join(["not a record", *lines]))
    return path


def test_a_file_of_records_is_evaluated_and_the_report_has_the_agreed_form(tmp_path, capsys):
    file = records_file(tmp_path / "records.jsonl")
    main(["--records", str(file), "--history", "20", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["command"], report["data"], report["seed"]) == (
        "python -m tests.lab reflector",
        str(file),
        42,
    )
    assert {row["name"] for row in report["rows"]} >= {
        "records: round 1 (posterior alone)",
        "records: round 2",
    }
    assert all({"metric", "target", "value", "met"} == set(target) for target in report["targets"])


def test_bad_lines_of_a_file_are_named(tmp_path):
    with records_file(tmp_path / "records.jsonl").open() as lines:
        ratings, bad = ratings_records(lines)
    assert bad == [(1, "bad_json")] and len({rating.reader for rating in ratings}) == 40


def test_a_missed_target_fails_the_command(tmp_path, capsys):
    noise = [record_render(record_of(w[:-1], w[-1])) for w in [world(np.random.default_rng(1), 1)]]
    file = tmp_path / "one.jsonl"
    file.write_text("\n".join(noise))
    assert main(["--records", str(file)]) == 1
    assert "Targets missed" in capsys.readouterr().err


def test_without_data_the_command_says_what_it_needs(settings, capsys):
    settings.TIDINGS_DATA = ""
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 1 and "TIDINGS_DATA" in capsys.readouterr().err


@pytest.mark.data
def test_the_open_data_are_read_as_thumbs_with_times(data_dir):
    films = ratings_movielens(data_dir / "movielens-100k")
    assert len(films) > 50_000 and 0.5 < np.mean([r.liked for r in films]) < 0.6
    news = ratings_nemig(data_dir / "nemig-en")
    assert 0.1 < np.mean([r.liked for r in news]) < 0.25
    assert all(a.at < b.at for a, b in pairwise(news) if a.reader == b.reader)
