"""Which entry of the navigation a page belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import template

register = template.Library()

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
OF_ACCOUNTS: Final = ("account_", "mfa_")
IN_MENU: Final = frozenset({"settings", "history", "account", "costs"})


@dataclass(frozen=True, slots=True)
class Here:
    """Where the reader is: the entry, and what `aria-current` says of it."""

    section: str
    current: str

    @property
    def in_menu(self) -> bool:
        """Whether the entry stands in the account's menu, closed as a rule."""
        return self.section in IN_MENU


def section_of(view: str) -> Here:
    """The entry of the view `view`: "page" on the entry's own page, "true" inside; "" for none."""
    if view.startswith(OF_ACCOUNTS):
        return Here("account", "true")
    for section, views in SECTIONS.items():
        if view in views:
            return Here(section, "page" if view == views[0] else "true")
    return Here("", "")


@register.simple_tag(takes_context=True)
def nav_here(context: Mapping[str, Any]) -> Here:
    """The entry of the page that is shown; none on pages of errors."""
    match = getattr(context.get("request"), "resolver_match", None)
    return section_of(match.view_name if match else "")
