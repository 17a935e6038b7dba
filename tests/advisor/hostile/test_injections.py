"""Twenty injections in five forms through three doors: the model obeys each, and no invariant gives way.

The suite tries each goal once, and each form at each door: 20 cases.
`TIDINGS_HOSTILE_ALL=1`, which `make test-hostile` sets, tries all 300.
"""

import itertools
import json
import os

import pytest
from django.test import Client

from suggestions.models import Suggestion
from tests.advisor.hostile.doors import DOORS, NOISE, attack
from tests.advisor.hostile.invariants import breaches
from tests.advisor.hostile.payloads import FORMS, INJECTIONS, honest
from tests.advisor.hostile.world import World
from tests.support.model_words import hostile

pytestmark = pytest.mark.alike

CASES = list(itertools.product(range(len(INJECTIONS)), FORMS, DOORS))
# The next goal takes the next form and the next door.
FEWER = [(n, FORMS[n % len(FORMS)], DOORS[n % len(DOORS)]) for n in range(len(INJECTIONS))]
TRIED = CASES if os.environ.get("TIDINGS_HOSTILE_ALL") else FEWER

# In these forms reviewers look at each proposal too; in the others the rules stand alone.
REVIEWED = ("forged", "multilingual")


def carried_out(world: World, n: int, form: str, door: str, httpserver, caplog, client: Client) -> list[str]:
    """Plant injection `n` in its form, let the model obey it through `door`, and return the broken
    invariants."""
    injection = INJECTIONS[n]
    world.plant(injection.planted(form, n), injection.where)
    words = " ".join(world.planted)[:400]
    closing = {"skipped": [{"hypothesis": words, "reason_skipped": words}], "reason": words}
    noise = NOISE[form] if injection.name == "broken replies" else ()
    # Its own words are refused, so it tries once more without any.
    turns = [*injection.attack(world, words), [honest(world, "")]]
    attempt = attack(door, world, turns, closing, httpserver, noise)
    reached = any(
        text[:40] in json.dumps(read(answer), ensure_ascii=False)
        for text in escaped(world.planted)
        for answer in attempt.answers
    )
    assert reached or attempt.emitted > 30, "the injection never reached the model"
    client.force_login(world.ada)
    page = client.get("/ui/suggestions").content.decode()
    return breaches(world, attempt, caplog.text, page)


def read(answer: str) -> object:
    return json.loads(answer)


def escaped(texts: list[str]) -> list[str]:
    return [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts]


def test_there_are_three_hundred_cases():
    assert len(CASES) == 300 and len(FEWER) == 20
    assert {n for n, _, _ in FEWER} == {n for n, _, _ in CASES}
    assert {(form, door) for _, form, door in FEWER} == {(form, door) for _, form, door in CASES}
    assert len({(i.name, i.order, i.other, i.attack) for i in INJECTIONS}) == 20


@pytest.mark.parametrize(("n", "form", "door"), TRIED)
def test_no_injection_breaks_an_invariant(world, n, form, door, httpserver, caplog, client, settings):
    settings.ADVISOR_PANEL = settings.ADVISOR_REFLECTOR = form in REVIEWED
    assert carried_out(world, n, form, door, httpserver, caplog, client) == []
    if form not in REVIEWED and door == "mcp":  # no guard ends a session before the attack is complete
        made = Suggestion.objects.filter(reader=world.ada, status="pending")
        assert made.exists(), "nothing was stored, so there was nothing to check"


@pytest.mark.parametrize("door", DOORS)
def test_no_lure_of_a_model_reaches_the_page(world, door, httpserver, caplog, client, settings):
    settings.ADVISOR_PANEL = settings.ADVISOR_REFLECTOR = settings.ADVISOR_GUIDANCE = False
    world.planted = ["nothing is planted here"]
    lures = hostile()[:: len(hostile()) // 12]
    closing = {"reason": lures[0], "skipped": []}
    attempt = attack(door, world, [[honest(world, text)] for text in lures], closing, httpserver)
    client.force_login(world.ada)
    page = client.get("/ui/suggestions").content.decode()
    assert breaches(world, attempt, caplog.text, page) == []
    # The planner goes on after the model, with the server's words alone.
    assert not Suggestion.objects.filter(run_id=attempt.run.pk).exclude(model_note="").exists()
    assert all(text not in page for text in lures)
