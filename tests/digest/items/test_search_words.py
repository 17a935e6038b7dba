"""Search: scripts without spaces, signs in names, typos and filters, in the index of either database."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from importlib import import_module

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from digest.items.reading import item_read, item_save
from digest.items.search import SearchFilters, items_search, search_ids
from digest.items.search_query import (
    highlight,
    query_terms,
    terms_correct,
    terms_fuzzy,
    terms_snippet,
    words_of,
)
from digest.models import Item, Reader, Subscription
from tests.digest.items.test_search import found, plain
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory, ItemFactory, SubscriptionFactory
from tests.support.thinned import examples

migration = import_module("digest.migrations.0001_squashed")


def instead(reader: Reader, query: str) -> str:
    """Return the query that was searched in place of one with a typo."""
    return items_search(reader_id=reader.pk, query=query, now=timezone.now()).instead


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("title", "typed"),
    [
        ("日本語の文書を検索する", "日本"),
        ("日本語の文書を検索する", "文書を検索"),
        ("日本語の文書を検索する", "書"),
        ("日本語の文書を検索する", "る"),
        ("ガス料金が上がる", "ガス"),
        ("人々の声", "人々"),
        ("中国经济增长放缓", "经济增长"),
        ("한국은행이 금리를 올렸다", "한국"),
        ("한국은행이 금리를 올렸다", "은행"),
        ("ประเทศไทยประกาศหยุดยาว", "ไทย"),
        ("ที่นี่กรุงเทพ", "กรุงเทพ"),
        ("ພາສາລາວ", "ລາວ"),
        ("ភាសាខ្មែរ", "ខ្មែរ"),
        ("မြန်မာဘာသာ", "ဘာသာ"),
        ("ခွင့်ပြုချက်", "ခွင့်ပြု"),
        ("ที่นี่กรุงเทพ", "ที่นี่"),
        ("東京2020大会", "東京2020"),
        ("東京2020大会", "2020大"),
        ("最新iPhone発表", "新iPhone"),
        ("हिन्दी समाचार", "हिन्दी"),
    ],
)
def test_words_are_found_inside_scripts_without_spaces(ada: Reader, title: str, typed: str):
    fresh_item(ada, title=title, text="")
    fresh_item(ada, title="本日は晴天なり、国中の書道", text="")
    assert title in found(ada, typed)
    assert "".join(part.text for part in highlight(title, query_terms(typed)) if part.marked)


def test_pairs_of_letters_must_follow_one_another(ada: Reader):
    fresh_item(ada, title="日本と本語", text="")
    assert found(ada, "日本語") == []
    assert found(ada, "日本 本語") == ["日本と本語"]
    assert found(ada, "日本 -本語") == []


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("C++", "Modern C++ in practice"),
        ("c++", "Modern C++ in practice"),
        ("C#", "What is new in C#"),
        (".NET", "Microsoft ships .NET 10"),
        ("F#", "F# for the rest of us"),
        ("node.js", "A fast node.js"),
        ("AT&T", "AT&T raises prices"),
        ('"new in c#"', "What is new in C#"),
    ],
)
def test_signs_belong_to_names(ada: Reader, typed: str, title: str):
    for other in (
        "Modern C++ in practice",
        "What is new in C#",
        "Microsoft ships .NET 10",
        "F# for the rest of us",
        "A fast node.js",
        "AT&T raises prices",
        "Plan C, C minor and vitamin C",
        "A net for fish of example.net",
        "The node and its js",
    ):
        fresh_item(ada, title=other, text="")
    assert found(ada, typed) == [title]


def test_signs_are_found_beside_quotes_and_backslashes(ada: Reader):
    title = '"C++", C#\\F# and\t(.NET) are "quoted"'
    fresh_item(ada, title="One of several", text=title * 9)
    for typed in ("c++", "c#", "f#", ".net", "quoted"):
        assert found(ada, typed) == ["One of several"], typed


def test_names_with_signs_are_marked_whole_and_found_without_them(ada: Reader):
    fresh_item(ada, title="Notepad++ and #news", text="")
    assert found(ada, "notepad") == found(ada, "#news") == found(ada, "notepad++") == ["Notepad++ and #news"]
    assert plain(highlight("C++ and .NET", query_terms("c++ .net"))) == "[C++] and [.NET]"
    assert plain(highlight("C# or C", query_terms("c#"))) == "[C#] or C"
    assert plain(highlight("日本語の本", query_terms("日本 語"))) == "[日本][語]の本"
    assert plain(highlight("ガスとカス", query_terms("ガス"))) == "[ガス]とカス"


def test_a_snippet_of_a_text_without_spaces_has_its_match():
    text = "今日は天気が良い。" * 60 + "東京タワー" + "明日は雨が降る。" * 60
    cut = plain(terms_snippet(text, query_terms("東京タワー")))
    assert "[東京タワー]" in cut
    assert len(cut) < 300


LETTERS = st.sampled_from("abcdeéßñжй日本語東京がガー々한국어กทีไมလမြខ្ម १हिद C#+.-, &/2")


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(title=st.text(LETTERS, min_size=1, max_size=24), data=st.data())
def test_a_title_is_found_by_each_of_its_words_and_by_any_run_of_letters_without_spaces(
    ada: Reader, title: str, data: st.DataObject
):
    assume(words := [word for word in title.split() if words_of(word)])
    # SQLite's index knows signs after plain letters alone: "C#" is found there, "é#" by its letter.
    assume(connection.vendor != "sqlite" or not re.search(r"[^\x00-\x7f](#|\+\+)", title))
    item = ItemFactory(title=title, text="")
    FeedbackFactory(reader=ada, item=item)
    word = data.draw(st.sampled_from(words))
    # Signs at a word's edge may belong to a query, but a sign without a word does not.
    asked = f'"{word}"'
    assert item.pk in {
        one.pk
        for one in items_search(reader_id=ada.pk, query=asked, order="newest", now=timezone.now()).items
    }
    runs = [piece for piece in words_of(title) if "\u3041" <= piece[0] <= "\u9fff"]
    for run in runs:
        start = data.draw(st.integers(0, len(run) - 1))
        part = run[start : data.draw(st.integers(start + 1, len(run)))]
        assert found(ada, part) or not any(c.isalnum() for c in part), part
    item.delete()


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="triggers write the index of FTS5; a generated column cannot differ"
)
def test_what_triggers_write_and_take_away_is_what_a_rebuild_writes(ada: Reader):
    titles = ["日本語", 'C++ and "C#\\F#"', "Plain words", "한국 .NET", "x" * 254 + "日本語" + " C++" * 90]
    items = [fresh_item(ada, title=title[:500], text=title * 3) for title in titles]
    Item.objects.filter(pk=items[0].pk).update(title="東京 C++")
    Item.objects.filter(pk=items[2].pk).update(text="日本")
    items[1].delete()

    def entries() -> set[tuple[object, ...]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM temp.search_entries")
            return set(cursor.fetchall())

    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIRTUAL TABLE temp.search_entries USING fts5vocab(main, digest_item_search, instance)"
        )
    written = entries()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE temp.search_entries")
    migration.search_rebuild(connection.schema_editor())
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIRTUAL TABLE temp.search_entries USING fts5vocab(main, digest_item_search, instance)"
        )
    assert written == entries()
    assert len(written) > 100
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE temp.search_entries")


def test_pairs_and_signs_are_found_wherever_they_stand_in_a_long_text(ada: Reader):
    # The triggers of SQLite walk a text in pieces of 256 characters.
    for n in (*range(248, 262), *range(504, 518)):
        fresh_item(ada, title=f"{n}", text="." * n + "日本語 C++ and F#")
    for typed in ("日本", "本語", "c++", "f#"):
        assert items_search(reader_id=ada.pk, query=typed, now=timezone.now()).total == 28, typed


@pytest.mark.parametrize("typed", ["harbuor", "harbur", "harbouur", "harbuur", "Harbuor"])
def test_one_typo_is_corrected_and_the_page_says_so(client: Client, ada: Reader, typed: str):
    fresh_item(ada, title="The harbour at dawn")
    answer = items_search(reader_id=ada.pk, query=typed, now=timezone.now())
    assert ([item.title for item in answer.items], answer.instead) == (["The harbour at dawn"], "harbour")
    client.force_login(ada)
    body = client.get("/ui/search", {"q": typed}).content.decode()
    assert f"Nothing for “{typed}”. Showing “harbour”: 1 item" in body
    assert "The <mark>harbour</mark> at dawn" in body
    assert client.get("/api/search", {"q": typed}).json()["instead"] == "harbour"


def test_typos_are_corrected_beside_other_words_and_in_other_alphabets(ada: Reader):
    fresh_item(ada, title="Harbour news", text="of today")
    fresh_item(ada, title="Выборы сегодня")
    assert (
        items_search(reader_id=ada.pk, query="harbuor today", now=timezone.now()).instead == "harbour today"
    )
    assert (
        items_search(reader_id=ada.pk, query="harbour todya", now=timezone.now()).instead == "harbour today"
    )
    assert (
        items_search(reader_id=ada.pk, query="harbuor -lamp", now=timezone.now()).instead == "harbour -lamp"
    )
    assert instead(ada, "выворы") == "выборы"


def test_the_spelling_of_most_items_is_taken():
    fuzzy = terms_fuzzy(query_terms("thier"))
    texts = ["their boats", "their nets", "a thief"]
    assert [term.words for term in terms_correct(fuzzy, texts)] == [("their",)]


@pytest.mark.parametrize("typed", ["lmap", '"harbuor"', "harbuorr", "harbuor*", "1984x"])
def test_short_words_phrases_and_two_typos_are_not_corrected(ada: Reader, typed: str):
    fresh_item(ada, title="The harbour lamp of 1984")
    answer = items_search(reader_id=ada.pk, query=typed, now=timezone.now())
    assert (answer.items, answer.instead, answer.total) == ((), "", 0)


def test_nothing_is_corrected_where_the_typed_word_is_found(ada: Reader):
    fresh_item(ada, title="Harbuor, with a typo")
    fresh_item(ada, title="The harbour")
    answer = items_search(reader_id=ada.pk, query="harbuor", now=timezone.now())
    assert (answer.instead, answer.total) == ("", 1)


def test_no_word_of_another_readers_items_is_suggested(ada: Reader, ben: Reader):
    fresh_item(ben, key="bens.example", title="The secret harbour")
    fresh_item(ada, title="Plain")
    answer = items_search(reader_id=ada.pk, query="harbuor", now=timezone.now())
    assert (answer.items, answer.instead) == ((), "")


def test_a_typo_costs_a_constant_number_of_queries(ada: Reader, django_assert_num_queries):
    for count in (2, 9):
        for n in range(count):
            fresh_item(ada, title=f"Harbour {count} {n}")
        # typed, spellings (PostgreSQL: between two settings), their items, corrected, its items
        with django_assert_num_queries(6 if connection.vendor == "sqlite" else 8):
            items_search(reader_id=ada.pk, query="harbuor", now=timezone.now())


def test_filters_choose_by_source_date_unread_and_saved(ada: Reader):
    now = timezone.now()
    read = fresh_item(ada, hours=1, title="Lamp, read")
    kept = fresh_item(ada, hours=2, title="Lamp, saved")
    fresh_item(ada, key="other.example", hours=72, title="Lamp, elsewhere")
    item_read(reader=ada, item_id=read.pk, now=now)
    item_save(reader=ada, item_id=kept.pk, saved=True, now=now)

    def narrowed(**fields: object) -> set[str]:
        return {title.split(", ")[1] for title in found(ada, "lamp", filters=SearchFilters(**fields))}

    assert narrowed() == {"read", "saved", "elsewhere"}
    assert narrowed(source="other.example") == {"elsewhere"}
    assert narrowed(unread=True) == {"saved", "elsewhere"}
    assert narrowed(saved=True) == {"saved"}
    assert narrowed(since=now - timedelta(hours=48)) == {"read", "saved"}
    assert narrowed(until=now - timedelta(hours=48)) == {"elsewhere"}
    assert narrowed(since=now - timedelta(hours=48), unread=True, saved=True) == {"saved"}


def test_a_search_in_a_folder_finds_what_its_feeds_carry(client: Client, ada: Reader, ben: Reader):
    fresh_item(ada, title="Lamp, filed")
    fresh_item(ada, key="other.example", title="Lamp, elsewhere")
    Subscription.objects.filter(feed__source="gazette.example").update(folder="News & more")
    SubscriptionFactory(reader=ben, feed=Item.objects.get(title="Lamp, elsewhere").feed, folder="News & more")
    assert found(ada, "lamp", filters=SearchFilters(folder="News & more")) == ["Lamp, filed"]
    assert found(ada, "lamp", filters=SearchFilters(folder="news")) == []
    filters = SearchFilters(folder="News & more")
    assert search_ids(reader_id=ada.pk, query="lamp", filters=filters, now=timezone.now()) == [
        Item.objects.get(title="Lamp, filed").pk
    ]
    client.force_login(ada)
    found_by_api = client.get("/api/search", {"q": "lamp", "folder": "News & more"}).json()
    assert found_by_api["total"] == 1


def test_from_the_list_of_a_folder_or_source_a_search_begins_there_and_one_press_widens_it(
    client: Client, ada: Reader
):
    fresh_item(ada, title="Lamp, filed")
    fresh_item(ada, key="other.example", title="Lamp, elsewhere")
    Subscription.objects.filter(feed__source="gazette.example").update(folder="News & more")
    feed = Subscription.objects.get(folder="").feed_id
    client.force_login(ada)

    def leads_to(address: str) -> str:
        """Return what the key of search and the navigation add to the page of search."""
        page = client.get(address).content.decode()
        (way,) = set(re.findall('(?:href|data-search)="/ui/search([^"]*)"', page))
        return unescape(way)

    assert leads_to("/ui/all") == leads_to("/ui/all?unread=1") == ""
    assert leads_to("/ui/all?folder=News+%26+more&unread=1") == "?folder=News+%26+more"
    assert (
        leads_to(f"/ui/all?feed={feed}")
        == leads_to("/ui/all?source=other.example")
        == "?source=other.example"
    )
    for asked, place, other in (
        ({"folder": "News & more"}, "News &amp; more", "elsewhere"),
        ({"source": "other.example"}, "Other", "filed"),
    ):
        shown = client.get("/ui/search", {"q": "lamp", **asked}).content.decode()
        assert f"in <bdi>{place}</bdi>" in shown and f"{other}</a>" not in shown
        assert '<details class="narrow">' in shown, "what else narrows is folded"
        wide = client.get("/ui/search", {"q": "lamp", **asked, "everywhere": "1"}).content.decode()
        assert other in wide and "Search everywhere" not in wide


def test_a_folder_costs_a_search_one_query(ada: Reader, django_assert_num_queries):
    fresh_item(ada, title="Lamp")
    Subscription.objects.update(folder="News")
    with CaptureQueriesContext(connection) as plain:
        found(ada, "lamp")
    with django_assert_num_queries(len(plain) + 1):
        assert found(ada, "lamp", filters=SearchFilters(folder="News")) == ["Lamp"]


def test_filters_choose_by_category_and_author_in_any_spelling(ada: Reader):
    fresh_item(ada, title="Lamp, filed", categories=["electric-cars"], author="Ben Low")
    fresh_item(ada, title="Lamp, signed", author="By Olga Rand and Ben Low")
    fresh_item(ada, title="Lamp, neither")

    def narrowed(**fields: str) -> set[str]:
        page = items_search(
            reader_id=ada.pk, query="lamp", filters=SearchFilters(**fields), now=timezone.now()
        )
        assert page.total == len(page.items)
        return {item.title.split(", ")[1] for item in page.items}

    assert narrowed(category="Electric Cars") == {"filed"}
    assert narrowed(author="ben low") == {"filed", "signed"}
    assert narrowed(author="OLGA RAND") == {"signed"}
    assert narrowed(author="ben low", category="electric cars") == {"filed"}
    assert narrowed(author="low") == narrowed(category="cars") == set()


def test_read_and_saved_are_the_readers_own_and_by_article(ada: Reader, ben: Reader):
    mine, theirs = fresh_item(ada, title="Lamp"), fresh_item(ben, key="b.example", title="Lamp")
    Item.objects.update(article=7)
    item_read(reader=ben, item_id=theirs.pk, now=timezone.now())
    item_save(reader=ben, item_id=theirs.pk, saved=True, now=timezone.now())
    assert found(ada, "lamp", filters=SearchFilters(unread=True)) == ["Lamp"]
    assert found(ada, "lamp", filters=SearchFilters(saved=True)) == []
    assert found(ben, "lamp", filters=SearchFilters(unread=True)) == []
    assert mine.pk != theirs.pk


def test_a_day_of_a_filter_is_the_readers_and_ends_with_it(client: Client, ada: Reader):
    ada.time_zone = "Asia/Tokyo"
    ada.save()
    late = datetime(2026, 3, 17, 15, 30, tzinfo=UTC)  # half past midnight on the 18th in Tokyo
    item = fresh_item(ada, title="Lamp")
    Item.objects.filter(pk=item.pk).update(dated_at=late)
    client.force_login(ada)

    def total(**asked: str) -> int:
        return client.get("/api/search", {"q": "lamp", **asked}).json()["total"]

    assert total(since="2026-03-18", until="2026-03-18") == 1
    assert total(until="2026-03-17") == total(since="2026-03-19") == 0


def test_filters_stay_in_the_addresses_of_pages_and_orders_and_in_the_form(client: Client, ada: Reader):
    for n in range(23):
        fresh_item(ada, key="quay.example", hours=n + 1, title=f"Lamp {n}")
    client.force_login(ada)
    day = (timezone.now() - timedelta(days=9)).date().isoformat()
    asked = {"q": "lamp", "source": "quay.example", "since": day, "unread": "1"}
    body = client.get("/ui/search", asked).content.decode()
    here = f"q=lamp&amp;source=quay.example&amp;since={day}&amp;unread=1"
    assert f'href="/ui/search?{here}&amp;order=newest"' in body
    assert f'rel="next" href="?{here}&amp;order=best&amp;page=2"' in body
    assert '<option value="quay.example" selected>' in body
    assert f'name="since" value="{day}"' in body
    assert 'name="unread" value="1" checked' in body
    assert 'name="saved" value="1">' in body
    assert "3 of 8" in body


@pytest.mark.parametrize("day", ["yesterday", "0001-01-01", "9999-12-31", "2026-02-31", "\0"])
def test_no_day_breaks_the_page(client: Client, ada: Reader, day: str):
    ada.time_zone = "Pacific/Kiritimati"
    ada.save()
    fresh_item(ada, title="Lamp")
    client.force_login(ada)
    answer = client.get("/ui/search", {"q": "lamp", "since": day, "until": day, "source": "\0"})
    assert answer.status_code == 200
    wrong = day in ("yesterday", "2026-02-31")
    assert ("Write a day as 2026-03-18." in answer.content.decode()) == wrong


def test_another_readers_source_is_not_in_the_form(client: Client, ada: Reader, ben: Reader):
    fresh_item(ben, key="secret.example", title="Lamp")
    client.force_login(ada)
    assert "secret.example" not in client.get("/ui/search").content.decode()
    named = client.get("/ui/search", {"q": "lamp", "source": "secret.example"}).content.decode()
    assert "Nothing found" in named


def test_of_a_phrase_the_first_sixteen_words_are_looked_for():
    """A text that repeats one word would be compared with the whole phrase at each of its words."""
    (term,) = query_terms(f'"{"a " * 90}b"')
    assert term.words == ("a",) * 16
