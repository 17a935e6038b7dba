"""A word that a reader keeps thumbing down may be hidden: an accept hides it, going back shows it."""

from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.agent.planner import proposal_arguments
from advisor.tools.queries import hypothesis_row
from digest.daily.services import digest_build
from digest.models import Feedback, Impression, Reader
from ranking.entities import Mute
from ranking.selectors import config_effective, config_hiding
from ranking.services import mute_remove, mute_set
from suggestions.changes.mutes import MUTE_WORD, words_often
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.check import effects_check
from suggestions.planner.evidence import hypotheses_for
from suggestions.preview import change_try, suggestion_preview
from suggestions.proposals import Draft, Proposed, Refusal, Resolved
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_revert,
    suggestion_undo,
)
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.suggestion_worlds import propose, rate, rate_all, thumb

pytestmark = pytest.mark.django_db
PLAIN, OTHER = "plain.example", "other.example"
WORD = "Sweepstake"
DAY = timedelta(days=1)


def tired_of(
    reader: Reader, word: str = WORD, *, dislikes: int = 12, sources: tuple[str, ...] = (PLAIN, OTHER)
):
    """Forty-eight thumbs on two sources: liked, but for the items that say the word."""
    for key in (PLAIN, OTHER):
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    calm = ("Calm report", "Mild account")
    rows = [
        ((PLAIN, OTHER)[n % 2], f"{calm[n // 2 % 2]} {'abcdefgh'[n % 8]}{n}", n % 6 != 0,
         CLOCK - (1 + n / 2) * DAY)
        for n in range(48)
    ]  # fmt: skip
    rows += [
        (sources[n % len(sources)], f"{word} of day {n}", False, CLOCK - (1 + n) * DAY)
        for n in range(dislikes)
    ]
    rate_all(reader, rows)
    for n in range(8):
        title = f"{word} again {n}" if n < 2 else f"Quiet matter {n}"
        ItemFactory(feed__source_id=(PLAIN, OTHER)[n % 2], source_id=(PLAIN, OTHER)[n % 2], title=title,
                    published_at=CLOCK - timedelta(hours=n + 1))  # fmt: skip


def word_urls(reader: Reader, word: str = WORD, count: int = 6) -> tuple[str, ...]:
    rows = Feedback.objects.filter(reader=reader, item__title__startswith=word).order_by("-at")
    return tuple(rows.values_list("item__url", flat=True)[:count])


def draft(reader: Reader, word: str = WORD, urls: tuple[str, ...] | None = None) -> Draft:
    return Draft("mute_word", word, word, word_urls(reader, word) if urls is None else urls, "")


def hidden(reader: Reader) -> list[str]:
    return [mute.value for mute in config_hiding(reader_id=reader.pk).mutes]


@pytest.fixture
def waiting(ada) -> Suggestion:
    """Ada, tired of a word, is asked whether to hide it."""
    tired_of(ada)
    answer = propose(ada, draft(ada))
    assert isinstance(answer, Proposed), answer
    return Suggestion.objects.get(pk=answer.suggestion_id)


def test_the_planner_finds_the_word_and_its_draft_passes_every_rule(ada, now):
    tired_of(ada)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    (found,) = [one for one in report.hypotheses if one.change.kind is MUTE_WORD]
    assert (found.change.label, found.likes, found.ratings) == (WORD, 0, 12)
    assert len(found.change.evidence_urls) >= 5
    row = hypothesis_row(found, {url: url for url in found.change.evidence_urls}, support=5)
    arguments = proposal_arguments(row)
    assert arguments["suggestion_type"] == "mute_word"
    given = Draft("mute_word", arguments["target"], arguments["suggested_value"],
                  found.change.evidence_urls, "")  # fmt: skip
    assert isinstance(propose(ada, given, now), Proposed)


