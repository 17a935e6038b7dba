"""Private feeds: their secrets stay secret, and their items stay with their reader."""

from base64 import b64encode
from datetime import timedelta
from io import StringIO

import pytest
from django.core import serializers
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone
from lxml import etree
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.accounts.services import reader_delete, reader_export_digest
from digest.accounts.tokens import token_issue
from digest.errors import AccessInvalid, AccessRefused, FeedNotFound, TooManySubscriptions
from digest.feedback import noisy_counts
from digest.feeds.access import AccessGiven, access_check, access_headers, access_store, secret_read
from digest.feeds.fetch import Access, fetch, origin_of
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.selectors import feeds_due
from digest.items.selectors import items_visible
from digest.items.vectors import item_vectors_update
from digest.models import (
    Feed,
    FeedAccess,
    Feedback,
    Item,
    Reader,
    Source,
    Subscription,
    SuggestedReasons,
    Summary,
    TermCounts,
)
from digest.retention import accesses_prune
from digest.sources.names import feeds_named
from digest.sources.private_feeds import private_feed_add, private_feed_change
from digest.sources.subscription_changes import feeds_fetch_now, subscriptions_remove
from digest.sources.subscriptions import opml_export, opml_import, subscription_add
from digest.sources.weights import sources_weigh
from digest.summaries.services import extracts_make
from digest.throttling import LOOKUP, limit_count
from ranking.entities import Mute
from ranking.selectors import config_effective
from ranking.services import mute_set, target_pin
from tests.support.factories import FeedFactory, ItemFactory, ReaderFactory, SubscriptionFactory
from tests.support.logs import logged

pytestmark = pytest.mark.usefixtures("own_cache")
USER, WORD = "ada-at-paper", "h4rbour-wren-feather"
BASIC = AccessGiven("basic", USER, WORD)
TEXT = "The council of the harbour town met behind closed doors and voted for a second pier. " * 8


def document(reader: str) -> str:
    """Return a paid feed, with its subscriber's name in it."""
    return (
        f"<rss><channel><title>Paper of {reader}</title><item><title>Pier for {reader}</title>"
        f"<link>https://paper.example/1</link><description>{TEXT}</description></item></channel></rss>"
    )


