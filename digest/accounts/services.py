"""Update, export and delete an account."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import structlog
from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Token
from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext, gettext_noop

from digest.days import day_of
from digest.errors import LastOperator
from digest.feedback.transfer import records_export
from digest.feeds.ingest import PRIVATE_KEY
from digest.items.texts import texts_delete
from digest.mail.links import feed_token_revoke
from digest.models import (
    ApiToken,
    Delivery,
    Destination,
    Digest,
    Exposure,
    FeedAccess,
    Feedback,
    FeedbackTag,
    Impression,
    Invitation,
    Item,
    Notification,
    NotificationSettings,
    Reader,
    Reading,
    SavedSearch,
    Source,
    Spend,
    SpendRefusal,
    Subscription,
    TasteProfile,
    UsedLink,
)
from digest.requests import operators_remain
from ranking.common.rows import BATCH, export_rows
from ranking.implicit_store import implicit_delete

log = structlog.get_logger(__name__)

DELETION_ATTEMPTS = 3
# How long "Not now" hides the note about suggestions.
NUDGE_QUIET = timedelta(days=7)
# Tables by the names that readers know. All other tables count as "other records".
TABLE_NAMES = (
    (gettext_noop("feeds you read"), ("digest.Subscription",)),
    (gettext_noop("ratings"), ("digest.Feedback",)),
    (gettext_noop("items marked as read, saved or named"), ("digest.Reading",)),
    (gettext_noop("digests"), ("digest.Digest",)),
    (gettext_noop("versions of your settings"), ("ranking.ConfigVersion",)),
    (gettext_noop("suggestions"), ("suggestions.Suggestion",)),
    (gettext_noop("runs of the advisor"), ("advisor.Run",)),
    (gettext_noop("tokens for scripts"), ("digest.ApiToken",)),
)
ACCOUNT_TABLES = ("digest.Reader", "account.EmailAddress", "mfa.Authenticator")

# Never in an export: anybody who has one of these could act as the reader.
_SECRET = ("password", "feed_token", "newsletter_token")
# Not in an export: with the address of a webhook, a topic or a browser anybody can send to it.
_OPENING = ("address", "secret", "session")
# Not in an export: sums over hashed words. The ratings in them are exported as feedback.
_HASHED = ("terms", "thumbs")
_ITEM = {"url": "item__url", "title": "item__title", "source": "item__source_id"}


@dataclass(frozen=True, slots=True)
class Display:
    """How pages look to a reader: the columns of `Reader` that the page *Display* sets.

    `hide_counts` leaves out how much is unread or waits. `hide_read` leaves read items out of Today at once,
    `read_gone` out of the digests of later days. `offline_today` lets devices store Today's page.
    """

    theme: str
    list_density: str
    list_size: int
    pictures: str
    hide_read: bool
    read_gone: bool
    read_on_scroll: bool
    hide_counts: bool
    offline_today: bool


def deleted_words(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return (translated name, count) for each kind of row in `counts`, without the account's own tables.

    `counts` maps model labels ("digest.Feedback") to numbers of rows. Kinds with no rows are left out.
    """
    listed = [(name, sum(counts.get(label, 0) for label in labels)) for name, labels in TABLE_NAMES]
    named = {*ACCOUNT_TABLES, *(label for _, labels in TABLE_NAMES for label in labels)}
    other = sum(count for label, count in counts.items() if label not in named)
    return [
        (gettext(name), count)
        for name, count in [*listed, (gettext_noop("other records behind them"), other)]
        if count
    ]


def reader_update(
    *,
    reader: Reader,
    time_zone: str,
    ai_enabled: bool,
    peers_enabled: bool,
    suggestions_enabled: bool,
    learn_from_reading: bool,
    language: str = "",
) -> None:
    """Store the reader's time zone, language and switches. They take effect with the next use.

    `time_zone` is an IANA name. `language` is one of `LANGUAGES`, or "" for the browser's. `ai_enabled` lets
    models use their feedback, `peers_enabled` lets sums over readers include it, and `suggestions_enabled`
    lets suggestions be made. Without `learn_from_reading`, all implicit feedback is deleted at once.

    Raises `ValidationError` if the zone does not exist.
    """
    reader.time_zone, reader.ai_enabled, reader.peers_enabled = time_zone, ai_enabled, peers_enabled
    reader.suggestions_enabled, reader.language = suggestions_enabled, language
    reader.learn_from_reading = learn_from_reading
    reader.clean_fields(exclude=["username", "password", "email"])
    switches = ["ai_enabled", "peers_enabled", "suggestions_enabled", "learn_from_reading"]
    with transaction.atomic():
        reader.save(update_fields=["time_zone", "language", *switches])
        if not learn_from_reading:
            implicit_delete(reader_ids=[reader.pk])


