"""A new topic with other names: the rules for them, their evidence, and what accept and revert do."""

from dataclasses import replace
from datetime import timedelta
from random import Random
from uuid import uuid4

import pytest

from digest.models import Item, Reader
from ranking.entities import Config, EffectiveConfig
from ranking.other_names import NAMES_MAX
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, target_pin
from suggestions.changes.proposal import DRAFT, Review
from suggestions.changes.topics import ADD_TOPIC
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.check import cases_of
from suggestions.planner.tastes import FALSE_SIGN_AFTER_NAMES, FALSE_SIGN_MAX
from suggestions.preview import change_try
from suggestions.proposals import Draft, Proposed, Refusal
from suggestions.rules import draft_read
from suggestions.selectors import facts_for
from suggestions.services import resolve
from suggestions.services.checks import suggestion_check_begin
from suggestions.services.drafts import draft_release
from suggestions.week import suggestion_weeks
from tests.support.factories import CLOCK, ReaderFactory
from tests.support.suggestion_worlds import (
    LOVED,
    OTHER,
    PLAIN,
    add_topic,
    boost,
    propose,
    proposed,
    rate,
    tastes,
    thumb,
)

pytestmark = pytest.mark.django_db
TOPIC, NAME = "Harbour", "Quayside"


def two_names() -> int:
    """Make Ada, who likes articles about one thing: half of them say the topic, half another name of it."""
    ada = ReaderFactory(username="ada", time_zone="Europe/Berlin")
    tastes(ada, topic=TOPIC)
    rows = Item.objects.filter(title__startswith=f"{TOPIC} in focus").order_by("source_id", "dated_at")
    for item in list(rows)[::2]:
        Item.objects.filter(pk=item.pk).update(title=item.title.replace(TOPIC, NAME))
    return ada.pk


@pytest.fixture(scope="module")
def stage(staged):
    return staged(two_names)


@pytest.fixture
def ada(stage, db) -> Reader:
    return Reader.objects.get(username="ada")


def said(reader: Reader, word: str, count: int = 2) -> tuple[str, ...]:
    """Return addresses of liked items with this word in their title, of both sources."""
    found = []
    for source in (PLAIN, OTHER):
        rows = Item.objects.filter(source_id=source, title__startswith=word, feedback__reader=reader)
        found += rows.filter(feedback__useful=True).values_list("url", flat=True)[:count]
    return tuple(found)


def draft(reader: Reader, *names: object, evidence: tuple[str, ...] = ()) -> Draft:
    return replace(add_topic(reader, TOPIC), evidence_urls=evidence or said(reader, TOPIC), other_names=names)


def names_of(reader: Reader) -> dict[str, tuple[str, ...]]:
    return dict(config_effective(reader_id=reader.pk).config.other_names)


def code(answer: object) -> str:
    return answer.code if isinstance(answer, Refusal) else ""


def test_an_accept_adds_the_topic_with_its_other_names_and_a_revert_takes_both_away(ada, now):
    row = proposed(ada, draft(ada, NAME, "harbours", NAME.upper()))
    assert row.other_names == [NAME], "neither the topic in another form, nor a name twice"
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=row.pk, now=now)
    assert config_effective(reader_id=ada.pk).config.topics == (TOPIC,)
    assert names_of(ada) == {"harbour": (NAME,)}
    resolve.suggestion_revert(reader_id=ada.pk, suggestion_id=row.pk, now=now + timedelta(hours=1))
    assert config_effective(reader_id=ada.pk).config.topics == () and names_of(ada) == {}


def test_names_that_a_reader_typed_for_another_topic_outlive_accept_and_revert(ada, now):
    edit = ConfigEdit(topics=("tennis",), other_names={"tennis": ("Wimbledon",)})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    row = proposed(ada, draft(ada, NAME))
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=row.pk, now=now)
    assert names_of(ada) == {"tennis": ("Wimbledon",), "harbour": (NAME,)}
    resolve.suggestion_revert(reader_id=ada.pk, suggestion_id=row.pk, now=now + timedelta(hours=1))
    assert names_of(ada) == {"tennis": ("Wimbledon",)}


