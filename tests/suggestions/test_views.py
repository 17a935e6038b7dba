"""The suggestions page: every card with its evidence, every answer, every state."""

from collections import Counter
from collections.abc import Collection
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from advisor.models import Run
from digest.feedback.services import feedback_set
from digest.models import Feed, Reader
from ranking.common.phrases import Terms
from ranking.entities import WeightChange
from ranking.pool import Pool
from ranking.selectors import config_effective
from ranking.services import weights_learn
from suggestions.models import Outcome, Suggestion
from suggestions.planner.hypotheses import MEANING
from suggestions.services.resolve import suggestion_accept
from tests.support.browser import ago, fresh_item, last_run_in, messages_in, subscribe, suggested
from tests.support.factories import FeedbackFactory
from tests.support.histories import thumbs

PAGE = "/ui/suggestions"
UNDO_HARM = 'aria-label="A change that did not help"'


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def body_of(page: Client) -> str:
    return page.get(PAGE).content.decode()


def topic(reader: Reader, **fields: object) -> Suggestion:
    """Return a pending suggestion to add a topic."""
    given = {
        "suggestion_type": "add_topic",
        "field": "topics",
        "target_key": "proof",
        "label": "proof",
        "current_value": "",
        "suggested_value": "proof",
    }
    return suggested(reader, **{**given, **fields})


def answer(page: Client, suggestion: Suggestion, verb: str, **said: str):
    return page.post(f"{PAGE}/{suggestion.pk}/{verb}", said, follow=True)


def status(suggestion: Suggestion) -> str:
    suggestion.refresh_from_db()
    return suggestion.status


def test_a_card_says_what_why_and_how_sure(page: Client, ada: Reader):
    suggested(ada)
    body = body_of(page)
    for words in (
        'Show me more from Gazette</span><span class="because">, since you liked 8 of 10.</span>',
        "3 of the articles you rated are shown as evidence.",
        f"We think so: {MEANING['medium']}.",
        "Not tested yet",
        "Now: as usual. Then: <strong>more than usual</strong>.",
        'min="1.00" max="1.30"',
    ):
        assert words in body


def test_every_evidence_item_is_listed_and_linked(page: Client, ada: Reader):
    suggestion = suggested(ada, evidence=5)
    body = body_of(page)
    for row in suggestion.evidence.all():
        assert f'<a href="{row.url}" rel="noopener noreferrer">{row.title}</a>' in body
    assert body.count("you found it useful (real depth)") == 5


def test_sources_come_before_topics(page: Client, ada: Reader):
    topic(ada)
    suggested(ada)
    body = body_of(page)
    assert body.index('id="group-sources"') < body.index('id="group-topics"')


def test_a_topic_has_a_sentence_and_no_amount(page: Client, ada: Reader):
    topic(ada)
    body = body_of(page)
    assert "“proof” becomes one of your topics" in body
    assert 'type="number"' not in body
    assert "boost)" not in body


def test_a_card_lists_the_other_names_of_a_topic_and_so_does_what_was_decided(page: Client, ada: Reader):
    row = topic(ada, other_names=["Wimbledon", "Roland Garros"])
    said = "It gets other names: “Wimbledon”, “Roland Garros”. Articles that say one of them move up, too."
    assert said in body_of(page)
    assert said in page.get(f"{PAGE}/{row.pk}/preview").content.decode()
    answer(page, row, "accept")
    assert said in page.get("/ui/history").content.decode()


def test_what_would_move_today_is_shown(page: Client, ada: Reader):
    fresh_item(ada, hours=2, title="From elsewhere", key="other.example")
    fresh_item(ada, hours=5, title="From the gazette")
    suggested(ada)
    body = body_of(page)
    assert "Up from 2 to 1" in body
    assert "On today’s page: the same articles, 2 moved." in body


def face_of(body: str) -> str:
    """Return the visible part of a closed card."""
    return body.partition('<article class="card"')[2].partition('<div class="actions">')[0]


