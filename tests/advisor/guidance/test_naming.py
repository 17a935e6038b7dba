"""Texts that may reach every reader's runs have no link and no address."""

import pytest

from advisor.models import Memory
from tests.advisor.guidance.writing import TYPED, add

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(operator, client):
    client.force_login(operator)
    return client


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"title": "<b>Few</b> thumbs"}, "title"),
        ({"title": "[Few](https://x.example)"}, "title"),
        ({"text": TYPED["text"] + " See [the guide](guide)."}, "text"),
        ({"text": TYPED["text"] + " See https://x.example/guide for more."}, "text"),
        ({"text": TYPED["text"] + " See <a href=x>this</a>."}, "text"),
        ({"title": "javascript:alert(1)"}, "title"),
    ],
)
def test_links_and_mark_up_are_refused_in_title_and_text(site, typed, field):
    form = add(site, **typed).context["adminform"].form
    assert "(code)" in form.errors[field][0] and not Memory.objects.exists()


def test_an_address_of_a_person_is_refused(site):
    body = add(site, text="Ask ada@example.org before reducing a source, because 20 thumbs say little.")
    assert "(names_a_reader)" in body.content.decode() and not Memory.objects.exists()
