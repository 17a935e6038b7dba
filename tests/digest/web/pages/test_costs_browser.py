"""The costs page in a real browser: nothing sticks out on a phone, the chart has its table."""

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.models import Reader, Spend, SpendRefusal
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def spent(reader: Reader) -> None:
    """Calls of two surfaces on three days, one of them open, and a refusal."""
    now = timezone.now()
    for n in range(6):
        at = now - timedelta(days=n % 3)
        Spend.objects.create(
            surface="advisor" if n % 2 else "ingest",
            purpose="review" if n % 2 else "summary",
            reader=reader if n % 2 else None,
            run_id=uuid.uuid4(),
            model="openrouter:mistralai/mistral-small-2603",
            reserved_usd=Decimal("0.05"),
            settled_usd=Decimal("0.0123") if n else None,
            input_tokens=123_456,
            day=at.date(),
            created_at=at,
        )
    refused = {"surface": "ingest", "purpose": "summary", "model": "m", "code": "budget_day"}
    SpendRefusal.objects.create(**refused, asked_usd=Decimal("0.1"), day=now.date(), created_at=now)


def test_an_operator_reads_the_costs_on_a_phone(page: Page, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(is_staff=True)
    spent(ada)
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto("/debug/costs")
    expect(page.get_by_role("img", name="cost something")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("table").first).to_contain_text("$0.02")
    expect(page.get_by_role("table", name="Spend by model")).to_contain_text("mistral-small-2603")