def test_a_card_names_three_headlines_of_today_by_sign_and_word(page: Client, ada: Reader):
    for n in range(4):
        fresh_item(ada, hours=2 + n / 100, title=f"Elsewhere {n}", key=f"other{n}.example")
    fresh_item(ada, hours=2.1, title="From the gazette")
    suggested(ada)
    face = face_of(body_of(page))
    assert face.count("<li") == 3
    assert face.count('<li class="down">') == 2
    assert '<span aria-hidden="true">↑</span> Up from 5 to 1' in face and "From the gazette" in face
    assert face.count('<span aria-hidden="true">↓</span> Down from') == 2


def test_a_card_names_what_rises_before_what_falls_and_no_more_than_one_of_these(page: Client, ada: Reader):
    for n in range(4):
        fresh_item(ada, hours=2 + n / 100, title=f"Elsewhere {n}", key=f"other{n}.example")
    for n in range(3):
        fresh_item(ada, hours=2.1 + n / 100, title=f"From the gazette {n}")
    suggested(ada)
    face = face_of(body_of(page))
    signs = [part[0] for part in face.split('<span aria-hidden="true">')[1:]]
    assert signs == ["↑", "↑", "↓"]


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ([], "There is nothing on today’s page that this could move."),
        (["other.example"], "no article of the last seven days is from Gazette."),
        (["gazette.example"], "the 1 recent article from Gazette would keep its place"),
    ],
)
def test_a_card_that_moves_nothing_any_more_says_so_and_why(page: Client, ada: Reader, world, words):
    for key in world:
        fresh_item(ada, key=key)
    suggested(ada, evidence=0)
    face = face_of(body_of(page))
    assert words in face and "<li>" not in face


def test_nothing_is_called_sure_that_is_within_chance(page: Client, ada: Reader):
    within = {"p_helpful": 0.9, "ndcg_gain": 0.2, "ndcg_low": 0.001, "ndcg_high": 0.4}
    suggested(ada, forecast=within)
    assert "We think so" in body_of(page) and "may be chance" in body_of(page)
    (row,) = page.get("/api/suggestions").json()["suggestions"]
    assert row["confidence"] == "medium"
    Suggestion.objects.update(forecast={**within, "ndcg_low": 0.1})
    assert "We are fairly sure" in body_of(page)


def test_moves_that_are_not_listed_are_counted(page: Client, ada: Reader):
    for n in range(8):
        fresh_item(ada, hours=2 + n / 100, title=f"Elsewhere {n}", key=f"other{n}.example")
    fresh_item(ada, hours=2.1, title="From the gazette")
    suggested(ada)
    assert "And 4 smaller moves" in body_of(page)


def test_accepting_changes_the_settings_to_what_was_agreed(page: Client, ada: Reader):
    suggestion = suggested(ada)
    assert "✓ Applied" in messages_in(answer(page, suggestion, "accept").content.decode())
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.2


def test_however_many_wait_twelve_are_shown_at_once_and_the_rest_once_these_are_answered(page, ada: Reader):
    """Each card orders a week of pages anew, so a page of hundreds would take a minute."""
    fresh_item(ada)
    waiting = [topic(ada, target_key=f"proof {n}", label=f"proof {n}") for n in range(14)]
    body = body_of(page)
    assert body.count('data-card="') == 12 and "2 more suggestions wait" in body
    # Nobody agrees to what they were not shown.
    assert "accept-all" not in body
    Suggestion.objects.filter(pk__in=[one.pk for one in waiting[:2]]).update(status="rejected")
    body = body_of(page)
    assert body.count('data-card="') == 12 and "more suggestion" not in body and "Accept all 12" in body


