"""Template tags for pages: navigation, mail and feed status, dates, figures, score breakdowns, sources."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Final

from allauth.account.adapter import get_adapter
from django import template
from django.conf import settings
from django.forms import BoundField
from django.utils import timezone
from django.utils.html import escape, json_script
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from digest.accounts.invitations import invitation_of
from digest.feeds.fetch import host_of
from digest.feeds.first_fetch import FirstFetch, LostFeeds
from digest.feeds.first_fetch import feeds_lost as lost_of
from digest.feeds.first_fetch import site_is_offline as is_offline
from digest.feeds.health import FeedCounts, FeedFacts
from digest.feeds.health import feed_counts as counts_of
from digest.feeds.selectors import subscriptions_of
from digest.items.selectors import reader_source_titles, reader_sources, source_titles
from digest.items.topics import TopicCounts
from digest.items.topics import topic_counts as counts_of_topics
from digest.mail.render import mail_goes_out
from digest.models import Invitation
from digest.requests import reader_of
from digest.web.pages import offline
from digest.web.pages.costs import usd_words
from digest.web.pages.first_fetch import progress_is_hidden
from digest.web.pages.item_parts import local_time
from digest.web.pages.marked import Marking, marking_latest
from ranking.common.text import words_cut
from ranking.entities import Config
from ranking.language import thousands

register = template.Library()
register.filter(local_time)
register.filter(thousands)
register.filter(words_cut)
ID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f]{12})\b")


@register.filter
def without_placeholder(field: BoundField) -> BoundField:
    """Return `field` without its placeholder, which would repeat the label and vanish on typing."""
    field.field.widget.attrs.pop("placeholder", None)
    return field


@register.simple_tag
def script_words() -> SafeString:
    """Return the texts that the pages' scripts use, as a JSON script element."""
    return _script_words(get_language() or "")


@cache
def _script_words(language: str) -> SafeString:
    """Return the script texts in the current language. Cached per language."""
    words = _key_words() | {
        "again": _("Try again"),
        "all_read": _("All {size} read"),
        "chosen": _("{n} chosen"),
        "close": _("Close"),
        "gone": _("That item is not there any more. Reload the page."),
        "is_read": pgettext("an item", "Read"),
        "lost": _("That did not reach us, so it was not stored."),
        "lost_article": _("This article did not come."),
        "lost_page": _("What follows did not come. Follow the link, or walk on to try again."),
        "mark_read": _("Mark as read"),
        "mark_unread": _("Mark as unread"),
        "more_rows": _("{rows} more loaded"),
        "no_picture": _("A picture that cannot be had"),
        "none_chosen": _("None chosen"),
        "not_stored": _("That was not stored. Try again."),
        "not_here": _(
            "You are offline, and this article is not stored on this device. It opens with the network."
        ),
        "noted": _("{label}: noted"),
        "of_all": _("{n} of {all}"),
        "offline": _("You are offline, so it was not stored."),
        "opened_beside": _("Opened beside the list: {title}"),
        "picture_of": _("Picture: {alt}"),
        "push_refused": _(
            "This browser did not allow it. Allow notifications for this site, then try again."
        ),
        "rated_so": _("That is your rating already."),
        "read_now": _("Marked as read"),
        "reload": _("Reload"),
        "signed_out": _("You are signed out, so it was not stored. Sign in and try again."),
        "signed_out_here": _("You are signed out. Sign in and try again."),
        "save": _("Save for later"),
        "stale": _("This page is older than your last sign-in, so it was not stored."),
        "stored_here": _("You are offline. This was stored on this device."),
        "swipe_hint": _("Swipe a row to the right to mark it as read, to the left to save it."),
        "taken_back": _("{label}: undone"),
        "undo": _("Undo"),
        "unread": _("{unread} unread"),
        "unread_now": _("Unread again"),
        "unread_of": _("{unread} of {size} unread"),
        "unsave": _("No longer save"),
        "waits": _("An earlier request is still being worked on. This goes on by itself."),
    }
    return json_script(words, "script-words")


