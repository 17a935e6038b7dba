"""Search: results, their order and visibility, and that no text breaks it."""

import html
import random
import re
import time
from itertools import pairwise, product

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.middleware import ADDRESS_CHARS
from digest.items import search
from digest.items.search import SEARCH_PAGE, SearchFilters, items_search
from digest.items.search_query import highlight, query_notes, query_terms, terms_snippet
from digest.models import Item, Reader
from ranking.mutes import Mute
from ranking.services import ConfigEdit, config_edit, mute_set
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.thinned import examples


def found(reader: Reader, query: str, **more: object) -> list[str]:
    return [
        item.title
        for item in items_search(reader_id=reader.pk, query=query, **more, now=timezone.now()).items
    ]


def plain(parts) -> str:
    return "".join(f"[{part.text}]" if part.marked else part.text for part in parts)


def test_words_are_found_in_titles_and_texts_and_all_must_be_there(ada: Reader):
    fresh_item(ada, title="Tides on the pier", text="Harbour news.")
    fresh_item(ada, title="Harbour closes", text="No water.")
    assert found(ada, "harbour news") == ["Tides on the pier"]
    assert sorted(found(ada, "HARBOUR")) == ["Harbour closes", "Tides on the pier"]
    assert found(ada, "harbour -water") == ["Tides on the pier"]
    assert found(ada, "zeppelin") == []


def test_one_of_two_words_suffices_with_or_and_not_leaves_out(ada: Reader):
    fresh_item(ada, title="Tides on the pier", text="Harbour news.")
    fresh_item(ada, title="Lamps in the port", text="Harbour light.")
    fresh_item(ada, title="Kettles", text="Hot water.")
    assert sorted(found(ada, "tide OR lamp")) == ["Lamps in the port", "Tides on the pier"]
    assert sorted(found(ada, '"hot water" OR lam* | tides')) == sorted(found(ada, "harbour OR water"))
    assert found(ada, "harbour lamp OR kettle") == ["Lamps in the port"], "OR joins the words beside it"
    assert found(ada, "harbour AND tide") == found(ada, "harbour NOT lamp") == ["Tides on the pier"]
    assert found(ada, "tide or lamp") == [], "or is a word"
    assert plain(highlight("A lamp, a kettle", query_terms("kettle OR lamp"))) == "A [lamp], a [kettle]"


def test_or_finds_all_that_each_of_its_words_finds_alone(ada: Reader):
    words = ("rust", "rusty", "kotlin", "kotlins", "category", "spa", "spaces", "space", "zeppelins")
    for n, word in enumerate(words):
        fresh_item(ada, title=f"A {word} here {n}", text="Harbour" if n % 2 else "Port")
    sought = ("rust", "kotl", "cat", "spa", "space", "zep", "zeppelin", "absent", "rus*", '"rusty here"')
    for first, second in product(sought, repeat=2):
        alone = {*found(ada, first), *found(ada, second)}
        assert {*found(ada, f"{first} OR {second}")} == alone, (first, second)
        port = {title for one in (first, second) for title in found(ada, f"port {one}")}
        either = {*found(ada, f"port {first} OR {second}")}
        assert either == port or not (found(ada, f"port {first}") and found(ada, f"port {second}"))


