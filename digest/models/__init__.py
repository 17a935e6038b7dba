"""All tables of the digest room."""

from digest.models.digests import Digest, Exposure, Feedback, FeedbackTag, Impression, ReasonTag
from digest.models.feeds import (
    Feed,
    FeedEntry,
    Item,
    ItemVector,
    Source,
    Story,
    Subscription,
    TasteProfile,
    TermCounts,
)
from digest.models.llm import Spend, SpendRefusal, SuggestedReasons, Summary
from digest.models.readers import ApiToken, Delivery, Reader, Reading, UsedLink

__all__ = [
    "ApiToken",
    "Delivery",
    "Digest",
    "Exposure",
    "Feed",
    "FeedEntry",
    "Feedback",
    "FeedbackTag",
    "Impression",
    "Item",
    "ItemVector",
    "Reader",
    "Reading",
    "ReasonTag",
    "Source",
    "Spend",
    "SpendRefusal",
    "Story",
    "Subscription",
    "SuggestedReasons",
    "Summary",
    "TasteProfile",
    "TermCounts",
    "UsedLink",
]
