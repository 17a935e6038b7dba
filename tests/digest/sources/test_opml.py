"""Subscription lists: read as readers have them, refused line by line, written so that they come back."""

import json
import time
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from digest.errors import NotOpml, OpmlTooLarge
from digest.models import Feed, Source, Subscription
from digest.sources.opml import FEEDS_MAX, OPML_BYTES_MAX, ListedFeed, opml_read, opml_write
from digest.sources.subscriptions import opml_export, opml_import, subscription_add
from tests.support.factories import FeedFactory, SubscriptionFactory

GOOD = """<?xml version="1.0"?>
<opml version="2.0"><head><title>Ada&#8217;s list</title></head><body>
<outline text="Rivers" xmlUrl="https://rivers.example/feed" type="rss"/>
<outline text="News">
  <outline text="Local">
    <outline title="Gazette" text="" xmlUrl="https://gazette.example/rss?a=1&amp;b=2"/>
  </outline>
  <outline text="World" xmlUrl="https://world.example/"><!-- <outline xmlUrl="https://no.ex"/> --></outline>
</outline>
<outline text="Filed" category="/Science/Sea,Other" xmlUrl="https://sea.example/feed"/>
</body></opml>"""
# Unescaped quotes, ampersands and elements in attributes; an end that never comes.
BAD = """<opml><body>
<outline text="Tips & Tricks">
<outline text="Jen "Head To Toe" Smith" description="<a href="/x">x</a>" xmlUrl="https://jen.example/feed" />
<outline title='Salt & Pepper' xmlurl='https://salt.example/?a=1&b=2'/>
<outline text="No address" type="rss" xmlUrl=""/>
<outline text="Lost" xmlUrl=https://lost.example/>
<outline text="More lists" type="include" url="https://lists.example/opml"/>
</outline>
<outline text="Outside" xmlUrl="https://outside.example/feed"/>
"""


def listed(document: str) -> list[tuple[str, str, str, int]]:
    return [(feed.url, feed.title, feed.folder, feed.line) for feed in opml_read(document.encode()).feeds]


def test_a_proper_list_gives_its_feeds_with_titles_folders_and_lines():
    assert listed(GOOD) == [
        ("https://rivers.example/feed", "Rivers", "", 3),
        ("https://gazette.example/rss?a=1&b=2", "Gazette", "News / Local", 6),
        ("https://world.example/", "World", "News", 8),
        ("https://sea.example/feed", "Filed", "Science / Sea", 10),
    ]
    found = opml_read(GOOD.encode())
    assert (found.title, found.well_formed, found.rejects) == ("Ada’s list", True, ())


def test_a_broken_list_costs_its_broken_lines_alone():
    assert listed(BAD) == [
        ("https://jen.example/feed", 'Jen "Head To Toe" Smith', "Tips & Tricks", 3),
        ("https://salt.example/?a=1&b=2", "Salt & Pepper", "Tips & Tricks", 4),
        ("https://outside.example/feed", "Outside", "", 9),
    ]
    found = opml_read(BAD.encode())
    assert not found.well_formed
    assert [(reject.line, reject.code) for reject in found.rejects] == [
        (5, "no_address"),
        (6, "unreadable"),
        (7, "another_list"),
    ]
    assert all(reject.reason for reject in found.rejects)


@pytest.mark.parametrize(
    "document", [b"", b"hello", b"<html><body>Sign in</body></html>", b"<opml/>", b"\x00"]
)
def test_what_has_no_outlines_is_no_list(document: bytes):
    with pytest.raises(NotOpml):
        opml_read(document)


def test_a_list_beyond_the_limits_is_refused_or_cut_with_a_count():
    with pytest.raises(OpmlTooLarge):
        opml_read(b"x" * (OPML_BYTES_MAX + 1))
    many = "".join(f'<outline xmlUrl="https://e.example/{n}"/>' for n in range(FEEDS_MAX + 3))
    found = opml_read(f"<opml><body>{many}</body></opml>".encode())
    assert (len(found.feeds), [r.code for r in found.rejects]) == (FEEDS_MAX, ["too_many"] * 3)


def test_entities_of_a_list_are_never_expanded():
    bomb = (
        '<!DOCTYPE o [<!ENTITY a "https://secret.example">]><opml><body><outline xmlUrl="&a;"/></body></opml>'
    )
    assert [feed.url for feed in opml_read(bomb.encode()).feeds] == ["&a;"]


