"""Operators read outcomes as readers would say them."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from suggestions.models import Outcome
from suggestions.services.resolve import suggestion_never, suggestion_reject
from tests.support.browser import suggested

pytestmark = pytest.mark.django_db
OUTCOMES = "/admin/suggestions/outcome/"


def test_outcomes_say_what_was_proposed_what_happened_and_why(ada: Reader, operator: Reader, client: Client):
    first, second = suggested(ada), suggested(ada, target_key="herald.example", label="Herald")
    said = "<b>I like it</b> as it is"
    suggestion_reject(reader_id=ada.pk, suggestion_id=first.pk, user_reason=said, now=timezone.now())
    suggestion_never(reader_id=ada.pk, suggestion_id=second.pk, now=timezone.now())
    effect = {"words": "Since then you liked 6 of 10 articles from Gazette, against 12 of 30 elsewhere."}
    Outcome.objects.create(
        suggestion=first,
        reader=ada,
        kind=Outcome.Kind.EFFECT,
        outcome="helped",
        suggestion_type=first.suggestion_type,
        target_key=first.target_key,
        config_before={},
        measured=effect,
        created_at=first.created_at,
        decided_at=timezone.now(),
    )
    client.force_login(operator)
    body = client.get(OUTCOMES).content.decode().partition("<tbody>")[2].partition("</tbody>")[0]
    assert f'<a href="/admin/suggestions/suggestion/{first.pk}/change/">Show me more from Gazette' in body
    assert "&lt;b&gt;I like it&lt;/b&gt; as it is" in body and "never again" in body
    assert "Helped. Since then you liked 6 of 10 articles from Gazette" in body
    assert "boost_source" not in body and "gazette.example" not in body
