"""A page a day: which articles have left a reader's page, and why. Pure.

Rated articles are gone on the next day. So are articles that stood on two of their pages, and read ones if
the reader wants that. Articles on today's page stay there. What the reader passed by once is not gone: it
stands below what is new to them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ranking.language import ngettext, thousands

# An article that was passed over on two pages is not wanted.
PAGES_MAX = 2
# Two pages count as two if this much time lies between them: a reader around midnight has seen only one.
PAGES_APART = timedelta(hours=6)
# The places of a page that its reader has surely passed: two screens, or a whole mail.
PASSED_PLACES = 15


class GoneReason(StrEnum):
    """Why an article is not on the page any more. The first that applies is given."""

    RATED = "rated"
    READ = "read"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class Dealt:
    """How a reader handled one article, and on how many earlier days it was shown to them."""

    rated_at: datetime | None = None
    read_at: datetime | None = None
    pages: int = 0
    first_shown: datetime | None = None
    last_shown: datetime | None = None

    @property
    def last(self) -> datetime | None:
        """Return the last moment at which the reader dealt with the article or saw it."""
        return max((at for at in (self.rated_at, self.read_at, self.last_shown) if at), default=None)


@dataclass(frozen=True, slots=True)
class Gone:
    """Why an article is gone, and since when."""

    reason: GoneReason
    at: datetime


def articles_gone(
    dealt: Mapping[int, Dealt], begin: datetime, on_page: Collection[int] = ()
) -> dict[int, Gone]:
    """Return the articles of `dealt` that are gone from the page of the day that begins at `begin`.

    `on_page` are the articles that stand on that page already: they stay if they were rated or read today.
    """
    found = {}
    for article, one in dealt.items():
        reason = _reason(one, begin, article in on_page)
        if reason and one.last:
            found[article] = Gone(reason, one.last)
    return found


def _reason(one: Dealt, begin: datetime, is_on_page: bool) -> GoneReason | None:
    if one.rated_at and (one.rated_at < begin or not is_on_page):
        return GoneReason.RATED
    if one.read_at and (one.read_at < begin or not is_on_page):
        return GoneReason.READ
    if one.pages < PAGES_MAX or not one.first_shown or not one.last_shown:
        return None
    return GoneReason.SEEN if one.last_shown - one.first_shown >= PAGES_APART else None


def is_passed(highest: int | None, last_shown: datetime | None, as_of: datetime) -> bool:
    """Return whether a reader passed an article by on an earlier day's page, before this visit.

    `highest` is its highest rank on such pages, and `last_shown` when one of them showed it last.
    """
    if highest is None or last_shown is None:
        return False
    return highest <= PASSED_PLACES and as_of - last_shown >= PAGES_APART


def stories_gone(
    gone: Mapping[int, Gone],
    stories: Mapping[int, int],
    dated: Mapping[int, datetime],
    on_page: Collection[int],
) -> dict[int, Gone]:
    """Return the other reports of the stories in `gone` that tell nothing newer.

    `stories` maps an article to its story, `dated` those articles to their dates. A report that came after
    the reader dealt with the story is a new one.
    """
    latest: dict[int, Gone] = {}
    for article, one in gone.items():
        if (story := stories.get(article)) is not None:
            known = latest.get(story)
            latest[story] = one if known is None or known.at < one.at else known
    return {
        article: latest[story]
        for article, story in stories.items()
        if story in latest
        and article not in gone
        and article not in on_page
        and article in dated
        and dated[article] <= latest[story].at
    }


def gone_words(counts: Mapping[GoneReason, int]) -> list[str]:
    """Return a sentence for each reason for which articles are gone."""
    rated, read, seen = (counts.get(reason, 0) for reason in GoneReason)
    words = (
        (rated, ngettext("You had rated {n} before.", "You had rated {n} before.", rated)),
        (read, ngettext("You had read {n} before.", "You had read {n} before.", read)),
        (seen, ngettext("{n} stood on two of your pages.", "{n} stood on two of your pages.", seen)),
    )
    return [one.format(n=thousands(count)) for count, one in words if count]
