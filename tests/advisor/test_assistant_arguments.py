"""Arguments that an assistant sends to the reader's tools are refused in words and show nothing of others."""

from typing import Any

import pytest
from django.test import RequestFactory

from config.api.mcp_tools import READER_TOOLS, reader_tool_call
from digest.accounts.assistant_access import Access
from digest.models import Reader
from tests.support.browser import fresh_item

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
SECRET = "Only Ben reads this"
DAYS = ("0001-01-01", "9999-12-31", "2026-02-30", "x", 0, 10**20, None, [])
NUMBERS = (0, -1, 2**63, 2**64, 10**30, "1", "x", None, True, 1.0, 1e300, [], {})
QUERIES = ("", "\0", "*", "-", '"', "a" * 501, "\ud800", "(" * 300, "'|'&!:*", "a* " * 160, "NEAR(a b)")


def arguments(item_id: int) -> list[dict[str, Any]]:
    """Return what no tool should be sent, and another reader's item."""
    ids = (*NUMBERS, item_id)
    return [
        *({}, {"reader": "ben"}, {"reader_id": 1}),
        *({"item_id": one} for one in ids),
        *({"item_id": one, "useful": useful} for one in ids for useful in (True, "perhaps", None)),
        *({"day": day} for day in DAYS),
        *({"day": "9999-12-31", "page": page} for page in (1, 100, 10**30)),
        *({"day": "0001-01-01", "reason": reason} for reason in ("muted", "x", "\0")),
        *({"query": query} for query in QUERIES),
        *({"query": "only ben reads", "page": page} for page in (1, 10, 11, 10**30)),
    ]


@pytest.mark.every_case
@pytest.mark.parametrize("name", READER_TOOLS)
def test_no_arguments_break_a_tool_or_show_another_readers_item(
    name: str, ada: Reader, ben: Reader, rf: RequestFactory
):
    fresh_item(ada)
    item = fresh_item(ben, key="bens.example", title=SECRET)
    access = Access(ada, "client", frozenset({"read", "rate"}))
    for sent in arguments(item.pk):
        answer = reader_tool_call(request=rf.post("/mcp"), access=access, name=name, arguments=sent)
        assert SECRET not in str(answer), sent
    assert not ada.feedback.filter(item=item).exists()
