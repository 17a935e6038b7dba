"""A link in a mail does its one action, once, without a sign-in. Opening it changes nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import LinkExpired, LinkInvalid
from digest.feedback.services import feedback_clear, feedback_set
from digest.mail.links import (
    THUMB_LASTS,
    BadLink,
    feed_token_issue,
    feed_token_revoke,
    reader_unsubscribe,
    thumb_link_state,
    thumb_link_undo,
    thumb_link_use,
    thumb_read,
    thumb_sign,
    unsubscribe_read,
    unsubscribe_sign,
)
from digest.models import Feedback, Item, Reader, Reading, UsedLink
from tests.support.browser import fresh_item

MINUTE = timedelta(minutes=1)


@pytest.fixture
def item(ada: Reader) -> Item:
    """Return an item that Ada can rate."""
    return fresh_item(ada, title="Tides & bells")


@pytest.fixture
def link(ada: Reader, item: Item) -> str:
    """Return Ada's link for a thumb up."""
    return thumb_sign(reader_id=ada.pk, item_id=item.pk, useful=True, now=timezone.now())


@pytest.fixture
def stranger() -> Client:
    """Return a client without a sign-in that checks CSRF."""
    return Client(enforce_csrf_checks=True)


def url(link: str) -> str:
    return f"/ui/mail/thumb/{link}"


# --- Contents of links ----------------------------------------------------------------------------------


MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.uuids(), st.integers(0, 2**63), st.booleans(), MOMENTS)
def test_a_link_says_what_it_was_made_for(reader_id, item_id, useful, now):
    answer_text = thumb_read(thumb_sign(reader_id=reader_id, item_id=item_id, useful=useful, now=now))
    assert (answer_text.reader_id, answer_text.item_id, answer_text.useful) == (reader_id, item_id, useful)
    assert abs(answer_text.until - now - THUMB_LASTS) <= timedelta(seconds=1)


def test_no_changed_character_is_believed(link):
    for n in range(len(link)):
        changed = link[:n] + ("A" if link[n] != "A" else "B") + link[n + 1 :]
        with pytest.raises(BadLink):
            thumb_read(changed)
    assert len(link) < 100


def test_one_kind_of_link_is_no_other(ada, link):
    with pytest.raises(BadLink):
        unsubscribe_read(link)
    with pytest.raises(BadLink):
        thumb_read(unsubscribe_sign(reader_id=ada.pk))


@given(st.text())
def test_nonsense_is_refused_and_never_breaks(text):
    for read in (thumb_read, unsubscribe_read):
        with pytest.raises(BadLink):
            read(text)


# --- Effects of links -----------------------------------------------------------------------------------


def test_a_link_records_once(ada, item, link, now):
    now = timezone.now()
    assert thumb_link_use(link=link, now=now)[1] is True
    feedback_clear(reader=ada, item_id=item.pk)
    state, recorded = thumb_link_use(link=link, now=now + MINUTE)
    assert recorded is False and state.holds is False
    assert not Feedback.objects.exists() and UsedLink.objects.count() == 1


def test_undo_takes_back_what_the_link_recorded_and_nothing_else(ada, item, link):
    now = timezone.now()
    link = thumb_sign(reader_id=ada.pk, item_id=item.pk, useful=False, now=now)
    thumb_link_use(link=link, now=now)
    assert Reading.objects.get(reader=ada).read_at
    assert thumb_link_undo(link=link, now=now)[1] is True and not Feedback.objects.exists()
    assert not Reading.objects.get(reader=ada).read_at
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now + MINUTE)
    assert thumb_link_undo(link=link, now=now + 2 * MINUTE)[1] is False
    assert Feedback.objects.filter(reader=ada).exists()


def test_a_thumb_given_before_is_not_the_links_to_take(ada, item, link):
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now() - MINUTE)
    state, recorded = thumb_link_use(link=link, now=timezone.now())
    assert recorded and not state.holds
    assert thumb_link_undo(link=link, now=timezone.now())[1] is False
    assert Feedback.objects.exists()


def test_a_link_ends_after_fourteen_days_unless_it_was_used(ada, link):
    late = timezone.now() + THUMB_LASTS + MINUTE
    with pytest.raises(LinkExpired):
        thumb_link_use(link=link, now=late)
    thumb_link_use(link=link, now=timezone.now())
    assert thumb_link_state(link=link, now=late).used_at