def test_longer_words_of_or_come_last_and_are_told(ada: Reader, client: Client):
    fresh_item(ada, title="Rusty gates", hours=1)
    fresh_item(ada, title="Rust is old", hours=5)
    fresh_item(ada, title="Kotlin is new", hours=9)
    assert found(ada, "rust OR kotlin", order="newest") == ["Rust is old", "Kotlin is new", "Rusty gates"]
    client.force_login(ada)
    page = client.get("/ui/search", {"q": "rust OR kotlin"}).content.decode()
    assert "3 items" in page and "longer words that begin so count less" in page
    assert "<mark>Rusty</mark> gates" in page


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        ("lamp OR kettle", []),
        ("lamp | kettle AND port", []),
        ("Star Wars: a film", []),
        ("C (programming)", []),
        ("https://lamp.example/a", []),
        ('"lamp OR kettle" at 16:30', []),
        ("OR NOT", []),
        ("OR lamp", ["“OR” was left out"]),
        ("lamp OR -kettle AND", ["“OR” was left out", "“AND” was left out"]),
        ("lamp OR NOT kettle", ["“OR” was left out"]),
        ("title:lamp -author:ada", ["“title:” is read as a word.", "“author:” is read as a word."]),
        ("lamp NEAR kettle", ["“NEAR” is read as a word."]),
        ("(lamp OR kettle) port", ["Brackets are ignored"]),
        ("la*p k*", ["A star counts only at the end of a word."]),
        ("a b c d e f g h i j k OR l", []),
        ("a b c d e f g h i j k OR l m", ["Only the first twelve words are looked for."]),
    ],
)
def test_what_looks_like_an_operator_and_is_none_is_named(typed: str, notes: list[str]):
    said = query_notes(typed)
    assert len(said) == len(notes)
    assert all(note in one for note, one in zip(notes, said, strict=True))


def test_the_page_names_it_beside_the_results_and_where_nothing_is_found(client: Client, ada: Reader):
    client.force_login(ada)
    fresh_item(ada, title="A lamp")
    assert found(ada, "OR lamp") == ["A lamp"]
    for typed in ("OR lamp", "OR zeppelin"):
        assert "“OR” was left out" in client.get("/ui/search", {"q": typed}).content.decode()


def test_words_match_whole_a_star_matches_prefixes_and_quotes_match_phrases(ada: Reader):
    fresh_item(ada, title="He said nothing")
    fresh_item(ada, title="AI in the paper")
    assert found(ada, "ai") == ["AI in the paper"]
    assert found(ada, "noth*") == ["He said nothing"]
    assert found(ada, '"the paper"') == ["AI in the paper"]
    assert found(ada, '"paper the"') == found(ada, "“paper the”") == found(ada, "„paper the“") == []
    assert found(ada, '"in the pap"*') == ["AI in the paper"]


def test_singular_and_plural_find_each_other(ada: Reader):
    fresh_item(ada, title="Two ferries collide")
    assert found(ada, "ferry") == ["Two ferries collide"]
    fresh_item(ada, title="An election is called")
    assert found(ada, "elections") == ["An election is called"]


@pytest.mark.parametrize("typed", ["Müller", "muller", "Mueller", "MÜLLER", "mu\u0308ller"])
def test_german_names_are_found_as_people_type_them(ada: Reader, typed: str):
    fresh_item(ada, title="Frau Müller gewinnt die Wahl")
    assert found(ada, typed) == ["Frau Müller gewinnt die Wahl"]


@pytest.mark.parametrize("typed", ["Straße", "strasse"])
def test_sharp_s_is_found_either_way(ada: Reader, typed: str):
    fresh_item(ada, title="Die Straße ist frei")
    assert found(ada, typed) == ["Die Straße ist frei"]


def test_accents_are_folded_both_ways(ada: Reader):
    fresh_item(ada, title="Le café de São Paulo")
    assert found(ada, "cafe sao") == found(ada, "CAFÉ são") == ["Le café de São Paulo"]


def test_without_a_whole_word_longer_ones_are_offered_and_labelled(ada: Reader):
    fresh_item(ada, title="Wahlkampf in Bayern")
    loose = items_search(reader_id=ada.pk, query="Wahl", now=timezone.now())
    assert [item.title for item in loose.items] == ["Wahlkampf in Bayern"]
    assert loose.loose
    assert not items_search(reader_id=ada.pk, query="Wahlkampf", now=timezone.now()).loose
    assert found(ada, '"Wahl"') == []


