"""Drafts: out of every reader's sight, and settled by operators alone, once."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from advisor.models import PanelVote, Run
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from suggestions.changes.proposal import DRAFT, Review
from suggestions.models import Outcome, Suggestion
from suggestions.proposals import Draft, Proposed
from suggestions.selectors import suggestion_for, suggestions_pending, suggestions_settled
from suggestions.services.drafts import draft_discard, draft_release
from suggestions.services.lifecycle import suggestions_sweep
from tests.advisor.tools.test_tools import liked_urls
from tests.support.accepts import source_weight_set
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.histories import context_for, opinionated
from tests.support.suggestion_worlds import propose as put_forward

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def run(ada, now):
    return Run.objects.create(reader=ada, day=now.date(), trigger="command", created_at=now)


@pytest.fixture
def draft(ada, run, now):
    """Return a draft that reviewers could not agree on: more from a source Ada clearly likes."""
    opinionated(ada)
    return propose(ada, run, now, Review(DRAFT))


def propose(ada, run, now, review=None):
    written = Draft("boost_source", "loved.example", "1.3", tuple(liked_urls(ada)), "You like Loved.")
    answer = put_forward(ada, written, now, run.pk, review=review and (lambda proposal: review))
    return Suggestion.objects.get(pk=answer.suggestion_id) if isinstance(answer, Proposed) else answer


def release(row, now):
    return draft_release(suggestion_id=row.pk, operator="olga", now=now)


def discard(row, now):
    return draft_discard(suggestion_id=row.pk, operator="olga", now=now)


def seen_by(reader, row) -> bool:
    """Return whether the reader meets the suggestion anywhere it could be met."""
    settled = suggestions_settled(reader_id=reader.pk)
    return any(
        (
            row in suggestions_pending(reader_id=reader.pk),
            row in settled,
            suggestion_for(reader_id=reader.pk, suggestion_id=row.pk) is not None,
        )
    )


def test_a_released_draft_is_pending_with_its_full_time_ahead(ada, draft, now):
    later = now + 9 * DAY
    assert not seen_by(ada, draft)
    assert release(draft, later) is None
    assert seen_by(ada, draft) and suggestions_pending(reader_id=ada.pk) == [draft]
    assert suggestions_sweep(now=later + 13 * DAY)["expired"] == 0
    assert suggestions_sweep(now=later + 14 * DAY)["expired"] == 1


def test_a_discarded_draft_stays_out_of_sight_and_teaches_nothing(ada, draft, run, now):
    assert discard(draft, now) is None
    draft.refresh_from_db()
    assert (draft.status, draft.resolved_at) == ("discarded", now)
    assert not seen_by(ada, draft) and not Outcome.objects.exists()
    assert propose(ada, run, now + 9 * DAY).code == "on_cooldown"
    assert suggestions_sweep(now=now + 30 * DAY) == {"superseded": 0, "woken": 0, "expired": 0}


@pytest.mark.parametrize("settle", [release, discard])
def test_a_draft_is_settled_once(draft, now, settle):
    assert settle(draft, now) is None
    assert release(draft, now).code == discard(draft, now).code == "not_a_draft"


@pytest.mark.parametrize("status", ["pending", "accepted", "rejected", "expired"])
def test_what_is_no_draft_is_left_alone(draft, now, status):
    Suggestion.objects.filter(pk=draft.pk).update(status=status)
    assert release(draft, now).code == discard(draft, now).code == "not_a_draft"
    draft.refresh_from_db()
    assert draft.status == status


def test_no_such_draft_is_said_so(db, now):
    assert draft_release(suggestion_id=404, operator="olga", now=now).code == "not_a_draft"


def test_a_draft_whose_target_waits_already_is_not_released(ada, draft, run, now):
    twin = Suggestion.objects.get(pk=draft.pk)
    twin.pk, twin.status = None, "pending"
    twin.save()
    assert release(draft, now).code == "duplicate_pending"


def test_a_draft_that_breaks_a_rule_by_now_is_not_released(ada, draft, now):
    ada.feedback.filter(item__url__in=liked_urls(ada)).update(useful=False)
    assert release(draft, now).code == "evidence_wrong_polarity"
    assert not seen_by(ada, draft)


def test_a_draft_about_a_weight_that_was_changed_by_hand_is_not_released(ada, draft, now):
    source_weight_set(reader_id=ada.pk, source="loved.example", weight=1.2, ref="", now=now)
    assert release(draft, now).code == "config_changed"


def test_the_agent_is_never_told_of_drafts(ada, draft, now):
    context = context_for(ada)
    told = [
        dispatch(context, ToolCall("1", name, arguments)).content
        for name, arguments in (
            ("get_suggestion_outcomes", '{"mode": "search", "query": "loved"}'),
            ("get_user_profile", "{}"),
        )
    ]
    assert not any(draft.reason in words or f'"{draft.pk}"' in words for words in told)


@pytest.mark.parametrize("settle", [None, discard])
def test_no_door_of_a_readers_shows_or_takes_what_is_not_theirs_to_see(client, ada, draft, now, settle):
    if settle:
        settle(draft, now)
    client.force_login(ada)
    for way in ("accept", "reject", "snooze", "never", "revert"):
        answer = client.post(f"/api/suggestions/{draft.pk}/{way}", "{}", content_type="application/json")
        assert answer.status_code == 404, way
    assert client.get("/api/suggestions").json()["suggestions"] == []
    for page in ("/ui/suggestions", "/ui/history", "/ui/config"):
        assert draft.reason not in client.get(page).content.decode(), page
    draft.refresh_from_db()
    assert draft.status == ("discarded" if settle else "draft")


@pytest.mark.django_db(transaction=True)
def test_of_operators_that_settle_a_draft_at_once_one_wins(draft, now, tmp_path):
    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(lambda n: (release if n % 2 else discard)(draft, now))
        status = seen_by_writers(lambda: Suggestion.objects.get().status)
    assert sum(answer is None for answer in answers) == 1
    assert status == ("pending" if answers.index(None) % 2 else "discarded")


# --- The operators' pages -------------------------------------------------------------------------------


@pytest.fixture
def live(ada):
    """Return a draft dated by the real clock, because the pages read it, with a vote of its panel."""
    now = timezone.now()
    opinionated(ada, now=now)
    run = Run.objects.create(reader=ada, day=now.date(), trigger="command", created_at=now)
    row = propose(ada, run, now, Review(DRAFT))
    PanelVote.objects.create(
        run=run,
        suggestion_type=row.suggestion_type,
        target_key=row.target_key,
        round=1,
        reviewer="trust",
        verdict="reject",
        confidence=0.8,
        issues=["<script>alert(1)</script> is no figure"],
        model="openai:gpt-6-luna",
        cost_usd="0.000114",
        at=now,
    )
    return row


@pytest.fixture
def olga(client, operator):
    client.force_login(operator)
    return client


def url(row, name):
    return reverse(f"admin:suggestions_suggestion_{name}", args=[row.pk])


def test_operators_see_drafts_with_the_votes_beside_them(olga, live):
    listed = olga.get(reverse("admin:suggestions_suggestion_changelist"), {"status__exact": "draft"})
    assert live.label in listed.content.decode()
    shown = olga.get(url(live, "change")).content.decode()
    assert "Release to its reader" in shown and "Discard…" in shown
    assert "trust" in shown and "80%" in shown and "$0.0001" in shown
    assert "&lt;script&gt;alert(1)" in shown and "<script>alert" not in shown


def test_an_operator_releases_a_draft_and_it_is_on_record(olga, ada, live):
    page = olga.post(url(live, "release"), follow=True).content.decode()
    assert "Released to its reader." in page and "Discard…" not in page
    assert seen_by(ada, live)
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("olga", str(live.pk)) and "Released" in str(entry)


def test_discarding_asks_first(olga, ada, live):
    asked = olga.get(url(live, "discard"))
    assert "Yes, discard it" in asked.content.decode()
    live.refresh_from_db()
    assert live.status == "draft" and not LogEntry.objects.exists()
    assert "Discarded." in olga.post(url(live, "discard"), follow=True).content.decode()
    live.refresh_from_db()
    assert live.status == "discarded" and LogEntry.objects.count() == 1


def test_a_refused_release_says_why_and_records_nothing(olga, live):
    Suggestion.objects.filter(pk=live.pk).update(status="discarded")
    page = olga.post(url(live, "release"), follow=True).content.decode()
    assert "settled before" in page and not LogEntry.objects.exists()


def test_a_release_is_a_post_and_needs_a_draft_that_exists(olga, live):
    assert olga.get(url(live, "release")).status_code == 405
    live.delete()
    assert olga.post("/admin/suggestions/suggestion/404/release/").status_code == 404


@pytest.mark.parametrize("name", ["release", "discard"])
def test_only_operators_with_the_right_settle_drafts(client, ada, ben, live, name):
    for reader in (ada, ben):
        client.force_login(reader)
        assert client.post(url(live, name)).status_code == 302, "to the log-in of the admin"
    ben.is_staff = True
    ben.save()
    client.force_login(ben)
    assert client.post(url(live, name)).status_code == 403
    live.refresh_from_db()
    assert live.status == "draft"
