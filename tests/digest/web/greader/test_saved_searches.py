"""Saved searches in a reader app: a label each, its items page by page, marks of all of them."""

import pytest
from django.utils import timezone

from digest.items.reading import item_read, item_save
from digest.models import Reader, SavedSearch, Subscription
from digest.searches.selectors import SearchAsked
from digest.searches.services import search_save
from digest.web.greader.codec import Kind, folder_write, search_write, stream_read
from ranking.entities import Mute
from ranking.services import mute_set
from tests.digest.web.greader.support import READ, STARRED, App
from tests.support.browser import fresh_item, subscribe

pytestmark = pytest.mark.usefixtures("own_cache")
LABEL = "user/-/label/Search: harbour"


def keep(reader: Reader, query: str = "harbour", **filters: str) -> int:
    return search_save(reader=reader, asked=SearchAsked(query, "best", filters), now=timezone.now())


@pytest.fixture
def app(ada: Reader) -> App:
    return App(ada)


def tags(app: App) -> list[str]:
    return [one["id"] for one in app.get("tag/list").json()["tags"]]


def test_each_saved_search_is_a_label_of_its_readers_app_alone(app: App, ada: Reader, ben: Reader):
    subscribe(ada)
    keep(ada), keep(ada, source="gazette.example"), keep(ben, "tides")
    assert tags(app)[-2:] == [LABEL, f"{LABEL} · Gazette"]
    assert not [name for name in tags(App(ben)) if "harbour" in name]


def test_its_stream_has_what_the_search_finds_newest_first(app: App, ada: Reader):
    old, new = (fresh_item(ada, hours, title=f"Harbour {hours}") for hours in (30, 3))
    other = fresh_item(ada, 2, key="herald.example", title="Harbour of the north")
    fresh_item(ada, 1, title="Tides")
    keep(ada), keep(ada, source="gazette.example")
    assert app.ids(LABEL) == [other.pk, new.pk, old.pk]
    assert app.ids(LABEL, r="o") == [old.pk, new.pk, other.pk]
    assert app.ids(f"{LABEL} · Gazette") == [new.pk, old.pk]
    assert app.items(LABEL)[0]["title"] == "Harbour of the north"


@pytest.mark.parametrize("order", ["d", "o"])
def test_pages_follow_each_other_without_a_gap(app: App, ada: Reader, order: str):
    items = [fresh_item(ada, hours, title=f"Harbour {hours}").pk for hours in range(1, 8)]
    keep(ada)
    found, more = [], ""
    while True:
        page = app.get("stream/items/ids", s=LABEL, n=3, r=order, c=more).json()
        found += [int(one["id"]) for one in page["itemRefs"]]
        more = page.get("continuation", "")
        if not more:
            break
    assert found == (items if order == "d" else items[::-1])


def test_states_and_moments_narrow_it(app: App, ada: Reader):
    read, starred, plain = (fresh_item(ada, hours, title="Harbour") for hours in (3, 4, 5))
    item_read(reader=ada, item_id=read.pk, now=timezone.now())
    item_save(reader=ada, item_id=starred.pk, saved=True, now=timezone.now())
    keep(ada)
    assert app.ids(LABEL, xt=READ) == [starred.pk, plain.pk] and app.ids(LABEL, it=READ) == [read.pk]
    assert app.ids(LABEL, it=STARRED) == [starred.pk] and app.ids(LABEL, xt=STARRED) == [read.pk, plain.pk]
    ahead = int(timezone.now().timestamp()) + 60
    assert app.ids(LABEL, ot=ahead) == [] and len(app.ids(LABEL, nt=ahead)) == 3


def test_muted_articles_are_not_in_it(app: App, ada: Reader):
    fresh_item(ada, title="Harbour war")
    shown = fresh_item(ada, 5, title="Harbour")
    keep(ada)
    mute_set(reader_id=ada.pk, mute=Mute("word", "war"), now=timezone.now())
    assert app.ids(LABEL) == [shown.pk]


def test_all_of_it_is_marked_as_read_and_nothing_else(app: App, ada: Reader):
    fresh_item(ada, title="Harbour")
    tides = fresh_item(ada, 5, title="Tides")
    keep(ada)
    assert app.post("mark-all-as-read", s=LABEL).status_code == 200
    assert app.ids(xt=READ) == [tides.pk]


def test_a_search_that_is_not_there_is_empty_and_marks_nothing(app: App, ada: Reader):
    fresh_item(ada, title="Harbour")
    assert app.ids(LABEL) == [] and app.post("mark-all-as-read", s=LABEL).status_code == 200
    assert len(app.ids(xt=READ)) == 1


def test_an_app_neither_gives_nor_renames_nor_deletes_it(app: App, ada: Reader):
    item = fresh_item(ada, title="Tides")
    keep(ada)
    assert app.tag(item, a=LABEL).status_code == 400
    assert app.post("rename-tag", s=LABEL, dest="user/-/label/News").status_code == 400
    assert app.post("disable-tag", s=LABEL).status_code == 400
    assert SavedSearch.objects.filter(reader=ada).count() == 1


def test_a_folder_of_the_same_name_is_a_folder(app: App, ada: Reader):
    keep(ada)
    item = fresh_item(ada, title="Tides")
    Subscription.objects.filter(reader=ada).update(folder="Search: harbour")
    assert app.ids(folder_write("Search: harbour")) == [item.pk] and app.ids(LABEL) == []


def test_two_searches_of_one_name_have_two_labels(app: App, ada: Reader):
    subscribe(ada, "a.example", "Gazette"), subscribe(ada, "b.example", "Gazette")
    one, two = (
        fresh_item(ada, key="a.example", title="Harbour"),
        fresh_item(ada, key="b.example", title="Harbour"),
    )
    keep(ada, source="a.example"), keep(ada, source="b.example")
    labels = [name for name in tags(app) if "Search: " in name]
    assert len(set(labels)) == 2 and sorted(app.ids(n)[0] for n in labels) == [one.pk, two.pk]


@pytest.mark.parametrize("name", ["harbour", "harbour (folder)", "C++ · Quiet & Port", "a/b?c", "日本", "\n"])
def test_every_search_has_an_id_that_no_folder_has(name: str):
    stream = stream_read(search_write(name))
    assert stream.kind == Kind.SEARCH and search_write(stream.name) == search_write(name)
    assert stream_read(folder_write(f"Search: {name}")).kind == Kind.FOLDER
    assert stream_read(folder_write(f"Search: {name}")).name == f"Search: {name}"
