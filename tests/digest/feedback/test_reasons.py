"""Suggested reasons for a rating: three to five, short, of the taxonomy, about the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feedback.reasons import (
    DISLIKED,
    KIND_OF,
    VALUED,
    WORDS_MAX,
    SuggestedReason,
    reasons_filter,
    reasons_offline,
)
from digest.models import ReasonTag
from digest.summaries.selectors import reasons_suggested_for
from digest.summaries.services import extracts_make
from ranking.services import ConfigEdit, config_edit
from tests.support.summaries import carry

LONG = "The council counted the gulls of the harbour again, and nobody knew why. " * 60


def tags(reasons) -> list[str]:
    return [reason.tag for reason in reasons]


@pytest.mark.parametrize(
    ("title", "text", "tag"),
    [
        ("You won't believe what these gulls did", LONG, "clickbait"),
        ("GULLS TAKE OVER THE HARBOUR", LONG, "hype"),
        ("A game-changing gull", LONG, "hype"),
        ("Gulls", f"{LONG} This article is for paying members.", "paywall"),
        ("How to feed gulls", LONG, "practical"),
        ("Exclusive: the gull files", LONG, "original"),
        ("Gulls counted", LONG, "depth"),
        ("Gulls counted", "There were nine.", "shallow"),
    ],
)
def test_reasons_found_in_a_text_are_offered(title: str, text: str, tag: str):
    assert tag in tags(reasons_offline(title, text))


def test_one_strong_word_in_a_long_text_is_not_hype():
    assert "hype" not in tags(reasons_offline("Gulls counted", f"{LONG} An amazing number."))


def test_a_story_of_several_sources_may_be_known():
    assert "already reported elsewhere" in [r.text for r in reasons_offline("Gulls", LONG, clustered=True)]


@given(st.text(max_size=400), st.text(max_size=2000), st.booleans())
def test_there_are_three_to_five_reasons_for_both_answers_and_no_tag_twice(title, text, clustered):
    offered = reasons_offline(title, text, clustered=clustered)
    assert 3 <= len(offered) <= 5
    assert len(set(tags(offered))) == len(offered)
    assert {KIND_OF[tag] for tag in tags(offered)} == {VALUED, DISLIKED}
    assert all(len(reason.text.split()) <= WORDS_MAX for reason in offered)


OFFLINE = (SuggestedReason("clarity", "short, plain sentences"), SuggestedReason("off-topic", "not my topic"))


@pytest.mark.parametrize(
    "dropped",
    [
        (None, "gulls with hats"),  # no tag of the taxonomy
        ("hype", "this is more than four words"),
        ("hype", "Interesting article!"),
        ("hype", " "),
        ("hype", "Counts every gull"),  # the words of another
        ("depth", "says it twice"),  # the tag of another
    ],
)
def test_generic_long_repeated_and_unknown_reasons_of_a_model_are_dropped(dropped):
    accepted = reasons_filter([("depth", "counts every gull"), dropped, ("known", "as last year")], OFFLINE)
    assert accepted[0] == SuggestedReason("depth", "counts every gull")
    assert dropped[1].strip() not in [reason.text for reason in accepted]
    assert len(accepted) == 3, "what the text itself shows fills up"


def test_of_many_reasons_five_stay_some_for_each_answer():
    many = [(tag, f"words {n}") for n, tag in enumerate(KIND_OF)]
    accepted = reasons_filter(many, OFFLINE)
    assert len(accepted) == 5 and {KIND_OF[tag] for tag in tags(accepted)} == {VALUED, DISLIKED}


def test_a_model_s_reason_with_markup_is_dropped_and_invisible_characters_go():
    accepted = reasons_filter([("depth", "<b>counts</b> gulls"), ("depth", "counts\u202e gulls")], OFFLINE)
    assert not [reason for reason in accepted if "<" in reason.text]
    assert accepted[0].text == "counts gulls"


@pytest.mark.parametrize("lure", ["see evil.dev", "call 555 0199", "needs your password", "evil dot dev"])
def test_a_model_s_reason_that_leads_or_asks_somewhere_is_dropped(lure):
    assert lure not in [reason.text for reason in reasons_filter([("depth", lure)], OFFLINE)]


def test_the_reasons_of_the_code_are_the_shipped_taxonomy(db):
    shipped = dict(ReasonTag.objects.values_list("slug", "kind"))
    assert shipped == KIND_OF


def test_the_readers_topic_is_named(ada, ben, now):
    item = carry(ada, "gulls")
    extracts_make(now=now)
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["gull"]), expected_version=0, now=now)
    assert (
        SuggestedReason("on-topic", "about gull")
        in reasons_suggested_for(reader_id=ada.pk, items=[item])[item.pk]
    )
    bens = reasons_suggested_for(reader_id=ben.pk, items=[item])[item.pk]
    assert "about gull" not in [reason.text for reason in bens]


def test_a_tag_that_operators_removed_is_not_offered(ada, now):
    item = carry(ada, "gulls")
    extracts_make(now=now)
    ReasonTag.objects.filter(slug="off-topic").delete()
    assert "off-topic" not in tags(reasons_suggested_for(reader_id=ada.pk, items=[item])[item.pk])


def test_without_a_row_nothing_is_offered(ada):
    item = carry(ada, "gulls")
    assert reasons_suggested_for(reader_id=ada.pk, items=[item]) == {}
    assert reasons_suggested_for(reader_id=ada.pk, items=[]) == {}