def reader_read_gone_update(*, reader: Reader, read_gone: bool) -> None:
    """Store whether articles that were read leave the pages of later days. It counts from the next build."""
    reader.read_gone = read_gone
    reader.save(update_fields=["read_gone"])


def reader_nudge_quiet(*, reader: Reader, now: datetime) -> None:
    """Hide the note about pending suggestions on today's page for seven days, on every device."""
    reader.nudge_quiet_until = now + NUDGE_QUIET
    reader.save(update_fields=["nudge_quiet_until"])


def reader_early_claim(*, reader: Reader, now: datetime) -> bool:
    """Claim the reader's one early change of the day (in their zone); return whether it was still free."""
    day = day_of(now, reader.zone)
    free = Q(early_answered_on=None) | Q(early_answered_on__lt=day)
    return Reader.objects.filter(free, pk=reader.pk).update(early_answered_on=day) > 0


def reader_mail_update(*, reader: Reader, rhythm: str, hour: int, weekday: int) -> None:
    """Store how often the digest comes by mail (off, daily, weekly) and the earliest hour.

    `hour` is 0 to 23 in the reader's zone. `weekday` counts for weekly mail; 0 is Monday. Raises `ValueError`
    for anything else.
    """
    if not (0 <= hour <= 23 and 0 <= weekday <= 6):
        raise ValueError(f"no time of the week: day {weekday}, hour {hour}")
    reader.mail_rhythm, reader.mail_hour, reader.mail_weekday = Reader.MailRhythm(rhythm), hour, weekday
    reader.save(update_fields=["mail_rhythm", "mail_hour", "mail_weekday"])


def reader_display_update(*, reader: Reader, display: Display) -> None:
    """Store the reader's display settings and the handling of read items.

    Raises `ValueError` for a value that is not on offer.
    """
    for field in fields(display):
        setattr(reader, field.name, getattr(display, field.name))
    reader.theme, reader.pictures = Reader.Theme(display.theme), Reader.Pictures(display.pictures)
    reader.list_size = Reader.ListSize(display.list_size)
    reader.list_density = Reader.ListDensity(display.list_density)
    reader.save(update_fields=[field.name for field in fields(display)])


def reader_access_end(*, reader: Reader) -> None:
    """End every other way into the reader's account, or to data about it, that needs no password or session.

    This deletes tokens for scripts and reader apps, the access of assistants, destinations of notifications
    and services, and the address of the reader's own feed.
    """
    with transaction.atomic():
        Reader.objects.select_for_update().filter(pk=reader.pk).first()  # what is being given now ends, too
        for rows in (ApiToken.objects.filter(reader=reader), Destination.objects.filter(reader=reader)):
            rows.delete()
        Token.objects.filter(user=reader).delete()
        feed_token_revoke(reader=reader)


def reader_delete(*, reader: Reader) -> Counter[str]:
    """Delete the account with all rows about the reader in every room; return row counts by model label.

    Rows of model spend stay without the reader, because the sums of spend must stay right. Feeds and items
    are shared and stay, except private ones and items of no feed (imported stars and histories) that only
    this reader has. Those go with all summaries and reasons made from their texts. Raises `LastOperator` for
    the only active superuser.
    """
    for _attempt in range(DELETION_ATTEMPTS - 1):
        try:
            return _reader_delete(reader)
        except OperationalError:  # a deadlock with a task of the reader's, which PostgreSQL ended
            log.warning("deletion_again", user_id=str(reader.pk))
    return _reader_delete(reader)


def _reader_delete(reader: Reader) -> Counter[str]:
    with transaction.atomic():
        # Locked first of all: a row that is stored after its table was emptied would undo the deletion. And
        # locked together: the last two superusers could delete themselves at the same time.
        locked = Q(pk=reader.pk) | Q(is_superuser=True, is_active=True)
        list(Reader.objects.select_for_update().filter(locked).order_by("pk"))
        if reader.is_superuser and reader.is_active and not operators_remain(readers=[reader]):
            raise LastOperator(
                gettext(
                    "You are the only operator here. Make somebody else a superuser in the admin, then "
                    "come back."
                )
            )
        imported = _imported_items(reader)
        texts = list(Item.objects.filter(feed__owner=reader).values_list("fingerprint", flat=True))
        own = Source.objects.filter(feeds__owner=reader, key__contains=PRIVATE_KEY)
        sources = list(own.values_list("pk", flat=True))
        _, by_label = Reader.objects.filter(pk=reader.pk).delete()
        # Only if unused: an operator may have merged one with other sources.
        Source.objects.filter(pk__in=sources, feeds=None, items=None).delete()
        texts_delete(fingerprints=texts)
        _unread_items_delete(imported)
        _traces_delete(reader)
    return Counter(by_label)