@pytest.mark.parametrize(
    "piece", ['<outline text="', "<outline", "<!--", '<outline text="a">', '<outline text="x" xmlurl=', "&"]
)
def test_no_list_costs_much_time(piece: str):
    def spent(size: int) -> float:
        document = f"<outline {piece * (size // len(piece))}".encode()
        taken = []
        for _ in range(3):
            started = time.thread_time()
            opml_read(document)
            taken.append(time.thread_time() - started)
        return min(taken)

    # Sixteen times the list may cost about sixteen times as much, never its square.
    assert spent(OPML_BYTES_MAX // 16) < 80 * max(spent(OPML_BYTES_MAX // 256), 0.005)


def test_an_outline_with_thousands_of_attributes_is_refused_and_the_next_one_read():
    many = " ".join(f'a{n}=""' for n in range(60_000))
    feed = '<outline xmlUrl="https://a.example/"/>'
    began = time.thread_time()
    found = opml_read(f"<opml><body><outline {many}>{feed}</outline></body></opml>".encode())
    assert time.thread_time() - began < 1
    assert found.well_formed and [one.url for one in found.feeds] == ["https://a.example/"]
    assert [one.code for one in found.rejects] == ["unreadable"]


def test_a_list_of_blanks_is_refused_as_fast_as_any_other():
    # Blanks before everything else are cut off when it is decoded, so the list begins with a tag.
    document = b"<opml>" + b" " * (192 * 1024)
    began = time.thread_time()
    with pytest.raises(NotOpml):
        opml_read(document)
    assert time.thread_time() - began < 0.5


WORDS = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12
).filter(lambda word: "<" not in word and "/" not in word and word.strip() == word)


