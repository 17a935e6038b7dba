"""A preview shows the effect of accepting on today's digest, and changes nothing."""

from datetime import timedelta

import pytest

from digest.daily.changes import order_change_read
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build
from digest.models import Item
from ranking.config_body import body_effective, effective_body
from ranking.entities import Mute
from ranking.selectors import config_effective
from ranking.services import Cause, body_change
from suggestions.models import Suggestion
from suggestions.preview import (
    configs_side_by_side,
    previews_of,
    suggestion_preview,
    suggestion_previews,
)
from suggestions.proposals import Preview, Resolved
from suggestions.services.resolve import suggestion_accept
from suggestions.services.wishes import wishes_draft
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.suggestion_worlds import LOVED, PLAIN

pytestmark = pytest.mark.django_db


SOURCES = (PLAIN, "other.example", "third.example", "fourth.example", LOVED)
TRAITS = {"suggestion_type": "boost_source", "target_key": LOVED}


def suggestion_of(reader, kind="boost_source", key=LOVED, value="1.3") -> Suggestion:
    return Suggestion(reader=reader, suggestion_type=kind, target_key=key, suggested_value=value)


@pytest.fixture
def full(ada, now):
    """Sixty items of five sources, three an hour, the loved source always the oldest of five."""
    for key in SOURCES:
        SubscriptionFactory(reader=ada, feed=FeedFactory(source=SourceFactory(key=key)))
    for n in range(60):
        key = SOURCES[n % len(SOURCES)]
        at = now - timedelta(minutes=20 * n)
        ItemFactory(source=SourceFactory(key=key), title=f"{key} {n}", published_at=at)
    return ada


def test_a_boost_lets_its_items_in_and_others_out(full, now):
    preview = suggestion_preview(suggestion=suggestion_of(full), now=now)
    assert {item.source for item in preview.enters} == {LOVED}
    assert {item.source for item in preview.leaves} and LOVED not in {i.source for i in preview.leaves}
    assert len(preview.enters) == len(preview.leaves)
    assert all(item.after < item.before for item in preview.moves if item.source == LOVED)
    assert [item.after for item in preview.enters] == sorted(item.after for item in preview.enters)
    assert config_effective(reader_id=full.pk).weights() == {}


def test_a_topic_nothing_mentions_moves_nothing(full, now):
    preview = suggestion_preview(suggestion=suggestion_of(full, "add_topic", "zebra", "Zebra"), now=now)
    assert preview.enters == preview.leaves == preview.moves == ()


@pytest.mark.parametrize(
    "change",
    [{}, {"kind": "reduce_source", "value": "0.7"}, {"kind": "add_topic", "key": "35", "value": "35"}],
)
def test_a_preview_is_what_accepting_and_building_again_does(full, now, change):
    rated_and_shown(full, now)
    suggestion = suggestion_of(full, **change)
    suggestion.field = "topics" if suggestion.suggestion_type == "add_topic" else "source_weights"
    suggestion.p_helpful, suggestion.config_version, suggestion.created_at = 0.9, 0, now
    suggestion.save()
    preview = suggestion_preview(suggestion=suggestion, now=now)
    before = ranks(full, now)
    assert isinstance(suggestion_accept(reader_id=full.pk, suggestion_id=suggestion.pk, now=now), Resolved)
    after = ranks(full, now)
    told = {i.item_id: (i.before, i.after) for i in (*preview.enters, *preview.leaves, *preview.moves)}
    done = {
        pk: (before.get(pk), after.get(pk)) for pk in {*before, *after} if before.get(pk) != after.get(pk)
    }
    assert told == done != {}


def _previewed(reader, now) -> list[Preview]:
    """Previews of a topic that nothing mentions, by each way that a reader comes to one."""
    settings = config_effective(reader_id=reader.pk)
    edited = body_effective(effective_body(settings) | {"topics": ["zebra"]})
    left, right = configs_side_by_side(reader_id=reader.pk, before=settings, after=edited, now=now)
    answer = wishes_draft(reader=reader, words="Add zebras to my interests", now=now)
    assert [one.item_id for one in left] == [one.item_id for one in right]
    return [
        suggestion_preview(suggestion=suggestion_of(reader, "add_topic", "zebra", "Zebra"), now=now),
        *previews_of(reader_id=reader.pk, before=settings, afters=[edited], now=now),
        *(draft.preview for draft in answer.drafts),
    ]


def test_no_preview_tells_what_was_rated_since_the_page_was_built_as_the_effect_of_a_change(full, now):
    """Ratings that order the page: a preview of a wish showed their effect as that of the wish."""
    settings_set(full, {"taste": "strong"}, now)
    built = ranks(full, now)
    elsewhere = Item.objects.exclude(pk__in=built)
    for n, item in enumerate(elsewhere.filter(source__in=(PLAIN, LOVED))):
        FeedbackFactory(reader=full, item=item, useful=item.source_id == LOVED, at=now + timedelta(seconds=n))
    later = now + timedelta(minutes=30)
    ItemFactory(source=SourceFactory(key=LOVED), published_at=later, first_seen_at=later)
    previews = _previewed(full, later)
    assert len(previews) == 3
    assert all(one.enters == one.leaves == one.moves == () for one in previews)
    assert all(one.since > 0 for one in previews), "but says that a page made now differs"
    again = ranks(full, later)
    assert all(one.since == 0 for one in _previewed(full, later)), "the page is made now"
    assert [*again] != [*built], "the ratings do order the page"


