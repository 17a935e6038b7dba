"""What is told to every reader's runs names no reader, and holds no link."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.models import Memory
from digest.models import Reader
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


@pytest.mark.parametrize(
    "text",
    [
        "Leave sources alone that quokka_reads dislikes, because 20 thumbs say little.",
        "Leave sources alone like QUOKKA_READS does, because 20 thumbs say little.",
        "Leave the sources of quokka_reads's list alone, because 20 thumbs say little.",
        "Ask ada@example.org before reducing a source, because 20 thumbs say little.",
    ],
)
def test_what_names_a_reader_is_refused(site, ada, text):
    Reader.objects.filter(pk=ada.pk).update(username="quokka_reads")
    assert "(names_a_reader)" in add(site, text=text).content.decode() and not Memory.objects.exists()


def test_a_title_that_names_a_reader_is_refused(site, ada):
    Reader.objects.filter(pk=ada.pk).update(username="quokka")
    assert "(names_a_reader)" in add(site, title="Few thumbs of Quokka").content.decode()


@pytest.mark.parametrize("username", ["thumbs", "that", "source", "few"])
def test_a_reader_called_by_an_everyday_word_forbids_nobody_that_word(site, ada, username):
    Reader.objects.filter(pk=ada.pk).update(username=username)
    assert add(site).status_code == 302


def test_looking_for_names_costs_the_same_however_many_there_are(ada):
    text = "Leave Walrus Weekly alone while quokka has fewer than 20 thumbs."

    def queries(count):
        Reader.objects.bulk_create(Reader(username=f"walrus{count}-{n}") for n in range(count))
        with CaptureQueriesContext(connection) as seen:
            assert not reader_named(text)
        return len(seen)

    assert queries(1) == queries(50) == 1