@pytest.fixture
def paper(httpserver: HTTPServer, settings) -> HTTPServer:
    """Serve a paper whose feed opens for two passwords, a header or a cookie, each with its own words."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    keys = {f"Basic {b64encode(f'{USER}:{WORD}'.encode()).decode()}": "Ada", "Bearer ben": "Ben"}

    def answer(request: Request) -> Response:
        who = keys.get(request.headers.get("Authorization", "")) or {"s=cookie-of-ada": "Ada"}.get(
            request.headers.get("Cookie", "")
        )
        return Response(document(who)) if who else Response("", 401, {"WWW-Authenticate": "Basic"})

    httpserver.expect_request("/feed").respond_with_handler(answer)
    return httpserver


def added(reader: Reader, paper: HTTPServer, given: AccessGiven = BASIC) -> Feed:
    return private_feed_add(
        reader=reader, url=paper.url_for("/feed"), given=given, now=timezone.now()
    ).subscription.feed


def round_of(paper: HTTPServer, days: int = 2) -> None:
    """Run a fetch batch in which every feed is due."""
    feeds_fetch(now=timezone.now() + timedelta(days=days))


def test_each_kind_of_secret_opens_a_feed_and_its_posts_are_there(paper, ada):
    for given in (
        BASIC,
        AccessGiven("header", "Authorization", "Bearer ben"),
        AccessGiven("cookie", "", "s=cookie-of-ada"),
    ):
        feed = added(ada, paper, given)
        assert (feed.state, feed.failures, feed.owner) == ("active", 0, ada)
    assert Feed.objects.count() == 1  # the same address again changes the secret
    assert Item.objects.get(title="Pier for Ada").feed == feed
    round_of(paper)
    feed.refresh_from_db()
    assert feed.failures == 0


def test_it_is_a_source_of_its_own_with_its_own_name_beside_a_public_feed_of_its_host(paper, ada, now):
    """Weights, mutes and lists of the host's public feed do not apply to Ada's paid one, nor the reverse."""
    paper.expect_request("/open").respond_with_data(document("everybody").replace("/1", "/2"))
    private, public = (
        added(ada, paper),
        subscription_add(reader=ada, url=paper.url_for("/open"), now=now).feed,
    )
    round_of(paper)
    mine, theirs = (Item.objects.get(feed=feed) for feed in (private, public))
    assert (str(mine.source), str(theirs.source)) == ("Paper of Ada", "Paper of everybody")
    assert mine.source_id.startswith(f"{theirs.source_id}/")
    page = Client()
    page.force_login(ada)
    for shown, hidden in ((mine, theirs), (theirs, mine)):
        body = page.get("/ui/all", {"source": shown.source_id}).content.decode()
        assert shown.title in body and hidden.title not in body
    sources_weigh(reader=ada, feed_ids=[public.pk], level="less", now=now)
    effective = config_effective(reader_id=ada.pk)
    assert (effective.weight(mine.source_id), effective.weight(theirs.source_id)) == (1.0, 0.5)
    mute_set(reader_id=ada.pk, mute=Mute("source", theirs.source_id), now=now)
    body = page.get("/ui/all").content.decode()
    assert mine.title in body and theirs.title not in body


def test_its_source_is_called_as_the_feed_calls_itself_later_and_stays_its_own_behind_a_redirect(paper, ada):
    feed = added(ada, paper)
    with HTTPServer(host="127.0.0.1") as other:
        other.expect_request("/feed").respond_with_data(document("Ada").replace("Paper of", "Gazette of"))
        paper.clear()
        away = Response("", 302, {"Location": other.url_for("/feed")})
        paper.expect_request("/feed").respond_with_response(away)
        with override_settings(FETCH_ALLOW_HOSTS=[f"{one.host}:{one.port}" for one in (paper, other)]):
            round_of(paper)
    feed.refresh_from_db()
    assert feed.answered_by == "127.0.0.1"
    assert (feed.title, str(feed.source)) == ("Gazette of Ada", "Gazette of Ada")
    assert {item.source_id for item in Item.objects.all()} == {feed.source_id}


def test_a_user_agent_alone_makes_a_private_feed(paper, ada):
    paper.expect_request("/agent", headers={"User-Agent": "Ada/1"}).respond_with_data(document("Ada"))
    given = AccessGiven("none", user_agent="Ada/1")
    feed = private_feed_add(reader=ada, url=paper.url_for("/agent"), given=given, now=timezone.now())
    assert feed.items == 1 and feed.subscription.feed.owner == ada


def test_the_same_address_with_another_readers_secret_is_another_feed(paper, ada, ben):
    mine, theirs = added(ada, paper), added(ben, paper, AccessGiven("header", "Authorization", "Bearer ben"))
    assert mine.pk != theirs.pk and mine.own_address == theirs.own_address
    for reader, title in ((ada, "Pier for Ada"), (ben, "Pier for Ben")):
        assert [item.title for item in items_visible(reader_id=reader.pk)] == [title]
    round_of(paper)
    assert {item.title for item in items_visible(reader_id=ben.pk)} == {"Pier for Ben"}


def test_nobody_comes_to_it_by_its_address_a_list_its_name_or_a_redirect(paper, ada, ben, now):
    """All that Ben tries gives him a feed of his own that asks for a password."""
    feed = added(ada, paper)
    Feed.objects.filter(pk=feed.pk).update(title="Rivers of Paper")
    address = paper.url_for("/feed")
    by_hand = subscription_add(reader=ben, url=address, now=now).feed
    listed = f'<opml><body><outline xmlUrl="{address}"/><outline xmlUrl="{feed.url}"/></body></opml>'
    report = opml_import(reader=ben, document=listed.encode(), now=now)
    assert (report.added, report.already, report.refused) == (0, 1, 1)
    for _ in range(6):
        SubscriptionFactory(reader=ReaderFactory(), feed=feed)  # as no page lets anybody do
    assert feeds_named(name="Rivers of Paper", now=timezone.now()) == []
    paper.expect_request("/old").respond_with_response(Response("", 301, {"Location": address}))
    moving = subscription_add(reader=ben, url=paper.url_for("/old"), now=now).feed
    for days in (1, 3, 5, 7):
        feeds_fetch(now=timezone.now() + timedelta(days=days))
    moving.refresh_from_db()
    assert by_hand.pk != feed.pk and moving.moved_url in ("", address)
    assert not ben.subscriptions.filter(feed=feed).exists()
    assert not items_visible(reader_id=ben.pk).exists()


def test_ada_who_types_the_address_again_reads_the_one_she_has(paper, ada, now):
    feed = added(ada, paper)
    assert subscription_add(reader=ada, url=paper.url_for("/feed"), now=now).feed == feed
    written = opml_export(reader=ada)
    assert opml_import(reader=ada, document=written, now=now).already == 1
    assert Feed.objects.count() == 1


def test_a_list_says_that_the_secret_is_not_in_it(paper, ada, now):
    page = Client()
    page.force_login(ada)
    subscription_add(reader=ada, url="https://open.example/feed", now=now)
    said = {
        "en": "never the password, header or cookie",
        "de": "nie das Passwort, die Kopfzeile oder das Cookie",
    }
    for language, words in said.items():
        assert words not in page.get("/ui/sources", headers={"Accept-Language": language}).content.decode()
    added(ada, paper)
    for language, words in said.items():
        assert words in page.get("/ui/sources", headers={"Accept-Language": language}).content.decode()
    outlines = etree.fromstring(opml_export(reader=ada)).iterfind(".//outline")
    notes = {outline.get("xmlUrl"): outline.get("description") for outline in outlines}
    assert notes.pop("https://open.example/feed") is None
    assert notes == {
        paper.url_for("/feed"): "Private: the password, header or cookie that opens it is not in this list."
    }


def test_what_it_brings_is_in_no_figure_name_or_text_of_others(paper, ada, ben, now):
    """Its words name no source, count in no frequency, and its summaries are its reader's alone."""
    feed = added(ada, paper)
    item = Item.objects.get()
    twin = FeedFactory(url="https://paper.example/open", source__key="paper.example", source__title="")
    SubscriptionFactory(reader=ben, feed=twin)
    same = ItemFactory(
        feed=twin,
        source=twin.source,
        title=item.title,
        text=item.text,
        fingerprint="open",
        published_at=timezone.now(),
    )
    assert item.fingerprint != same.fingerprint
    extracts_make(now=timezone.now())
    assert Summary.objects.filter(fingerprint=item.fingerprint).count() == 1
    item_vectors_update(now=timezone.now())
    assert TermCounts.objects.get().documents == 1
    for reader, rated in ((ada, item), (ben, same)):
        Feedback.objects.create(
            reader=reader, item=rated, article=rated.article, useful=True, at=now, day=0, has_reason=False
        )

    shared = noisy_counts._shared_thumbs(10**6)
    assert [row.item for row in shared] == [same]
    assert twin.source_id != feed.source_id and "Ada" not in Source.objects.get(pk=twin.source_id).title


