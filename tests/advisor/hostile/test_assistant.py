"""The same injections, obeyed by an assistant over HTTP that its reader allowed everything.

The suite tries every fourth. `TIDINGS_HOSTILE_ALL=1`, which `make test-hostile` sets, tries all.
"""

import os

import pytest

from advisor.models import Run
from ranking.models import ConfigVersion
from suggestions.models import Suggestion
from tests.advisor.hostile.doors import Attempt, _filled, statements
from tests.advisor.hostile.invariants import breaches
from tests.advisor.hostile.payloads import INJECTIONS, LOOKS, honest
from tests.support.assistants import Connected

pytestmark = pytest.mark.alike


EVERY = 1 if os.environ.get("TIDINGS_HOSTILE_ALL") else 4


@pytest.mark.parametrize("n", range(0, len(INJECTIONS), EVERY))
def test_no_injection_that_an_assistant_obeys_breaks_an_invariant(world, n, caplog, client, settings):
    settings.MCP_HTTP = True
    settings.ADVISOR_PANEL = settings.ADVISOR_REFLECTOR = False
    injection = INJECTIONS[n]
    world.plant(injection.planted("direct", n), injection.where)
    words = " ".join(world.planted)[:400]
    turns = [*injection.attack(world, words), [honest(world, "")]]
    configs = ConfigVersion.objects.count()
    with statements() as sql:
        assistant = Connected(world.ada)
        answers = []
        for name, arguments in [(name, {}) for name in LOOKS] + [call for turn in turns for call in turn]:
            given = {"raw": arguments} if isinstance(arguments, str) else _filled(arguments, None)
            if (answer := assistant.call(name, given)) is not None:
                answers.append(answer)
    attempt = Attempt(Run.objects.get(reader=world.ada, status="running"), len(answers), answers, [], sql)
    client.force_login(world.ada)
    page = client.get("/ui/suggestions").content.decode()
    assert breaches(world, attempt, caplog.text, page) == []
    assert ConfigVersion.objects.count() == configs
    assert not Suggestion.objects.filter(reader=world.ada, status="accepted", run_id=attempt.run.pk).exists()