def _traces_delete(reader: Reader) -> None:
    """Delete traces of the reader in tables without a column for them: their sessions, and words in the
    admin's log.

    A session names the login of its reader, and lives for up to `SESSION_DAYS`. So does one that still waits
    for a second factor or a confirmed address.
    """
    name = str(reader.pk)
    own = [row.pk for row in Session.objects.iterator() if _is_session_of(reader, row.get_decoded())]
    Session.objects.filter(pk__in=own).delete()
    about = LogEntry.objects.filter(content_type__model="reader", object_id=name)
    about.update(object_repr=name, change_message="")


def _is_session_of(reader: Reader, content: Mapping[str, object]) -> bool:
    """Return whether the reader is signed in by a session with this content, or was about to be."""
    if SESSION_KEY in content:
        return content[SESSION_KEY] == str(reader.pk)
    return str(reader.pk) in str(content) or reader.pk.hex in str(content)


def _imported_items(reader: Reader) -> list[int]:
    """Return the ids of the items of no feed that the reader has marked or rated."""
    marks = [
        model._default_manager.filter(reader=reader, item=OuterRef("pk")) for model in (Reading, Feedback)
    ]
    mine = Q(*map(Exists, marks), _connector=Q.OR)
    return list(Item.objects.filter(mine, feed=None).values_list("pk", flat=True))


def _unread_items_delete(ids: Sequence[int]) -> None:
    """Delete the items in `ids` that no reader has any more, with the summaries and reasons made from their
    texts."""
    for start in range(0, len(ids), BATCH):
        marks = (Reading.objects.filter(item=OuterRef("pk")), Feedback.objects.filter(item=OuterRef("pk")))
        items = Item.objects.filter(~Exists(marks[0]), ~Exists(marks[1]), pk__in=ids[start : start + BATCH])
        texts, sources = set[str](), set[str]()
        for text, source in items.values_list("fingerprint", "source_id"):
            texts.add(text)
            sources.add(source)
        items.delete()
        texts_delete(fingerprints=texts)
        Source.objects.filter(pk__in=sources, feeds=None, items=None).delete()


def reader_export_digest(*, reader: Reader) -> Iterator[tuple[str, object]]:
    """Yield (name, value or rows) of all tables with rows about the reader, the account first.

    Hashes, passwords and the secret in the reader's own feed address are left out. The number of queries is
    constant. Rows are read as they are consumed.
    """
    yield "account", _account(reader)
    yield (
        "subscriptions",
        export_rows(
            Subscription.objects.filter(reader=reader),
            url="feed__url",
            own_address="feed__own_address",
            title="feed__title",
            source="feed__source_id",
        ),
    )
    accesses = FeedAccess.objects.filter(feed__owner=reader)
    yield "feed_accesses", export_rows(accesses, without=["secret"])
    yield "feedback", _feedback(reader)
    yield "readings", export_rows(Reading.objects.filter(reader=reader), **_ITEM)
    yield "saved_searches", export_rows(SavedSearch.objects.filter(reader=reader))
    yield "taste_profile", export_rows(TasteProfile.objects.filter(reader=reader), without=_HASHED)
    yield "digests", export_rows(Digest.objects.filter(reader=reader))
    yield (
        "impressions",
        export_rows(Impression.objects.filter(digest__reader=reader), date="digest__date", **_ITEM),
    )
    yield "exposures", export_rows(Exposure.objects.filter(reader=reader), **_ITEM)
    yield "deliveries", export_rows(Delivery.objects.filter(reader=reader))
    settings = NotificationSettings.objects.filter(reader=reader)
    yield "notification_settings", export_rows(settings, without=["notified_keys"])
    yield "destinations", export_rows(Destination.objects.filter(reader=reader), without=_OPENING)
    yield "notifications", export_rows(Notification.objects.filter(reader=reader), without=["uid"])
    yield "used_links", export_rows(UsedLink.objects.filter(reader=reader), without=["digest"])
    yield "invitations", export_rows(Invitation.objects.filter(reader=reader), without=["digest"])
    yield "api_tokens", export_rows(ApiToken.objects.filter(reader=reader), without=["digest"])
    yield "spend", export_rows(Spend.objects.filter(reader=reader))
    yield "spend_refusals", export_rows(SpendRefusal.objects.filter(reader=reader))
    yield "training_records", (json.loads(line) for line in records_export(reader_id=reader.pk))


def _account(reader: Reader) -> dict[str, Any]:
    # Nothing, if the account is deleted while its export is sent.
    row = next(export_rows(Reader.objects.filter(pk=reader.pk), without=_SECRET), {})
    addresses = EmailAddress.objects.filter(user=reader).values("email", "verified", "primary")
    factors = Authenticator.objects.filter(user=reader).values("type", "created_at", "last_used_at")
    return {
        **row,
        "own_feed": reader.feed_token is not None,
        "newsletter_address": reader.newsletter_token is not None,
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
