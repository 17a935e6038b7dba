"""Today shows the effect of the latest change of settings, and can undo it."""

from datetime import date, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from digest.daily.changes import order_change_read
from digest.daily.item_words import page_settings_changed
from digest.daily.presentation import ScoredItem, reasons_of_change
from digest.daily.selectors import digest_for, digest_impressions
from digest.daily.services import digest_build, digest_current, digests_build
from digest.daily.store import exposures_log
from digest.feedback.services import feedback_set
from digest.models import Digest, Item, Subscription
from ranking.config_words import cause_words
from ranking.entities import Config, Mute, WeightChange
from ranking.models import LearnedWeight
from ranking.selectors import config_effective, config_version
from ranking.services import (
    ConfigEdit,
    config_edit,
    config_revert,
    mute_remove,
    mute_set,
    target_pin,
    weights_learn,
)
from ranking.taste.entities import TasteLevel
from suggestions.models import Suggestion
from suggestions.preview import suggestion_preview, suggestion_side_by_side
from suggestions.proposals import Refusal
from suggestions.services.resolve import change_undo, suggestion_accept, suggestion_revert
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.suggestion_worlds import LOVED

pytestmark = pytest.mark.django_db

TODAY = date(2026, 3, 18)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
QUIET = "quiet.example"
SOURCES = ("a.example", "b.example", "c.example", "d.example", LOVED)


def week_of(reader, now) -> None:
    """Give the reader sixty items of five sources, three an hour, and a source without items."""
    for key in (*SOURCES, QUIET):
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    for n in range(60):
        source = SourceFactory(key=SOURCES[n % len(SOURCES)])
        ItemFactory(
            source=source,
            title=f"{source.key} {n}",
            published_at=now - n * 20 * MINUTE,
            first_seen_at=now - HOUR,
        )


def offer(reader, now, value="1.3", key=LOVED, kind="boost_source") -> Suggestion:
    return Suggestion.objects.create(
        reader=reader,
        suggestion_type=kind,
        target_key=key,
        suggested_value=value,
        field="source_weights",
        label=key,
        reason="You liked it.",
        confidence="high",
        p_helpful=0.9,
        config_version=0,
        created_at=now,
    )


def look(reader, now) -> Digest:
    """Open Today: the page as it is then, logged as seen."""
    digest = digest_current(reader=reader, date=TODAY, now=now)
    assert digest is not None
    exposures_log(digest=digest, door="page", now=now)
    return digest


def order(digest: Digest) -> list[int]:
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))


def accept(reader, now, **more) -> Suggestion:
    row = offer(reader, now, **more)
    answer = suggestion_accept(reader_id=reader.pk, suggestion_id=row.pk, now=now)
    assert not isinstance(answer, Refusal), answer
    return row


def learned(reader, now, before=1.0, after=1.15, source=LOVED) -> None:
    change = WeightChange(
        source=source, before=before, after=after, p_better=0.9, n=8.0, reason="liked_more_than_usual"
    )
    assert weights_learn(changes={reader.pk: [change]}, now=now) == 1


@pytest.fixture
def clock(monkeypatch):
    """Set the site's present time."""
    return lambda at: monkeypatch.setattr(timezone, "now", lambda: at)


@pytest.fixture
def reading(ada, now):
    """Ada, who has seen today's page."""
    week_of(ada, now)
    look(ada, now)
    return ada


def test_an_accepted_suggestion_is_told_with_the_orders_before_and_after(reading, now):
    before = order(digest_for(reader_id=reading.pk, date=TODAY))
    accept(reading, now + MINUTE)
    digest = look(reading, now + 2 * MINUTE)
    change = order_change_read(digest.change)
    assert (list(change.before), list(change.after), change.version) == (before, order(digest), 1)
    assert change.before != change.after
    assert change.new == len({*change.after} - {*before}) > 0
    assert change.moved == sum(i in before and before.index(i) != n for n, i in enumerate(change.after))


