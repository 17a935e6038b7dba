"""The page on which a reader answers an assistant: in whose language, and what it says before they allow."""

import pytest

from digest.models import Reader
from tests.support.assistants import reader_with_password

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache):
    """Nobody has registered from this address yet."""


@pytest.fixture
def ada(site):
    return reader_with_password("ada")


def test_the_page_is_in_the_readers_language_and_programs_are_answered_in_english(ada, person, assistant):
    Reader.objects.filter(pk=ada.pk).update(language="de")
    page = person.open(assistant.url())
    assert '<html lang="de"' in page.text and page.headers["Content-Language"] == "de"
    assert "Einen Assistenten hereinlassen?" in page.text
    assert (
        "Deinen Überblick, deine Quellen und Beiträge lesen" in page.text
        and "Read your digest" not in page.text
    )
    refused = person.open(assistant.url(client_id="nobody"))
    assert "Nicht verbunden" in refused.text and "The assistant asked" not in refused.text
    told = person.http.post(
        f"{assistant.site}/oauth/token", data={"code": "x" * 3000}, headers={"Accept-Language": "de"}
    )
    assert "A field is longer" in told.json()["error_description"]
