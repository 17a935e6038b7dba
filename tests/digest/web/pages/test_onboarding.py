"""The pages of the interview as plain forms: one question at a time, and the effect of the answers at its
end."""

import re

import pytest
from django.test import Client

from digest.feedback.onboarding import QUESTIONS
from digest.models import Digest, Feedback, Reader, Reading, Subscription
from tests.support.browser import ago, fresh_item, subscribe

pytestmark = pytest.mark.django_db
KEYS = ("tea.example", "cars.example", "chess.example")


@pytest.fixture
def asking(client: Client, ada: Reader) -> Client:
    """Ada, signed in, with thirty headlines of three sources."""
    for n in range(30):
        fresh_item(ada, hours=1 + n, key=KEYS[n % 3], title=f"Headline {n}")
    client.force_login(ada)
    return client


def page_of(client: Client, url: str = "/ui/teach") -> str:
    return client.get(url, follow=True).content.decode()


def open_item(client: Client) -> str:
    found = re.search(r'name="item" value="(\d+)"', page_of(client))
    assert found
    return found.group(1)


def give(client: Client, answer: str, item: str = ""):
    return client.post("/ui/teach/answer", {"item": item or open_item(client), "answer": answer})


def test_a_question_shows_title_source_age_and_how_far_it_is(asking):
    body = page_of(asking)
    assert re.search(r"Headline \d+", body) and "1 of 20" in body and re.search(r"<time[^>]* datetime=", body)
    assert re.search(r"Tea|Cars|Chess", body)


def test_an_answer_is_stored_and_the_next_headline_asked(asking):
    item = open_item(asking)
    assert give(asking, "yes", item).url == "/ui/teach"
    stored = Feedback.objects.get()
    assert (str(stored.item_id), stored.useful, stored.origin) == (item, True, "interview")
    assert open_item(asking) != item and "2 of 20" in page_of(asking)


def test_a_page_loaded_again_asks_the_same(asking):
    assert open_item(asking) == open_item(asking)


def test_a_second_press_answers_nothing_more(asking):
    item = open_item(asking)
    give(asking, "yes", item)
    give(asking, "no", item)
    assert [row.useful for row in Feedback.objects.all()] == [True]
    assert "2 of 20" in page_of(asking)


@pytest.mark.parametrize("form", [{}, {"answer": "perhaps"}, {"answer": "yes", "item": "x"}])
def test_what_is_no_answer_changes_nothing(asking, form):
    page_of(asking)
    assert asking.post("/ui/teach/answer", form).url == "/ui/teach"
    assert not Feedback.objects.exists() and "1 of 20" in page_of(asking)


def test_what_was_skipped_leaves_no_thumb_and_is_not_asked_again(asking):
    skipped = set()
    for _ in range(QUESTIONS - 1):
        skipped.add(open_item(asking))
        give(asking, "skip")
    assert len(skipped) == QUESTIONS - 1 and not Feedback.objects.exists()
    assert open_item(asking) not in skipped
    give(asking, "skip")
    assert "nothing is learned" in page_of(asking, "/ui/teach/done")


def test_after_twenty_the_page_says_what_moved_and_undo_takes_it_back(asking, ada):
    asking.get("/")
    for _ in range(QUESTIONS):
        tea = fresh_title(open_item(asking))
        answer = give(asking, "yes" if tea else "no")
    assert answer.url == "/ui/teach/done"
    body = page_of(asking, answer.url)
    assert "20 answers" in body and "Learned from your answers" in body
    assert "Learned from your answers" in page_of(asking, "/")
    answers = Feedback.objects.values_list("article", flat=True)
    read = Reading.objects.filter(read_at__isnull=False)
    assert {*read.values_list("article", flat=True)} == {*answers} != set()
    form = dict(re.findall(r'name="(version|cycle)" value="([^"]*)"', body))
    assert "Undone" in asking.post("/ui/changes/undo", form, follow=True).content.decode()
    assert not Feedback.objects.exists() and not read.exists()


def fresh_title(item: str) -> bool:
    return Subscription.objects.filter(feed__items=item, feed__source_id="tea.example").exists()


def test_stopping_early_keeps_what_was_answered(asking):
    for answer in ("yes", "no", "skip"):
        give(asking, answer)
    assert asking.post("/ui/teach/stop").url == "/ui/teach/done"
    assert "2 answers" in page_of(asking, "/ui/teach/done")
    assert Feedback.objects.count() == 2
    assert "1 of 20" in page_of(asking)


def test_stopping_before_the_first_answer_leads_to_today(asking):
    page_of(asking)
    assert asking.post("/ui/teach/stop").url == "/"


def test_where_all_is_asked_the_page_says_so_and_where_nothing_is_there_too(client: Client, ada: Reader):
    client.force_login(ada)
    assert "Add a few sources first" in page_of(client)
    subscribe(ada, "tea.example")
    assert "Come back when there is news" in page_of(client)
    fresh_item(ada, key="tea.example")
    give(client, "yes")
    assert "That was all" in page_of(client)
    client.post("/ui/teach/stop")
    assert "1 answer<" in page_of(client, "/ui/teach/done")


def test_without_an_interview_its_end_leads_to_its_beginning(asking):
    assert asking.get("/ui/teach/done").url == "/ui/teach"


def test_an_item_whose_feed_was_removed_is_passed_over(asking, ada):
    item = open_item(asking)
    Digest.objects.all().delete()
    Subscription.objects.filter(feed__items=item).delete()
    give(asking, "yes", item)
    assert not Feedback.objects.exists() and open_item(asking) != item


def test_questions_cost_the_same_number_of_queries(asking, ada, django_assert_max_num_queries):
    give(asking, "yes")
    with django_assert_max_num_queries(12):  # two for meaning, one for own names of feeds
        page_of(asking)
    for n in range(60):
        fresh_item(ada, hours=2 + n, key=KEYS[n % 3])
    with django_assert_max_num_queries(12):  # two for meaning, one for own names of feeds
        page_of(asking)


def test_today_offers_it_to_who_is_new_until_it_is_done(asking, ada):
    assert "20 headlines" not in page_of(asking, "/")
    Subscription.objects.update(created_at=ago(2))
    assert "20 headlines" in page_of(asking, "/")
    give(asking, "skip")
    asking.post("/ui/teach/stop")
    assert "20 headlines" not in page_of(asking, "/")


def test_the_export_names_answers_and_their_propensity(asking, ada):
    give(asking, "yes")
    exported = b"".join(asking.get("/ui/account/export").streaming_content).decode()
    assert '"origin": "interview"' in exported and '"propensity": 0.' in exported
