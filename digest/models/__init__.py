"""All database tables of the digest room."""

from digest.models.community import CommunityRound, ItemFigure, SourceFigure
from digest.models.digests import Digest, Exposure, Feedback, FeedbackTag, Impression, ReasonTag
from digest.models.feeds import (
    Favicon,
    Feed,
    FeedAccess,
    FullText,
    Item,
    ItemBody,
    ItemVector,
    MailboxState,
    PrunedEntry,
    Source,
    Story,
    Subscription,
    TasteProfile,
    TermCounts,
    TopicMeaning,
)
from digest.models.llm import Spend, SpendRefusal, SuggestedReasons, Summary
from digest.models.notifications import Destination, Notification, NotificationSettings
from digest.models.readers import ApiToken, Delivery, Invitation, Reader, Reading, UsedLink

__all__ = [
    "ApiToken",
    "CommunityRound",
    "Delivery",
    "Destination",
    "Digest",
    "Exposure",
    "Favicon",
    "Feed",
    "FeedAccess",
    "Feedback",
    "FeedbackTag",
    "FullText",
    "Impression",
    "Invitation",
    "Item",
    "ItemBody",
    "ItemFigure",
    "ItemVector",
    "MailboxState",
    "Notification",
    "NotificationSettings",
    "PrunedEntry",
    "Reader",
    "Reading",
    "ReasonTag",
    "Source",
    "SourceFigure",
    "Spend",
    "SpendRefusal",
    "Story",
    "Subscription",
    "SuggestedReasons",
    "Summary",
    "TasteProfile",
    "TermCounts",
    "TopicMeaning",
    "UsedLink",
]
