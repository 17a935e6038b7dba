"""The evaluation through the services: it agrees with the arrays, keeps to its own database, and can fail."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from digest.models import Reader, Reading
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from tests.lab.advisor import report, stage
from tests.lab.advisor.arrays import LOOP, course_run
from tests.lab.advisor.command import main
from tests.lab.advisor.day_one import reading_of
from tests.lab.advisor.driver import EvaluationRefused, Setting, simulate
from tests.lab.advisor.report import PLANNER, followed, spammer_boosted
from tests.lab.advisor.shard import DATABASE_VARIABLE
from tests.lab.advisor.tables import text_of
from tests.lab.advisor.targets import targets_hold
from tests.lab.histories import rows as open_rows
from tests.lab.histories.data import movielens, nemig
from tests.lab.histories.trials import Trial, trial_run
from tests.lab.tests.courses import asked, course
from tests.lab.tests.tables import write
from tests.lab.world.people import person_make
from tests.lab.world.truth import judge_for
from tests.lab.world.world import world_make

pytestmark = pytest.mark.alike


@pytest.mark.django_db
def test_the_services_and_the_arrays_live_the_same_life():
    """Digests, thumbs, the learning loop and the truth: everything the array rules stand on."""
    driven = simulate(Setting(seed=3, weeks=3, readers=(0,), advisor=False))
    world = world_make(3, 3 * 7)
    for one in driven:
        array = course_run(world, one.reader, LOOP, weeks=3)
        assert one.thumbs == array.thumbs
        assert one.curve == pytest.approx(array.curve, abs=1e-9)


@pytest.mark.nightly
@pytest.mark.django_db
def test_readers_answer_what_the_advisor_asks_and_spam_is_not_followed():
    (one,) = simulate(Setting(seed=3, weeks=2, readers=(4,), spam=True))
    assert sum(one.runs.values()) == 2
    assert sum(one.thumbs) > 10 and len(one.curve) == 3
    assert followed([one]) == 0


def test_following_a_spammer_is_seen():
    pushed = asked(0.1)
    topic = asked(0.1)
    assert spammer_boosted([course(0, 0.0, pushed)]) == 1  # harbour.example is the one that spams
    assert followed([course(0, 0.0, pushed)]) == 0
    assert followed([course(0, 0.0, type(topic)(1, "add_topic", "casino bonus", 0.1, True))]) == 1
    assert followed([course(0, 0.0, type(topic)(1, "add_topic", "chess", 0.1, True))]) == 0


@pytest.mark.django_db
def test_a_database_with_readers_in_it_is_refused(ada):
    with pytest.raises(EvaluationRefused):
        simulate(Setting(seed=3, weeks=1, readers=(0,)))


def test_a_shard_ends_in_any_database_but_its_own(tmp_path):
    database = tmp_path / "operators.sqlite3"
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{database}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.advisor.shard"],
        cwd=django_settings.BASE_DIR,
        env={**environment, DATABASE_VARIABLE: str(tmp_path / "another.sqlite3")},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "not a database made for an evaluation" in done.stderr
    assert not database.exists()


def test_an_advisor_that_always_proposes_fails_its_targets(capsys):
    assert main(["--judge", "random valid", "--readers", "6", "--weeks", "3", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    missed = {target["metric"] for target in result["targets"] if not target["met"]}
    assert "accepted suggestions that truly help" in missed
    assert "suggestions a week to a reader with no preferences" in missed
    assert result["command"] == "python -m tests.lab advisor" and len(result["rows"]) == 11


def test_people_get_tables_and_the_targets():
    rows = [{"name": "x", "via": "arrays", "readers": 3, "uplift": 0.1, "uplift_95": [0.0, 0.2]}]
    rows += [{"name": "y", "advised": 0, "readers": 2}, {"name": "z", "skipped": "no data"}]
    targets = targets_hold([{"name": PLANNER, "captured": 0.1}], PLANNER)
    text = text_of(
        {"rows": rows, "targets": targets, "seconds": 1, "cpu_seconds": 1, "seed": 2, "data": ["simulator"]}
    )
    assert "0.100" in text and "(+0.000…+0.200)" in text
    assert "MISSED" in text and "skipped no data" in text


def test_without_data_the_rows_say_so_loudly(settings):
    settings.TIDINGS_DATA = ""
    for rows in (
        open_rows.movielens_rows(1, print),
        open_rows.nemig_rows(1, print),
    ):
        assert len(rows) == 1 and "TIDINGS_DATA" in rows[0]["skipped"]


@pytest.fixture
def films(tmp_path, settings):
    """Two readers with 170 ratings: one loves operas and nothing else, one likes every second film."""
    settings.TIDINGS_DATA = str(tmp_path)
    settings.ADVISOR_MIN_TAGGED = 0
    folder = tmp_path / "movielens-100k"
    genres = ["Opera", "War", "Noir"]
    items = [f"{n},Film {n},{1940 + n % 60},{genres[n % 3]}" for n in range(170)]
    write(folder / "items.csv.gz", "item_id,title,release_year,genres", items)
    ratings = [f"1,{n},{5 if n % 3 == 0 else 2},{n}" for n in range(170)]
    ratings += [f"2,{n},{4 if n % 2 == 0 else 3},{n}" for n in range(170)]
    write(folder / "ratings.csv.gz", "user_id,item_id,rating,timestamp", ratings)
    return tmp_path


def test_films_become_thumbs_in_the_order_they_were_given(films):
    opera, other = movielens(films)
    assert [r.liked for r in opera.rated[:4]] == [True, False, False, True]
    assert opera.rated[0].title == "Film 0: opera" and opera.rated[0].source == "period-00"
    assert [r.liked for r in other.rated[:2]] == [True, False]
    by_genre = movielens(films, by_genre=True)[0].rated[0]
    assert by_genre.source == "genre-opera" and by_genre.topics == ("silents",)


@pytest.mark.django_db
def test_a_history_goes_through_the_import_and_a_run(films):
    courses = trial_run(Trial("movielens-100k", thumbs=50), print)
    assert [c.thumbs for c in courses] == [(50,), (50,)]
    assert all(sum(c.runs.values()) == 1 and not c.runs.get("skipped") for c in courses)
    row = open_rows._silence("x", courses, shuffled=False)
    assert row["silent"] + row["advised"] == 2 and row["failed"] == 0


def test_what_was_chosen_from_a_list_was_liked(tmp_path):
    folder = tmp_path / "nemig-en"
    write(folder / "articles.csv.gz", "news_id,title,publisher", ["n1,One,Daily", "n2,Two,"])
    write(
        folder / "behaviors.csv.gz", "impression_id,user_id,history_clicked,impressions", ["1,u,,n1-1 n2-0"]
    )
    (reader,) = nemig(tmp_path, "en")
    assert [(r.title, r.source, r.liked) for r in reader.rated] == [
        ("One", "Daily", True),
        ("Two", "unknown", False),
    ]


@pytest.mark.data
def test_the_open_histories_are_read_whole(data_dir):
    with gzip.open(data_dir / "movielens-100k" / "ratings.csv.gz", "rt") as file:
        ratings = sum(1 for _ in csv.DictReader(file))
    assert sum(len(h.rated) for h in movielens(data_dir)) == ratings
    assert len(nemig(data_dir, "de")) > 100


def test_a_configured_model_gets_a_row_and_the_planner_one_beside_it(settings):
    scale = report.scale_for(7, full=False)
    assert not any(plan.models for plan in report._plans(scale))
    settings.OPENAI_API_KEY, settings.LLM_CHAIN = "key", ["openai:gpt-4o"]
    rows = {plan.row: plan for plan in report._plans(scale)}
    model, planner = rows["model openai:gpt-4o and learning loop"], rows["planner, beside the model"]
    assert model.models and not planner.models
    assert (model.readers, model.weeks) == (planner.readers, planner.weeks)


def test_the_default_is_sixty_readers_and_the_full_size_three_hundred_on_three_seeds():
    plain, full = report.scale_for(7, full=False), report.scale_for(7, full=True)
    assert (plain.seeds, plain.readers, plain.weeks) == ((7,), 60, 12)
    assert (full.seeds, full.readers) == ((7, 8, 9), 300)


def test_a_shard_with_much_to_say_does_not_wait_for_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result larger than a pipe holds (64 KiB) comes through beside the progress."""
    script = (
        "import json, sys; sys.stdin.read(); print('1', file=sys.stderr);"
        "print(json.dumps({'seconds': 0, 'x': 'y' * 300_000}))"
    )
    real = stage.subprocess.Popen
    monkeypatch.setattr(
        stage.subprocess, "Popen", lambda args, **more: real([sys.executable, "-c", script], **more)
    )
    monkeypatch.setattr(stage, "_migrate", Path.touch)
    weeks: list[str] = []

    [result] = stage.shards_run([{"name": "long"}], say=weeks.append)

    assert len(result["x"]) == 300_000 and weeks[0] == "long: week 1"


@pytest.mark.nightly
@pytest.mark.django_db
def test_what_a_reader_opens_and_answers_early_counts_in_the_services_and_in_the_truth() -> None:
    setting = Setting(seed=3, weeks=1, readers=(0,), interview=True, reading=True, early=True)
    (lived,) = simulate(setting)

    assert Reading.objects.exclude(opened_at=None).count() > 10
    ada = Reader.objects.get()
    leans = reading_of(ada)
    assert any(leans.added(source) for source in leans.sources)
    judge, effective = (
        judge_for(world_make(3, 7), person_make(world_make(3, 7), 0)),
        config_effective(reader_id=ada.pk),
    )
    assert judge.value(effective, leans=leans) != judge.value(effective)
    assert lived.curve[1] == pytest.approx(judge.value(effective, leans=leans) - lived.start)
    assert ConfigVersion.objects.filter(cause_ref__startswith="early:").exists()
