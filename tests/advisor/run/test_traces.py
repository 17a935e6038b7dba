"""Traces of runs are deleted after their term. Runs and reviewers' votes stay."""

from datetime import timedelta

from advisor.models import Decision, PanelVote, Run, Step
from advisor.run.execute import traces_prune

DAY = timedelta(days=1)


def test_calls_and_decisions_of_long_ago_go_and_runs_and_votes_stay(ada, now, settings):
    old, young = now - 401 * DAY, now - 400 * DAY
    run = Run.objects.create(reader=ada, day=old.date(), trigger="ui", status="completed", created_at=old)
    vote = {"suggestion_type": "add_topic", "target_key": "tides", "round": 1, "reviewer": "trust"}
    PanelVote.objects.create(run=run, verdict="approve", confidence=0.9, model="rules", at=old, **vote)
    for n, at in enumerate((old, young), start=1):
        Step.objects.create(run=run, n=n, kind="tool", at=at)
        Decision.objects.create(run=run, reader=ada, actor="policy", action="skip", reason="thin", at=at)
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"traces": 0}
    assert traces_prune(now=now) == 0
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"traces": 400}
    assert traces_prune(now=now) == 2
    assert (Step.objects.get().at, Decision.objects.get().at) == (young, young)
    assert (Run.objects.count(), PanelVote.objects.count()) == (1, 1)