def test_an_accept_that_is_undone_at_once_comes_back_with_its_names(ada, now):
    row = proposed(ada, draft(ada, NAME))
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=row.pk, now=now)
    undone = resolve.suggestion_undo(reader_id=ada.pk, suggestion_id=row.pk, now=now)
    assert names_of(ada) == {}
    assert Suggestion.objects.get(pk=undone.suggestion_id).change.names == (NAME,)


def test_a_topic_that_the_reader_added_meanwhile_keeps_their_names(ada, now):
    change = proposed(ada, draft(ada, NAME)).change
    edit = ConfigEdit(topics=(TOPIC,), other_names={TOPIC: ("Dock",)})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    effective = config_effective(reader_id=ada.pk)
    assert change.applied(effective).config.other_names == {"harbour": ("Dock",)}


def test_evidence_may_be_articles_that_say_another_name_alone(ada):
    cited = said(ada, NAME)
    assert code(propose(ada, draft(ada, evidence=cited))) == "evidence_off_target"
    assert isinstance(propose(ada, draft(ada, NAME, evidence=cited)), Proposed)


def test_an_article_that_says_a_name_in_its_text_alone_counts_for_a_topic_with_names(ada, now):
    with_name = change_try(reader_id=ada.pk, draft=draft(ada, NAME), now=now)
    cited = said(ada, NAME)
    for item in Item.objects.filter(title__startswith=NAME):
        Item.objects.filter(pk=item.pk).update(title=item.title.replace(NAME, "Monday"), text=f"The {NAME}.")
    assert code(propose(ada, draft(ada, evidence=cited))) == "evidence_off_target"
    assert change_try(reader_id=ada.pk, draft=draft(ada, NAME), now=now).rated == with_name.rated
    assert isinstance(propose(ada, draft(ada, NAME, evidence=cited)), Proposed)


def test_other_names_come_before_other_suggestions_of_a_run(ada, now):
    run = uuid4()
    one, other = boost(ada, source=LOVED), draft(ada, NAME)
    assert isinstance(propose(ada, one, run_id=run), Proposed)
    assert code(propose(ada, other, run_id=run)) == "names_late"
    assert isinstance(propose(ada, other, run_id=uuid4()), Proposed), "another run begins anew"


def test_a_run_that_tried_other_names_must_be_surer_of_its_other_changes(ada, now):
    weighed = change_try(reader_id=ada.pk, draft=draft(ada), now=now).weighed
    sure, change = replace(weighed, false_sign=FALSE_SIGN_AFTER_NAMES), weighed.change
    unsure = replace(weighed, false_sign=FALSE_SIGN_MAX)
    tried = replace(change, tried=1)
    assert sure.refusal(tried) is None and unsure.refusal(change) is None
    assert code(unsure.refusal(tried)) == "weak_evidence"


def test_the_counts_and_the_effect_of_a_suggestion_are_those_of_all_its_names(ada, now):
    alone = change_try(reader_id=ada.pk, draft=draft(ada), now=now)
    both = change_try(reader_id=ada.pk, draft=draft(ada, NAME), now=now)
    assert alone.rated < both.rated == both.weighed.ratings and alone.effect.about < both.effect.about
    assert both.names == {NAME: both.rated - alone.rated}
    row = proposed(ada, draft(ada, NAME))
    assert row.reason.startswith(f"You liked {both.liked} of {both.rated} articles about {TOPIC}")
    before = config_effective(reader_id=ada.pk)
    effect = suggestion_weeks(reader_id=ada.pk, before=before, suggestions=[row], now=now)[row.pk]
    assert effect.about == both.effect.about