def test_a_word_that_one_liked_item_says_is_not_found_and_refused(ada, now):
    tired_of(ada)
    rate(ada, PLAIN, f"The {WORD} that was fun", True, CLOCK - 2 * DAY)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert not [one for one in report.hypotheses if one.change.kind is MUTE_WORD]
    answer = propose(ada, draft(ada), now)
    assert isinstance(answer, Refusal) and answer.code == "evidence_contradicts"


def test_a_word_without_a_like_that_chance_may_explain_is_refused():
    """If eight of ten are dislikes, chance leaves many a word without a like."""
    thumbs = [
        thumb(
            n,
            source="ab"[n % 2],
            title=f"{WORD if n < 10 else f'Word{chr(97 + n // 8)}'} told",
            useful=n >= 160,
        )
        for n in range(200)
    ]
    change = MUTE_WORD.change(WORD)
    assert MUTE_WORD.contradiction(change, thumbs[:10] + thumbs[150:]) is None, (
        "ten of ten where most are liked"
    )
    refusal = MUTE_WORD.contradiction(change, thumbs[:5] + thumbs[10:])
    assert refusal and refusal.code == "weak_evidence" and "160" not in refusal.message
    assert words_often(thumbs) == 26, "“told”, the word, and 24 others"


def test_shuffled_thumbs_have_words_to_hide_for_one_reader_in_two_at_most():
    found, rng = 0, Random(5)
    for _ in range(100):
        liked = [n < 30 for n in range(100)]
        rng.shuffle(liked)
        thumbs = [
            thumb(
                n, source="ab"[n % 2], title=f"About {'abcdefghijklmnopqrstuvwxy'[n % 20] * 4}", useful=useful
            )
            for n, useful in enumerate(liked)
        ]
        words = {one.title.split()[1] for one in thumbs}
        found += sum(MUTE_WORD.contradiction(MUTE_WORD.change(word), thumbs) is None for word in words)
    assert found <= 50


@pytest.mark.parametrize(
    ("word", "count", "code"),
    [
        (WORD, 4, "insufficient_evidence"),
        ("Calm", None, "evidence_wrong_polarity"),
        ("two words", 6, "invalid_word"),
        ("!", 6, "invalid_word"),
    ],
)
def test_what_is_no_evidence_or_no_word_is_refused(ada, now, word, count, code):
    tired_of(ada)
    urls = word_urls(ada, "Calm") if count is None else word_urls(ada, count=count)
    answer = propose(ada, draft(ada, word, urls), now)
    assert isinstance(answer, Refusal) and answer.code == code


def test_a_word_of_a_single_source_may_be_the_sources_fault(ada, now):
    tired_of(ada, sources=(PLAIN,))
    answer = propose(ada, draft(ada), now)
    assert isinstance(answer, Refusal) and answer.code == "too_few_sources"


def test_what_is_hidden_already_is_refused(ada, now):
    tired_of(ada)
    mute_set(reader_id=ada.pk, mute=Mute("word", WORD.upper()), now=now)
    answer = propose(ada, draft(ada), now)
    assert isinstance(answer, Refusal) and answer.code == "word_already_muted"


def test_the_suggestion_says_what_it_rests_on_and_what_it_does(waiting, now):
    assert waiting.reason.startswith(f"You liked 0 of 12 articles with “{WORD}”, against 40 of 48 elsewhere.")
    assert waiting.expected_impact == f"You will see no more articles that say “{WORD}”."
    leaves = [item.title for item in suggestion_preview(suggestion=waiting, now=now).leaves]
    assert leaves and all(WORD in title for title in leaves)


def test_an_accept_hides_the_word_and_going_back_shows_it(waiting, ada, now):
    done = suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert isinstance(done, Resolved) and done.config_updated
    assert hidden(ada) == [WORD]
    digest = digest_build(reader=ada, date=now.date(), now=now)
    assert not Impression.objects.filter(digest=digest, item__title__contains=WORD).exists()
    back = suggestion_revert(reader_id=ada.pk, suggestion_id=waiting.pk, now=now + timedelta(hours=1))
    assert isinstance(back, Resolved) and back.config_updated and hidden(ada) == []


