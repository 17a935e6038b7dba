"""Old rows are deleted in batches, oldest first, up to a limit a night."""

from datetime import timedelta

from ranking.common import rows
from ranking.models import WeightSnapshot
from ranking.services import snapshots_prune


def test_snapshots_go_after_their_term_and_a_night_has_its_share(ada, now, settings, monkeypatch):
    monkeypatch.setattr(rows, "NIGHT_MAX", 2)
    figures = {"before": 1, "after": 1, "p_better": 0.5, "n": 1, "reason": "few"}
    for days in (733, 732, 731, 730, 1):
        day = (now - timedelta(days=days)).date()
        WeightSnapshot.objects.create(reader=ada, source_key="s", cycle=day, **figures)
    assert snapshots_prune(now=now) == 3  # one batch passes the night's limit, and the next does not begin
    assert (WeightSnapshot.objects.count(), snapshots_prune(now=now)) == (2, 0)