@pytest.mark.parametrize(
    "name", ["", "...", "a" * 65, 7, None, "x\u200by", "one\ntwo", "evil.example", "call 555 010 9999"]
)
def test_what_could_be_no_topic_or_leads_somewhere_is_no_name(ada, name):
    assert code(propose(ada, draft(ada, NAME, name))) == "invalid_name"


def test_a_topic_gets_at_most_sixteen_names(ada):
    assert code(propose(ada, draft(ada, *(f"{NAME} {n}" for n in range(NAMES_MAX + 1))))) == "invalid_name"


def test_a_name_that_no_article_of_the_reader_says_is_refused_by_trial_and_write(ada, now):
    asked = draft(ada, NAME, "Zeppelin")
    assert code(change_try(reader_id=ada.pk, draft=asked, now=now).refusal) == "name_unsaid"
    refusal = propose(ada, asked)
    assert refusal.code == "name_unsaid" and "Zeppelin" in refusal.message


def test_a_name_whose_articles_the_reader_disliked_is_refused(ada, now):
    for n in range(3):
        rate(ada, PLAIN, f"Wharf closed {n}", False, now - timedelta(days=n + 1))
        rate(ada, OTHER, f"Pier closed {n}", False, now - timedelta(days=n + 1))
    refusal = propose(ada, draft(ada, NAME, "Wharf", "Pier"))
    assert (
        code(refusal) == "name_disliked"
        and "“Wharf”, “Pier”" in refusal.message
        and NAME not in refusal.message
    )
    assert isinstance(propose(ada, draft(ada, NAME)), Proposed)


@pytest.mark.parametrize(
    ("likes", "tried", "refused"),
    [(8, 5, False), (8, 6, True), (8, 0, False), (7, 1, True)],
)
def test_the_more_topics_a_run_has_tried_the_surer_one_has_to_be(likes: int, tried: int, refused: bool):
    """Of 60 thumbs 24 are likes. Chance gives eight of eight to 1 reader in 3,500, seven to 1 in 190."""
    about = [thumb(n, title=f"{(TOPIC, NAME)[n % 2]} in focus", useful=n < likes) for n in range(8)]
    thumbs = [*about, *(thumb(8 + n, title="Elsewhere", useful=n < 24 - likes) for n in range(52))]
    change = replace(ADD_TOPIC.change(TOPIC, EffectiveConfig(Config())), names=(NAME,), tried=tried)
    answer = ADD_TOPIC.contradiction(change, thumbs)
    assert (answer.code if answer else "") == ("weak_evidence" if refused else "")
    assert ADD_TOPIC.contradiction(replace(change, names=()), thumbs) is None, "the planner's own bar"


def test_names_that_a_run_left_out_still_count_against_chance():
    """Ten of ten likes are no chance, but twelve of sixteen may be: four dislikes went with a name."""
    wharf = [thumb(n, title="Wharf report", useful=n < 2) for n in range(6)]
    about = [thumb(6 + n, title=f"{(TOPIC, NAME)[n % 2]} in focus", useful=True) for n in range(10)]
    thumbs = [*wharf, *about, *(thumb(16 + n, title="Elsewhere", useful=n < 18) for n in range(44))]
    change = replace(ADD_TOPIC.change(TOPIC, EffectiveConfig(Config())), names=(NAME,))
    assert ADD_TOPIC.contradiction(change, thumbs) is None
    tried = replace(change, names_tried=("Wharf",))
    assert code(ADD_TOPIC.contradiction(tried, thumbs)) == "weak_evidence"


