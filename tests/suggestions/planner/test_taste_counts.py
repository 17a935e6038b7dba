"""If the reader's thumbs order the page, forecasts and previews of other changes use that order."""

from dataclasses import replace
from datetime import datetime

import pytest

from digest.daily.services import digest_build, digest_refresh
from digest.entities import RatedItem
from digest.models import Reader
from ranking.entities import Config, EffectiveConfig
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from ranking.taste.entities import Example, TasteLevel
from ranking.taste.signal import TasteSignal
from suggestions.models import Suggestion
from suggestions.planner.evidence import change_weigh
from suggestions.planner.forecasts import forecast_of
from suggestions.preview import configs_side_by_side
from tests.support.changes import change_applied
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import LOVED, tastes, thumb, unread

OFF = EffectiveConfig(Config())
ON = EffectiveConfig(Config(taste=TasteLevel.ON))


def rated_alternately() -> list[RatedItem]:
    """Return 240 thumbs over forty days: up for a, down for b, either way elsewhere."""
    kinds = (("a", True), ("b", False), ("c", True), ("c", False))
    return [
        thumb(n, source=source, useful=useful, days_ago=(240 - n) / 6)
        for n in range(240)
        for source, useful in [kinds[n % 4]]
    ]


def signal_of(rated: list[RatedItem]) -> TasteSignal:
    return TasteSignal(
        [Example(one.item_id, one.source, one.useful, one.at, one.title) for one in reversed(rated)], CLOCK
    )


def gain(before: EffectiveConfig, kind: str, target: str, value: str, *, tells: bool) -> float:
    rated = rated_alternately()
    after = change_applied(before, kind, target, value)
    signal = signal_of(rated) if tells else None
    found = forecast_of(rated[::5], before, after, now=CLOCK, seed="x", taste=signal).gain
    assert found is not None
    return found


def test_a_boost_of_what_the_thumbs_raise_already_is_forecast_to_gain_less():
    plain = gain(OFF, "boost_source", "a", "1.3", tells=True)
    assert plain > 0.02
    assert gain(ON, "boost_source", "a", "1.3", tells=True) < plain / 2


def test_without_examples_or_with_the_level_off_the_forecast_is_that_of_the_settings_alone():
    plain = gain(OFF, "reduce_source", "b", "0.7", tells=False)
    assert gain(OFF, "reduce_source", "b", "0.7", tells=True) == plain
    assert gain(ON, "reduce_source", "b", "0.7", tells=False) == plain


def test_a_decision_against_the_thumbs_ends_their_lean_in_the_forecast():
    assert gain(ON, "reduce_source", "b", "0.99", tells=True) >= 0, "the thumbs say less of b, too"
    assert gain(ON, "boost_source", "b", "1.01", tells=True) < 0


def boost_of(reader: Reader, source: str, value: str) -> Suggestion:
    return Suggestion(reader=reader, suggestion_type="boost_source", target_key=source, suggested_value=value)


def order_by_thumbs(reader: Reader, now: datetime) -> None:
    config_edit(reader_id=reader.pk, edit=ConfigEdit(taste=str(TasteLevel.ON)), expected_version=0, now=now)


@pytest.mark.django_db
def test_a_weighed_change_counts_the_readers_order(ada: Reader, now: datetime):
    tastes(ada)
    change = boost_of(ada, LOVED, "1.3").change
    off, on = EffectiveConfig(Config()), EffectiveConfig(Config(taste=TasteLevel.ON))
    plain, by_thumbs = (
        change_weigh(reader_id=ada.pk, change=change, effective=config, now=now) for config in (off, on)
    )
    assert plain.evidence.signal is None and by_thumbs.evidence.signal is not None
    assert plain.forecast.gain is not None and by_thumbs.forecast.gain is not None
    assert by_thumbs.forecast.gain < plain.forecast.gain


@pytest.mark.django_db
def test_the_preview_of_a_weight_is_the_page_after_it(ada: Reader, now: datetime):
    tastes(ada)
    order_by_thumbs(ada, now)
    unread(each=20, at=now)
    digest_build(reader=ada, date=now.date(), now=now)
    before = config_effective(reader_id=ada.pk)
    edit = ConfigEdit(source_weights={LOVED: 0.6})
    after = replace(before, config=replace(before.config, source_weights={LOVED: 0.6}))
    _, right = configs_side_by_side(reader_id=ada.pk, before=before, after=after, now=now)
    config_edit(reader_id=ada.pk, edit=edit, expected_version=1, now=now)
    digest = digest_refresh(reader=ada, now=now)
    page = list(digest.impressions.order_by("rank").values_list("item_id", flat=True))
    assert [item.item_id for item in right] == page
