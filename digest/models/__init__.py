"""The tables of the world outside and of what each reader saw and said."""

from digest.models.digest import Digest, Impression
from digest.models.feed import Feed, Source, Subscription
from digest.models.feedback import Feedback, FeedbackTag, ReasonTag
from digest.models.item import FeedEntry, Item
from digest.models.reader import Reader
from digest.models.spend import Spend

__all__ = [
    "Digest",
    "Feed",
    "FeedEntry",
    "Feedback",
    "FeedbackTag",
    "Impression",
    "Item",
    "Reader",
    "ReasonTag",
    "Source",
    "Spend",
    "Subscription",
]
