"""The bench for the advisor's loop; a site, a reader at a browser and a program that connects."""

import uuid

import pytest
from pytest_httpserver import HTTPServer

from advisor.run_values import ToolContext
from tests.support.agent_bench import Bench
from tests.support.assistants import assistant, person, site

__all__ = ["assistant", "person", "site"]


@pytest.fixture
def bench(ada, now, httpserver: HTTPServer, settings) -> Bench:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna", "openai:gpt-4o"]
    return Bench(ToolContext(ada.pk, uuid.uuid4(), now, lambda: None), httpserver)