def test_an_accept_undone_at_once_shows_it_and_asks_again(waiting, ada, now):
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    done = suggestion_undo(reader_id=ada.pk, suggestion_id=waiting.pk, now=now + timedelta(minutes=1))
    assert isinstance(done, Resolved) and done.status == "pending" and hidden(ada) == []


def test_going_back_gives_a_mute_its_earlier_last_day(waiting, ada, now):
    until = (now + 9 * DAY).date()
    mute_set(reader_id=ada.pk, mute=Mute("word", WORD, until), now=now)
    Suggestion.objects.filter(pk=waiting.pk).update(config_version=1)
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    suggestion_revert(reader_id=ada.pk, suggestion_id=waiting.pk, now=now + DAY)
    assert [mute.until for mute in config_hiding(reader_id=ada.pk).mutes] == [until]


def test_hidden_by_hand_meanwhile_the_suggestion_is_settled(waiting, ada, now):
    mute_set(reader_id=ada.pk, mute=Mute("word", WORD), now=now)
    assert suggestions_sweep(now=now)["superseded"] == 1


def test_never_means_that_the_word_is_not_brought_up_again(waiting, ada, now):
    suggestion_never(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    later = now + 60 * DAY
    assert isinstance(propose(ada, draft(ada), later), Refusal)
    assert MUTE_WORD not in [
        one.change.kind for one in hypotheses_for(reader_id=ada.pk, now=later).hypotheses
    ]


def test_two_weeks_later_earlier_thumbs_that_were_not_cited_tell(waiting, ada, now):
    for days in range(1, 5):
        digest_build(reader=ada, date=(now - days * DAY).date(), now=now - days * DAY)
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    for days in range(1, 14):
        at = now + days * DAY
        rate(ada, PLAIN, f"Calm later {days}", days % 2 == 0, at)
        digest_build(reader=ada, date=at.date(), now=at)
    report = effects_check(now=now + 14 * DAY)
    assert (report["checked"], report["helped"] + report["unclear"]) == (1, 1)
    measured = Outcome.objects.get(kind="effect").measured
    likes, ratings = measured["scope_after"]
    assert likes == 0 and ratings == 12 - waiting.evidence.count()
    assert measured["words"].startswith("Before you hid it you liked 0 of") or measured["reason"]


def test_shown_again_by_hand_it_cannot_be_judged(waiting, ada, now):
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    mute_remove(reader_id=ada.pk, mute=Mute("word", WORD), now=now + DAY)
    effects_check(now=now + 14 * DAY)
    assert Outcome.objects.get(kind="effect").measured["reason"] == "changed_again"


def test_a_tool_tries_it_and_the_page_the_api_and_the_admin_show_it(
    waiting, ada, client: Client, admin_client
):
    trial = change_try(
        reader_id=ada.pk,
        draft=Draft("mute_word", WORD, None, (), ""),
        now=CLOCK,
    )
    assert not isinstance(trial, Refusal) and (trial.liked, trial.rated) == (0, 12)
    client.force_login(ada)
    Suggestion.objects.filter(pk=waiting.pk).update(created_at=timezone.now())
    page = client.get(reverse("suggestions:list")).content.decode()
    assert f"Hide articles that say “{WORD}”" in page and "Words to hide" in page
    (row,) = client.get("/api/suggestions").json()["suggestions"]
    assert (row["suggestion_type"], row["field"], row["target_key"]) == ("mute_word", "mutes", WORD.lower())
    shown = admin_client.get(f"/admin/suggestions/suggestion/{waiting.pk}/change/")
    assert shown.status_code == 200 and "Mute word" in shown.content.decode()


def test_other_readers_see_what_they_saw(waiting, ada, ben, now):
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert config_effective(reader_id=ben.pk).config.mutes == ()