def test_however_many_topics_are_suggested_each_text_is_searched_once_for_all_of_them(
    page, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """Twelve cards of a reader with a hundred topics read all texts 21 times, which took half of 9 s.

    Then each of three pools read them once, and each text is in two or three of these.
    """
    passes: Counter[int] = Counter()
    searched: Counter[str] = Counter()
    texts, found = Pool._texts_folded, Terms.found

    def counted(pool: Pool) -> list[str]:
        passes[id(pool)] += 1
        pools.append(pool)
        return texts(pool)

    def searched_in(terms: Terms, text: str) -> Collection[str]:
        searched[text] += 1
        return found(terms, text)

    pools: list[Pool] = []  # or a later pool may have the id of an earlier one
    monkeypatch.setattr(Pool, "_texts_folded", counted)
    monkeypatch.setattr(Terms, "found", searched_in)
    fresh_item(ada)
    fresh_item(ada, hours=20 * 24)
    for n in range(12):
        topic(ada, target_key=f"proof {n}", label=f"proof {n}")
    assert body_of(page).count('data-card="') == 12
    # Today's page, last week's, and that of four weeks, since none of these topics changed a page last week.
    assert list(passes.values()) == [1, 1, 1]
    assert len(searched) >= 2 and set(searched.values()) == {1}


def test_another_amount_may_be_accepted_instead(page: Client, ada: Reader):
    answer(page, suggested(ada), "accept", value="1.1")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.1


def test_a_form_sent_as_it_came_is_a_plain_yes(page: Client, ada: Reader):
    suggestion = suggested(ada)
    assert '<input type="hidden" name="proposed" value="1.2">' in body_of(page)
    told = answer(page, suggestion, "accept", value="1.2", proposed="1.2").content.decode()
    assert "more changes like this one" in messages_in(told)
    assert suggestion.outcomes.get().edited_value == ""
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.2


@pytest.mark.parametrize("value", ["lots", "1.9", "nan"])
def test_an_impossible_amount_changes_nothing(page: Client, ada: Reader, value: str):
    suggestion = suggested(ada)
    body = answer(page, suggestion, "accept", value=value).content.decode()
    assert "Couldn’t apply this change" in messages_in(body)
    assert status(suggestion) == "pending"


@pytest.mark.parametrize(
    ("verb", "then"), [("reject", "rejected"), ("snooze", "snoozed"), ("never", "rejected")]
)
def test_the_other_answers(page: Client, ada: Reader, verb: str, then: str):
    suggestion = suggested(ada)
    answer(page, suggestion, verb)
    assert status(suggestion) == then
    assert config_effective(reader_id=ada.pk).weights() == {}


def test_a_reason_for_rejecting_is_kept(page: Client, ada: Reader):
    suggestion = suggested(ada)
    answer(page, suggestion, "reject", user_reason="I read them elsewhere")
    assert suggestion.outcomes.get().user_reason == "I read them elsewhere"


def test_a_reason_may_hold_anything_a_form_can_send(page: Client, ada: Reader):
    suggestion = suggested(ada)
    answer(page, suggestion, "reject", user_reason="no\x00pe" + "é" * 600)
    kept = suggestion.outcomes.get().user_reason
    assert kept.startswith("no pe") and len(kept) == 500


def test_a_second_answer_is_already_handled(page: Client, ada: Reader):
    suggestion = suggested(ada)
    answer(page, suggestion, "accept")
    told = messages_in(answer(page, suggestion, "reject").content.decode())
    assert "Already answered. You said yes." in told
    assert status(suggestion) == "accepted"


def test_a_verb_nobody_knows_is_not_found(page: Client, ada: Reader):
    assert answer(page, suggested(ada), "delete").status_code == 404


def test_accepting_all_names_what_could_not_be_applied(page: Client, ada: Reader):
    fits, beyond = topic(ada), suggested(ada, current_value="1.6", suggested_value="1.9")
    body = page.post(f"{PAGE}/accept-all", follow=True).content.decode()
    assert (status(fits), status(beyond)) == ("accepted", "pending")
    assert "Gazette: Your settings changed meanwhile" in messages_in(body)


def test_accepting_all_ends_all_done(page: Client, ada: Reader):
    topic(ada)
    suggested(ada)
    assert "Accept all 2" in body_of(page)
    body = page.post(f"{PAGE}/accept-all", follow=True).content.decode()
    assert "All done! Your preferences have been updated." in messages_in(body)
    assert "check in two weeks whether it helped" in messages_in(body)


def test_what_was_decided_stays_listed_and_an_accepted_change_can_be_reverted(page: Client, ada: Reader):
    suggestion = suggested(ada)
    answer(page, suggestion, "accept")
    assert "Recently decided" in body_of(page)
    answer(page, suggestion, "revert")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0
    assert "You said yes, and undid it later" in body_of(page)


def test_an_old_suggestion_expires_when_the_page_is_opened(page: Client, ada: Reader):
    suggestion = suggested(ada, created_at=ago(24 * 15))
    body_of(page)
    assert status(suggestion) == "expired"


def test_nothing_yet_explains_itself_and_offers_to_generate(page: Client):
    body = body_of(page)
    assert "No suggestions yet" in body
    assert "Generate suggestions" in body


GREY = '<button class="primary" disabled aria-disabled="true" aria-describedby="missing-thumbs">'


def test_too_little_feedback_is_said_in_numbers_beside_a_grey_button(page: Client, ada: Reader):
    for n in range(7):
        item = fresh_item(ada, hours=n + 1)
        FeedbackFactory(reader=ada, item=item, at=ago(1), has_reason=n < 4)
    body = body_of(page)
    assert "Rate 43 more headlines for suggestions today (7 so far)" in body
    assert "over 7 days" not in body, "the nearer way only"
    assert GREY in body and 'href="/ui/teach"' in body


def test_an_import_makes_the_button_a_button_at_once(page: Client, ada: Reader):
    thumbs(ada, "loved.example", 50, days=0.1, tagged=False, now=timezone.now())
    assert "missing-thumbs" not in body_of(page)


@pytest.mark.parametrize(
    ("state", "message", "words"),
    [
        ("completed", "No strong evidence.", "Nothing worth asking today: No strong evidence."),
        ("budget_exceeded", "", "Daily suggestion limit reached."),
        ("agent_timeout", "", "took too long"),
        ("agent_error", "", "Something went wrong generating suggestions."),
    ],
)
def test_the_last_run_says_how_it_ended(page: Client, ada: Reader, state: str, message: str, words: str):
    run(ada, state, message)
    assert words in last_run_in(body_of(page))


def test_a_run_that_broke_off_with_something_written_shows_that(page: Client, ada: Reader):
    suggested(ada, run_id=run(ada, "agent_timeout").pk)
    body = body_of(page)
    assert "Show me more from Gazette" in body
    assert last_run_in(body) == ""


def test_a_run_under_way_can_be_followed(page: Client, ada: Reader):
    active = run(ada, "running")
    assert f'data-active="{active.pk}"' in body_of(page)


def run(reader: Reader, state: str, message: str = "") -> Run:
    now = timezone.now()
    return Run.objects.create(
        reader=reader, day=now.date(), trigger="ui", status=state, message=message, created_at=now
    )


@pytest.mark.parametrize("verb", ["accept", "reject", "snooze", "never", "revert"])
def test_a_suggestion_of_somebody_else_is_not_found(page: Client, ben: Reader, verb: str):
    foreign = suggested(ben)
    assert answer(page, foreign, verb).status_code == 404
    assert status(foreign) == "pending"
    assert "more from Gazette</" not in body_of(page)


@pytest.mark.django_db
def test_a_card_about_a_source_draws_its_ratings_by_week_and_one_about_a_topic_does_not(page, ada):
    suggested(ada)
    suggested(ada, suggestion_type="add_topic", field="topics", target_key="chess", label="Chess",
              suggested_value="Chess")  # fmt: skip
    body = body_of(page)
    assert body.count('class="spark"') == 1 and "taste.css" in body


def test_cards_cost_the_same_however_much_evidence(page: Client, ada: Reader, django_assert_max_num_queries):
    subscribe(ada)
    suggested(ada, evidence=3)
    with django_assert_max_num_queries(65) as few:
        page.get(PAGE)
    Suggestion.objects.all().delete()
    suggested(ada, evidence=10, created_at=timezone.now() - timedelta(hours=1))
    with django_assert_max_num_queries(65) as many:
        page.get(PAGE)
    assert len(few) == len(many)


# The cards' data tell whether a check by headlines may be offered.
def test_cards_cost_the_same_however_many(page: Client, ada: Reader, django_assert_max_num_queries):
    fresh_item(ada, hours=2)
    topic(ada)
    with django_assert_max_num_queries(65) as one:
        page.get(PAGE)
    suggested(ada)
    topic(ada, target_key="crumb", label="crumb", suggested_value="crumb")
    with django_assert_max_num_queries(65) as three:
        page.get(PAGE)
    assert len(one) == len(three)


def test_a_second_visit_measures_nothing_again_until_a_rating_or_an_article_comes(page: Client, ada: Reader):
    item = fresh_item(ada, hours=2)
    suggested(ada)

    def queries() -> int:
        with CaptureQueriesContext(connection) as made:
            page.get(PAGE)
        return len(made)

    whole, again = queries(), queries()
    assert again < whole - 20
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now())
    assert queries() > again + 20
    assert queries() == again
    Feed.objects.update(last_new_at=timezone.now())
    assert queries() > again + 20


