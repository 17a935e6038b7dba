"""Read which articles readers have rated, read or seen on earlier pages."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Max, Min, Q

from digest.daily.gone import PAGES_MAX, Dealt, is_passed
from digest.days import day_begin
from digest.entities import ITEM_WINDOW_DAYS
from digest.models import Exposure, Feedback, Impression, Reader, Reading

# Items compete for a week, so older pages had none of them.
LOOK_BACK = dt.timedelta(days=ITEM_WINDOW_DAYS + 2)


class DealtWith(NamedTuple):
    """One reader's handled articles, and the articles on the day's page already.

    `shown` are the articles that a digest of an earlier day has shown, on a page or elsewhere. `passed` are
    those that the reader passed by: they stood among the first of a page, and that was no part of this visit.
    """

    articles: Mapping[int, Dealt]
    on_page: Collection[int]
    shown: Collection[int] = frozenset()
    passed: Collection[int] = frozenset()


def dealt_with(
    *,
    readers: Collection[Reader],
    days: Mapping[UUID, dt.date],
    articles: tuple[int, int],
    as_of: dt.datetime,
    all_read: bool = False,
) -> dict[UUID, DealtWith]:
    """Return by reader how they had handled, by `as_of`, the articles from the first to the last of
    `articles`.

    `days` are the days of the pages, which do not count as earlier pages. Read articles count for readers who
    want them gone, or for all with `all_read`. Three queries, and a fourth if something was rated or read on
    the day itself. Readers without any such article are left out.
    """
    found: defaultdict[UUID, dict[int, dict[str, object]]] = defaultdict(lambda: defaultdict(dict))
    between = {"article__range": articles}
    rated = Feedback.objects.filter(reader__in=readers, at__lte=as_of, **between)
    for reader, article, rated_at in rated.values_list("reader_id", "article", "at"):
        found[reader][article]["rated_at"] = rated_at
    wanting = [reader for reader in readers if reader.read_gone or all_read]
    read = Reading.objects.filter(reader__in=wanting, read_at__lte=as_of, **between)
    for reader, article, read_at in read.values_list("reader_id", "article", "read_at"):
        found[reader][article]["read_at"] = read_at
    shown: defaultdict[UUID, set[int]] = defaultdict(set)
    passed: defaultdict[UUID, set[int]] = defaultdict(set)
    for reader, article, pages, first, last, highest in _pages(days, as_of):
        shown[reader].add(article)
        if is_passed(highest, last, as_of):
            passed[reader].add(article)
        if pages >= PAGES_MAX:
            found[reader][article] |= {"pages": pages, "first_shown": first, "last_shown": last}
    begins = {reader.pk: day_begin(days[reader.pk], reader.zone) for reader in readers}
    dealt = {
        reader: {article: Dealt(**values) for article, values in rows.items()}  # type: ignore[arg-type]
        for reader, rows in found.items()
    }
    today = [
        reader
        for reader, rows in dealt.items()
        if any(_is_of_day(one, begins[reader]) for one in rows.values())
    ]
    on_page = _on_page(today, days)
    sets = (on_page, shown, passed)
    return {
        reader: DealtWith(dealt.get(reader, {}), *(one.get(reader, frozenset()) for one in sets))
        for reader in {**dealt, **shown}
    }


def _pages(
    days: Mapping[UUID, dt.date], as_of: dt.datetime
) -> Iterable[tuple[UUID, int, int, dt.datetime | None, dt.datetime | None, int | None]]:
    """Return (reader, article, pages, first shown, last shown, highest rank) for the digests of earlier days.

    Items fetched by an app or a feed reader do not count as a page, so `pages` can be 0.
    """
    of_day: defaultdict[dt.date, list[UUID]] = defaultdict(list)
    for reader, day in days.items():
        of_day[day].append(reader)
    earlier = Q()
    for day, some in of_day.items():
        earlier |= Q(date__lt=day, reader_id__in=some)
    shown = Exposure.objects.filter(earlier, shown_at__gt=as_of - LOOK_BACK, shown_at__lte=as_of)
    on_page = Q(door__in=Exposure.PLACED)
    return (
        shown.order_by()
        .values_list("reader_id", "item__article")
        .annotate(
            pages=Count("date", distinct=True, filter=on_page),
            first=Min("shown_at", filter=on_page),
            last=Max("shown_at", filter=on_page),
            highest=Min("rank", filter=on_page),
        )
    )


def _is_of_day(one: Dealt, begin: dt.datetime) -> bool:
    return any(at is not None and at >= begin for at in (one.rated_at, one.read_at))


def _on_page(readers: Collection[UUID], days: Mapping[UUID, dt.date]) -> dict[UUID, set[int]]:
    """Return the articles of the day's digest as it stands, by reader; one query, or none."""
    if not readers:
        return {}
    rows = Impression.objects.filter(
        digest__reader__in=readers, digest__date__in={days[reader] for reader in readers}
    )
    found: defaultdict[UUID, set[int]] = defaultdict(set)
    for reader, date, article in rows.values_list("digest__reader_id", "digest__date", "item__article"):
        if date == days[reader]:
            found[reader].add(article)
    return found