def test_articles_count_for_a_topic_by_their_texts_too_as_ranking_finds_them():
    """Four of four likes by titles may be chance; twelve of twelve by texts are none."""
    about = [thumb(n, title=f"{(TOPIC, NAME)[n % 2]} in focus", useful=True) for n in range(4)]
    told = [replace(thumb(4 + n, title="Monday", useful=True), text=f"The {NAME} is open.") for n in range(8)]
    others = [thumb(12 + n, title="Elsewhere", useful=n < 18) for n in range(48)]
    change = replace(ADD_TOPIC.change(TOPIC, EffectiveConfig(Config())), names=(NAME,))
    assert ADD_TOPIC.contradiction(change, [*about, *told, *others]) is None
    bare = [replace(one, text="") for one in told]
    assert code(ADD_TOPIC.contradiction(change, [*about, *bare, *others])) == "weak_evidence"


def test_what_a_run_tried_is_read_from_its_draft(ada, now):
    asked = replace(draft(ada, NAME), names_tried=(NAME.upper(), "Wharf", TOPIC, "\n"))
    change = draft_read(asked, facts_for(reader_id=ada.pk, now=now))
    assert change.names == (NAME,) and change.names_tried == ("Wharf",)


def test_shuffled_thumbs_find_no_topic_by_its_names_in_more_than_one_reader_of_a_hundred():
    found, rng = 0, Random(7)
    for _ in range(1000):
        thumbs = [n < 24 for n in range(60)]
        rng.shuffle(thumbs)
        names = [TOPIC, NAME, *["Elsewhere"] * 4]
        items = [thumb(n, title=names[n % 6], useful=useful) for n, useful in enumerate(thumbs)]
        change = replace(ADD_TOPIC.change(TOPIC, EffectiveConfig(Config())), names=(NAME,))
        found += ADD_TOPIC.contradiction(change, items) is None
    assert found <= 10


def test_a_name_that_is_a_topic_of_the_reader_or_rests_is_refused(ada, now):
    target_pin(reader_id=ada.pk, target=NAME, pin="avoided", ref="", now=now)
    assert code(propose(ada, draft(ada, NAME))) == "pinned"
    target_pin(reader_id=ada.pk, target=NAME, pin="", ref="", now=now)
    version = config_effective(reader_id=ada.pk).config.version
    edit = ConfigEdit(topics=(NAME,))
    config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=now)
    assert code(propose(ada, draft(ada, NAME))) == "invalid_name"


def test_a_name_of_a_waiting_suggestion_is_no_other_suggestion(ada):
    proposed(ada, draft(ada, NAME))
    twin = replace(add_topic(ada, NAME), evidence_urls=said(ada, NAME))
    assert code(propose(ada, twin)) == "duplicate_pending"


def test_only_a_new_topic_takes_names(ada):
    assert code(propose(ada, boost(ada, source=LOVED, other_names=(NAME,)))) == "field_mismatch"


def test_a_draft_that_an_operator_releases_keeps_its_names(ada, now):
    stored = propose(ada, draft(ada, NAME, evidence=said(ada, NAME)), review=lambda _: Review(DRAFT))
    assert draft_release(suggestion_id=stored.suggestion_id, operator="olga", now=now) is None
    assert Suggestion.objects.get(pk=stored.suggestion_id).other_names == [NAME]


def test_headlines_with_another_name_check_the_suggestion(ada, now):
    row = proposed(ada, draft(ada, NAME))
    shown = suggestion_check_begin(reader=ada, suggestion_id=row.pk, now=now).headlines
    assert any(NAME in one.title for one in shown) and any(TOPIC in one.title for one in shown)


def test_the_check_after_two_weeks_counts_every_name(ada):
    row = proposed(ada, draft(ada, NAME))
    resolve.suggestion_accept(reader_id=ada.pk, suggestion_id=row.pk, now=CLOCK)
    for n, title in enumerate((f"{TOPIC} later", f"{NAME} later")):
        rate(ada, PLAIN, title, True, CLOCK + timedelta(days=1, hours=n))
    decision = Outcome.objects.get(suggestion=row, kind=Outcome.Kind.DECISION)
    ((_, case),) = cases_of(decision_ids=[decision.pk])
    assert case.scope_after.ratings == 2