@pytest.mark.parametrize("order", ["best", "newest", "oldest"])
def test_whole_words_come_first_and_then_words_that_begin_like_the_last(ada: Reader, order: str):
    fresh_item(ada, hours=9, title="Le climat change", text="Long ago. " * 40)
    fresh_item(ada, hours=5, title="Climate talks end", text="Climate, climate.")
    fresh_item(ada, hours=1, title="A climatologist speaks")
    fresh_item(ada, hours=2, title="Acclimatise slowly")
    page = items_search(reader_id=ada.pk, query="climat", order=order, now=timezone.now())
    titles = [item.title for item in page.items]
    assert titles[0] == "Le climat change"
    assert sorted(titles[1:]) == ["A climatologist speaks", "Climate talks end"]
    assert (page.total, page.whole, page.longer, page.loose) == (3, 1, True, False)
    if order != "best":
        assert (titles[1] == "A climatologist speaks") == (order == "newest")


def test_only_the_last_word_may_be_a_beginning_and_only_of_four_letters(ada: Reader):
    fresh_item(ada, title="Harbours and climate")
    fresh_item(ada, title="The harbouring of climates")
    fresh_item(ada, title="War over tea")
    fresh_item(ada, title="Warm over tea")
    assert found(ada, "harbour clim") == ["Harbours and climate"]
    assert found(ada, "war") == ["War over tea"]
    assert found(ada, '"over te"') == []
    assert found(ada, "clim -harbours") == ["The harbouring of climates"]


def test_the_page_marks_the_beginning_and_says_that_longer_words_count_less(client: Client, ada: Reader):
    client.force_login(ada)
    fresh_item(ada, title="Le climat change")
    fresh_item(ada, title="Climate talks end")
    body = client.get("/ui/search?q=climat").content.decode()
    assert "2 items; longer words that begin so count less" in body
    assert "<mark>climat</mark>" in body and "<mark>Climate</mark>" in body
    body = client.get("/ui/search?q=climat&order=newest").content.decode()
    assert "2 items; longer words that begin so come last" in body


def test_a_muted_whole_word_is_not_counted_as_one(ada: Reader):
    fresh_item(ada, title="Le climat change", key="muted.example")
    fresh_item(ada, title="Climate talks end")
    mute_set(reader_id=ada.pk, mute=Mute("source", "muted.example"), now=timezone.now())
    page = items_search(reader_id=ada.pk, query="climat", now=timezone.now())
    assert (page.total, page.whole, page.loose) == (1, 0, True)


def test_a_search_for_what_is_muted_says_how_many_it_hides_and_shows_them(ada: Reader, client: Client):
    for n in range(3):
        fresh_item(ada, title=f"Harbour {n}", hours=n + 1)
    fresh_item(ada, title="Harbours of old, a pier", hours=9)
    fresh_item(ada, title="The harbourmaster", hours=10)
    mute_set(reader_id=ada.pk, mute=Mute("word", "harbour"), now=timezone.now())
    result = items_search(reader_id=ada.pk, query="harbour", now=timezone.now())
    assert (result.total, result.muted, result.items[0].title) == (1, 4, "The harbourmaster")
    client.force_login(ada)
    page = client.get("/ui/search", {"q": "harbour pier"}).content.decode()
    assert "1 is muted." in page and "None of your items" not in page and "Nothing for" not in page
    assert "All that was found is muted" in page
    page = client.get("/ui/search", {"q": "harbour", "order": "newest"}).content.decode()
    assert "4 are muted." in page and "1 begins like it:" in page and "No item has" not in page
    [link] = re.findall(r'href="(\?[^"]*muted=1)">Show them', page)
    shown = client.get("/ui/search" + html.unescape(link))
    assert [row.shown.item.title for row in shown.context["hits"]][:3] == [
        "Harbour 0",
        "Harbour 1",
        "Harbour 2",
    ]
    assert "With what is muted." in shown.content.decode() and "are muted." not in shown.content.decode()
    assert all(order.href.endswith("&muted=1") for order in shown.context["orders"])