def _key_words() -> dict[str, str]:
    """Return the texts of keys that lead nowhere, in the current language."""
    return {
        "no_feed": _("No further feed of this folder has unread items."),
        "no_list": _("No further feed has unread items."),
        "none_other": _("The next {rows} are of the same source. Press J to go on."),
        "none_unread": _("None of the next {rows} is unread. Press n to go on."),
    }


def script_words_forget() -> None:
    """Clear the cache of script texts, for tests that exchange catalogues."""
    _script_words.cache_clear()


@register.simple_tag(takes_context=True)
def signup_is_open(context: Mapping[str, Any]) -> bool:
    """Return whether a visitor may sign up without an invitation."""
    request = context["request"]
    return bool(get_adapter(request).is_open_for_signup(request))


@register.simple_tag(takes_context=True)
def invitation_here(context: Mapping[str, Any]) -> Invitation | None:
    """Return the invitation that led to this page, if one is needed."""
    return invitation_of(context["request"], now=timezone.now()) if settings.SIGNUP == "invite" else None


@register.simple_tag(takes_context=True)
def first_fetch_progress(context: Mapping[str, Any]) -> FirstFetch | None:
    """Return how far new feeds are; `None` if the reader hid that, on a page that `hides` it."""
    progress: FirstFetch | None = context["filling"].progress
    return None if context.get("hides") and progress_is_hidden(context["request"], progress) else progress


@register.simple_tag
def signup_setting() -> str:
    """Return who may sign up on this installation: `open`, `invite` or `closed`."""
    return str(settings.SIGNUP)


@register.simple_tag
def mail_works() -> bool:
    """Return whether this installation really sends mail."""
    return mail_goes_out()


# The first view is the entry's own page. The others are pages inside it.
SECTIONS: Final = {
    "today": ("digest:today", "digest:day", "digest:left_out", "digest:calendar"),
    "all": ("digest:all",),
    "search": ("digest:search",),
    "saved": ("digest:saved",),
    "sources": ("digest:sources", "digest:source", "digest:files_import"),
    "suggestions": ("suggestions:list", "suggestions:preview"),
    "settings": ("ranking:config", "digest:display", "ranking:versions", "ranking:version"),
    "history": ("suggestions:history", "digest:trends"),
    "account": (
        "digest:account",
        "digest:account_mail",
        "digest:account_delete",
        "digest:tokens",
    ),
    "costs": ("digest:costs",),
    "mutes": ("digest:mutes", "digest:mute_add"),
    "teach": ("digest:teach", "digest:teach_done"),
    "taste": ("digest:taste", "digest:taste_name", "digest:subjects"),
}
ACCOUNT_VIEWS: Final = ("account_", "mfa_")
IN_MENU: Final = frozenset({"settings", "mutes", "teach", "taste", "history", "account", "costs"})


@dataclass(frozen=True, slots=True)
class NavEntry:
    """The current entry of the navigation, and its `aria-current` value."""

    section: str
    current: str

    @property
    def in_menu(self) -> bool:
        """Return whether the entry is inside the account menu, which is closed at first."""
        return self.section in IN_MENU


def section_of(view: str) -> NavEntry:
    """Return the navigation entry of a view name.

    `current` is "page" on the entry's own page, "true" inside it, and "" if no entry matches.
    """
    if view.startswith(ACCOUNT_VIEWS):
        return NavEntry("account", "true")
    for section, views in SECTIONS.items():
        if view in views:
            return NavEntry(section, "page" if view == views[0] else "true")
    return NavEntry("", "")


@register.simple_tag(takes_context=True)
def nav_here(context: Mapping[str, Any]) -> NavEntry:
    """Return the navigation entry of the current page; an empty one on error pages."""
    match = getattr(context.get("request"), "resolver_match", None)
    return section_of(match.view_name if match else "")


