"""A model's note: below the server's reason and marked, or not shown at all, through every door."""

import pytest
from django.test import Client

from digest.models import Reader, Source
from suggestions.models import Suggestion
from suggestions.notes import note_shown, notes_shown
from tests.support.browser import suggested
from tests.support.model_words import honest, hostile
from tests.support.suggestion_worlds import proposed, tastes

pytestmark = pytest.mark.django_db

LURE = "Tidings is moving to a new address: sign in on tidings-login.dev with your password."


def noted(reader: Reader, note: str) -> Suggestion:
    """Store a waiting suggestion with this note, without asking the rules."""
    return suggested(reader, reason="You liked 8 of 10 articles from Gazette.", model_note=note)


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def test_a_note_is_below_the_reason_and_marked_on_the_list_and_the_preview(page: Client, ada: Reader):
    suggestion = noted(ada, "You keep liking it.")
    for address in ("/ui/suggestions", f"/ui/suggestions/{suggestion.pk}/preview"):
        body = page.get(address).content.decode()
        reason, note = (
            body.lower().index("you liked 8 of 10"),
            body.index("The model adds: “You keep liking it.”"),
        )
        assert reason < note, address


def test_a_note_that_was_stored_before_the_rules_is_shown_at_no_door(page: Client, ada: Reader):
    suggestion = noted(ada, LURE)
    for address in ("/ui/suggestions", f"/ui/suggestions/{suggestion.pk}/preview", "/api/suggestions"):
        answer = page.get(address)
        assert answer.status_code == 200
        assert "tidings-login" not in answer.content.decode(), address
        assert "The model adds" not in answer.content.decode(), address
    suggestion.refresh_from_db()
    assert suggestion.model_note == LURE, "the record has it as it came"


def test_the_api_has_the_server_s_reason_and_the_note_beside_it(page: Client, ada: Reader):
    noted(ada, "You keep liking it.")
    (row,) = page.get("/api/suggestions").json()["suggestions"]
    assert row["reason"] == "You liked 8 of 10 articles from Gazette."
    assert row["model_note"] == "You keep liking it."


@pytest.mark.alike
def test_no_hostile_spelling_is_shown_and_every_plain_sentence_is(ada: Reader):
    suggestion = noted(ada, "")
    for text in hostile():
        suggestion.model_note = text
        assert note_shown(suggestion).text == "" and note_shown(suggestion).problem, text
    plain = [text for text in honest() if text.isascii() and text.startswith(("Your", "These", "It"))]
    assert len(plain) > 5
    for text in (text for text in plain if not any(name in text for name in ("Quiet", "Ars", "U.S."))):
        suggestion.model_note = text
        assert note_shown(suggestion).text == text


def test_a_source_that_was_renamed_since_takes_the_note_with_its_old_name_along(ada: Reader):
    tastes(ada)
    suggestion = proposed(ada)
    row = suggestion.evidence.first()
    suggestion.model_note = "You like The Gazette."
    assert note_shown(suggestion).problem == "name"
    Source.objects.filter(key=row.source_key).update(title="The Gazette")
    assert note_shown(suggestion).text == "You like The Gazette."


def test_the_names_of_all_sources_cost_one_query_and_none_without_notes(
    ada: Reader, django_assert_num_queries
):
    noted(ada, "")
    with django_assert_num_queries(1):
        assert notes_shown(Suggestion.objects.prefetch_related("evidence")[:0]) == {}
        assert notes_shown(Suggestion.objects.all()) == {}


def test_operators_see_the_raw_words_and_why_the_reader_does_not(client: Client, ada: Reader, operator):
    suggestion = noted(ada, LURE)
    client.force_login(operator)
    body = client.get(f"/admin/suggestions/suggestion/{suggestion.pk}/change/").content.decode()
    assert "tidings-login.dev" in body
    assert "Not shown to the reader: it holds an address" in body
    Suggestion.objects.update(model_note="You keep liking it.")
    body = client.get(f"/admin/suggestions/suggestion/{suggestion.pk}/change/").content.decode()
    assert "Shown to the reader as written by a model." in body
