"""A reader's switch for models says so if no model is set up."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.llm.switch_hint import model_hint
from digest.models import Reader
from tests.support.factories import FeedFactory, SubscriptionFactory

NONE = "No language model is set up on this site. Your choice counts if that changes."
CHAIN = ["anthropic:claude-haiku-5-5"]


@pytest.mark.parametrize(
    ("changed", "is_idle"),
    [
        ({}, True),
        ({"OPENAI_API_KEY": "sk-1"}, False),
        ({"LOCAL_LLM_BASE_URL": "http://127.0.0.1:1/v1"}, False),
        ({"MCP_HTTP": True}, False),
        ({"OPENAI_API_KEY": "sk-1", "LLM_CHAIN": CHAIN}, True),
        ({"ANTHROPIC_API_KEY": "k", "LLM_CHAIN": [], "LLM_CHAIN_SUMMARY": CHAIN}, False),
    ],
)
def test_the_switch_says_that_it_has_no_effect_as_long_as_it_has_none(settings, changed, is_idle):
    for name, value in changed.items():
        setattr(settings, name, value)
    assert model_hint("Off: nothing goes out.") == (NONE if is_idle else "Off: nothing goes out.")


def test_both_pages_with_the_switch_say_so_and_keep_the_choice(client: Client, ada: Reader, settings):
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed, created_at=timezone.now())
    client.force_login(ada)
    pages = ("/ui/account", f"/ui/sources/{feed.pk}")
    for page in pages:
        body = client.get(page).content.decode()
        assert NONE in body and 'name="ai_enabled"' in body
    settings.OPENAI_API_KEY = "sk-1"
    for page in pages:
        assert NONE not in client.get(page).content.decode()
