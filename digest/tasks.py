"""Celery tasks of the digest room. They read the clock and call the services."""

from collections.abc import Callable

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
from ranking.common.stopping import worker_is_stopping

first_round_task = FIRST_ROUND


@shared_task(name="digest.feeds_fetch")
def feeds_fetch_task(stopping: Callable[[], bool] = worker_is_stopping) -> None:
    """Fetch due feeds and new newsletters, then process the new items.

    In this order: stories, vectors, meanings, extracts, full texts, favicons. Stories come before extracts,
    because an extract's reasons depend on whether other sources report the same. If a step fails, the others
    still run, and the first failure is raised at the end. If `stopping()` returns true, no request and no
    step begins any more: the next batch does the rest.
    """
    clock = timezone.now
    parts = Parts("digest.feeds_fetch")
    steps: dict[str, Callable[[], object]] = {
        "feeds": lambda: feeds_fetch(now=clock(), clock=clock, stopping=stopping),
        "newsletters": lambda: newsletters_fetch(now=clock()),
        "stories": lambda: stories_refresh(now=clock(), clock=clock),
        "vectors": lambda: item_vectors_update(now=clock()),
        "meanings": lambda: meanings_update(now=clock()),
        "extracts": lambda: extracts_make(now=clock()),
        "full_texts": lambda: full_texts_update(now=clock()),
        "favicons": lambda: favicons_update(now=clock()),
    }
    for name, step in steps.items():
        if not stopping():
            parts.run(name, step)
    parts.end()