def test_no_other_word_is_searched_in_place_of_a_muted_one(ada: Reader):
    fresh_item(ada, title="The lamps of the port")
    fresh_item(ada, title="The lambs of the port", hours=3)
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamps"), now=timezone.now())
    result = items_search(reader_id=ada.pk, query="lamps", now=timezone.now())
    assert (result.items, result.muted, result.instead, result.loose) == ((), 1, "", False)
    both = items_search(reader_id=ada.pk, query="lamps", with_muted=True, now=timezone.now())
    assert [item.title for item in both.items] == ["The lamps of the port"] and both.muted == 0


def test_of_what_is_muted_only_what_the_filters_let_through_is_counted(ada: Reader):
    fresh_item(ada, title="Harbour one", author="Ann", hours=1)
    fresh_item(ada, title="Harbour two", author="Ben", hours=2)
    mute_set(reader_id=ada.pk, mute=Mute("word", "harbour"), now=timezone.now())
    by_ann = SearchFilters(author="Ann")
    assert items_search(reader_id=ada.pk, query="harbour", filters=by_ann, now=timezone.now()).muted == 1
    saved = SearchFilters(saved=True)
    assert items_search(reader_id=ada.pk, query="harbour", filters=saved, now=timezone.now()).muted == 0


def test_hyphens_dots_and_slashes_separate_words(ada: Reader):
    fresh_item(ada, title="COVID-19 and example.org/news at 3.5 percent")
    for typed in ("covid-19", "covid 19", "example.org", "3.5", "org/news"):
        assert found(ada, typed) == ["COVID-19 and example.org/news at 3.5 percent"], typed


def test_the_best_have_the_word_in_the_title_and_the_newest_come_by_date(ada: Reader):
    fresh_item(ada, hours=1, title="Plain", text="A lighthouse, " + "far away. " * 30)
    fresh_item(ada, hours=9, title="The lighthouse")
    assert found(ada, "lighthouse") == ["The lighthouse", "Plain"]
    assert found(ada, "lighthouse", order="newest") == ["Plain", "The lighthouse"]


@pytest.mark.parametrize(
    ("typed", "in_title", "in_old_text"),
    [
        ("ferry", "Ferry", "the ferries"),
        ("ferries", "Ferries", "a ferry"),
        ("ferry", "Ferries", "a ferry"),
        ("climat", "Climate", "le climat"),
    ],
    ids=[
        "a rare plural",
        "a rare singular",
        "the word as typed",
        "a whole word, where titles have a longer one",
    ],
)
def test_titles_of_this_week_come_before_another_form_in_an_old_text(
    ada: Reader, typed: str, in_title: str, in_old_text: str
):
    for n in range(12):
        fresh_item(ada, hours=n + 1, title=f"Of other things {n}", text="Lamps and piers.")
    text = f"Here is {in_old_text}, again {in_old_text}, " + "and far away " * 30
    fresh_item(ada, hours=24 * 700, title="From the archive", text=text)
    week = [f"{in_title} number {n}" for n in range(4)]
    for n, title in enumerate(week):
        fresh_item(ada, hours=24 * n + 1, title=title, text="Of a harbour.")
    assert found(ada, typed) == [*week, "From the archive"]


def test_an_old_title_comes_before_a_word_that_a_new_text_has_once(ada: Reader):
    fresh_item(ada, hours=1, title="Plain", text="A lighthouse, " + "far away. " * 30)
    fresh_item(ada, hours=24 * 60, title="The lighthouse")
    assert found(ada, "lighthouse") == ["The lighthouse", "Plain"]


def test_pages_hold_twenty_and_count_all(ada: Reader):
    for n in range(SEARCH_PAGE + 3):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    first = items_search(reader_id=ada.pk, query="lamp", order="newest", now=timezone.now())
    second = items_search(reader_id=ada.pk, query="lamp", order="newest", page=2, now=timezone.now())
    assert (first.total, first.more, second.more) == (23, True, False)
    assert [item.title for item in second.items] == ["Lamp 20", "Lamp 21", "Lamp 22"]
    assert items_search(reader_id=ada.pk, query="lamp", page=3, now=timezone.now()).items == ()


