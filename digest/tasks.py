"""Celery tasks of the digest room. They read the clock and call the services."""

from django.utils import timezone

from digest.articles.favicons import favicons_update
from digest.articles.full_text import full_texts_update
from digest.daily.first_fetch import FIRST_ROUND, stories_refresh
from digest.feeds import exchange  # noqa: F401
from digest.feeds.fetch_batch import feeds_fetch
from digest.items.meanings import meanings_update
from digest.items.vectors import item_vectors_update
from digest.sources.newsletters import newsletters_fetch
from digest.summaries.services import extracts_make
from ranking.common.broker import shared_task
from ranking.common.isolation import Parts

first_round_task = FIRST_ROUND


@shared_task(name="digest.feeds_fetch")
def feeds_fetch_task() -> None:
    """Fetch due feeds and new newsletters, then process the new items.

    In this order: stories, vectors, meanings, extracts, full texts, favicons. Stories come before extracts,
    because an extract's reasons depend on whether other sources report the same. If a step fails, the others
    still run, and the first failure is raised at the end.
    """
    clock = timezone.now
    parts = Parts("digest.feeds_fetch")
    parts.run("feeds", lambda: feeds_fetch(now=clock(), clock=clock))
    parts.run("newsletters", lambda: newsletters_fetch(now=clock()))
    parts.run("stories", lambda: stories_refresh(now=clock(), clock=clock))
    parts.run("vectors", lambda: item_vectors_update(now=clock()))
    parts.run("meanings", lambda: meanings_update(now=clock()))
    parts.run("extracts", lambda: extracts_make(now=clock()))
    parts.run("full_texts", lambda: full_texts_update(now=clock()))
    parts.run("favicons", lambda: favicons_update(now=clock()))
    parts.end()