@given(
    st.dictionaries(
        st.integers(1, 999).map(lambda n: f"https://e.example/{n}?a=1&b=<>"),
        st.tuples(WORDS, st.lists(WORDS, max_size=3).map(" / ".join)),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_reads_the_same(feeds: dict[str, tuple[str, str]]):
    wanted = {url.replace("<>", ""): names for url, names in feeds.items()}
    written = opml_write([ListedFeed(url, *names) for url, names in wanted.items()], title="T")
    ElementTree.fromstring(written)
    assert {f.url: (f.title, f.folder) for f in opml_read(written).feeds} == wanted


def test_an_export_names_the_site_of_each_feed_if_it_is_known_and_not_private(ada, now):
    for name, more in (("open", {}), ("own", {"owner": ada}), ("bare", {"site_url": ""})):
        feed = Feed.objects.create(
            url=f"https://{name}.example/feed",
            source=Source.objects.create(key=f"{name}.example"),
            **{"site_url": f"https://{name}.example/?a=1&b=2"} | more,
        )
        Subscription.objects.create(reader=ada, feed=feed, created_at=now)
    rows = ElementTree.fromstring(opml_export(reader=ada)).iter("outline")
    sites = [row.get("htmlUrl") for row in rows]
    assert sites.count("https://open.example/?a=1&b=2") == 1 and sites.count(None) == 2


def test_an_import_subscribes_without_fetching_and_says_what_it_did(ada, now):
    subscription_add(reader=ada, url="https://rivers.example/feed", now=now)
    Feed.objects.create(
        url="https://gone.example/feed", source=Source.objects.create(key="gone.example"), state="gone"
    )
    more = (
        '<outline text="Twice" xmlUrl="https://WORLD.example/#top"/>'
        '<outline text="Odd" xmlUrl="gopher://odd.example"/><outline xmlUrl="https://gone.example/feed"/></body>'
    )
    report = opml_import(reader=ada, document=GOOD.replace("</body>", more).encode(), now=now)
    counts = (report.found, report.added, report.already, report.duplicates, report.refused, report.folders)
    assert counts == (7, 3, 1, 1, 2, 3)
    assert {(r.line, r.code) for r in report.rejects} == {(11, "invalid_feed_url"), (11, "feed_is_gone")}
    gazette = Subscription.objects.get(reader=ada, feed__url="https://gazette.example/rss?a=1&b=2")
    assert (gazette.folder, gazette.feed.title) == ("News / Local", "")  # its names are everybody's
    assert (gazette.feed.next_check_at, gazette.feed.last_fetched_at) == (now, None)
    assert Source.objects.get(key="gazette.example").title == ""


UNFETCHABLE = [
    ("http://127.0.0.1:8000/x", "bad_port"),
    ("https://news.example:8443/feed", "bad_port"),
    ("http://127.0.0.1/x", "forbidden_address"),
    ("http://localhost/x", "forbidden_address"),
    ("https://169.254.169.254/latest", "forbidden_address"),
    ("http://[::1]/x", "forbidden_address"),
    (f"https://long.example/{'x' * 5000}", "invalid_feed_url"),
    (f"https://long.example/{'é' * 700}", "invalid_feed_url"),
    ("https://rivers.example:99999/feed", "invalid_feed_url"),
]


@pytest.mark.parametrize(("url", "code"), UNFETCHABLE)
def test_what_may_not_be_fetched_is_refused_with_its_line(ada, now, url: str, code: str):
    document = (
        f'<opml><body>\n<outline xmlUrl="{url}"/>\n<outline xmlUrl="https://sea.example/f"/></body></opml>'
    )
    report = opml_import(reader=ada, document=document.encode(), now=now)
    assert [(r.line, r.code) for r in report.rejects] == [(2, code)]
    assert ("too long" in report.rejects[0].reason) == ("long.example" in url)
    assert [row.feed.url for row in Subscription.objects.all()] == ["https://sea.example/f"]


@pytest.mark.parametrize(
    "outline",
    [
        *(f'xmlUrl="{url}"' for url, _ in UNFETCHABLE),
        'xmlUrl="https://gone.example/feed"',
        'xmlUrl="gopher://odd.example/"',
        'xmlUrl="https://a:b@odd.example/"',
        'type="rss" text="Nowhere"',
        'type="include" url="https://lists.example/a.opml"',
    ],
)
def test_every_refusal_is_in_the_readers_language(ada, now, outline: str):
    FeedFactory(url="https://gone.example/feed", state="gone")
    document = f"<opml><body><outline {outline}/></body></opml>".encode()
    reasons = []
    for language in ("en", "de"):
        with translation.override(language):
            reasons += list(opml_import(reader=ada, document=document, now=now).reasons)
    assert len(set(reasons)) == 2


def test_equal_refusals_are_counted_together_beyond_the_listed_ones(ada, now):
    lines = "".join(f'<outline xmlUrl="http://feeds.example:8390/{n}"/>' for n in range(251))
    report = opml_import(reader=ada, document=f"<opml><body>{lines}</body></opml>".encode(), now=now)
    assert (report.refused, len(report.rejects), list(report.reasons.values())) == (251, 100, [251])


def test_a_host_the_operator_allows_may_be_imported(ada, now, settings):
    settings.FETCH_ALLOW_HOSTS = ["127.0.0.1:8000"]
    document = b'<opml><body><outline xmlUrl="http://127.0.0.1:8000/x"/></body></opml>'
    assert opml_import(reader=ada, document=document, now=now).added == 1


def test_a_second_import_changes_nothing(ada, now):
    opml_import(reader=ada, document=GOOD.encode(), now=now)
    before = list(Subscription.objects.values())
    report = opml_import(reader=ada, document=GOOD.encode(), now=now)
    assert (report.added, report.already) == (0, 4)
    assert list(Subscription.objects.values()) == before


@pytest.mark.parametrize("feeds", [3, 100])
def test_a_batch_of_an_import_costs_the_same_for_few_feeds_and_many(
    ada, now, feeds, django_assert_max_num_queries
):
    many = "".join(f'<outline xmlUrl="https://e{n}.example/"/>' for n in range(feeds))
    # SQLite limits the values in one statement, so rows are written 45 at a time.
    with django_assert_max_num_queries(22):
        opml_import(reader=ada, document=f"<opml><body>{many}</body></opml>".encode(), now=now)
    assert Subscription.objects.filter(reader=ada).count() == feeds


def test_an_export_comes_back_with_titles_folders_and_addresses(ada, ben, now):
    opml_import(reader=ada, document=GOOD.encode(), now=now)
    written = opml_export(reader=ada)
    opml_import(reader=ben, document=written, now=now)
    rows = "feed__url", "feed__title", "folder"
    mine, theirs = (set(Subscription.objects.filter(reader=r).values_list(*rows)) for r in (ada, ben))
    assert mine == theirs
    assert len(mine) == 4


def test_the_commands_import_and_export(ada, tmp_path: Path):
    path, output = tmp_path / "list.opml", StringIO()
    path.write_text(BAD, encoding="utf-8")
    with pytest.raises(CommandError, match="3 were rejected"):
        call_command("import_opml", str(path), "--user-id", str(ada.pk), "--json", stdout=output)
    report = json.loads(output.getvalue())
    assert (report["found"], report["added"], report["refused"]) == (3, 3, 3)
    call_command("export_opml", "--user-id", str(ada.pk), stdout=(out := StringIO()))
    assert len(opml_read(out.getvalue().encode()).feeds) == 3
    with pytest.raises(CommandError):
        call_command("import_opml", str(path), "--user-id", str(ada.pk), stdout=(words := StringIO()))
    assert "0 added, 3 read already" in words.getvalue()
    assert "line 6" in words.getvalue()
    with pytest.raises(CommandError) as missing:
        call_command("import_opml", str(tmp_path / "none.opml"), "--user-id", str(ada.pk))
    assert missing.value.returncode == 2


def test_an_export_says_what_it_leaves_out(ada):
    SubscriptionFactory.create_batch(2, reader=ada)
    for n, words in ((1, "1 feed has no address and is left out."), (2, "2 feeds have no address")):
        SubscriptionFactory(reader=ada, feed=FeedFactory(url=f"file:{n}.xml", state="imported"))
        call_command(
            "export_opml", "--user-id", "ada", stdout=(out := StringIO()), stderr=(errors := StringIO())
        )
        assert words in errors.getvalue() and len(opml_read(out.getvalue().encode()).feeds) == 2


def test_the_pages_say_what_the_list_leaves_out_and_a_private_feed_is_in_it(ada, client):
    client.force_login(ada)
    private = FeedFactory(url="urn:private:1", own_address="https://own.example/feed", owner=ada)
    SubscriptionFactory(reader=ada, feed=private)
    for count, words in ((0, ""), (1, "1 source is not in the list"), (2, "2 sources are not in the list")):
        if count:
            SubscriptionFactory(reader=ada, feed=FeedFactory(url=f"file:{count}.xml", state="imported"))
        for page in ("/ui/sources", "/ui/account"):
            body = client.get(page).content.decode()
            assert words in body and ("not in the list" in body) == bool(count)
        call_command("export_opml", "--user-id", "ada", stdout=StringIO(), stderr=(errors := StringIO()))
        assert ("left out" in errors.getvalue()) == bool(count)
        assert len(opml_read(client.get("/ui/sources/export.opml").content).feeds) == 1


@pytest.mark.data
def test_every_feed_of_every_real_list_is_found(data_dir: Path):
    found = lists = 0
    for path in sorted((data_dir / "opml").glob("*.opml")):
        body = path.read_bytes()
        feeds = opml_read(body).feeds
        assert len(feeds) == body.lower().count(b"xmlurl="), path.name
        found, lists = found + len(feeds), lists + 1
    assert (lists, found) == (34, 443)


def test_a_list_brings_the_readers_own_names_and_no_others(ada, ben, now):
    feeds = {
        "https://own.example/feed": ("Publisher’s", "Mine"),
        "https://same.example/feed": ("Same", "Same"),
        "https://new.example/feed": ("", "Not fetched yet"),
        "https://bare.example/feed": ("", "https://bare.example/feed"),
        "https://had.example/feed": ("Had", "Another"),
    }
    for url, (title, _) in feeds.items():
        FeedFactory(url=url, title=title)
    subscription_add(reader=ada, url="https://had.example/feed", now=now)
    rows = [ListedFeed(url, name, "") for url, (_, name) in feeds.items()]
    opml_import(reader=ada, document=opml_write(rows, title="x"), now=now)
    names = dict(Subscription.objects.filter(reader=ada).values_list("feed__url", "own_name"))
    assert [names[url] for url in feeds] == ["Mine", "", "Not fetched yet", "", ""]

    back = {feed.url: feed.title for feed in opml_read(opml_export(reader=ada)).feeds}
    assert back["https://own.example/feed"] == "Mine" and back["https://same.example/feed"] == "Same"
    opml_import(reader=ben, document=opml_export(reader=ada), now=now)
    theirs = dict(Subscription.objects.filter(reader=ben).values_list("feed__url", "own_name"))
    assert theirs == names