@pytest.fixture
def ordered_by_taste(ada, now):
    """Ada, whose ratings order her page: of nine articles of each source she liked the loved one's alone."""
    week_of(ada, now)
    for n in range(45):
        key = SOURCES[n % len(SOURCES)]
        item = ItemFactory(source=SourceFactory(key=key), title=f"Old {n}", published_at=now - 30 * DAY)
        FeedbackFactory(reader=ada, item=item, useful=key == LOVED, at=now - timedelta(days=20 - n // 5))
    config_edit(reader_id=ada.pk, edit=ConfigEdit(taste="on"), expected_version=0, now=now - HOUR)
    look(ada, now)
    return ada


def test_an_undo_brings_the_page_back_and_its_undo_the_changed_one_also_if_taste_counts(
    ordered_by_taste, now
):
    reader = ordered_by_taste
    before = order(digest_for(reader_id=reader.pk, date=TODAY))
    row = accept(reader, now + MINUTE, kind="reduce_source", key="a.example", value="0.7")
    changed = order(look(reader, now + 2 * MINUTE))
    assert not isinstance(
        suggestion_revert(reader_id=reader.pk, suggestion_id=row.pk, now=now + 3 * MINUTE), Refusal
    )
    assert order(look(reader, now + 4 * MINUTE)) == before != changed
    version = config_effective(reader_id=reader.pk).config.version
    assert change_undo(reader=reader, version=version, cycle="", now=now + 5 * MINUTE) is None
    assert order(look(reader, now + 6 * MINUTE)) == changed


def test_news_alone_is_no_change(reading, now):
    ItemFactory(source=SourceFactory(key=LOVED), published_at=now + MINUTE)
    assert look(reading, now + 2 * HOUR).change is None


def test_what_moved_stays_told_when_news_come_later(reading, now):
    accept(reading, now + MINUTE)
    told = look(reading, now + 2 * MINUTE).change
    ItemFactory(source=SourceFactory(key=LOVED), published_at=now + MINUTE)
    later = look(reading, now + 2 * HOUR)
    assert later.change == told
    assert order(later) != told["after"]


def test_of_two_changes_the_latest_is_told_alone(reading, now):
    accept(reading, now + MINUTE)
    first = order(digest_build(reader=reading, date=TODAY, now=now + 2 * MINUTE))  # not seen
    accept(reading, now + 3 * MINUTE, key="a.example")
    change = order_change_read(look(reading, now + 4 * MINUTE).change)
    assert (change.version, list(change.before)) == (2, first)


def edit(reader, now, **values) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=ConfigEdit(**values), expected_version=version, now=now)


def rate(reader, now) -> None:
    """Rate three articles as an import does, on the day before, so that they leave the page."""
    for item in Item.objects.filter(source="a.example").order_by("pk")[:3]:
        feedback_set(reader=reader, item_id=item.pk, useful=False, now=now - timedelta(days=1))


def come(reader, now) -> None:
    for key in SOURCES:
        ItemFactory(source=SourceFactory(key=key), published_at=now, first_seen_at=now)


MUTE = Mute("source", "c.example")
OTHERS = {
    "topics by hand": lambda reader, now: edit(reader, now, topics=["example 7"]),
    "a weight by hand": lambda reader, now: edit(reader, now, source_weights={"b.example": 0.3}),
    "a mute by hand": lambda reader, now: mute_set(reader_id=reader.pk, mute=MUTE, now=now),
    "ratings": rate,
    "new items": come,
    "a source out of Today": lambda reader, now: Subscription.objects.filter(
        reader=reader, feed__source="d.example"
    ).update(in_today=False),
    "learning": lambda reader, now: learned(reader, now, source="a.example", after=0.85),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_change_without_effect_gets_no_credit_for_others_since_the_last_page(reading, now, other):
    before = order(digest_for(reader_id=reading.pk, date=TODAY))
    OTHERS[other](reading, now + MINUTE)
    accept(reading, now + 2 * MINUTE, key=QUIET)
    digest = look(reading, now + 2 * HOUR)
    assert order(digest) != before, "the other change moves the page"
    change = order_change_read(digest.change)
    assert change.version and not change.has_effect


@pytest.mark.parametrize("other", OTHERS)
def test_a_change_is_told_as_its_preview_says_whatever_else_changed_since(reading, now, other):
    OTHERS[other](reading, now + MINUTE)
    row = offer(reading, now + MINUTE)
    digest_build(reader=reading, date=TODAY, now=now + 2 * MINUTE)
    preview = suggestion_preview(suggestion=row, now=now + 2 * MINUTE)
    Digest.objects.update(config_version=0)
    suggestion_accept(reader_id=reading.pk, suggestion_id=row.pk, now=now + 2 * MINUTE)
    change = order_change_read(look(reading, now + 2 * MINUTE).change)
    assert change.new and change.moved
    assert (change.moved, change.new, change.gone) == tuple(
        len(some) for some in (preview.moves, preview.enters, preview.leaves)
    )


def test_an_edit_without_effect_is_told_so_when_news_came_too(reading, now):
    accept(reading, now)
    look(reading, now + MINUTE)
    come(reading, now + HOUR)
    edit(reading, now + HOUR, source_weights={QUIET: 1.9})
    change = order_change_read(look(reading, now + 2 * HOUR).change)
    assert change.version == 2 and not change.has_effect


def test_taking_a_suggestion_back_is_told_without_the_edit_before_it(reading, now):
    row = accept(reading, now)
    edit(reading, now, topics=["example 7"])
    built = order(digest_build(reader=reading, date=TODAY, now=now + MINUTE))
    suggestion_revert(reader_id=reading.pk, suggestion_id=row.pk, now=now + HOUR)
    come(reading, now + HOUR)
    change = order_change_read(look(reading, now + 2 * HOUR).change)
    assert change.version == 3 and change.has_effect
    assert {*change.before} - {*built} <= {
        *Item.objects.filter(first_seen_at=now + HOUR).values_list("pk", flat=True)
    }


def test_a_mute_is_told_with_what_it_took_and_what_came_in_its_place(reading, now):
    come(reading, now + MINUTE)
    built = order(digest_build(reader=reading, date=TODAY, now=now + MINUTE))
    mute_set(reader_id=reading.pk, mute=MUTE, now=now + 2 * MINUTE)
    change = order_change_read(look(reading, now + 3 * MINUTE).change)
    hidden = {*Item.objects.filter(source="c.example").values_list("pk", flat=True)} & {*built}
    assert list(change.before) == built
    assert {*change.before} - {*change.after} == hidden and change.new == change.gone == len(hidden)
    mute_remove(reader_id=reading.pk, mute=MUTE, now=now + 4 * MINUTE)
    back = order_change_read(look(reading, now + 5 * MINUTE).change)
    assert (back.before, {*back.added}) == (change.after, hidden)


def test_undo_leaves_what_others_did(reading, now):
    OTHERS["topics by hand"](reading, now + MINUTE)
    without = order(digest_build(reader=reading, date=TODAY, now=now + 2 * MINUTE))
    accept(reading, now + 3 * MINUTE)
    told = order_change_read(look(reading, now + 4 * MINUTE).change)
    assert list(told.before) == without != list(told.after)
    assert change_undo(reader=reading, version=2, cycle="", now=now + 5 * MINUTE) is None
    assert order(look(reading, now + 6 * MINUTE)) == without


def test_a_change_that_moves_nothing_is_told_as_such(reading, now, client):
    config_edit(reader_id=reading.pk, edit=ConfigEdit(topics=["zebra"]), expected_version=0, now=now)
    change = order_change_read(look(reading, now + MINUTE).change)
    assert (change.moved, change.new, change.gone) == (0, 0, 0)


def test_a_pin_is_no_change_and_hides_none(reading, now):
    accept(reading, now + MINUTE)
    target_pin(reader_id=reading.pk, target="a.example", pin="avoided", ref="", now=now + MINUTE)
    assert order_change_read(look(reading, now + 2 * MINUTE).change).version == 1


def test_reverting_and_restoring_are_told_too(reading, now):
    row = accept(reading, now + MINUTE)
    look(reading, now + 2 * MINUTE)
    suggestion_revert(reader_id=reading.pk, suggestion_id=row.pk, now=now + HOUR)
    assert order_change_read(look(reading, now + HOUR).change).version == 2
    config_revert(reader_id=reading.pk, version=1, expected_version=2, now=now + HOUR)
    assert order_change_read(look(reading, now + HOUR + MINUTE).change).version == 3


def test_undo_takes_the_suggestion_back_once_and_is_told_as_a_change(reading, now):
    before = order(digest_for(reader_id=reading.pk, date=TODAY))
    accept(reading, now + MINUTE)
    look(reading, now + 2 * MINUTE)
    assert change_undo(reader=reading, version=1, cycle="", now=now + 3 * MINUTE) is None
    again = change_undo(reader=reading, version=1, cycle="", now=now + 3 * MINUTE)
    assert isinstance(again, Refusal) and again.code == "nothing_to_undo"
    digest = look(reading, now + 4 * MINUTE)
    told = order_change_read(digest.change)
    assert (told.version, [*told.after], order(digest)) == (2, before, before)
    assert config_effective(reader_id=reading.pk).weights() == {}


def test_what_was_done_last_can_be_undone_as_often_as_one_likes(reading, now):
    before = order(digest_for(reader_id=reading.pk, date=TODAY))
    accept(reading, now + MINUTE)
    changed = order(look(reading, now + 2 * MINUTE))
    causes = []
    for version in range(1, 6):
        at = now + (2 + version) * MINUTE
        told = order_change_read(look(reading, at).change)
        assert (told.version, told.has_effect) == (version, True)
        assert change_undo(reader=reading, version=version, cycle="", now=at) is None
        assert order(look(reading, at)) == (changed, before)[version % 2]
        row = config_version(reader_id=reading.pk, version=version + 1)
        causes.append(cause_words(row.cause, row.cause_ref))
    undid, back = "You undid a change", "You brought back what you had undone"
    assert causes == ["You undid a suggestion", back, undid, back, undid]


def test_the_last_change_of_the_settings_is_undone_without_a_page_that_tells_of_it(reading, now):
    edit = ConfigEdit(topics=["zebra"])
    config_edit(reader_id=reading.pk, edit=edit, expected_version=0, now=now)
    config_edit(reader_id=reading.pk, edit=ConfigEdit(topics=[]), expected_version=1, now=now)
    Digest.objects.all().delete()
    refused = change_undo(reader=reading, version=1, cycle="", now=now + MINUTE)
    assert isinstance(refused, Refusal) and refused.code == "nothing_to_undo"
    assert change_undo(reader=reading, version=2, cycle="", now=now + MINUTE) is None
    assert [*config_effective(reader_id=reading.pk).config.topics] == ["zebra"]


def test_undo_of_a_restored_version_restores_the_one_before(reading, now):
    config_edit(
        reader_id=reading.pk, edit=ConfigEdit(source_weights={LOVED: 1.8}), expected_version=0, now=now
    )
    config_revert(reader_id=reading.pk, version=0, expected_version=1, now=now)
    look(reading, now + MINUTE)
    assert change_undo(reader=reading, version=2, cycle="", now=now + MINUTE) is None
    assert config_effective(reader_id=reading.pk).weights() == {LOVED: 1.8}


def test_undo_from_a_page_older_than_another_change_does_nothing(reading, now):
    config_edit(
        reader_id=reading.pk, edit=ConfigEdit(source_weights={LOVED: 1.8}), expected_version=0, now=now
    )
    look(reading, now + MINUTE)
    config_edit(reader_id=reading.pk, edit=ConfigEdit(topics=["zebra"]), expected_version=1, now=now)
    assert isinstance(change_undo(reader=reading, version=1, cycle="", now=now + MINUTE), Refusal)
    assert config_effective(reader_id=reading.pk).weights() == {LOVED: 1.8}


def test_nobody_undoes_the_change_of_another(reading, ben, now):
    accept(reading, now + MINUTE)
    look(reading, now + 2 * MINUTE)
    assert isinstance(change_undo(reader=ben, version=1, cycle="", now=now + 2 * MINUTE), Refusal)
    assert LOVED in config_effective(reader_id=reading.pk).weights()


def test_the_first_page_after_the_learning_is_made_with_it(reading, now):
    learned(reading, now + MINUTE)
    digest = look(reading, now + 2 * MINUTE)
    row = digest.impressions.filter(item__source=LOVED).first()
    assert row.parts["learned_delta"] == pytest.approx(0.15)
    change = order_change_read(digest.change)
    assert (change.version, change.cycle) == (0, "2026-03-18")
    assert change.moved or change.new


@pytest.mark.parametrize("build", ["alone", "round"])
def test_what_was_learned_at_night_is_told_on_the_first_page_of_the_day(ada, now, build):
    week_of(ada, now)
    without = order(digest_build(reader=ada, date=TODAY, now=now))
    Digest.objects.all().delete()
    learned(ada, now - 14 * HOUR)  # 22:00 the evening before
    if build == "round":
        digests_build(now=now)
    digest = look(ada, now)
    change = order_change_read(digest.change)
    assert list(change.before) == without
    assert (list(change.after), change.cycle) == (order(digest), "2026-03-17")
    assert change.before != change.after


@pytest.mark.parametrize("by", ["learning", "suggestion"])
def test_items_that_merely_arrived_are_no_work_of_a_change(reading, now, by):
    come(reading, now + HOUR)
    came = {*Item.objects.filter(first_seen_at=now + HOUR).values_list("pk", flat=True)}
    (learned if by == "learning" else accept)(reading, now + 2 * HOUR)
    change = order_change_read(look(reading, now + 3 * HOUR).change)
    assert change.has_effect and came & {*change.after}
    assert not {*change.added} & came - {*Item.objects.filter(source=LOVED).values_list("pk", flat=True)}


def test_who_saw_the_learning_the_evening_before_is_not_told_again(ada, now):
    week_of(ada, now)
    learned(ada, now - 14 * HOUR)
    evening = digest_build(reader=ada, date=TODAY - timedelta(days=1), now=now - 13 * HOUR)
    exposures_log(digest=evening, door="page", now=now - 13 * HOUR)
    assert look(ada, now).change is None


def test_undo_of_the_learning_gives_the_weight_back_and_holds_the_loop(reading, now):
    learned(reading, now + MINUTE)
    look(reading, now + 2 * MINUTE)
    assert change_undo(reader=reading, version=0, cycle="2026-03-18", now=now + 3 * MINUTE) is None
    assert config_effective(reader_id=reading.pk).weights() == {}
    held = LearnedWeight.objects.get(reader=reading, source_key=LOVED)
    assert held.on_hold_until == now + 3 * MINUTE + timedelta(days=14)
    assert order_change_read(look(reading, now + 4 * MINUTE).change).version == 1
    assert change_undo(reader=reading, version=1, cycle="", now=now + 5 * MINUTE) is None
    assert config_effective(reader_id=reading.pk).weights() == {LOVED: pytest.approx(1.15)}


def test_undo_of_the_learning_leaves_what_a_person_set_since(reading, now):
    learned(reading, now + MINUTE)
    look(reading, now + 2 * MINUTE)
    config_edit(
        reader_id=reading.pk, edit=ConfigEdit(source_weights={LOVED: 1.7}), expected_version=0, now=now
    )
    assert change_undo(reader=reading, version=0, cycle="2026-03-18", now=now + 3 * MINUTE) is None
    assert config_effective(reader_id=reading.pk).weights() == {LOVED: 1.7}


def test_a_preview_has_what_came_since_the_page_was_built_on_both_sides(reading, now):
    for n in range(9):
        ItemFactory(
            source=SourceFactory(key="a.example"), published_at=now + n * MINUTE, first_seen_at=now + HOUR
        )
    preview = suggestion_preview(suggestion=offer(reading, now), now=now + HOUR)
    built = order(digest_build(reader=reading, date=TODAY, now=now + HOUR))
    rows = [*preview.leaves, *preview.moves]
    assert rows and all(built[row.before - 1] == row.item_id for row in rows)
    assert {row.source for row in preview.enters} == {LOVED}


def test_a_preview_begins_at_the_page_as_it_would_be_composed_now_and_not_as_it_is_stored(reading, now):
    composed = order(digest_for(reader_id=reading.pk, date=TODAY))
    shown = digest_for(reader_id=reading.pk, date=TODAY).impressions
    first, second = shown.get(rank=1), shown.get(rank=2)
    for row, rank in ((first, 99), (second, 1), (first, 2)):  # as by signals that are others by now
        shown.filter(pk=row.pk).update(rank=rank)
    left, right = suggestion_side_by_side(suggestion=offer(reading, now), now=now)
    assert [item.item_id for item in left] == composed != order(digest_for(reader_id=reading.pk, date=TODAY))
    assert left != right
    nothing = offer(reading, now, value="1.0", key="elsewhere.example")
    assert suggestion_preview(suggestion=nothing, now=now).moves == ()


def test_the_page_shows_the_strip_and_marks_and_the_next_day_neither(reading, now, client, clock):
    accept(reading, now + MINUTE)
    clock(now + 2 * MINUTE)
    client.force_login(reading)
    page = client.get(reverse("digest:today")).content.decode()
    assert "You accepted a suggestion" in page and "New here" in page and "Up " in page
    assert "others rose" in page
    assert reverse("digest:moved") in page
    clock(now + timedelta(days=1))
    page = client.get(reverse("digest:today")).content.decode()
    assert "You accepted a suggestion" not in page and "New here" not in page


def test_the_strip_leads_to_the_articles_that_moved_came_and_left(reading, now, client, clock):
    accept(reading, now + MINUTE)
    clock(now + 2 * MINUTE)
    client.force_login(reading)
    client.get(reverse("digest:today"))
    change = order_change_read(digest_for(reader_id=reading.pk, date=TODAY).change)
    answer = client.get(reverse("digest:moved"))
    assert {one.item.pk for one in answer.context["shown"]} == change.places.keys()
    assert {one.item.pk for one in answer.context["gone"]} == {*change.before} - {*change.after}
    page = answer.content.decode()
    assert "as usual → more than usual." in page
    assert "No longer on the page" in page and reverse("ranking:version", args=[1]) in page
    clock(now + timedelta(days=1))
    assert client.get(reverse("digest:moved")).url == reverse("digest:today")


def test_articles_that_a_mute_took_are_counted_and_not_shown(reading, now, client, clock):
    mute_set(reader_id=reading.pk, mute=Mute("source", LOVED), now=now + MINUTE)
    clock(now + 2 * MINUTE)
    client.force_login(reading)
    client.get(reverse("digest:today"))
    answer = client.get(reverse("digest:moved"))
    assert answer.context["muted"] and not answer.context["gone"]
    assert "left the page because you" in answer.content.decode()


@pytest.mark.parametrize(
    ("kind", "value", "ended"),
    [("boost_source", "1.3", "no longer more from"), ("reduce_source", "0.7", "no longer less from")],
)
def test_after_an_undo_what_moved_says_what_ended_and_the_rest_that_others_moved(
    reading, now, client, clock, kind, value, ended
):
    accept(reading, now + MINUTE, kind=kind, value=value)
    look(reading, now + 2 * MINUTE)
    assert change_undo(reader=reading, version=1, cycle="", now=now + 3 * MINUTE) is None
    clock(now + 4 * MINUTE)
    client.force_login(reading)
    shown = [one for one in client.get(reverse("digest:today")).context["shown"] if one.mark]
    own = [one for one in shown if one.item.source_id == LOVED]
    assert own and all(one.why.chips[0].startswith(ended) for one in own)
    others = [one for one in shown if one.item.source_id != LOVED and one.mark.because]
    assert others and all(one.why.chips[0] in ("others rose", "others fell") for one in others)


def test_a_change_of_the_whole_page_is_the_reason_of_what_it_moved(reading, now):
    edit = ConfigEdit(recency_half_life_hours=2.0)
    config_edit(reader_id=reading.pk, edit=edit, expected_version=0, now=now + MINUTE)
    digest = digest_build(reader=reading, date=TODAY, now=now + 2 * MINUTE)
    shown = digest_impressions(digest=digest, now=now + 2 * MINUTE)
    scored = [ScoredItem(one.item, one.parts, one.score, one.slot) for one in shown]
    found = reasons_of_change(reader=reading, scored=scored, version=1, now=now + 2 * MINUTE)
    assert {*found.values()} == {("age counts more now",)} and len(found) == len(scored)


@pytest.mark.parametrize(
    ("then", "after", "words"),
    [
        ({"taste": TasteLevel.ON}, {}, "no longer by your taste"),
        ({}, {"taste": TasteLevel.STRONG}, "your taste counts differently"),
        ({}, {"recency_half_life_hours": 72.0}, "age counts less now"),
        ({"topics": ("tea",)}, {}, ""),
    ],
)
def test_settings_of_the_whole_page_are_told_in_a_few_words(then, after, words):
    assert page_settings_changed(Config(**then), Config(**after)) == words


def test_the_button_undoes_and_a_second_press_says_so(reading, now, client, clock):
    accept(reading, now + MINUTE)
    clock(now + 2 * MINUTE)
    client.force_login(reading)
    client.get(reverse("digest:today"))
    form = {"version": "1", "cycle": ""}
    first = client.post(reverse("suggestions:undo_change"), form, follow=True).content.decode()
    assert "Undone: " in first and "You accepted a suggestion" not in first
    assert "You undid a suggestion: " in first and 'name="version" value="2"' in first
    second = client.post(reverse("suggestions:undo_change"), form, follow=True).content.decode()
    assert "nothing left to undo" in second
