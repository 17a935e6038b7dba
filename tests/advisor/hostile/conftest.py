"""The world is built once per module and rolled back after each test."""

import pytest
from django.db import transaction

from tests.advisor.hostile.world import API_KEY, World, world_build


@pytest.fixture(scope="module")
def stage(django_db_setup, django_db_blocker):
    """Yield the world as it stands before any attack."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield world_build()
        transaction.set_rollback(True)


@pytest.fixture
def world(stage: World, db, settings, httpserver) -> World:
    """Return the same world, on a savepoint, with one paid model: the scripted server."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = API_KEY, httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    return World(stage.ada, stage.ben, stage.now, before=stage.before)
