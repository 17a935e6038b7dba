"""A run's reviewers: on the run's money, booked apart from the advisor's own calls."""

from decimal import Decimal

from advisor.entities import ToolContext
from advisor.models import Run
from advisor.review import compose
from digest.models import Spend


def test_reviews_share_the_run_s_account_under_a_purpose_of_their_own(ada, now, monkeypatch):
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="scheduled", status="running", created_at=now
    )
    monkeypatch.setattr(compose, "reviewer_for", lambda context, reflector: context)
    context = ToolContext(ada.pk, run.pk, now, lambda: None)
    reviewed = compose.context_with_reviewers(
        context, run, interactive=False, timeout_s=10, moment=lambda: now
    )
    reviewed.review.ledger.reserve(model="openai:gpt-6-luna", worst_case=Decimal("0.01"))
    spend = Spend.objects.get()
    assert (spend.purpose, spend.surface, spend.run_id, spend.reader) == ("review", "advisor", run.pk, ada)