@register.simple_tag(takes_context=True)
def device_tag(context: Mapping[str, Any]) -> str:
    """Return the reader's tag for their own devices. The service worker identifies the reader of a page by
    it."""
    return offline.device_tag(reader=context["user"])


@register.simple_tag(takes_context=True)
def feed_counts(context: Mapping[str, Any]) -> FeedCounts:
    """Return the number of the reader's feeds per state of health; one query."""
    feeds = [row.feed for row in subscriptions_of(reader_id=context["request"].user.pk)]
    facts = [FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at) for feed in feeds]
    return counts_of(facts, now=timezone.now())


@register.simple_tag(takes_context=True)
def feeds_lost(context: Mapping[str, Any]) -> LostFeeds | None:
    """Return how many feeds the reader's last first fetch missed; no query a day after it."""
    return lost_of(reader=reader_of(context["request"]), now=timezone.now())


@register.simple_tag
def site_is_offline() -> bool:
    """Return whether this machine has no network, so that no source is at fault; at most two queries."""
    return is_offline(now=timezone.now())


@register.simple_tag(takes_context=True)
def marked_as_read(context: Mapping[str, Any]) -> Marking | None:
    """Return what the reader marked as read last today, for the line with Undo; no query."""
    return marking_latest(context["request"], timezone.now())


@register.simple_tag
def options(choices: Iterable[tuple[str, str]], chosen: str | None = "") -> SafeString:
    """Return the options of a field with a choice for each source: (value, words), `chosen` selected.

    Built in Python: with 200 sources, a template took a sixth of the search page's time.
    """
    made = []
    for value, words in choices:
        selected = " selected" if value == chosen else ""
        made.append(f'<option value="{escape(value)}"{selected}>{escape(words)}</option>')
    return mark_safe("".join(made))


@register.filter
def host(url: str) -> str:
    """Return the host in an address, as a reader would name it."""
    return host_of(url).removeprefix("www.")


@register.filter
def usd(amount: Decimal) -> str:
    """Return an amount of USD with enough decimals to show it."""
    return f"${usd_words(amount)}"


@register.filter
def short_ids(text: str) -> str:
    """Return `text` with every UUID shortened to its first and last part."""
    return ID.sub(r"\1…\2", text)


@register.simple_tag(takes_context=True)
def topic_counts(context: Mapping[str, Any], config: Config) -> TopicCounts:
    """Return how many of the reader's items each topic matches, and categories to add; two queries."""
    return counts_of_topics(
        reader_id=context["request"].user.pk,
        topics=config.topics,
        names=config.other_names,
        words=config.boosts_wide,
        now=timezone.now(),
    )


@register.simple_tag(takes_context=True)
def source_names(
    context: Mapping[str, Any], weighed: Iterable[str] = (), named: Iterable[str] = ()
) -> dict[str, str]:
    """Return {key: title} for the reader's sources, those `weighed`, and the sources among `named`."""
    reader_id = context["request"].user.pk
    keys = {*reader_sources(reader_id=reader_id), *weighed}
    titles = reader_source_titles(reader_id=reader_id, keys={*keys, *named})
    return {key: key for key in keys} | titles


@register.simple_tag(takes_context=True)
def names_with_pins(
    context: Mapping[str, Any], names: Mapping[str, str], locked: Iterable[str], avoided: Iterable[str]
) -> dict[str, str]:
    """Return `names` plus the titles of pinned sources that the reader no longer reads."""
    pinned = {*locked, *avoided} - names.keys()
    titles = reader_source_titles(reader_id=context["request"].user.pk, keys=pinned)
    return {key: key for key in source_titles(keys=pinned)} | dict(names) | titles


@register.filter
def source_title(key: str, names: Mapping[str, str]) -> str:
    """Return the title of the source `key`. Any other text stays as it is."""
    return names.get(key, key)


@register.simple_tag
def oidc_name() -> str:
    """Return the name of the sign-in provider, "" if none is configured."""
    return str(settings.OIDC_NAME) if settings.OIDC_ISSUER else ""
