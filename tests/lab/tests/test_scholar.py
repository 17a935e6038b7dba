"""The loader of Scholar Inbox' thumbs, on a made-up sample of its form."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from tests.lab.advisor.command import _parser
from tests.lab.histories.scholar import (
    PAPERS_FILE,
    SCHOLAR,
    THUMBS_FILE,
    BadData,
    day_rows,
    scholar_histories,
)

GRAPHS = "We study message passing on graphs and the spectra of large random networks."
STARS = "We observe faint dwarf galaxies and measure the mass of their stellar halos."


def sample(folder: Path, *, packed: bool = False) -> Path:
    """Write two readers' thumbs of 24 days. One likes papers on graphs, the other those on galaxies."""
    papers, thumbs = [], []
    for n in range(96):
        is_graph = n % 2 == 0
        papers.append(
            {
                "id": f"2501.{n:05}",
                "title": f"On {'networks' if is_graph else 'galaxies'},\n  part {n}",
                "abstract": f"  {GRAPHS if is_graph else STARS}\n",
                "categories": "cs.LG stat.ML" if is_graph else "astro-ph.GA",
            }
        )
        day = f"2025-01-{n // 4 + 1:02} 08:00:00+00:00" if n >= 8 else ""
        for user, likes_graphs in (("7", True), ("12", False)):
            thumbs.append((papers[-1]["id"], user, 1 if is_graph is likes_graphs else -1, day))
    thumbs.append(("9999.99999", "7", 1, "2025-03-01 08:00:00+00:00"))
    with (folder / THUMBS_FILE).open("w", newline="") as file:
        csv.writer(file).writerows([("arxiv_id", "user_id", "rating", "time"), *thumbs])
    lines = "".join(f"{json.dumps(paper)}\n" for paper in papers)
    if packed:
        (folder / f"{PAPERS_FILE}.gz").write_bytes(gzip.compress(lines.encode()))
    else:
        (folder / PAPERS_FILE).write_text(lines)
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_thumbs_get_the_words_of_their_papers_and_come_in_order(tmp_path: Path, packed: bool):
    twelve, seven = scholar_histories(sample(tmp_path, packed=packed))

    assert (twelve.reader, seven.reader, len(seven.rated)) == ("scholar-12", "scholar-7", 96)
    first, last = seven.rated[0], seven.rated[-1]
    assert (first.title, first.text, first.at) == ("On networks, part 0", GRAPHS, "")
    assert (first.source, first.categories, first.liked) == ("arxiv-cs.lg", ("cs.LG", "stat.ML"), True)
    assert (last.url, last.liked) == ("https://arxiv.org/abs/2501.00095", False)


def test_only_the_readers_with_the_most_thumbs_are_read(tmp_path: Path):
    assert [one.reader for one in scholar_histories(sample(tmp_path), limit=1)] == ["scholar-7"]


def test_each_day_is_ranked_by_the_days_before(tmp_path: Path):
    rows = {row["name"].partition(": ")[2]: row for row in day_rows(scholar_histories(sample(tmp_path)))}

    assert rows["meaning, likes minus dislikes, 10 thumbs on"]["auc"] == 1.0
    assert rows["logistic regression on meaning, 30 thumbs on"]["readers"] == 2
    assert abs(rows["meaning, likes minus dislikes, 30 thumbs on, shuffled"]["auc"] - 0.5) < 0.2
    assert rows["TF-IDF profile, 100 thumbs on"]["auc"] is None


def test_the_command_takes_the_folder_after_the_name(capsys):
    assert _parser().parse_args(["--data", "nemig", SCHOLAR, "/some/dir"]).data == [
        "nemig",
        f"{SCHOLAR}:/some/dir",
    ]
    for wrong in ([SCHOLAR], ["nemigs"]):
        with pytest.raises(SystemExit):
            _parser().parse_args(["--data", *wrong])
    assert "needs the folder" in capsys.readouterr().err


def test_a_folder_that_lacks_something_is_named(tmp_path: Path):
    with pytest.raises(BadData, match=THUMBS_FILE):
        scholar_histories(tmp_path)
    sample(tmp_path)
    (tmp_path / THUMBS_FILE).write_text("arxiv_id,user,rating\n")
    with pytest.raises(BadData, match="time, user_id"):
        scholar_histories(tmp_path)
