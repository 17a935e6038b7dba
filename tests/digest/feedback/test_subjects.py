"""Subjects of a reader's own feeds: groups by meaning, their names, and the choice among them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.daily.onboarding import Offer, offer_end, offer_of_today
from digest.feedback.naming import article_name, articles_named
from digest.feedback.subjects import has_subjects, subjects_find, subjects_name
from digest.items.vectors import item_vectors_update
from digest.models import Reader, Subscription
from ranking.config_body import ConfigEdit
from ranking.selectors import config_effective
from ranking.services import Cause, config_edit
from tests.support.browser import ago, fresh_item

pytestmark = pytest.mark.django_db

TEXTS = {
    "tennis": (
        "The champion won the tennis final in straight sets",
        "A tennis rally at the net decided the match of the two players",
        "Tennis: the young player lost the first set of the tournament",
    ),
    "banks": (
        "The central bank raised interest rates while inflation fell",
        "Banks expect that consumer prices and interest rates rise",
        "Inflation is over, says the governor of the central bank",
    ),
    "stars": (
        "Astronomers found a distant galaxy with the new telescope",
        "The telescope saw a planet in the orbit of its star",
        "A galaxy of old stars, and how the astronomers measured it",
    ),
}


@pytest.fixture
def filled(ada: Reader) -> Reader:
    """Give Ada three feeds with 63 articles on three subjects this week."""
    for n in range(63):
        subject = [*TEXTS][n % 3]
        text = TEXTS[subject][(n // 3) % 3]
        fresh_item(ada, hours=1 + n, key=f"s{(n // 9) % 3}.example", title=f"{text}, part {n}", text=text)
    item_vectors_update(now=timezone.now())
    return ada


def subject_of(title: str) -> str:
    return next(name for name, texts in TEXTS.items() if any(title.startswith(text) for text in texts))


def test_each_subject_has_three_headlines_of_different_sources_that_belong_together(filled: Reader) -> None:
    found = subjects_find(reader=filled, now=timezone.now())
    assert [len(one.items) for one in found] == [3] * len(found) and len(found) >= 3
    assert all(len({item.source_id for item in one.items}) == 3 for one in found)
    about = [{subject_of(item.title) for item in one.items} for one in found]
    assert all(len(one) == 1 for one in about) and set.union(*about) == {"banks", "stars", "tennis"}
    assert [one.name for one in found] == ["Tennis", "Banks", "Galaxy", "Orbit"]
    assert found == subjects_find(reader=filled, now=timezone.now()), "nothing is drawn"


@pytest.mark.parametrize(
    "less",
    [ConfigEdit(keyword_boosts={"galaxy": -0.5}), ConfigEdit(pins={"Galaxy": "avoided"})],
    ids=["less of the word", "never suggested"],
)
def test_what_the_reader_wants_less_of_is_no_subject_on_offer(filled: Reader, less: ConfigEdit) -> None:
    now = timezone.now()
    assert "Galaxy" in [one.name for one in subjects_find(reader=filled, now=now)]
    config_edit(reader_id=filled.pk, edit=less, expected_version=0, now=now)
    names = [one.name for one in subjects_find(reader=filled, now=now)]
    assert "Galaxy" not in names and {"Tennis", "Banks", "Orbit"} <= {*names}


def test_too_few_or_foreign_articles_make_no_subjects(ada: Reader, client: Client) -> None:
    for n in range(70):
        fresh_item(ada, hours=1 + n, title=f"Der Verein gewinnt nicht, und das ist mit {n} so", text="")
    item_vectors_update(now=timezone.now())
    assert subjects_find(reader=ada, now=timezone.now()) == []
    assert not has_subjects(reader=ada)
    client.force_login(ada)
    body = client.get("/ui/subjects").content.decode()
    assert "No subjects yet" in body and "too few such articles so far: about sixty are needed" in body


def test_fewer_than_three_subjects_are_no_choice(ada: Reader) -> None:
    for n in range(63):
        text = TEXTS["tennis"][n % 3]
        fresh_item(ada, hours=1 + n, key=f"s{n % 3}.example", title=f"{text}, part {n}", text=text)
    item_vectors_update(now=timezone.now())
    assert has_subjects(reader=ada) and subjects_find(reader=ada, now=timezone.now()) == []


def test_finding_subjects_costs_the_same_number_of_queries(filled: Reader, django_assert_num_queries) -> None:
    with django_assert_num_queries(6):
        subjects_find(reader=filled, now=timezone.now())


def test_choosing_names_the_articles_and_leaves_out_what_is_not_ones_own(
    filled: Reader, ben: Reader, client: Client
) -> None:
    first = subjects_find(reader=filled, now=timezone.now())[0]
    theirs = fresh_item(ben, key="ben.example")
    client.force_login(filled)
    page = client.get("/ui/subjects").content.decode()
    assert f'value="{first.key}"' in page
    choice = {"subject": [first.key, str(theirs.pk), "9" * 30, "x", ""]}
    assert client.post("/ui/subjects/choose", choice)["Location"] == "/ui/order", "they count for nothing yet"
    named = {row.item_id for row in articles_named(reader_id=filled.pk).readings}
    assert named == {item.pk for item in first.items}
    assert client.post("/ui/subjects/choose")["Location"] == "/"


def test_where_taste_counts_chosen_subjects_say_from_when(filled: Reader, client: Client) -> None:
    config_edit(
        reader_id=filled.pk,
        edit=ConfigEdit(taste="on"),
        expected_version=config_effective(reader_id=filled.pk).config.version,
        now=timezone.now(),
        cause=Cause.EDIT,
    )
    client.force_login(filled)
    choice = {"subject": [subjects_find(reader=filled, now=timezone.now())[0].key]}
    said = client.post("/ui/subjects/choose", choice, follow=True).content.decode()
    assert "Such articles stand higher" in said and "Make it now" in said


def test_subjects_are_offered_first_then_the_interview_and_once_a_day(filled: Reader) -> None:
    now = timezone.now()
    Subscription.objects.filter(reader=filled).update(created_at=ago(2))
    assert offer_of_today(reader=filled, now=now) == Offer.SUBJECTS
    offer_end(reader=filled, now=now)
    assert offer_of_today(reader=filled, now=now) == Offer.NONE
    tomorrow = now + timedelta(days=1)
    assert offer_of_today(reader=filled, now=tomorrow) == Offer.SUBJECTS, "it was only put off"
    one = subjects_find(reader=filled, now=now)[0].items[0]
    assert subjects_name(reader=filled, item_ids=[one.pk], now=now) == 1
    assert offer_of_today(reader=filled, now=tomorrow) == Offer.INTERVIEW


def test_today_shows_the_offer_and_not_now_hides_it(filled: Reader, client: Client) -> None:
    Subscription.objects.filter(reader=filled).update(created_at=ago(2))
    client.force_login(filled)
    assert "/ui/subjects" in client.get("/").content.decode()
    client.post("/ui/offer/end")
    page = client.get("/").content.decode()
    assert "/ui/subjects" not in page and "20 headlines" not in page


def test_an_old_article_that_is_named_gets_the_vector_it_needs(ada: Reader) -> None:
    item = fresh_item(ada, hours=24 * 200, title=TEXTS["tennis"][0])
    article_name(reader=ada, item_id=item.pk, now=timezone.now())
    item.refresh_from_db()
    assert bytes(item.vector.meaning)