def test_a_card_shows_the_weight_as_it_is_now_not_as_it_was_then(page: Client, ada: Reader):
    suggestion = suggested(ada, current_value="1.0", suggested_value="1.3")
    change = WeightChange(suggestion.target_key, 1.0, 1.15, 0.95, 9.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [change]}, now=timezone.now())
    body = page.get("/ui/suggestions").content.decode()
    assert "Now: a bit more than usual. Then: <strong>more than usual</strong>." in body


@pytest.mark.parametrize(
    ("verb", "said", "words"),
    [
        ("accept", {}, "check in two weeks whether it helped"),
        ("accept", {"value": "1.1"}, "how large a step you like"),
        ("reject", {}, "leave this one alone for a while"),
        ("reject", {"user_reason": "too much"}, "we will offer smaller ones"),
        ("reject", {"user_reason": "It is fine as it is"}, "Your reason is kept with it"),
        ("snooze", {}, "ask again in a week"),
        ("never", {}, "not suggest this again"),
    ],
)
def test_each_answer_says_what_it_teaches(page: Client, ada: Reader, verb: str, said: dict, words: str):
    told = messages_in(answer(page, suggested(ada), verb, **said).content.decode())
    assert words in told


def harmed(reader: Reader, days_ago: float = 1) -> Suggestion:
    """Return a change of `reader` that was accepted and, when checked, had made the digest worse."""
    suggestion = suggested(reader)
    suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=timezone.now())
    Outcome.objects.create(
        suggestion=suggestion,
        reader=reader,
        kind="effect",
        outcome="harmed",
        suggestion_type=suggestion.suggestion_type,
        target_key=suggestion.target_key,
        config_before={},
        created_at=suggestion.created_at,
        decided_at=ago(24 * days_ago),
    )
    return suggestion