def test_what_was_called_not_useful_is_on_neither_side_of_a_preview(full, now):
    built = ranks(full, now)
    useless = next(pk for pk, rank in built.items() if rank == 3)
    FeedbackFactory(reader=full, item=Item.objects.get(pk=useless), useful=False, at=now)
    settings = config_effective(reader_id=full.pk)
    edited = body_effective(effective_body(settings) | {"source_weights": {LOVED: 1.3}})
    sides = configs_side_by_side(reader_id=full.pk, before=settings, after=edited, now=now)
    assert [len(side) for side in sides] == [30, 30]
    assert all(useless not in [one.item_id for one in side] for side in sides)
    [preview] = previews_of(reader_id=full.pk, before=settings, afters=[edited], now=now)
    assert preview.since <= 1, "an article at the end, in its place"


HIDING = [
    {"mutes": [Mute("source", PLAIN).as_dict()]},
    {"mutes": [Mute("phrase", "example 1").as_dict(), Mute("word", "25").as_dict()]},
    {"shelf_lives": {PLAIN: 4, LOVED: 2}},
]


@pytest.mark.parametrize("hiding", HIDING)
def test_what_hides_rated_items_leaves_no_gap_as_its_preview_says_and_can_be_undone(full, now, hiding):
    """A rated item kept its place, also while a mute hid it, so a page of thirty showed 28."""
    rated_and_shown(full, now)
    before, shown = config_effective(reader_id=full.pk), visible(full, now)
    after = body_effective(effective_body(before) | hiding)
    (preview,) = previews_of(reader_id=full.pk, before=before, afters=[after], now=now)
    settings_set(full, hiding, now)
    filled = visible(full, now)
    assert len(shown) == len(filled) == 30 and {*filled} != {*shown}
    was, becomes = ({pk: n for n, pk in enumerate(page, start=1)} for page in (shown, filled))
    told = {i.item_id: (i.before, i.after) for i in (*preview.enters, *preview.leaves, *preview.moves)}
    places = {pk: (was.get(pk), becomes.get(pk)) for pk in {*shown, *filled}}
    assert told == {pk: pair for pk, pair in places.items() if pair[0] != pair[1]}
    change = order_change_read(digest_build(reader=full, date=now.date(), now=now).change)
    assert (change.new, change.gone) == (len(preview.enters), len(preview.leaves))
    again = now + timedelta(minutes=1)
    assert visible(full, again) == filled
    settings_set(full, {name: [] if name == "mutes" else {} for name in hiding}, again)
    assert visible(full, again) == shown


@pytest.mark.parametrize("hiding", HIDING[:2])
def test_settings_without_a_mute_in_force_show_no_rated_article_that_it_hides(full, now, hiding):
    rated_and_shown(full, now)
    before, shown = config_effective(reader_id=full.pk), visible(full, now)
    settings_set(full, hiding, now)
    hidden = {*shown} - {*visible(full, now)}
    muting = config_effective(reader_id=full.pk)
    assert hidden
    for one, other in ((before, muting), (muting, before)):
        (preview,) = previews_of(reader_id=full.pk, before=one, afters=[other], now=now)
        told = {item.item_id for item in (*preview.enters, *preview.leaves, *preview.moves)}
        assert not told & hidden


def visible(reader, now) -> list[int]:
    digest = digest_build(reader=reader, date=now.date(), now=now)
    return [row.item_id for row in digest_impressions(digest=digest, now=now)]


def settings_set(reader, parts, now) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    body_change(
        reader_id=reader.pk, change=lambda body: body.update(parts), cause=Cause.EDIT, ref="", now=now,
        expected_version=version,
    )  # fmt: skip


def rated_and_shown(reader, now) -> None:
    """Every third item of today's digest is rated; one of them has since left the reader's feeds."""
    digest = digest_build(reader=reader, date=now.date(), now=now)
    for place in digest.impressions.filter(rank__in=range(2, 31, 3)).select_related("item"):
        FeedbackFactory(reader=reader, item=place.item, at=now)
    elsewhere = SourceFactory(key="elsewhere.example")
    Item.objects.filter(impressions__digest=digest, impressions__rank=5).update(source=elsewhere)


def ranks(reader, now) -> dict[int, int]:
    digest = digest_build(reader=reader, date=now.date(), now=now)
    return dict(digest.impressions.values_list("item_id", "rank"))


def test_a_preview_costs_eighteen_queries_and_so_do_many(full, now, django_assert_num_queries):
    with django_assert_num_queries(18):
        suggestion_preview(suggestion=suggestion_of(full), now=now)
    values = {1: "0.7", 2: "1.1", 3: "1.3"}
    many = [Suggestion(pk=n, **TRAITS, reader=full, suggested_value=value) for n, value in values.items()]
    with django_assert_num_queries(18):
        previews = suggestion_previews(reader_id=full.pk, suggestions=many, now=now)
    assert set(previews) == {1, 2, 3}
    assert previews[3] == suggestion_preview(suggestion=suggestion_of(full), now=now) != previews[1]
    with django_assert_num_queries(0):
        assert suggestion_previews(reader_id=full.pk, suggestions=[], now=now) == {}
