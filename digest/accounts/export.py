"""Export of one reader's data in the digest room, and of the training data made from it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator

from digest.feedback.transfer import records_export
from digest.models import (
    ApiToken,
    Delivery,
    Digest,
    Exposure,
    Feedback,
    FeedbackTag,
    Impression,
    Reader,
    Reading,
    Spend,
    SpendRefusal,
    Subscription,
    TasteProfile,
    UsedLink,
)
from ranking.common.rows import export_rows

# Never in an export: with one of these, anybody could act as the reader.
_SECRET = ("password", "feed_token")
# Sums over hashed words, and the ratings in them, which are exported as feedback.
_HASHED = ("terms", "thumbs")
_ITEM = {"url": "item__url", "title": "item__title", "source": "item__source_id"}


def reader_export_digest(*, reader: Reader) -> Iterator[tuple[str, object]]:
    """Yield (name, value or rows) of all tables with rows about the reader, the account first.

    Hashes, passwords and the secret in the reader's own feed address are left out. A constant number of
    queries; rows are read as they are consumed.
    """
    yield "account", _account(reader)
    yield (
        "subscriptions",
        export_rows(
            Subscription.objects.filter(reader=reader),
            url="feed__url",
            title="feed__title",
            source="feed__source_id",
        ),
    )
    yield "feedback", _feedback(reader)
    yield "readings", export_rows(Reading.objects.filter(reader=reader), **_ITEM)
    yield "taste_profile", export_rows(TasteProfile.objects.filter(reader=reader), without=_HASHED)
    yield "digests", export_rows(Digest.objects.filter(reader=reader))
    yield (
        "impressions",
        export_rows(Impression.objects.filter(digest__reader=reader), date="digest__date", **_ITEM),
    )
    yield "exposures", export_rows(Exposure.objects.filter(reader=reader), **_ITEM)
    yield "deliveries", export_rows(Delivery.objects.filter(reader=reader))
    yield "used_links", export_rows(UsedLink.objects.filter(reader=reader), without=["digest"])
    yield "api_tokens", export_rows(ApiToken.objects.filter(reader=reader), without=["digest"])
    yield "spend", export_rows(Spend.objects.filter(reader=reader))
    yield "spend_refusals", export_rows(SpendRefusal.objects.filter(reader=reader))
    yield "training_records", (json.loads(line) for line in records_export(reader_id=reader.pk))


def _account(reader: Reader) -> dict[str, Any]:
    row = next(export_rows(Reader.objects.filter(pk=reader.pk), without=_SECRET))
    addresses = EmailAddress.objects.filter(user=reader).values("email", "verified", "primary")
    factors = Authenticator.objects.filter(user=reader).values("type", "created_at", "last_used_at")
    return {
        **row,
        "own_feed": reader.feed_token is not None,
        "email_addresses": list(addresses),
        "second_factors": list(factors),
    }


def _feedback(reader: Reader) -> Iterator[dict[str, Any]]:
    reasons: dict[int, list[str]] = defaultdict(list)
    tags = FeedbackTag.objects.filter(feedback__reader=reader).order_by("pk")
    for feedback_id, slug in tags.values_list("feedback_id", "tag_id"):
        reasons[feedback_id].append(slug)
    for row in export_rows(Feedback.objects.filter(reader=reader), without=["day", "has_reason"], **_ITEM):
        yield {**row, "reason_tags": reasons.get(row["id"], [])}
