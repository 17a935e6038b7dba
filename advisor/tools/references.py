"""References to a reader's rated items, which stand for their addresses."""

from collections.abc import Sequence

from advisor.result_size import item_of_ref
from advisor.run_values import ToolContext
from digest.feedback.selectors import feedback_urls


def evidence_addresses(context: ToolContext, given: Sequence[str]) -> tuple[str, ...]:
    """Return `given` with addresses for references to the reader's rated items; others stay as they are."""
    items = {url: item_id for url in given if (item_id := item_of_ref(url)) is not None}
    urls = feedback_urls(reader_id=context.reader_id, item_ids=set(items.values())) if items else {}
    return tuple(urls.get(items[url], url) if url in items else url for url in given)
