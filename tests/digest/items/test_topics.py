"""Topics and categories of a reader's items: counts, lists of one category, and other readers' feeds."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.feedback.selectors import feedback_recent
from digest.items.selectors import items_candidates
from digest.items.topics import topic_counts
from digest.models import Item, Reader, Reading
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.changes.columns import TOPICS
from suggestions.planner.evidence import evidence_for
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory

ALL, READ, CONFIG = "/ui/all", "/ui/all/read", "/ui/config"
RUST = "rust.example"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def filed(reader: Reader, title: str, *categories: str, **more) -> Item:
    item = fresh_item(reader, title=title, **more)
    item.categories = list(categories)
    item.save(update_fields=["categories"])
    return item


def some(reader: Reader, count: int = 4) -> list[Item]:
    """Two items of three have the category, the newest first."""
    return [
        filed(reader, f"No {n}", *(["electric-cars"] if n % 3 else ["Über-Land"]), hours=n + 1)
        for n in range(count)
    ]


def titles(page: Client, query: str) -> list[str]:
    answer = page.get(f"{ALL}?{query}")
    assert answer.status_code == 200
    return [row.shown.item.title for row in answer.context["rows"]]


def count(reader: Reader, *topics: str) -> dict[str, int]:
    return dict(topic_counts(reader_id=reader.pk, topics=topics, now=timezone.now()).topics)


def test_topics_are_counted_by_words_and_by_category(ada: Reader):
    some(ada)
    filed(ada, "Electric cars are cheaper")
    assert count(ada, "Electric cars", "boats") == {"Electric cars": 3, "boats": 0}


def test_frequent_categories_are_offered_unless_they_are_topics(ada: Reader):
    for n in range(3):
        filed(ada, f"No {n}", "Rail", "Uncategorized", "Trams" if n else "Boats")
    now = timezone.now()
    assert topic_counts(reader_id=ada.pk, topics=(), now=now).categories == (("Rail", 3),)
    assert topic_counts(reader_id=ada.pk, topics=("rail",), now=now).categories == ()


def test_authors_are_offered_unless_they_write_a_whole_source(ada: Reader):
    for n in range(8):
        fresh_item(ada, title=f"No {n}", author="Ben Low and Ada Hill" if n % 2 else "Olga Rand")
        fresh_item(ada, title=f"Own {n}", author="Eve Solo", key="solo.example")
    now = timezone.now()
    offered = topic_counts(reader_id=ada.pk, topics=(), now=now).authors
    assert offered == (("Ada Hill", 4), ("Ben Low", 4), ("Olga Rand", 4))
    counted = topic_counts(reader_id=ada.pk, topics=("ada hill",), now=now)
    assert counted.topics == (("ada hill", 4),)
    assert counted.authors == (("Ben Low", 4), ("Olga Rand", 4))


def test_settings_offer_authors_with_how_many_items_each_has(page: Client, ada: Reader):
    for n in range(6):
        fresh_item(ada, title=f"No {n}", author="Ben Low" if n % 2 else "Olga Rand")
    answer = page.get(f"{CONFIG}?show=topics").content.decode()
    assert "data-offered-authors" in answer
    assert 'name="topic_add" value="Ben Low"' in answer and "in 3 items" in answer


def test_counts_take_three_queries_however_many_topics(ada: Reader, django_assert_num_queries):
    some(ada, 9)
    with django_assert_num_queries(3):
        count(ada, *(f"topic {n}" for n in range(30)))


def test_a_feed_files_nothing_for_another(ada: Reader, ben: Reader):
    item = filed(ada, "A ferry", "Boats", key="gazette.example")
    other = fresh_item(ben, title="A ferry", key="lamps.example")
    Item.objects.filter(pk=other.pk).update(url=item.url, article=item.article)
    now = timezone.now()
    found = {reader: items_candidates(reader_id=reader.pk, now=now) for reader in (ada, ben)}
    assert [list(one.categories) for one in found[ada]] == [["Boats"]]
    assert [list(one.categories) for one in found[ben]] == [[]]
    assert count(ben, "boats") == {"boats": 0}


def test_a_list_has_the_items_of_a_category_in_any_spelling(page: Client, ada: Reader, ben: Reader):
    some(ada)
    filed(ben, "Not hers", "electric-cars", key="lamps.example")
    assert titles(page, "category=Electric+Cars") == ["No 1", "No 2"]
    assert titles(page, "category=Electric+Cars&order=best") == ["No 1", "No 2"]
    assert titles(page, "category=%C3%BCber+land") == ["No 0", "No 3"]
    assert titles(page, "category=cars") == []


def test_pages_of_a_category_follow_each_other(page: Client, ada: Reader):
    some(ada, 12)
    Reader.objects.filter(pk=ada.pk).update(list_size=5)
    first = page.get(f"{ALL}?category=electric+cars")
    seen = [row.shown.item.title for row in first.context["rows"]]
    more = page.get(first.context["older"])
    seen += [row.shown.item.title for row in more.context["rows"]]
    assert seen == [f"No {n}" for n in range(12) if n % 3]
    assert more.context["older"] == ""


@pytest.mark.parametrize("order", ["newest", "best"])
def test_marking_a_category_as_read_leaves_all_else(page: Client, ada: Reader, order: str):
    some(ada)
    seen = int(timezone.now().timestamp() * 1_000_000)
    page.post(READ, {"all": "1", "category": "electric cars", "order": order, "seen": seen})
    assert {*Reading.objects.filter(reader=ada).values_list("item__title", flat=True)} == {"No 1", "No 2"}


def test_marking_above_a_row_of_a_category_marks_its_newer_items_alone(page: Client, ada: Reader):
    some(ada)
    row = page.get(f"{ALL}?category=electric+cars").context["rows"][1]
    seen = int(timezone.now().timestamp() * 1_000_000)
    page.post(READ, {"above": row.key, "category": "electric cars", "seen": seen})
    assert {*Reading.objects.filter(reader=ada).values_list("item__title", flat=True)} == {"No 1"}


def test_an_items_categories_lead_to_their_lists(page: Client, ada: Reader):
    item = filed(ada, "A ferry", "Boats & ships")
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert 'href="/ui/all?category=Boats%20%26%20ships"' in body


def test_a_ticked_category_is_saved_with_what_was_typed(page: Client, ada: Reader):
    for n in range(3):
        filed(ada, f"No {n}", "Rail")
    assert "topic_add" not in page.get(CONFIG).content.decode(), "counting is asked for"
    shown = page.get(f"{CONFIG}?show=topics").content.decode()
    assert 'name="topic_add" value="Rail"' in shown
    typed = {"version": "0", "topics": "boats", "keyword_boosts": ""}
    typed |= {"recency_half_life_hours": "24", "ai_score_alpha": "0.1", "topic_add": ["Rail", "rail"]}
    assert page.post(CONFIG, typed).status_code == 302
    assert config_effective(reader_id=ada.pk).config.topics == ("boats", "Rail")
    shown = page.get(f"{CONFIG}?show=topics").content.decode()
    assert 'value="Rail"' not in shown and "<bdi>Rail</bdi> in 3" in shown


def test_a_refused_save_has_the_ticked_category_among_the_topics(page: Client, ada: Reader):
    typed = {"version": "0", "topics": "boats", "keyword_boosts": "rust", "topic_add": "Rail"}
    refused = page.post(CONFIG, typed | {"recency_half_life_hours": "24", "ai_score_alpha": "0.1"})
    assert refused.status_code == 422 and 'name="topic:Rail"' in refused.content.decode()


@pytest.mark.parametrize(
    ("fields", "by"), [({"categories": ["Boats"]}, "category"), ({"author": "Ada Hill, Boats"}, "author")]
)
def test_a_score_names_the_label_that_a_topic_was_found_by(page: Client, ada: Reader, fields: dict, by: str):
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["boats"]), expected_version=0, now=timezone.now())
    item = fresh_item(ada, title="A ferry", **fields)
    assert f"matched by {by}" in page.get(f"/ui/item/{item.pk}").content.decode()


def test_ratings_and_evidence_have_the_categories(ada: Reader, now: datetime):
    for n in range(6):
        item = filed(ada, f"No {n}", "Boats", key=f"{'ab'[n % 2]}.example")
        FeedbackFactory(reader=ada, item=item, useful=True, at=now - timedelta(days=n))
    assert {item.categories for item in feedback_recent(reader_id=ada.pk)} == {("Boats",)}
    effective = config_effective(reader_id=ada.pk)
    attributes = evidence_for(reader_id=ada.pk, effective=effective, now=now).attributes
    assert attributes.labels(TOPICS) == {"boat": "Boats"}


def of_tennis(reader: Reader, count: int = 8) -> None:
    """Items that say tennis and Wimbledon, one that says only Wimbledon, and others about something else."""
    for n in range(count):
        fresh_item(reader, title=f"Tennis at Wimbledon, day {n}")
        for other in ("Trains to the coast", "A harbour in the rain", "Bread for beginners"):
            fresh_item(reader, title=f"{other}, part {n}")
    fresh_item(reader, title="Wimbledon sells out")


def test_words_that_set_a_topics_items_apart_are_proposed_as_names(ada: Reader):
    of_tennis(ada)
    now = timezone.now()
    (names,) = topic_counts(reader_id=ada.pk, topics=("tennis",), now=now).names
    assert names == ("tennis", ("wimbledon",))
    named = topic_counts(reader_id=ada.pk, topics=("tennis",), names={"tennis": ("Wimbledon",)}, now=now)
    assert (named.topics, named.names) == ((("tennis", 9),), (("tennis", ()),))


def test_no_part_of_a_topic_is_proposed_as_its_name(ada: Reader):
    for n in range(20):
        fresh_item(ada, title=f"A self-hosted server, part {n}")
        for other in ("Trains to the coast", "A harbour in the rain", "Bread for beginners"):
            fresh_item(ada, title=f"{other}, part {n}")
    found = topic_counts(reader_id=ada.pk, topics=("self-hosted",), now=timezone.now()).names
    assert found == (("self-hosted", ("server",)),)


def test_a_topic_of_all_items_or_of_none_has_no_names_to_propose(ada: Reader):
    for n in range(4):
        fresh_item(ada, title=f"Tennis at Wimbledon {n}")
    found = topic_counts(reader_id=ada.pk, topics=("tennis", "chess"), now=timezone.now()).names
    assert found == (("tennis", ()), ("chess", ()))


def test_other_names_are_typed_in_the_settings_kept_in_versions_and_told_with_the_reason(
    page: Client, ada: Reader
):
    of_tennis(ada)
    now = timezone.now()
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=("tennis",)), expected_version=0, now=now)
    shown = page.get(f"{CONFIG}?show=topics").content.decode()
    assert "Frequent in its articles: wimbledon" in shown and 'name="names:tennis"' in shown
    form = {"topic:tennis": "more", "recency_half_life_hours": "24", "ai_score_alpha": "0.1"}
    page.post(CONFIG, form | {"version": "1", "names:tennis": "Wimbledon, ATP tour"})
    assert config_effective(reader_id=ada.pk).config.other_names == {"tennis": ("Wimbledon", "ATP tour")}
    assert 'value="Wimbledon, ATP tour"' in page.get(f"{CONFIG}?show=topics").content.decode()

    item = Item.objects.get(title="Wimbledon sells out")
    why = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "“tennis” is one of yours, matched as “Wimbledon”" in why
    assert (
        "“tennis”: other names none → “Wimbledon”, “ATP tour”"
        in page.get("/ui/history/settings").content.decode()
    )

    page.post(CONFIG, form | {"version": "2"})
    assert config_effective(reader_id=ada.pk).config.other_names, "a page without the fields changes no name"
    page.post(CONFIG, form | {"version": "2", "names:tennis": ""})
    assert config_effective(reader_id=ada.pk).config.other_names == {}


def test_names_that_cannot_be_saved_stay_typed(page: Client, ada: Reader):
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=("tennis",)), expected_version=0, now=timezone.now())
    form = {"topic:tennis": "more", "recency_half_life_hours": "24", "ai_score_alpha": "0.1"}
    answer = page.post(CONFIG, form | {"version": "1", "names:tennis": "Wimbledon, !!"})
    assert answer.status_code == 422 and 'value="Wimbledon, !!"' in answer.content.decode()
    assert "has no letter, number or sign" in answer.content.decode()
    stale = page.post(CONFIG, form | {"version": "0", "names:tennis": "Wimbledon"})
    assert stale.status_code == 409 and 'value="Wimbledon"' in stale.content.decode()
