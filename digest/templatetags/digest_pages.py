"""Template tags for pages: the current entry of the navigation, mail and feed status, moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import template
from django.forms import BoundField
from django.utils import timezone
from django.utils.dateformat import format as formatted
from django.utils.timezone import localtime

from digest.feeds.health import FeedCounts, FeedFacts
from digest.feeds.health import feed_counts as counts_of
from digest.feeds.selectors import subscriptions_of
from digest.mail.render import mail_goes_out

register = template.Library()


@register.filter
def plainly(field: BoundField) -> BoundField:
    """Return `field` without a placeholder, which would repeat the label and vanish when typed over."""
    field.field.widget.attrs.pop("placeholder", None)
    return field


@register.simple_tag
def mail_works() -> bool:
    """Return whether mail is really sent."""
    return mail_goes_out()


# The page of each entry first, then the pages inside it.
SECTIONS: Final = {
    "today": ("digest:today", "digest:day", "digest:left_out", "digest:calendar"),
    "search": ("digest:search",),
    "saved": ("digest:saved",),
    "sources": ("digest:sources", "digest:source", "digest:opml_import"),
    "suggestions": ("suggestions:list", "suggestions:preview"),
    "settings": ("ranking:config",),
    "history": ("suggestions:history", "ranking:versions", "ranking:version", "digest:trends"),
    "account": ("digest:account", "digest:account_mail", "digest:account_delete", "digest:tokens"),
    "costs": ("digest:costs",),
}
ACCOUNT_VIEWS: Final = ("account_", "mfa_")
IN_MENU: Final = frozenset({"settings", "history", "account", "costs"})


@dataclass(frozen=True, slots=True)
class NavEntry:
    """The current entry of the navigation, and its `aria-current`."""

    section: str
    current: str

    @property
    def in_menu(self) -> bool:
        """Return whether the entry is in the account's menu, which is closed at first."""
        return self.section in IN_MENU


def section_of(view: str) -> NavEntry:
    """Return the entry of the view `view`: "page" on the entry's own page, "true" inside; "" for none."""
    if view.startswith(ACCOUNT_VIEWS):
        return NavEntry("account", "true")
    for section, views in SECTIONS.items():
        if view in views:
            return NavEntry(section, "page" if view == views[0] else "true")
    return NavEntry("", "")


@register.simple_tag(takes_context=True)
def nav_here(context: Mapping[str, Any]) -> NavEntry:
    """Return the entry of the page that is shown; none on error pages."""
    match = getattr(context.get("request"), "resolver_match", None)
    return section_of(match.view_name if match else "")


@register.simple_tag(takes_context=True)
def feed_counts(context: Mapping[str, Any]) -> FeedCounts:
    """Return the reader's feeds counted by health; one query."""
    feeds = [row.feed for row in subscriptions_of(reader_id=context["request"].user.pk)]
    facts = [FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at) for feed in feeds]
    return counts_of(facts, now=timezone.now())


@register.filter
def moment(at: datetime) -> str:
    """Return `at` in the reader's zone, which is named: "Sunday, 25 October 2026, 02:30 CET".

    Django's own `T` shows nothing in the hour that a clock change repeats, where it is needed most.
    """
    local = localtime(at)
    return f"{formatted(local, 'l, j F Y, H:i')} {local.tzname()}"