def test_a_link_is_bound_to_its_reader(ada, ben, link):
    thumb_link_use(link=link, now=timezone.now())
    assert set(Feedback.objects.values_list("reader", flat=True)) == {ada.pk}


def test_a_link_to_an_item_that_is_not_the_readers_does_nothing(ada, ben):
    foreign = fresh_item(ben, key="ben.example")
    link = thumb_sign(reader_id=ada.pk, item_id=foreign.pk, useful=True, now=timezone.now())
    with pytest.raises(LinkInvalid):
        thumb_link_use(link=link, now=timezone.now())
    assert not UsedLink.objects.exists()


def test_a_closed_account_takes_no_thumbs(ada, link):
    Reader.objects.update(is_active=False)
    with pytest.raises(LinkInvalid):
        thumb_link_use(link=link, now=timezone.now())


# --- The door ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_a_link_does_nothing(stranger, link, method):
    answer = getattr(stranger, method)(url(link))
    assert answer.status_code == 200
    assert not Feedback.objects.exists() and not UsedLink.objects.exists()


def test_sending_its_form_records_and_says_so_without_a_session(stranger, link, item):
    assert "data-link-once" in stranger.get(url(link)).content.decode()
    assert "Recorded:" in stranger.post(url(link)).content.decode()
    assert Feedback.objects.get().useful is True
    again = stranger.post(url(link)).content.decode()
    assert "Already recorded" in again and "Undo" in again and "data-link-once" not in again
    assert "Undone" in stranger.post(url(link), {"act": "undo"}).content.decode()
    assert "This link works once" in stranger.post(url(link)).content.decode()
    assert not Feedback.objects.exists()


def test_a_changed_link_is_refused_in_plain_words(stranger, link):
    answer = stranger.post(url(link[:-3]))
    assert answer.status_code == 404 and "is incomplete or was changed" in answer.content.decode()


def test_a_late_link_is_refused_in_plain_words(stranger, ada, item):
    link = thumb_sign(
        reader_id=ada.pk, item_id=item.pk, useful=True, now=timezone.now() - 15 * 24 * 60 * MINUTE
    )
    answer = stranger.post(url(link))
    assert answer.status_code == 410 and "14 days" in answer.content.decode()


def test_a_link_is_told_to_nobody_else(stranger, link):
    answer = stranger.get(url(link))
    assert answer["Referrer-Policy"] == "no-referrer" and "no-store" in answer["Cache-Control"]
    assert "noindex" in answer["X-Robots-Tag"]


# --- The end of mail -----------------------------------------------------------------------------------


def test_one_click_ends_the_mail_without_a_session(stranger, ada):
    Reader.objects.update(mail_rhythm="daily")
    place = f"/ui/mail/end/{unsubscribe_sign(reader_id=ada.pk)}"
    assert "Stop the mail?" in stranger.get(place).content.decode()
    assert Reader.objects.get().mail_rhythm == "daily"
    answer = stranger.post(place, {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200 and "No more mail" in answer.content.decode()
    assert Reader.objects.get().mail_rhythm == "off"
    assert "No more mail" in stranger.get(place).content.decode()


def test_who_holds_the_link_and_is_not_signed_in_is_not_told_whose_it_is(stranger, ada):
    Reader.objects.update(mail_rhythm="daily", username="ada.lovelace")
    place = f"/ui/mail/end/{unsubscribe_sign(reader_id=ada.pk)}"
    for answer in (stranger.get(place), stranger.post(place), stranger.get(place)):
        assert "ada.lovelace" not in answer.content.decode() and "a…" in answer.content.decode()
    stranger.force_login(Reader.objects.get())
    assert "to ada.lovelace any more" in stranger.get(place).content.decode()


def test_only_ones_own_mail_ends(ada, ben):
    Reader.objects.update(mail_rhythm="weekly")
    reader_unsubscribe(link=unsubscribe_sign(reader_id=ada.pk))
    ben.refresh_from_db()
    assert ben.mail_rhythm == "weekly"


def test_a_made_up_link_ends_nothing(stranger, ada):
    assert stranger.post("/ui/mail/end/AAAAAAAAAAAAAAAAAAAAAA.x").status_code == 404


# --- The secret of a reader's own feed -------------------------------------------------------------------


def test_a_new_secret_replaces_the_old_and_taking_it_away_leaves_none(ada):
    first = feed_token_issue(reader=ada)
    assert feed_token_issue(reader=ada) != first and len(first) == 43
    feed_token_revoke(reader=ada)
    ada.refresh_from_db()
    assert ada.feed_token is None
