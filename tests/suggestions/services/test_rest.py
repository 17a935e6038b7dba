"""An early change counts as its source's change: nothing else is proposed for that source at once."""

from datetime import timedelta

import pytest
from django.conf import settings

from ranking.config_body import ConfigEdit
from ranking.services import Cause, config_edit, config_revert
from suggestions.proposals import Refusal
from suggestions.selectors import targets_at_rest
from tests.support.suggestion_worlds import CLOCK, LOVED, PLAIN, boost, propose, tastes

pytestmark = pytest.mark.django_db
WEIGHT = ("source_weights", LOVED)


def apply_early(reader, at) -> None:
    edit = ConfigEdit(source_weights={LOVED: 1.1})
    config_edit(
        reader_id=reader.pk, edit=edit, expected_version=0, now=at, cause=Cause.ACCEPT, ref="early:12"
    )


def test_its_source_cools_from_then_on_even_if_it_was_undone(ada, ben):
    apply_early(ada, CLOCK)
    cooldown = timedelta(days=settings.COOLDOWN_DAYS)
    assert targets_at_rest(reader_id=ada.pk, now=CLOCK + timedelta(days=1)).cooling == {
        WEIGHT: CLOCK + cooldown
    }
    config_revert(reader_id=ada.pk, version=0, expected_version=1, now=CLOCK)
    assert WEIGHT in targets_at_rest(reader_id=ada.pk, now=CLOCK + timedelta(days=1)).cooling
    assert targets_at_rest(reader_id=ada.pk, now=CLOCK + cooldown + timedelta(days=1)).cooling == {}
    assert targets_at_rest(reader_id=ben.pk, now=CLOCK).cooling == {}


def test_a_draft_about_it_is_refused_and_one_about_another_source_is_not(ada):
    tastes(ada)
    apply_early(ada, CLOCK - timedelta(minutes=2))
    refused = propose(ada, boost(ada, "1.3"))
    assert isinstance(refused, Refusal) and refused.code == "on_cooldown"
    other = propose(ada, boost(ada, "1.3", source=PLAIN))
    assert not isinstance(other, Refusal) or other.code != "on_cooldown"