def test_a_reader_finds_only_visible_items(ada: Reader, ben: Reader):
    fresh_item(ben, key="bens.example", title="A secret lamp")
    assert found(ada, "lamp") == []
    assert found(ben, "lamp") == ["A secret lamp"]


def test_items_of_another_feed_of_the_source_are_not_found(ada: Reader, ben: Reader):
    source = SourceFactory(key="video.example")
    feeds = [FeedFactory(source=source, url=f"https://video.example/{n}") for n in range(2)]
    SubscriptionFactory(reader=ada, feed=feeds[0])
    for n, feed in enumerate(feeds):
        ItemFactory(source=source, feed=feed, title=f"Lamp of channel {n}")
    assert found(ada, "lamp") == ["Lamp of channel 0"]


def test_a_rated_item_is_found_after_its_feed_was_removed(ada: Reader):
    item = ItemFactory(title="An old lamp")
    FeedbackFactory(reader=ada, item=item)
    assert found(ada, "lamp") == ["An old lamp"]


def test_the_index_follows_changes_and_deletions(ada: Reader):
    item = fresh_item(ada, title="Before", text="")
    Item.objects.filter(pk=item.pk).update(title="After")
    assert (found(ada, "before"), found(ada, "after")) == ([], ["After"])
    item.refresh_from_db()
    item.text = "Words that came later"
    item.save()
    assert found(ada, "later") == ["After"]
    Item.objects.filter(pk=item.pk).delete()
    assert found(ada, "after") == []


HARMLESS = [
    '"', '""', '"unclosed', "'", "''", "AND", "OR NOT", "NEAR(a b)", "lamp AND", "title:lamp", "{lamp}",
    "^lamp", "(lamp", "*", "-", "--", "-lamp", "lamp:*", "a & b | !c", "\\", "%", "_", "\0", "la\0mp",
    "😀", "😀 lamp", "lamp" * 2500, "a " * 5000, "½ ⑴ ﬁ", "ǅ", "İ", "ß", "\u0300", "\ud800", "日本",
    "'; DROP TABLE x; --",
]  # fmt: skip


@pytest.mark.parametrize("typed", HARMLESS, ids=range(len(HARMLESS)))
def test_no_query_breaks_the_search(ada: Reader, typed: str):
    fresh_item(ada, title="lamp")
    now = timezone.now()
    best, newest = (
        items_search(reader_id=ada.pk, query=typed, order=order, now=now).total
        for order in ("best", "newest")
    )
    assert best == newest <= 1


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_no_random_text_breaks_the_search(ada: Reader, typed: str):
    assert found(ada, typed) == []