def test_a_change_that_did_harm_is_put_back_in_one_click(page: Client, ada: Reader):
    suggestion = harmed(ada)
    Suggestion.objects.update(resolved_at=ago(24 * 15))
    assert "it made your digest worse" in body_of(page) and UNDO_HARM in body_of(page)
    told = messages_in(answer(page, suggestion, "undo").content.decode())
    assert "Undone. Gazette: more than usual → as usual. We count this as a no" in told
    assert "is open again" not in told
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0
    assert UNDO_HARM not in body_of(page)


def test_harm_is_brought_up_for_two_weeks_only(page: Client, ada: Reader):
    harmed(ada, days_ago=15)
    assert UNDO_HARM not in body_of(page)


@pytest.mark.parametrize("verb", ["reject", "snooze", "never"])
def test_an_answer_taken_back_is_forgotten_and_says_so(page: Client, ada: Reader, verb: str):
    suggestion = suggested(ada)
    answer(page, suggestion, verb)
    told = messages_in(answer(page, suggestion, "undo").content.decode())
    assert "Undone. That answer counts no more; the suggestion is open again." in told


def test_an_answer_given_signed_out_leads_back_to_the_page_it_was_given_on(client: Client, ada: Reader):
    suggestion, address = suggested(ada), f"http://testserver{PAGE}"
    sent = client.post(f"{PAGE}/{suggestion.pk}/accept", headers={"referer": address})
    assert sent.url == "/accounts/login/?next=%2Fui%2Fsuggestions"
    assert "nothing was done" in messages_in(client.get(sent.url).content.decode())
    assert status(suggestion) == "pending"


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/ui/suggestions", "//elsewhere.example"])
def test_signing_in_never_leads_to_another_site(client: Client, ada: Reader, referer: str):
    sent = client.post(f"{PAGE}/{suggested(ada).pk}/accept", headers={"referer": referer})
    assert sent.url == "/accounts/login/?next=%2F"