def test_a_secret_follows_no_redirect_to_another_origin(paper, httpserver, ada):
    """Nor back from there, because the first redirect came from a stranger's choice."""
    with HTTPServer(host="127.0.0.1") as other:
        seen: list[tuple[str, str | None]] = []

        def note(request: Request) -> Response:
            seen.append((request.path, request.headers.get("Authorization")))
            return Response("", 302, {"Location": paper.url_for("/back")})

        other.expect_request("/away").respond_with_handler(note)
        for path, target in (("/gate", "/same"), ("/same", other.url_for("/away"))):
            paper.expect_request(path).respond_with_response(Response("", 302, {"Location": target}))
        paper.expect_request("/back").respond_with_data(document("nobody"))
        access = Access(origin_of(paper.url_for("/gate")), {"Authorization": "Bearer ada"}, "Ada/1")
        hosts = [f"{server.host}:{server.port}" for server in (paper, other)]
        fetch(paper.url_for("/gate"), allow=hosts, access=access)
    sent = {request.path: request.headers.get("Authorization") for request, _ in paper.log}
    assert sent == {"/gate": "Bearer ada", "/same": "Bearer ada", "/back": None}
    assert seen == [("/away", None)]


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://paper.example:443/x", True),
        ("https://PAPER.example./", True),
        ("http://paper.example/", False),
        ("https://paper.example:8443/", False),
        ("https://www.paper.example/", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(url, same):
    assert (origin_of(url) == origin_of("https://paper.example/feed")) is same


def test_a_wrong_password_is_said_at_once_and_stored_nowhere(paper, ada):
    with pytest.raises(AccessRefused, match="does not accept"):
        added(ada, paper, AccessGiven("basic", USER, "wrong"))
    assert not Feed.objects.exists() and not FeedAccess.objects.exists()


def test_a_password_that_stops_working_is_tried_twice_and_then_no_more(paper, ada):
    feed = added(ada, paper)
    paper.clear()
    paper.expect_request("/feed").respond_with_data("", status=401)
    for days in (1, 3, 5, 7):
        feeds_fetch(now=timezone.now() + timedelta(days=days))
    assert len(paper.log) == 2
    feed.refresh_from_db()
    assert (feed.state, feed.error_code) == ("refused", "access_refused")
    page = Client()
    page.force_login(ada)
    body = page.get(f"/ui/sources/{feed.pk}").content.decode()
    assert "does not accept the password" in body and "It is not asked again until you type another." in body
    later = timezone.now() + timedelta(days=9)
    assert (
        feeds_fetch_now(reader=ada, feed_ids=[feed.pk], now=later).due == 1
    )  # one more try, by her own hand
    feeds_fetch(now=later)
    feed.refresh_from_db()
    assert feed.state == "refused" and len(paper.log) == 3


def test_a_new_password_mends_it(paper, ada):
    feed = added(ada, paper)
    Feed.objects.filter(pk=feed.pk).update(state="refused", failures=2, error_code="access_refused")
    with pytest.raises(AccessRefused):
        private_feed_change(
            reader=ada, feed_id=feed.pk, given=AccessGiven("basic", USER, "wrong"), now=timezone.now()
        )
    private_feed_change(reader=ada, feed_id=feed.pk, given=BASIC, now=timezone.now())
    feed.refresh_from_db()
    assert (feed.state, feed.failures, feed.error_code) == ("active", 0, "")


def test_a_stored_secret_stays_where_only_the_user_agent_changes(paper, ada):
    feed = added(ada, paper)
    given = AccessGiven("basic", user_agent="Ada/2")
    private_feed_change(reader=ada, feed_id=feed.pk, given=given, now=timezone.now())
    assert paper.log[-1][0].headers["User-Agent"] == "Ada/2"
    assert FeedAccess.objects.get().user_agent == "Ada/2"


def test_what_is_left_empty_stays_as_it_is_stored(paper, ada):
    feed, page = added(ada, paper), Client()
    page.force_login(ada)
    for before, typed in ((("basic", USER, "old"), {"value": WORD}), (("basic", "x", WORD), {"name": USER})):
        access_store(feed=feed, given=AccessGiven(*before))
        assert page.post(f"/ui/sources/{feed.pk}/access", {"kind": "basic"} | typed).status_code == 302
        assert secret_read(FeedAccess.objects.get()) == BASIC


def test_a_public_feed_that_began_to_ask_becomes_private_and_stays_for_others(paper, ada, ben, now):
    public = subscription_add(reader=ada, url=paper.url_for("/feed"), now=now).feed
    ada.subscriptions.update(folder="Papers")
    sources_weigh(reader=ada, feed_ids=[public.pk], level="more", now=now)
    target_pin(reader_id=ada.pk, target=public.source_id, pin="locked", ref="", now=now)
    mute_set(reader_id=ada.pk, mute=Mute("source", public.source_id), now=now)
    subscription_add(reader=ben, url=paper.url_for("/feed"), now=now)
    private_feed_change(reader=ada, feed_id=public.pk, given=BASIC, now=timezone.now())
    row = ada.subscriptions.get()
    assert (row.feed.owner, row.folder) == (ada, "Papers") and ben.subscriptions.get().feed == public
    assert public.items.count() == 0
    after = config_effective(reader_id=ada.pk)
    for source in (public.source_id, row.feed.source_id):
        assert after.weight(source) == 1.5 and source in after.config.locked
    assert {mute.value for mute in after.config.mutes} == {public.source_id, row.feed.source_id}


def test_nobody_changes_what_opens_a_feed_of_another(paper, ada, ben):
    feed = added(ada, paper)
    with pytest.raises(FeedNotFound):
        private_feed_change(reader=ben, feed_id=feed.pk, given=BASIC, now=timezone.now())


@pytest.mark.parametrize(
    "given",
    [
        AccessGiven("basic", USER, ""),
        AccessGiven("basic", "a:b", WORD),
        AccessGiven("basic", USER, f"{WORD}\r\nX: y"),
        AccessGiven("header", "Host", WORD),
        AccessGiven("header", "X-A: b", WORD),
        AccessGiven("header", "X-A", f"{WORD}\nX: y"),
        AccessGiven("cookie", "", f"{WORD}\r\n"),
        AccessGiven("none", "", WORD),
        AccessGiven("none"),
        AccessGiven("other", "", WORD),
        AccessGiven("none", user_agent="Ada\r\nX: y"),
        AccessGiven("cookie", "", "x" * 4001),
    ],
)
def test_what_cannot_be_sent_is_refused_without_repeating_it(given):
    with pytest.raises(AccessInvalid) as refused:
        access_check(given)
    assert WORD not in str(refused.value)


def test_a_password_of_any_letters_goes_out_in_utf8():
    sent = access_headers(AccessGiven("basic", "Ada", "größe"))["Authorization"]
    assert sent == f"Basic {b64encode('Ada:größe'.encode()).decode()}"


def test_no_secret_is_in_the_database_a_log_an_export_or_a_page(
    paper, ada, operator, settings, caplog, tmp_path
):
    """Neither as typed nor as sent. The stored form needs the key."""
    secrets = (WORD, USER, b64encode(f"{USER}:{WORD}".encode()).decode())
    with logged() as log:
        feed = added(ada, paper)
        paper.clear()
        paper.expect_request("/feed").respond_with_data("", status=500)
        round_of(paper)
        with pytest.raises(AccessRefused):
            paper.clear()
            paper.expect_request("/feed").respond_with_data("", status=401)
            added(ada, paper)
    stored = serializers.serialize("json", [*Feed.objects.all(), *FeedAccess.objects.all()])
    exported = str(
        [
            (name, list(rows) if hasattr(rows, "__next__") else rows)
            for name, rows in reader_export_digest(reader=ada)
        ]
    )
    opml = StringIO()
    call_command("export_opml", "--user-id", str(ada.pk), stdout=opml)
    pages = []
    for who in (ada, operator):
        client = Client()
        client.force_login(who)
        for url in (
            "/ui/sources", f"/ui/sources/{feed.pk}", f"/ui/sources/{feed.pk}/access",
            "/admin/digest/feed/", f"/admin/digest/feed/{feed.pk}/change/",
        ):  # fmt: skip
            pages.append(client.get(url).content.decode())
    for place in (stored, exported, opml.getvalue(), log.getvalue(), caplog.text, repr(BASIC), *pages):
        for secret in secrets:
            assert secret not in place
    assert "basic" in exported and paper.url_for("/feed") in opml.getvalue()
    assert paper.url_for("/feed") not in pages[-1] + pages[-2] and "ada" in pages[-1]
    settings.SECRETS_KEY = "another key"
    paper.clear()
    round_of(paper, days=4)
    feed.refresh_from_db()
    assert (feed.state, feed.error_code) == ("refused", "secret_unreadable") and not paper.log


def test_its_pages_speak_of_no_other_readers_of_the_full_text(paper, ada, settings):
    settings.FULL_TEXT = True
    private, page = added(ada, paper), Client()
    public = SubscriptionFactory(reader=ada, feed=FeedFactory()).feed
    ItemFactory(source=public.source, feed=public)
    page.force_login(ada)
    for feed, said, item_said in (
        (private, "Nobody else here sees the full text.", False),
        (public, "All readers of this feed then see the full text.", True),
    ):
        assert said in page.get(f"/ui/sources/{feed.pk}").content.decode()
        body = page.get(f"/ui/item/{Item.objects.filter(feed=feed).first().pk}").content.decode()
        assert "Fetch the full text" in body and ("readers of this feed will see it" in body) is item_said


def test_what_was_typed_is_not_shown_again_where_it_was_refused(paper, ada):
    page = Client()
    page.force_login(ada)
    form = {"url": paper.url_for("/feed"), "kind": "basic", "name": USER, "value": f"{WORD}-wrong"}
    answer = page.post("/ui/sources/private", form)
    assert answer.status_code == 422 and WORD not in answer.content.decode()


def test_an_address_with_a_password_in_it_is_answered_with_where_that_goes(paper, ada):
    page, address = Client(), paper.url_for("/feed").replace("://", f"://{USER}:{WORD}@")
    page.force_login(ada)
    said = page.post("/ui/sources", {"url": address})
    assert said.status_code == 422 and "as a feed with a password" in said.content.decode()


def test_too_many_tries_are_answered_without_a_list_that_could_hold_no_password(paper, ada):
    page = Client()
    page.force_login(ada)
    form = {"url": paper.url_for("/feed"), "kind": "basic", "name": USER, "value": WORD}
    for minutes in (0, 1):  # in whichever minute the request falls
        for _ in range(LOOKUP.times):
            limit_count(limit=LOOKUP, who=ada.pk, now=timezone.now() + timedelta(minutes=minutes))
    answer = page.post("/ui/sources/private", form)
    assert answer.status_code == 429 and "Wait for the next one." in answer.content.decode()


def test_the_page_answers_a_locked_feed_with_the_form_and_takes_the_password(paper, ada):
    page = Client()
    page.force_login(ada)
    answer = page.post("/ui/sources", {"url": paper.url_for("/feed")})
    body = answer.content.decode()
    assert answer.status_code == 422 and "This feed asks for a password" in body
    assert f'value="{paper.url_for("/feed")}"' in body
    form = {"url": paper.url_for("/feed"), "kind": "basic", "name": USER, "value": WORD}
    assert page.post("/ui/sources/private", form).url == "/"
    assert "Pier for Ada" in page.get("/").content.decode()


def test_the_api_adds_one_and_changes_what_opens_it(paper, ada):
    key = token_issue(reader=ada, name="script", scope="full", expires_at=None, now=timezone.now()).secret
    script = Client(headers={"Authorization": f"Bearer {key}"})
    body = {"url": paper.url_for("/feed")}
    locked = script.post("/api/feeds", body, "application/json")
    assert (locked.status_code, locked.json()["error"]) == (422, "site_unreachable")
    access = {"kind": "basic", "name": USER, "value": WORD}
    answer = script.post("/api/feeds", body | {"access": access}, "application/json").json()
    assert answer["private"] and answer["new"] and answer["items"] == 1
    place = f"/api/feeds/{answer['feed_id']}/access"
    wrong = script.post(place, access | {"value": "wrong"}, "application/json")
    assert (wrong.status_code, wrong.json()["error"]) == (422, "access_refused")
    assert script.post(place, access, "application/json").json()["private"]


def test_a_feed_whose_reader_left_is_asked_no_more_and_loses_its_secret(paper, ada, now):
    feed = added(ada, paper)
    subscriptions_remove(reader=ada, feed_ids=[feed.pk], now=now)
    assert not feeds_due(now=timezone.now() + timedelta(days=9)).exists()
    assert accesses_prune(now=timezone.now()) == 0  # the removal can be undone
    assert accesses_prune(now=timezone.now() + timedelta(days=2)) == 1
    assert added(ada, paper) == feed  # she comes back with her password


@pytest.mark.parametrize("by", ["herself", "an operator", "an operator, of several"])
def test_with_its_reader_all_that_it_brought_is_deleted(paper, ada, ben, operator, by):
    source = added(ada, paper).source_id
    open_feed = FeedFactory(url="https://open.example/feed")
    kept = ItemFactory(
        feed=open_feed, source=open_feed.source, published_at=timezone.now(), fingerprint="open"
    )
    extracts_make(now=timezone.now())
    assert Summary.objects.count() == 2
    site = Client()
    site.force_login(operator)
    match by:
        case "herself":
            reader_delete(reader=ada)
        case "an operator":
            site.post(f"/admin/digest/reader/{ada.pk}/delete/", {"post": "yes"})
        case _:
            chosen = {"action": "delete_selected", "_selected_action": [ada.pk, ben.pk], "post": "yes"}
            site.post("/admin/digest/reader/", chosen)
    assert not Reader.objects.filter(pk=ada.pk).exists() and not Source.objects.filter(pk=source).exists()
    assert list(Item.objects.all()) == [kept] and not FeedAccess.objects.exists()
    assert set(Summary.objects.values_list("fingerprint", flat=True)) == {"open"}
    assert set(SuggestedReasons.objects.values_list("fingerprint", flat=True)) <= {"open"}
    open_feed.delete()
    kept.refresh_from_db()
    assert kept.feed is None


def test_private_feeds_count_among_the_additions_of_a_day(paper, ada, ben, settings):
    """Ten look-ups a minute were 14,400 feeds a day that stay, with what each brought."""
    settings.SUBSCRIPTIONS_MAX = 1
    for _turn in range(2):
        feed = added(ada, paper)
        subscriptions_remove(reader=ada, feed_ids=[feed.pk], now=timezone.now())
    with pytest.raises(TooManySubscriptions, match="today"):
        added(ada, paper)
    public = subscription_add(reader=ben, url=paper.url_for("/feed"), now=timezone.now()).feed
    private_feed_change(reader=ben, feed_id=public.pk, given=BASIC, now=timezone.now())
    subscriptions_remove(
        reader=ben, feed_ids=[Subscription.objects.get(reader=ben).feed_id], now=timezone.now()
    )
    with pytest.raises(TooManySubscriptions, match="today"):
        added(ben, paper)
