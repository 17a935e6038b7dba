"""The page on which a reader answers an assistant: its language, and its words before they allow access."""

import re
from html import unescape

import pytest
from allauth.idp.oidc.models import Token

from digest.models import Reader
from tests.support.assistants import PASSWORD, reader_with_password, sign_ins_age

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache):
    """Reset the rate limit of registrations."""


@pytest.fixture
def ada(site):
    return reader_with_password("ada")


def test_the_page_is_in_the_readers_language_and_programs_are_answered_in_english(ada, person, assistant):
    Reader.objects.filter(pk=ada.pk).update(language="de")
    page = person.open(assistant.url())
    assert '<html lang="de"' in page.text and page.headers["Content-Language"] == "de"
    assert "Einen Assistenten hereinlassen?" in page.text
    assert (
        "Deinen Überblick, deine Quellen und Artikel lesen" in page.text
        and "Read your digest" not in page.text
    )
    refused = person.open(assistant.url(client_id="nobody"))
    assert "Nicht verbunden" in refused.text and "The assistant asked" not in refused.text
    told = person.http.post(
        f"{assistant.site}/oauth/token", data={"code": "x" * 3000}, headers={"Accept-Language": "de"}
    )
    assert "A field is longer" in told.json()["error_description"]


def test_a_sign_in_that_was_just_made_counts_and_one_of_before_is_asked_again_with_its_reason(
    person, assistant
):
    assert "Let an assistant in?" in person.http.get(assistant.url()).text
    sign_ins_age()
    asked = person.http.get(assistant.url())
    assert asked.url.path == "/accounts/reauthenticate/" and "An assistant asks to be let in." in asked.text
    back = asked.url.params["next"]
    wrong = person.send(asked, {"password": "guess", "next": back}, "/accounts/reauthenticate/")
    assert "An assistant asks to be let in." in wrong.text
    done = person.send(wrong, {"password": PASSWORD, "next": back}, "/accounts/reauthenticate/")
    assert "Let an assistant in?" in done.text
    sign_ins_age()
    other = person.http.get(f"{assistant.site}/accounts/password/change/")
    assert "An assistant" not in other.text


def test_who_has_turned_models_off_is_told_so_and_can_only_cancel(ada, person, assistant):
    allowed = person.open(assistant.url()).text
    Reader.objects.filter(pk=ada.pk).update(ai_enabled=False)
    page = person.open(assistant.url())
    assert "You have turned language models off" in page.text and 'value="grant"' not in page.text
    request = unescape(re.search(r'name="request" value="([^"]+)"', allowed)[1])
    fields = {"request": request, "scopes": ["read"], "action": "grant"}
    refused = person.send(page, fields, "/oauth/authorize")
    assert refused.status_code == 400 and "You have turned language models off" in refused.text
    assert "the fault is the assistant" not in refused.text and not Token.objects.exists()
    assert person.answer(assistant.url(), action="cancel") == {"error": "access_denied", "state": "x1"}
