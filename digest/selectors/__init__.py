"""What the digest room can be asked; each reader's answer holds that reader's rows alone."""

from digest.selectors.digests import digest_for, digest_impressions
from digest.selectors.feedback import (
    feedback_by_items,
    feedback_by_urls,
    feedback_counts,
    feedback_recent,
    feedback_source_counts,
    feedback_tag_counts,
    feedback_tallies,
    reason_tags,
)
from digest.selectors.items import (
    item_for,
    item_get,
    item_urls,
    items_candidates,
    reader_sources,
    source_titles,
)

__all__ = [
    "digest_for",
    "digest_impressions",
    "feedback_by_items",
    "feedback_by_urls",
    "feedback_counts",
    "feedback_recent",
    "feedback_source_counts",
    "feedback_tag_counts",
    "feedback_tallies",
    "item_for",
    "item_get",
    "item_urls",
    "items_candidates",
    "reader_sources",
    "reason_tags",
    "source_titles",
]
