"""Reasons to reject that are offered for one tap: understood, and taken without a script."""

import pytest
from django.test import Client

from digest.models import Reader
from suggestions.reasons import OTHER, reason_code
from suggestions.wording import TOO_LARGE, WHY_NOT
from tests.support.browser import suggested


def test_each_reason_on_offer_means_something_else():
    codes = {reason_code(reason) for reason in WHY_NOT}
    assert len(codes) == len(WHY_NOT) and OTHER not in codes and "" not in codes


@pytest.mark.parametrize("reason", WHY_NOT)
def test_a_reason_is_a_button_that_rejects(client: Client, ada: Reader, reason: str):
    suggestion = suggested(ada, evidence=0)
    client.force_login(ada)
    body = client.get("/ui/suggestions").content.decode()
    outside = body.split("</details>", 1)[1]  # not hidden among the details
    assert f'<button name="user_reason" value="{reason}">' in outside
    client.post(f"/ui/suggestions/{suggestion.pk}/reject", {"user_reason": reason})
    assert suggestion.outcomes.get().user_reason == reason


def test_a_topic_has_no_step_that_could_be_too_large(client: Client, ada: Reader):
    topic = {"suggestion_type": "add_topic", "field": "topics", "target_key": "climate", "label": "Climate"}
    suggested(ada, evidence=0, suggested_value="Climate", **topic)
    client.force_login(ada)
    body = client.get("/ui/suggestions").content.decode()
    assert f'value="{WHY_NOT[0]}"' in body and f'value="{TOO_LARGE}"' not in body
