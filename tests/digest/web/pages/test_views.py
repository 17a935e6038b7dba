"""The digest, an item, the sources: the content of each page, its readers, its cost."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from digest.daily.services import digest_refresh
from digest.models import Digest, Exposure, Feedback, Impression, Item, Reader
from digest.web.pages import contexts
from ranking.selectors import config_versions
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import ago, display_form, fresh_item, subscribe
from tests.support.factories import FeedbackFactory, ItemFactory

TODAY = "/"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def test_a_visitor_is_asked_to_sign_in(client: Client, db):
    assert client.get("/ui/all").url == "/accounts/login/?next=/ui/all"


def test_the_paper_is_built_on_the_first_visit_and_links_to_the_sources(page: Client, ada: Reader):
    item = fresh_item(ada, title="Tides & <piers>", text="The water rose.")
    body = page.get(TODAY).content.decode()
    assert Digest.objects.filter(reader=ada).count() == 1
    assert f'<a href="/ui/item/{item.pk}" data-open>Tides &amp; &lt;piers&gt;</a>' in body
    assert f'<a href="{item.url}" target="_blank" rel="noopener noreferrer" data-original>' in body
    assert "3 hours ago" in body
    assert "The water rose." in body


def test_the_paper_follows_new_settings_at_once_and_else_keeps_its_order(page: Client, ada: Reader):
    fresh_item(ada, hours=5, title="Old rust")
    fresh_item(ada, hours=1, title="New paint")
    assert titles(page) == ["New paint", "Old rust"]
    fresh_item(ada, hours=0.1, title="Breaking")
    assert titles(page) == ["New paint", "Old rust"]
    edit = ConfigEdit(topics=["rust"])
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    assert titles(page)[0] == "Old rust"


def test_the_paper_is_renewed_after_an_hour(page: Client, ada: Reader):
    fresh_item(ada, title="Morning")
    assert titles(page) == ["Morning"]
    Digest.objects.update(built_at=ago(1.1))
    fresh_item(ada, hours=0.5, title="Noon")
    assert titles(page) == ["Noon", "Morning"]


def titles(page: Client) -> list[str]:
    return [shown.item.title for shown in page.get(TODAY).context["shown"]]


def test_without_sources_the_paper_sends_the_reader_to_them(page: Client):
    body = page.get(TODAY).content.decode()
    assert "no sources yet" in body
    assert 'href="/ui/sources"' in body


def test_a_quiet_week_is_told_apart_from_having_no_sources(page: Client, ada: Reader):
    subscribe(ada)
    assert "Nothing in your digest today" in page.get(TODAY).content.decode()


@pytest.mark.parametrize("days", [1, 2, -731, -100000])
def test_days_to_come_and_days_long_gone_are_not_found(page: Client, ada: Reader, days: int):
    today = timezone.now().astimezone(ada.zone).date()
    answer = page.get(f"/ui/date/{today + timedelta(days=days)}")
    assert answer.status_code == 404
    assert f"Digests go back from today, {today.day} {today:%B %Y}, to " in answer.content.decode()


@pytest.mark.parametrize("date", ["2026-02-30", "2026-2-3", "today", "0001-01-01"])
def test_what_is_no_day_is_not_found(page: Client, date: str):
    assert page.get(f"/ui/date/{date}").status_code == 404


def test_an_earlier_day_links_both_ways(page: Client, ada: Reader):
    date = timezone.now().astimezone(ada.zone).date() - timedelta(days=2)
    body = page.get(f"/ui/date/{date}").content.decode()
    for near in (date - timedelta(days=1), date + timedelta(days=1)):
        assert f'href="/ui/date/{near}"' in body


@pytest.mark.parametrize("rated", [False, True])
def test_the_paper_costs_the_same_for_ten_items_and_thirty(
    page: Client, ada: Reader, rated: bool, django_assert_num_queries
):
    make_paper(page, ada, 10, rated)
    with CaptureQueriesContext(connection) as caught:
        page.get(TODAY)
    cost = len(caught)
    make_paper(page, ada, 20, rated)
    with django_assert_num_queries(cost):
        assert len(page.get(TODAY).context["shown"]) == 30
    # session, reader, subscriptions, digest, newest of them, impressions, thumbs 2, config 2, mutes, tags,
    # readings, stories, summaries, exposures, suggestions and a question, facts for a tip, waiting feeds,
    # feeds with newer items, whether thumbs suffice for suggestions, checks to tell; with thumbs their
    # reasons and leans
    assert cost <= 23 + 2 * rated


def make_paper(page: Client, reader: Reader, items: int, rated: bool) -> None:
    for n in range(items):
        fresh_item(reader, hours=n + 1)
    # A rated item stays on its page, so build a new page before the thumbs.
    Feedback.objects.all().delete()
    Digest.objects.all().delete()
    page.get(TODAY)
    for item in Item.objects.filter(feedback=None) if rated else ():
        FeedbackFactory(reader=reader, item=item, at=timezone.now())


def tap(page: Client, item, **typed: str):
    return page.post(f"/ui/item/{item.pk}/feedback", {"next": "/", **typed})


def test_a_thumb_leads_back_to_its_item(page: Client, ada: Reader):
    item = fresh_item(ada)
    assert tap(page, item, useful="1").url == f"/#item-{item.pk}"
    assert Feedback.objects.get(reader=ada, item=item).useful


def test_a_thumb_up_offers_what_is_valued_and_a_thumb_down_what_is_disliked(page: Client, ada: Reader):
    item = fresh_item(ada)
    page.get(TODAY)
    tap(page, item, useful="1")
    body = page.get(TODAY).content.decode()
    assert "Well explained" in body
    assert "Clickbait headline" not in body
    tap(page, item, useful="0")
    body = page.get(TODAY).content.decode()
    assert "Clickbait headline" in body
    assert "Well explained" not in body


def test_a_pressed_thumb_offers_its_undoing(page: Client, ada: Reader):
    item = fresh_item(ada)
    page.get(TODAY)
    tap(page, item, useful="1")
    assert 'value="clear" aria-pressed="true" aria-label="Useful"' in page.get(TODAY).content.decode()
    tap(page, item, useful="clear")
    assert not Feedback.objects.exists()


def test_a_script_gets_the_changed_piece_alone(page: Client, ada: Reader):
    item = fresh_item(ada)
    answer = page.post(
        f"/ui/item/{item.pk}/feedback", {"useful": "0", "next": "/"}, headers={"X-Requested-With": "fetch"}
    )
    body = answer.content.decode()
    assert "<html" not in body
    assert 'aria-pressed="true" aria-label="Not useful"' in body


@pytest.mark.parametrize("typed", [{"tag": "depth"}, {}])
def test_a_reason_without_a_rating_stores_nothing(page: Client, ada: Reader, typed: dict[str, str]):
    assert tap(page, fresh_item(ada), **typed).status_code == 302
    assert not Feedback.objects.exists()


@pytest.mark.parametrize("typed", [{"useful": "maybe"}, {"useful": "7"}, {"tag": "not a slug!"}])
def test_what_is_no_rating_is_refused_with_a_code(page: Client, ada: Reader, typed: dict[str, str]):
    answer = tap(page, fresh_item(ada), **typed)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_rating")
    assert not Feedback.objects.exists()


def test_two_tabs_that_give_one_reason_agree(page: Client, ada: Reader):
    item = fresh_item(ada)
    tap(page, item, useful="1")
    for typed, left in (("tag", ["depth"]), ("tag", ["depth"]), ("untag", []), ("untag", [])):
        tap(page, item, **{typed: "depth"})
        assert [tag.slug for tag in Feedback.objects.get().tags.all()] == left


ASIDE = "What you called not useful today"


def test_what_was_called_not_useful_leaves_the_page_at_the_next_load_and_undo_brings_it_back(
    page: Client, ada: Reader
):
    first, second, liked = (fresh_item(ada, hours=n, key=f"s{n}.example") for n in (1, 2, 3))
    page.get(TODAY)
    tap(page, first, useful="0")
    tap(page, liked, useful="1")
    rows, aside = page.get(TODAY).content.decode().split(ASIDE)
    assert f'id="item-{first.pk}"' in aside and 'data-key="undo"' in aside
    assert f'id="item-{first.pk}"' not in rows
    assert all(f'id="item-{one.pk}"' in rows for one in (second, liked))
    assert Impression.objects.get(item=first).rank == 1
    tap(page, first, useful="clear")
    assert ASIDE not in page.get(TODAY).content.decode()
    assert page.get(TODAY).context["shown"][0].item == first, "at its place"
    for one in (first, second, liked):
        tap(page, one, useful="0")
    assert ASIDE not in page.get(TODAY).content.decode(), "a page is never a line alone"


def test_the_next_best_article_comes_at_the_end_of_a_page_and_nothing_else_moves(page: Client, ada: Reader):
    items = [fresh_item(ada, hours=n, key=f"s{n % 12}.example") for n in range(1, 41)]
    before = [shown.item for shown in page.get(TODAY).context["shown"]]
    useless = [before[0], before[7]]
    for one in useless:
        tap(page, one, useful="0")
    fresh_item(ada, hours=0, key="s1.example", title="Came since", first_seen_at=timezone.now())
    after = [shown.item for shown in page.get(TODAY).context["shown"]]
    assert after[:28] == [one for one in before if one not in useless]
    assert len(after) == 30 and {*after[28:]} < {*items} - {*before}
    assert [shown.item for shown in page.get(TODAY).context["shown"]] == after, "the same when loaded again"
    ranks = Impression.objects.order_by("rank").values_list("rank", flat=True)
    assert list(ranks) == list(range(1, 33))
    for one in useless:
        tap(page, one, useful="clear")
    back = [shown.item for shown in page.get(TODAY).context["shown"]]
    assert back == [*before, *after[28:]]


def test_a_page_built_again_after_a_thumb_down_is_full(page: Client, ada: Reader):
    for n in range(1, 41):
        fresh_item(ada, hours=n, key=f"s{n % 12}.example")
    useless = page.get(TODAY).context["shown"][0].item
    tap(page, useless, useful="0")
    Digest.objects.update(built_at=ago(2))
    found = page.get(TODAY).context
    assert len(found["shown"]) == 30 and [one.item for one in found["aside"]] == [useless]


@pytest.mark.parametrize(("waiting", "size"), [(10, 30), (0, 27)])
def test_todays_numbers_count_its_rows_whatever_was_folded_away(
    page: Client, ada: Reader, waiting: int, size: int
):
    for n in range(1, 31 + waiting):
        fresh_item(ada, hours=n, key=f"s{n % 12}.example")
    before = [one.item for one in page.get(TODAY).context["shown"]]
    for one in before[:3]:
        tap(page, one, useful="0")
    for hides in (False, True):
        Reader.objects.update(hide_read=hides)
        answer = page.get(TODAY)
        found = answer.context
        assert (found["size"], found["unread"]) == (size, size)
        assert f"{size} of {size} unread" in answer.content.decode()
        assert len(found["shown"]) == size
    tap(page, before[0], useful="clear")
    assert page.get(TODAY).context["size"] == size + 1


def test_without_another_article_the_page_stays_shorter_and_asks_for_none(
    page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    for n in range(1, 31):
        fresh_item(ada, hours=n, key=f"s{n % 12}.example")
    tap(page, page.get(TODAY).context["shown"][0].item, useful="0")
    monkeypatch.setattr(contexts, "digest_filled", None)
    assert len(page.get(TODAY).context["shown"]) == 29


def test_what_an_earlier_page_had_stands_below_a_line_that_says_so(page: Client, ada: Reader):
    line = "On an earlier page of yours"
    old = fresh_item(ada, hours=3, key="old.example")
    assert line not in page.get(TODAY).content.decode()
    Exposure.objects.update(date=ago(24).date(), shown_at=ago(24))
    new = fresh_item(ada, hours=1, key="new.example")
    digest_refresh(reader=ada, now=timezone.now())
    above, below = page.get(TODAY).content.decode().split(line)
    assert f'id="item-{new.pk}"' in above and f'id="item-{old.pk}"' in below
    words = "It was high on an earlier page of yours, so it stands below what is new to you."
    assert words in page.get(f"/ui/item/{old.pk}").content.decode()


def test_own_words_are_shown_again_and_a_wish_among_them_is_offered(page: Client, ada: Reader):
    item = fresh_item(ada)
    page.get(TODAY)
    tap(page, item, useful="1")
    place = f"/ui/item/{item.pk}/feedback"
    saved = page.post(place, {"words": ["I want to read more about <b>sailing</b>", ""], "next": "/"})
    assert saved.url == f"/#item-{item.pk}"
    body = page.get(TODAY).content.decode()
    assert "Saved in your own words." in body and 'value="I want to read more about &lt;b&gt;' in body
    page.post(place, {"words": ["I want to read more about sailing", "lovely maps"], "next": "/"})
    body = page.get(TODAY).content.decode()
    assert "It reads as a wish: " in body and 'value="lovely maps"' in body
    assert 'href="/ui/wishes?words=I%20want%20to%20read%20more%20about%20sailing"' in body
    assert not config_versions(reader_id=ada.pk)
    assert (
        ">I want to read more about sailing</textarea>"
        in page.get("/ui/wishes?words=I%20want%20to%20read%20more%20about%20sailing").content.decode()
    )
    page.post(place, {"words": ["", ""], "next": "/"})
    assert Feedback.objects.get().other_reasons == []


def test_own_words_with_two_wishes_offer_both_changes(page: Client, ada: Reader):
    item = fresh_item(ada)
    tap(page, item, useful="1")
    words = "I want to read more about sailing and more about chess"
    answer = page.post(
        f"/ui/item/{item.pk}/feedback", {"words": words}, headers={"X-Requested-With": "fetch"}
    ).content.decode()
    said = answer.partition("It reads as several wishes: ")[2].partition("<")[0]
    assert "sailing" in said and "chess" in said and "See these changes" in answer
    assert f'href="/ui/wishes?words={quote(words)}"' in answer
    page_of_wishes = page.get("/ui/wishes", {"words": words}).content.decode()
    assert page_of_wishes.count('<article class="card"') == 2


@pytest.mark.parametrize("words", ["sailing", "nothing but news"])
def test_words_that_ask_for_no_clear_change_are_stored_without_an_offer(
    page: Client, ada: Reader, words: str
):
    item = fresh_item(ada)
    tap(page, item, useful="0")
    answer = page.post(
        f"/ui/item/{item.pk}/feedback", {"words": words}, headers={"X-Requested-With": "fetch"}
    ).content.decode()
    assert "Saved in your own words." in answer and "/ui/wishes" not in answer
    assert Feedback.objects.get().other_reasons == [words]


def test_own_words_without_a_rating_or_beyond_their_limit_are_refused(page: Client, ada: Reader):
    item = fresh_item(ada)
    assert tap(page, item, words="more about sailing").status_code == 409
    tap(page, item, useful="1")
    assert tap(page, item, words="x" * 201).json()["error"] == "invalid_rating"
    assert Feedback.objects.get().other_reasons == []


def test_what_more_like_this_ended_comes_back_with_its_words(page: Client, ada: Reader):
    item = fresh_item(ada)
    tap(page, item, useful="0")
    tap(page, item, words="less about chess")
    named = page.post(
        f"/ui/item/{item.pk}/name", {"named": "1"}, headers={"X-Requested-With": "fetch"}
    ).content.decode()
    assert 'name="words_before" value="less about chess"' in named
    page.post(
        f"/ui/item/{item.pk}/name",
        {"named": "0", "rated_before": "1", "words_before": ["less about chess"]},
    )
    assert Feedback.objects.get().other_reasons == ["less about chess"]


def test_no_browser_keeps_a_readers_page(page: Client, ada: Reader):
    assert page.get("/")["Cache-Control"] == "no-store"
    assert not Client().get("/accounts/login/").get("Cache-Control", "").startswith("no-store")


def test_unread_leads_back_to_where_the_reader_came_from(page: Client, ada: Reader):
    item = fresh_item(ada)
    shown = page.get(f"/ui/item/{item.pk}", headers={"Referer": "http://testserver/ui/saved?page=2"})
    assert b'name="next" value="/ui/saved?page=2"' in shown.content
    abroad = page.get(f"/ui/item/{item.pk}", headers={"Referer": "https://evil.example/ui/saved"})
    assert b"/ui/saved" not in abroad.content.split(b"Mark as unread")[0].split(b"<form")[-1]
    assert page.post(f"/ui/item/{item.pk}/unread", {"next": "/ui/saved"}).url == "/ui/saved"
    assert page.post(f"/ui/item/{item.pk}/unread", {"next": "https://evil.example/"}).url == "/"


def test_tomorrows_digest_stays_open_to_who_moved_west(page: Client, ada: Reader):
    tomorrow = timezone.now().astimezone(ada.zone).date() + timedelta(days=1)
    assert page.get(f"/ui/date/{tomorrow}").status_code == 404
    Digest.objects.create(reader=ada, date=tomorrow, config_version=0, built_at=timezone.now())
    assert page.get(f"/ui/date/{tomorrow}").status_code == 200


def test_a_reason_outside_the_taxonomy_is_refused(page: Client, ada: Reader):
    item = fresh_item(ada)
    tap(page, item, useful="1")
    assert tap(page, item, tag="made-up").status_code == 422


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_a_thumb_never_leads_off_the_site(page: Client, ada: Reader, elsewhere: str):
    item = fresh_item(ada)
    answer = page.post(f"/ui/item/{item.pk}/feedback", {"useful": "1", "next": elsewhere})
    assert answer.url == f"/#item-{item.pk}"


def test_an_item_shows_its_text_and_its_whole_sum(page: Client, ada: Reader):
    item = fresh_item(ada, text="All of the text.")
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "All of the text." in body
    assert "Source × freshness × interest" in body


def test_an_item_of_sources_one_does_not_read_is_not_found(page: Client, ada: Reader, ben: Reader):
    foreign = fresh_item(ben, key="elsewhere.example")
    assert page.get(f"/ui/item/{foreign.pk}").status_code == 404
    assert tap(page, foreign, useful="1").status_code == 404
    assert page.get("/ui/item/999999").status_code == 404


def test_an_item_without_an_address_gets_no_link_out(page: Client, ada: Reader):
    item = fresh_item(ada, url="urn:tidings:abc")
    page.get(TODAY)
    assert "urn:tidings" not in page.get(f"/ui/item/{item.pk}").content.decode()
    assert f'href="{reverse("digest:item", args=[item.pk])}"' in page.get(TODAY).content.decode()


def test_pages_carry_a_strict_policy_and_nothing_inline(page: Client, ada: Reader):
    item = fresh_item(ada, text="Words.")
    tap(page, item, useful="1")
    for address in (TODAY, f"/ui/item/{item.pk}", "/ui/sources", "/ui/config", "/ui/suggestions"):
        answer = page.get(address)
        body = answer.content.decode()
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert " style=" not in body
        assert "<style" not in body
        assert "onclick" not in body


def test_health_needs_no_one(client: Client):
    assert client.get("/healthz").content == b"ok"


def test_an_item_written_by_an_attacker_stays_text(page: Client, ada: Reader):
    ItemFactory(
        source=subscribe(ada).feed.source,
        title="<script>alert(1)</script>",
        text='"><img src=x onerror=alert(1)>',
        author="<b>x",
        url="javascript:alert(1)",
        published_at=ago(1),
    )
    body = page.get(TODAY).content.decode()
    assert "<script>alert" not in body
    assert "<img" not in body
    assert "javascript:" not in body


def test_a_first_look_before_the_news_came_does_not_freeze_an_empty_paper(page: Client, ada: Reader):
    assert "no sources yet" in page.get(TODAY).content.decode()
    feed = subscribe(ada).feed
    feed.state = "active"
    feed.save()
    assert "Your digest is being fetched" in page.get(TODAY).content.decode()
    fresh_item(ada, title="The ferry is back")
    assert "The ferry is back" in page.get(TODAY).content.decode()


def test_a_past_day_without_a_digest_says_so_and_makes_none(page: Client, ada: Reader):
    fresh_item(ada)
    yesterday = timezone.localdate(timezone=ada.zone) - timedelta(days=1)
    body = page.get(f"/ui/date/{yesterday.isoformat()}").content.decode()
    assert "No digest was made that day" in body
    assert not Digest.objects.exists()


def test_the_account_keeps_the_time_zone_and_the_switches_for_models_and_for_sums(page: Client, ada: Reader):
    assert page.post("/ui/account", {"time_zone": "Pacific/Chatham"}).status_code == 302
    ada.refresh_from_db()
    assert (ada.time_zone, ada.ai_enabled, ada.peers_enabled) == ("Pacific/Chatham", False, False)
    assert not ada.suggestions_enabled
    page.post("/ui/account", {"time_zone": "UTC", "peers_enabled": "on", "suggestions_enabled": "on"})
    ada.refresh_from_db()
    assert (ada.ai_enabled, ada.peers_enabled, ada.suggestions_enabled) == (False, True, True)
    assert page.post("/ui/account", {"time_zone": "localtime"}).status_code == 422


def test_the_account_page_says_what_sharing_means_and_shows_the_switch_as_it_is(page: Client, ada: Reader):
    body = page.get("/ui/account").content.decode()
    assert "Only blurred totals: nobody can see your ratings." in body
    assert (
        'name="peers_enabled" aria-describedby="id_peers_enabled_helptext" id="id_peers_enabled" checked'
        in (" ".join(body.split()))
    )


def test_a_short_page_says_where_the_rest_of_a_late_backlog_is(page: Client, ada: Reader):
    """Of eight old articles five have places: a page of five beside more unread ones says why."""
    for n in range(5):
        fresh_item(ada, hours=24 * (40 + n), title=f"Old {n}", dated_at=ago(1), first_seen_at=ago(1))
    told = "Old articles that came late: five a day."
    assert told not in page.get(TODAY).content.decode(), "all of them are here"
    for n in range(5, 8):
        fresh_item(ada, hours=24 * (40 + n), title=f"Old {n}", dated_at=ago(1), first_seen_at=ago(1))
    digest_refresh(reader=ada, now=timezone.now())
    body = page.get(TODAY).content.decode()
    assert "5 of 5 unread" in body and f'{told} The rest is in <a href="/ui/all">All</a>.' in body
    Exposure.objects.update(shown_at=ago(24 * 5))
    assert (
        f'{told} The rest is in <a href="/ui/catch-up">While you were away</a>'
        in page.get(TODAY).content.decode()
    )


def test_read_items_leave_today_where_the_reader_wants_that(page: Client, ada: Reader, ben: Reader):
    one, other = fresh_item(ada, title="The first"), fresh_item(ada, hours=5, title="The second")
    page.get(TODAY)
    page.get(f"/ui/item/{one.pk}")
    assert "The first" in page.get(TODAY).content.decode()
    assert page.post("/ui/display", display_form(hide_read="on")).url == "/ui/display"
    body = page.get(TODAY).content.decode()
    assert "The first" not in body and "The second" in body and "1 of 2 unread" in body
    assert "The first" in page.get(TODAY, {"all": "1"}).content.decode()
    page.get(f"/ui/item/{other.pk}")
    assert "<h2>All read</h2>" in page.get(TODAY).content.decode()
    ben.refresh_from_db()
    assert not ben.hide_read
    page.post("/ui/display", display_form())
    assert "The first" in page.get(TODAY).content.decode()
