"""A run with a model of the operator's own takes minutes, and no reader's page waits for it."""

import pytest

from advisor.models import Heartbeat
from advisor.run.execute import is_queued_for_own_model, run_limits


@pytest.fixture
def own(db, settings, now) -> None:
    """Configure a server of one's own, and an embedded worker that gave a sign of life."""
    settings.REDIS_URL = ""
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = "http://127.0.0.1:9/v1", ["openai:gpt-6-luna", "local"]
    Heartbeat.objects.create(worker="embedded", at=now)


def test_a_run_of_ones_own_model_has_the_time_of_a_scheduled_one_where_a_worker_has_it(own, now):
    assert is_queued_for_own_model(now=now)
    assert run_limits("ui", is_queued=True).timeout_s == run_limits("scheduled").timeout_s == 180


@pytest.mark.parametrize("case", ["no worker", "a vendor first"])
def test_else_a_page_waits_its_thirty_seconds(own, now, settings, case: str):
    if case == "no worker":
        Heartbeat.objects.all().delete()
    else:
        settings.OPENAI_API_KEY = "k"
    assert not is_queued_for_own_model(now=now)
    assert run_limits("ui").timeout_s == 30


def test_a_broker_is_a_worker(own, now, settings):
    Heartbeat.objects.all().delete()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert is_queued_for_own_model(now=now)