def test_a_query_without_words_needs_no_query_of_the_database(ada: Reader, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert found(ada, '😀 -lamp ""') == []


def test_a_search_costs_three_queries_however_many_hits(ada: Reader, django_assert_num_queries):
    subscribe(ada)
    for count in (3, 12):
        for n in range(count):
            fresh_item(ada, title=f"Lamp {count} {n}")
        with django_assert_num_queries(3):
            found(ada, "lamp")


def test_matches_are_marked_in_place_with_accents():
    assert plain(highlight("Die Müller-Straße", query_terms("muller strasse"))) == "Die [Müller]-[Straße]"
    assert plain(highlight("He said AI <b>", query_terms("ai"))) == "He said [AI] <b>"
    assert plain(highlight("Lamps and a lamp", query_terms("lamp"))) == "[Lamps] and a [lamp]"
    assert plain(highlight("New York, new-york", query_terms('"new york"'))) == "[New York], [new-york]"
    assert plain(highlight("lampshade", query_terms("lamp*"))) == "[lampshade]"
    assert plain(highlight("nothing here", query_terms("-here"))) == "nothing here"


def test_a_snippet_shows_the_match_and_is_cut_at_words():
    text = "filler words " * 60 + "then the lamp fell " + "more words " * 60
    cut = plain(terms_snippet(text, query_terms("lamp")))
    assert "[lamp]" in cut
    assert cut.startswith("… ") and cut.endswith(" …")
    assert len(cut) < 300
    assert plain(terms_snippet("Short and whole.", query_terms("absent"))) == "Short and whole."


@given(st.text(max_size=600), st.text(max_size=20))
def test_marks_never_change_the_text(text: str, typed: str):
    assert "".join(part.text for part in highlight(text, query_terms(typed))) == text


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def test_the_page_marks_matches_and_escapes_markup(page: Client, ada: Reader):
    fresh_item(ada, title="<b>Lamp</b> & more", text="<script>lamp</script>")
    body = page.get("/ui/search", {"q": "lamp"}).content.decode()
    assert "&lt;b&gt;<mark>Lamp</mark>&lt;/b&gt; &amp; more" in body
    assert "&lt;script&gt;<mark>lamp</mark>&lt;/script&gt;" in body
    assert "<script>lamp" not in body


def test_the_query_is_escaped_in_the_search_field(page: Client):
    body = page.get("/ui/search", {"q": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in body


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Everything your sources brought"),
        ("  ", "Everything your sources brought"),
        ("😀 !", "There is no word to search for"),
        ("zeppelin", "Nothing found"),
        ("-news", "That only excludes words"),
        ("lam", "1 begins like it"),
        ("lamp", "1 item"),
    ],
)
def test_each_kind_of_empty_result_has_its_own_message(page: Client, ada: Reader, typed: str, message: str):
    fresh_item(ada, title="Lamp")
    assert message in page.get("/ui/search", {"q": typed}).content.decode()


@pytest.mark.parametrize("typed", HARMLESS, ids=range(len(HARMLESS)))
def test_no_query_breaks_the_page(page: Client, typed: str):
    asked = {"q": typed.encode("utf-8", "replace").decode(), "page": "-1", "order": typed[:3]}
    answer = page.get("/ui/search", {k: v.replace("\ud800", "") for k, v in asked.items()})
    assert answer.status_code == (200 if len(answer.request["QUERY_STRING"]) < ADDRESS_CHARS - 20 else 400)


@pytest.mark.parametrize("number", ["0", "x", "", "99999999999", "²", "-3"])
def test_an_invalid_page_number_is_the_first(page: Client, ada: Reader, number: str):
    fresh_item(ada, title="Lamp")
    assert "1 item" in page.get("/ui/search", {"q": "lamp", "page": number}).content.decode()


def test_a_page_beyond_the_last_says_so(page: Client, ada: Reader):
    fresh_item(ada, title="Lamp")
    body = page.get("/ui/search", {"q": "lamp", "page": 9}).content.decode()
    assert "There is no such page" in body


@pytest.mark.parametrize("density", ["compact", "comfortable"])
def test_what_is_found_is_listed_as_under_all(page: Client, ada: Reader, density: str):
    """All but the marks on words, the snippet, and the menu that marks the rows above or below."""
    fresh_item(ada, title="Lamp and kettle", text="A lamp. " * 60)
    Reader.objects.update(list_density=density)
    rows = []
    for address in ("/ui/all", "/ui/search?q=lamp"):
        row = re.search(r"<article.*</article>", page.get(address).content.decode(), re.DOTALL)[0]
        row = re.sub(r'<details class="menu around">.*?</details>|</?mark>|<p class="lede.*?</p>', "", row)
        rows.append(re.sub(r'name="(next|csrf\w+)" value="[^"]+"', "", row).split())
    assert rows[0] == rows[1]


def test_the_page_costs_the_same_however_many_hits(page: Client, ada: Reader, django_assert_num_queries):
    for n in range(3):
        fresh_item(ada, title=f"Lamp {n}")
    # session, reader, matches, items, thumbs, readings; config 2, signals 4; sources of the form; two for
    # items about it; one for the saved search; config again, for the topic that is offered; feeds,
    # summaries, and other reports
    with django_assert_num_queries(23):
        page.get("/ui/search", {"q": "lamp"})
    for n in range(12):
        fresh_item(ada, title=f"Lamp {n}")
    with django_assert_num_queries(23):
        page.get("/ui/search", {"q": "lamp"})


def test_each_hit_shows_its_reasons(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour lamp")
    fresh_item(ada, key="rarely.example", title="A lamp")
    fresh_item(ada, hours=400, title="Lamp of old")
    wishes = ConfigEdit(topics=["harbour"], source_weights={"rarely.example": 0.4})
    config_edit(reader_id=ada.pk, edit=wishes, expected_version=0, now=timezone.now())
    body = page.get("/ui/search", {"q": "lamp"}).content.decode()
    assert '<span class="chip">your topic: harbour</span>' in body
    assert '<span class="chip">much less from Rarely</span>' in body
    assert body.count('#why">why<') == 3
    hits = page.get("/api/search", {"q": "lamp"}).json()["hits"]
    reasons = {"".join(part["text"] for part in hit["title"]): hit["reasons"] for hit in hits}
    assert reasons["Harbour lamp"][0] == "your topic: harbour"
    assert reasons["A lamp"][0] == "much less from Rarely"
    assert reasons["Lamp of old"] == []


BEGINNINGS = "t* i* d* e* s* o* n* h* p* r* a* b*"


def test_what_takes_too_long_is_stopped_and_whole_words_are_looked_for_instead(
    ada: Reader, page: Client, monkeypatch: pytest.MonkeyPatch
):
    fresh_item(ada, title="Tides t i d e s o n h p r a b")
    fresh_item(ada, title="Tides in december end spring on north harbour piers round all bays")
    assert len(found(ada, BEGINNINGS)) == 2
    real = search._Search._search_ids

    def slow(self: object, terms, *more: object):
        if any(term.prefix for term in terms):
            raise search.SearchTooLong
        return real(self, terms, *more)

    monkeypatch.setattr(search._Search, "_search_ids", slow)
    assert found(ada, BEGINNINGS) == ["Tides t i d e s o n h p r a b"]
    told = page.get("/ui/search", {"q": BEGINNINGS}).content.decode()
    assert "took too long" in told and "<mark>" in told
    assert page.get("/api/search", {"q": BEGINNINGS}).json()["stopped"] is True
    assert page.get("/api/search", {"q": "tides"}).json()["stopped"] is False


def test_a_query_is_stopped_by_the_database_itself(
    ada: Reader, page: Client, monkeypatch: pytest.MonkeyPatch
):
    feed = subscribe(ada).feed
    words = " ".join(f"t{n} i{n} d{n}" for n in range(400))
    for n in range(30):
        ItemFactory(feed=feed, source=feed.source, title=f"Tides {n}", text=words)
    monkeypatch.setattr(search, "QUERY_S", 0.001)
    monkeypatch.setattr(search, "QUERY_STEPS", 1)
    answer = page.get("/ui/search", {"q": BEGINNINGS})
    assert answer.status_code == 200 and "took too long" in answer.content.decode()
    monkeypatch.undo()
    assert page.get("/ui/search", {"q": "tides"}).context["found"].total == 30, "the limit is over"


def test_the_order_of_too_many_words_is_given_up_and_not_the_search(
    ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """Twelve words in each of a thousand long texts took PostgreSQL half a minute to put in order."""
    words = ["tide", "harbour", "council", "museum", "river", "market"]
    words += ["bridge", "garden", "library", "tram", "storm", "lamp"]
    feed = subscribe(ada).feed
    for n in range(60):
        chance = random.Random(n)
        text = " ".join(chance.choices(words, k=9_000))
        ItemFactory(feed=feed, source=feed.source, title=f"Tide {n}", text=text)
    monkeypatch.setattr(search, "QUERY_S", 0.2)
    asked = " ".join(f'"{one} {other}"' for one, other in pairwise(words))
    began = time.monotonic()
    result = items_search(reader_id=ada.pk, query=asked, now=timezone.now())
    assert (result.total, result.stopped) == (60, connection.vendor == "postgresql")
    assert time.monotonic() - began < 5
