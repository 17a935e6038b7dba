"""The tables of the world outside and of what each reader saw and said."""

from digest.models.delivery import ApiToken, Delivery, UsedLink
from digest.models.digest import Digest, Exposure, Impression
from digest.models.feed import Feed, Source, Subscription
from digest.models.feedback import Feedback, FeedbackTag, ReasonTag
from digest.models.item import Cluster, FeedEntry, Item
from digest.models.reader import Reader
from digest.models.reading import Reading
from digest.models.spend import Spend, SpendRefusal
from digest.models.summary import SuggestedReasons, Summary
from digest.models.vector import ItemVector, TasteProfile, TermCounts

__all__ = [
    "ApiToken",
    "Cluster",
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
    "Subscription",
    "SuggestedReasons",
    "Summary",
    "TasteProfile",
    "TermCounts",
    "UsedLink",
]
