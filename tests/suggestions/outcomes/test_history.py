"""The history page: every answer, its change, its outcome, and the way back."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from django.test import Client
from django.utils import timezone

from advisor.models import Run
from advisor.selectors import run_suggestions_count
from digest.days import day_of
from digest.models import Reader, Subscription
from ranking.config_body import body_effective, effective_body
from ranking.entities import Mute, WeightChange
from ranking.selectors import config_effective
from ranking.services import (
    ConfigEdit,
    config_edit,
    config_revert,
    mute_set,
    target_pin,
    weights_learn,
)
from ranking.source_rules import SourceRules
from ranking.taste.entities import TasteLevel
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.effects import REASONS, TOO_FEW, WITHIN_CHANCE
from suggestions.services.ordering import order_accept
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_snooze,
    suggestion_undo,
)
from tests.support.browser import ago, fresh_item, subscribe, suggested
from tests.support.factories import FeedbackFactory
from tests.support.suggestion_worlds import visit

PAGE = "/ui/history"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def body_of(page: Client, address: str = PAGE) -> str:
    return page.get(address).content.decode()


def decided(reader: Reader, decide=suggestion_accept, **said: object) -> Suggestion:
    suggestion = suggested(reader, evidence=0)
    decide(reader_id=reader.pk, suggestion_id=suggestion.pk, now=timezone.now(), **said)
    return suggestion


def checked(suggestion: Suggestion, outcome: str) -> None:
    """The check after two weeks, done."""
    body = suggestion.outcomes.get().config_before
    Outcome.objects.create(
        suggestion=suggestion,
        reader=suggestion.reader,
        kind="effect",
        outcome=outcome,
        suggestion_type=suggestion.suggestion_type,
        target_key=suggestion.target_key,
        config_before=body,
        created_at=suggestion.created_at,
        decided_at=timezone.now(),
    )


def test_an_empty_history_says_what_will_stand_there(page: Client):
    assert "Nothing has changed yet" in body_of(page)


def test_an_accepted_change_shows_from_where_to_where(page: Client, ada: Reader):
    decided(ada)
    body = body_of(page)
    assert "Show me more from Gazette" in body and "You said yes" in body
    assert "as usual → more than usual" in body


@pytest.mark.parametrize("left", [False, True])
def test_a_mute_names_its_source_by_its_title_wherever_versions_are_told(
    page: Client, ada: Reader, left: bool
):
    fresh_item(ada, title="A lamp")
    FeedbackFactory(reader=ada, item=fresh_item(ada, key="herald.example", title="A ferry"))
    for mute in (Mute("source", "gazette.example"), Mute("word", "ferry", within="herald.example")):
        mute_set(reader_id=ada.pk, mute=mute, now=timezone.now())
    limits = {"gazette.example": SourceRules(daily_limit=2)}
    config_edit(
        reader_id=ada.pk, edit=ConfigEdit(source_rules=limits), expected_version=2, now=timezone.now()
    )
    if left:
        Subscription.objects.filter(reader=ada, feed__source_id="herald.example").delete()
    told = body_of(page) + body_of(page, "/ui/history/settings") + body_of(page, "/ui/taste")
    told += "".join(body_of(page, f"/ui/history/settings/{n}") for n in range(4))
    assert told.count("the source “Gazette”") >= 4 and told.count("the word “ferry” in Herald") >= 4
    assert "“gazette.example”" not in told and "in herald.example" not in told
    assert "Gazette at most 2 a day" in told


def test_a_weight_of_ones_own_is_called_that(page: Client, ada: Reader):
    decided(ada, value=1.1)
    assert "as usual → a bit more than usual, your own choice" in body_of(page)


def test_a_rejection_shows_the_readers_words_escaped(page: Client, ada: Reader):
    decided(ada, suggestion_reject, user_reason="<b>no</b>")
    body = body_of(page)
    assert "You said: “&lt;b&gt;no&lt;/b&gt;”" in body and "You said no" in body


def test_never_is_called_never_and_not_quoted(page: Client, ada: Reader):
    decided(ada, suggestion_never)
    body = body_of(page)
    assert "Never to be suggested again" in body and "You said" not in body


@pytest.mark.parametrize(
    ("outcome", "words"), [("helped", "it helped"), ("harmed", "made your digest worse")]
)
def test_the_check_after_two_weeks_is_told(page: Client, ada: Reader, outcome: str, words: str):
    checked(decided(ada), outcome)
    assert words in body_of(page)


def test_what_was_accepted_just_now_is_undone_and_waits_again(page: Client, ada: Reader):
    suggestion = decided(ada)
    assert 'aria-label="Undo: ' in body_of(page)
    answer = page.post(f"/ui/suggestions/{suggestion.pk}/undo", {"next": "history"}, follow=True)
    body = answer.content.decode()
    assert "Undone. That answer counts no more" in body and "You said yes, and undid it at once" in body
    assert 'aria-label="Undo: ' not in body
    assert Suggestion.objects.filter(reader=ada, status="pending").exists()


def test_one_click_reverts_and_stays_on_the_page(page: Client, ada: Reader):
    suggestion = decided(ada)
    Suggestion.objects.update(resolved_at=timezone.now() - timedelta(minutes=11))
    assert 'aria-label="Undo: ' in body_of(page)
    answer = page.post(f"/ui/suggestions/{suggestion.pk}/undo", {"next": "history"}, follow=True)
    assert answer.redirect_chain[-1][0] == PAGE
    assert "You said yes, and undid it later" in answer.content.decode()
    assert "as usual →" not in answer.content.decode()
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0
    assert 'aria-label="Undo' not in body_of(page)


def test_undo_says_before_and_after_what_goes_beyond_the_change_agreed_to(page: Client, ada: Reader):
    suggestion = decided(ada)
    Suggestion.objects.update(resolved_at=timezone.now() - timedelta(days=20))
    assert "Undo: " not in body_of(page).replace('aria-label="Undo: ', "")
    edit = ConfigEdit(source_weights={suggestion.target_key: 2.0})
    version = config_effective(reader_id=ada.pk).config.version
    config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=timezone.now())
    assert "Undo: much more than usual → as usual. What changed since then goes, too." in body_of(page)
    answer = page.post(f"/ui/suggestions/{suggestion.pk}/undo", {"next": "history"}, follow=True)
    body = answer.content.decode()
    assert "Gazette: much more than usual → as usual." in body and "goes, too" not in body
    assert config_effective(reader_id=ada.pk).weight(suggestion.target_key) == 1.0


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("helped", "it helped."), ("harmed", "it did harm."), ("unclear", "whether it helped is not clear.")],
)
def test_today_tells_what_a_check_found_until_the_next_day(page: Client, ada: Reader, outcome, words):
    told = f"Two weeks after your change to Gazette: {words}"
    assert told not in body_of(page, "/")
    checked(decided(ada), outcome)
    Outcome.objects.filter(kind="effect").update(decided_at=timezone.now() - timedelta(days=40))
    assert told in body_of(page, "/") and told in body_of(page, "/")
    visit(ada, ago(30))
    assert told not in body_of(page, "/")


def test_today_tells_why_a_check_is_not_clear(page: Client, ada: Reader):
    checked(decided(ada), "unclear")
    measured = {"reason": TOO_FEW, "words": REASONS[TOO_FEW]}
    Outcome.objects.filter(kind="effect").update(measured=measured)
    told = "whether it helped is not clear. Too few ratings of it since then to tell. <a"
    assert told in body_of(page, "/")
    measured = {
        "reason": WITHIN_CHANCE,
        "words": f"They took 5% of it instead of 4%. {REASONS[WITHIN_CHANCE]}",
    }
    Outcome.objects.filter(kind="effect").update(measured=measured)
    assert "is not clear. The difference is within chance. <a" in body_of(page, "/")


def test_several_checks_are_one_line_on_today(page: Client, ada: Reader):
    for outcome in ("helped", "harmed"):
        checked(decided(ada), outcome)
    body = body_of(page, "/")
    assert '2 of your changes were checked. 1 did harm. <a href="/ui/history">What was compared</a>' in body
    assert "Two weeks after your change" not in body


def test_today_tells_nothing_of_a_change_that_was_undone(page: Client, ada: Reader):
    suggestion = decided(ada)
    checked(suggestion, "harmed")
    Suggestion.objects.update(resolved_at=timezone.now() - timedelta(days=20))
    suggestion_undo(reader_id=ada.pk, suggestion_id=suggestion.pk, now=timezone.now())
    assert "Two weeks after your change" not in body_of(page, "/")


def test_drafts_and_what_waits_stay_out(page: Client, ada: Reader):
    suggested(ada, evidence=0, status="draft", label="Unseen")
    suggested(ada, evidence=0, target_key="other.example", label="Waiting")
    body = body_of(page)
    assert "Unseen" not in body and "Waiting" not in body


def test_the_history_of_others_stays_theirs(page: Client, ben: Reader):
    decided(ben)
    assert "Gazette" not in body_of(page)


def test_what_the_settings_no_longer_hold_is_said_and_not_offered_to_be_reverted(page: Client, ada: Reader):
    accepted = decided(ada)
    Suggestion.objects.filter(pk=accepted.pk).update(resolved_at=ago(5))
    assert ">Undo</button>" in body_of(page) and "No longer in force" not in body_of(page)
    config_revert(reader_id=ada.pk, version=0, expected_version=1, now=timezone.now())
    for address in (PAGE, "/ui/suggestions"):
        body = body_of(page, address)
        assert f"/ui/suggestions/{accepted.pk}/undo" not in body and "No longer in force" in body


def test_a_topic_that_left_by_hand_is_not_offered_to_be_reverted(page: Client, ada: Reader):
    topic = {"suggestion_type": "add_topic", "field": "topics", "target_key": "tram", "label": "trams"}
    accepted = suggested(ada, evidence=0, current_value="", suggested_value="trams", **topic)
    suggestion_accept(reader_id=ada.pk, suggestion_id=accepted.pk, now=ago(5))
    assert f"/ui/suggestions/{accepted.pk}/undo" in body_of(page)
    config_revert(reader_id=ada.pk, version=0, expected_version=1, now=timezone.now())
    assert f"/ui/suggestions/{accepted.pk}/undo" not in body_of(page)


def test_a_suggestion_that_came_back_says_so_and_counts_once(page: Client, ada: Reader):
    run = Run.objects.create(reader=ada, day=timezone.now().date(), trigger="ui", created_at=ago(9))
    first = decided(ada, suggestion_reject)
    Suggestion.objects.filter(pk=first.pk).update(run_id=run.pk)
    copy = suggestion_undo(reader_id=ada.pk, suggestion_id=first.pk, now=timezone.now()).suggestion_id
    suggestion_reject(reader_id=ada.pk, suggestion_id=copy, now=timezone.now())
    assert body_of(page).count("the same suggestion, after you undid your first answer") == 1
    assert run_suggestions_count(run_id=run.pk) == 1
    stored_before = ["You turned this down and took that back."]
    Suggestion.objects.filter(pk=copy).update(validation_notes=stored_before)
    assert body_of(page).count("the same suggestion, after you undid your first answer") == 1


def history_of(reader: Reader, count: int) -> None:
    for n in range(count):
        suggested(reader, evidence=0, status="expired", target_key=f"s{n}", label=f"S{n}", resolved_at=ago(n))


def test_a_long_history_comes_in_pages_in_as_many_queries(
    page: Client, ada: Reader, django_assert_max_num_queries
):
    history_of(ada, 65)
    with django_assert_max_num_queries(14):
        body = body_of(page)
    assert "Page 1 of 3" in body and "S0<" in body and "S29<" in body and "S30<" not in body
    assert "S64<" in body_of(page, f"{PAGE}?page=3")


@pytest.mark.parametrize("number", ["0", "-1", "99", "x", "1e9", "", "9" * 5000, "\x00"])
def test_any_page_number_finds_a_page(page: Client, ada: Reader, number: str):
    history_of(ada, 2)
    assert page.get(PAGE, {"page": number}).status_code == 200


def test_a_stranger_is_asked_to_sign_in(client: Client, db: None):
    assert client.get(PAGE).status_code == 302


def test_what_was_put_off_stands_first_with_the_day_it_comes_back(page: Client, ada: Reader):
    late = decided(ada, suggestion_snooze)
    for n in range(6):
        suggested(ada, evidence=0, status="rejected", resolved_at=ago(1), label=f"Other {n}")
    for address in (PAGE, "/ui/suggestions"):
        body = body_of(page, address)
        assert body.index("Gazette") < body.index("Other 5")
    Suggestion.objects.filter(pk=late.pk).update(
        snoozed_until=datetime(timezone.now().year + 1, 3, 9, 20, tzinfo=UTC)
    )
    assert "You said later · comes back on 9 March" in body_of(page)


def test_dates_are_those_of_the_readers_own_day(page: Client, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(time_zone="Asia/Kolkata")
    suggested(
        ada, evidence=0, status="rejected", resolved_at=datetime(2026, 3, 9, 20, 30, tzinfo=UTC), label="Late"
    )
    assert "You said no · 10 March" in body_of(page)


def test_a_weight_learned_meanwhile_is_where_the_change_started(page: Client, ada: Reader):
    suggestion = suggested(ada, evidence=0)
    learned = WeightChange(suggestion.target_key, 1.0, 1.15, 0.95, 9.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [learned]}, now=timezone.now())
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=timezone.now())
    assert "a bit more than usual → more than usual" in body_of(page)
    suggestion.outcomes.update(config_before={})
    assert "as usual → more than usual" in body_of(page)


def test_an_undo_stays_on_its_page_of_the_history(page: Client, ada: Reader):
    history_of(ada, 60)
    kept, lost = (
        suggested(ada, evidence=0, status="rejected", target_key=f"k{n}", resolved_at=ago(99))
        for n in range(2)
    )
    assert '<input type="hidden" name="page" value="3">' in body_of(page, f"{PAGE}?page=3")
    said = {"next": "history", "page": "3"}
    assert page.post(f"/ui/suggestions/{kept.pk}/undo", said).url == f"{PAGE}?page=3"
    astray = {**said, "page": "3&next=//elsewhere.example"}
    assert page.post(f"/ui/suggestions/{lost.pk}/undo", astray).url == PAGE


def undo(page: Client, what: str, ref: object) -> str:
    answer = page.post(f"{PAGE}/undo", {"what": what, "ref": ref}, follow=True)
    assert answer.redirect_chain[-1][0] == PAGE
    return answer.content.decode()


def test_a_yes_after_an_interview_stands_there_once_with_its_undo(page: Client, ada: Reader):
    assert order_accept(reader=ada, version=0, now=timezone.now()) == 1
    body = body_of(page)
    assert body.count("Your ratings order your page") == 2, "as words, and as the name of its Undo"
    assert "You said yes after an interview" in body
    body = undo(page, "version", 1)
    assert config_effective(reader_id=ada.pk).config.taste is TasteLevel.OFF
    assert "Your ratings no longer order your page" in body and "You undid a change" in body
    assert "no longer in force" in body
    assert "There is nothing left of that change to undo." in undo(page, "version", 1)


def test_what_a_yes_wrote_is_told_with_the_suggestion_alone(page: Client, ada: Reader):
    suggestion = decided(ada)
    assert "ranking:version" not in body_of(page) and "You accepted a suggestion" not in body_of(page)
    Suggestion.objects.update(resolved_at=timezone.now() - timedelta(minutes=11))
    page.post(f"/ui/suggestions/{suggestion.pk}/undo", {"next": "history"})
    assert body_of(page).count("<li>\n    \n    <div>") == 1


def test_undo_of_an_older_change_leaves_the_later_ones(page: Client, ada: Reader):
    for version, edit in enumerate(
        (ConfigEdit(topics=["chess"]), ConfigEdit(source_weights={"gazette.example": 1.4}))
    ):
        config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=ago(2 - version))
    undo(page, "version", 1)
    effective = config_effective(reader_id=ada.pk)
    assert (effective.config.topics, effective.weight("gazette.example")) == ((), 1.4)


UNDONE, BACK = "You undid a change", "You brought back what you had undone"


def chess(reader: Reader) -> None:
    seen = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=["chess"]), expected_version=seen, now=ago(1))


def weighed(reader: Reader) -> None:
    edit = ConfigEdit(source_weights={"gazette.example": 1.4})
    seen = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=edit, expected_version=seen, now=ago(1))


def muted(reader: Reader) -> None:
    mute_set(reader_id=reader.pk, mute=Mute("word", "war"), now=ago(1))


def several(reader: Reader) -> None:
    edit = ConfigEdit(topics=["chess"], keyword_boosts={"ev": 0.5}, taste="on")
    seen = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=edit, expected_version=seen, now=ago(1))


def ordered(reader: Reader) -> None:
    order_accept(reader=reader, version=config_effective(reader_id=reader.pk).config.version, now=ago(1))


def state(reader: Reader) -> dict[str, object]:
    return effective_body(config_effective(reader_id=reader.pk))


@pytest.mark.parametrize("change", [chess, weighed, muted, several, ordered])
def test_an_undo_of_an_undo_brings_back_exactly_what_was_undone_and_says_so(
    page: Client, ada: Reader, change
):
    subscribe(ada)
    before = state(ada)
    change(ada)
    after = state(ada)
    words = [UNDONE, BACK, UNDONE, BACK]
    for number, (said, wanted) in enumerate(zip(words, [before, after] * 2, strict=True), start=1):
        body = undo(page, "version", number)
        assert state(ada) == wanted
        assert body.index(said) < body.index("<li>", body.index(said)), "the newest row"
        assert ("On again: " in body, "Undone: " in body) == (said == BACK, said == UNDONE)
    assert "There is nothing left of that change to undo." in undo(page, "version", 2)
    assert state(ada) == after


@pytest.mark.parametrize("steps", [*permutations(("undo 1", "undo 2", "undo 3")), ("undo 1", "undo 1")])
def test_undos_in_any_order_change_only_what_their_own_row_says(page: Client, ada: Reader, steps):
    """Two changes of one source and one of a topic: an undo whose change is over does nothing."""
    subscribe(ada)
    for version, edit in enumerate((
        ConfigEdit(source_weights={"gazette.example": 1.4}),
        ConfigEdit(source_weights={"gazette.example": 0.6}),
        ConfigEdit(topics=["chess"]),
    )):  # fmt: skip
        config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=ago(3 - version))
    weights = {"1": (1.4, 1.0), "2": (0.6, 1.4)}
    for step in steps:
        number, was = step.removeprefix("undo "), state(ada)
        undo(page, "version", number)
        weight, topics = config_effective(reader_id=ada.pk).weight("gazette.example"), state(ada)["topics"]
        if number == "3":
            assert topics == [] and state(ada) == was | {"topics": []}
        else:
            old, new = weights[number]
            had = body_effective(was).weight("gazette.example")
            assert weight == (new if had == old else had) and topics == was["topics"]


def test_an_undo_on_today_is_told_as_one_and_taken_back_under_history(page: Client, ada: Reader):
    fresh_item(ada, title="A plain one")
    fresh_item(ada, hours=9, title="Chess")
    page.get("/")
    chess(ada)
    page.get("/")
    assert page.post("/ui/changes/undo", {"version": "1"}).url == "/"
    body = body_of(page)
    assert UNDONE in body and "You went back" not in body
    assert "On again: “chess” joined your interests." in undo(page, "version", 2)
    assert state(ada)["topics"] == ["chess"] and BACK in body_of(page)


def test_what_was_learned_comes_back_with_an_undo_of_its_undo(page: Client, ada: Reader):
    subscribe(ada)
    moved = WeightChange("gazette.example", 1.0, 1.1, 0.9, 6.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [moved]}, now=ago(30))
    day = ago(30).astimezone(UTC).date().isoformat()
    for what, ref, weight in (("learned", day, 1.0), ("version", 1, 1.1), ("version", 2, 1.0)):
        undo(page, what, ref)
        assert config_effective(reader_id=ada.pk).weight("gazette.example") == pytest.approx(weight)


def test_a_change_that_was_changed_again_has_no_undo(page: Client, ada: Reader):
    for version, weight in enumerate((1.4, 0.6)):
        edit = ConfigEdit(source_weights={"gazette.example": weight})
        config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=ago(2 - version))
    body = body_of(page)
    assert body.count('aria-label="Undo: ') == 1 and body.count("no longer in force") == 1
    undo(page, "version", 1)
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 0.6


def test_the_answers_of_an_interview_are_one_change_that_can_be_undone(page: Client, ada: Reader):
    for n in range(3):
        FeedbackFactory(reader=ada, item=fresh_item(ada, title=f"Asked {n}"), at=ago(1), origin="interview")
    FeedbackFactory(reader=ada, item=fresh_item(ada, title="Rated while reading"), at=ago(1))
    body = body_of(page)
    assert "You answered 3 headlines" in body
    undo(page, "answers", day_of(ago(1), ada.zone).isoformat())
    assert [row.item.title for row in ada.feedback.all()] == ["Rated while reading"]
    assert "You answered" not in body_of(page)


def test_what_was_learned_stands_there_with_its_sources_and_its_undo(page: Client, ada: Reader):
    moved = WeightChange("gazette.example", 1.0, 1.1, 0.9, 6.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [moved]}, now=ago(30))
    body = body_of(page)
    assert "More from gazette.example" in body and "Learned from your ratings" in body
    undo(page, "learned", ago(30).astimezone(UTC).date().isoformat())
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0
    assert "no longer in force" in body_of(page)


def test_what_was_learned_on_a_day_stands_below_what_the_reader_did_on_it(page: Client, ada: Reader):
    now = timezone.now()
    moved = WeightChange("gazette.example", 1.0, 1.1, 0.9, 6.0, "liked_more_than_usual")
    weights_learn(changes={ada.pk: [moved]}, now=now)
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["chess"]), expected_version=0, now=now)
    body = body_of(page)
    assert body.index("“chess” joined") < body.index("More from gazette.example")


@pytest.mark.parametrize(
    ("what", "ref"), [("version", "1"), ("version", "x"), ("learned", "x"), ("answers", "x"), ("", "")]
)
def test_nobody_undoes_what_is_not_theirs(page: Client, ben: Reader, what: str, ref: str):
    config_edit(reader_id=ben.pk, edit=ConfigEdit(topics=["chess"]), expected_version=0, now=ago(1))
    body = undo(page, what, ref)
    assert "There is nothing left of that change" in body or "There is no version 1" in body
    assert config_effective(reader_id=ben.pk).config.topics == ("chess",)


def test_pins_and_renamed_sources_change_no_order_and_stand_elsewhere(page: Client, ada: Reader):
    target_pin(reader_id=ada.pk, target="gazette.example", pin="locked", ref="", now=ago(1))
    assert "Nothing has changed yet" in body_of(page)
