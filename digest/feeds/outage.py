"""Outages of this machine's own network: told from publishers' faults, noted, and ended.

A fetch batch that reaches nearly nobody, because names do not resolve or no route exists, asks for the names
of other feeds that answered lately. If none of them resolves either, the network is down: nothing counts
against any feed. The first batch that reaches a server ends the outage.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Final

import structlog
from django.conf import settings

from digest.feeds.connect import host_resolves, is_allowed
from digest.feeds.entities import UNREACHABLE, FeedProblem
from digest.feeds.fetch import web_address
from digest.feeds.identity import web_url
from digest.feeds.pauses import due_at
from digest.models import Feed, NetworkOutage
from ranking.language import gettext_noop

# How many other hosts are asked for, and among how many feeds that answered last they are looked for.
CONTROLS: Final = 4
CONTROL_FEEDS: Final = 200
# Nobody else's name can be asked for on a small site. Then so many hosts must fail, and none answer.
HOSTS_MIN: Final = 2
# If more than one host answers for so many that fail locally, the network works.
FAILED_PER_ANSWER: Final = 4
NO_NETWORK: Final = gettext_noop("This site has no network right now. The feed is not at fault.")

log = structlog.get_logger(__name__)


def network_is_down(
    *,
    failed: Collection[str],
    answered: Collection[str],
    resolves: Callable[[str, int], bool] = host_resolves,
) -> bool:
    """Return whether this machine's own network is down, after a batch in which hosts `failed` locally and
    others `answered`.

    One query and at most four lookups, none if nothing failed locally or many hosts answered. Hosts of the
    operator's own network (`FETCH_ALLOW_HOSTS`) prove nothing about the internet.
    """
    if not failed or len(answered) * FAILED_PER_ANSWER > len(failed):
        return False
    controls = _controls(others=failed)
    if not controls:
        return len(failed) >= HOSTS_MIN and not answered
    return not any(resolves(host, port) for host, port in controls)


def outage_note(*, now: datetime) -> None:
    """Note that the network is down, since `now` if it was not before."""
    _, is_new = NetworkOutage.objects.get_or_create(pk=1, defaults={"began_at": now})
    if is_new:
        log.error("network_down")


def outage_end(*, now: datetime) -> None:
    """End the outage, if there is one: feeds that failed in it because of the network are due at once.

    One query without an outage.
    """
    outage = NetworkOutage.objects.first()
    if outage is None:
        return
    since = Feed.objects.filter(state=Feed.State.ACTIVE, last_fetched_at__gte=outage.began_at)
    since.filter(error_code__in=UNREACHABLE, failures__gt=0).update(next_check_at=due_at(now=now))
    outage.delete()
    log.warning("network_back", seconds=round((now - outage.began_at).total_seconds()))


def not_counted(problem: FeedProblem) -> FeedProblem:
    """Return what a feed's local failure becomes if the network is down."""
    return FeedProblem("no_network", NO_NETWORK) if problem.is_local else problem


def is_elsewhere(feed: Feed) -> bool:
    """Return whether a feed's host is not one of the operator's own network."""
    try:
        address = web_address(feed.address)
    except FeedProblem:
        return False
    return not is_allowed(address.host, address.port, settings.FETCH_ALLOW_HOSTS)


def _controls(*, others: Collection[str]) -> list[tuple[str, int]]:
    """Return hosts with ports of feeds that answered last, without `others`. One query."""
    fine = Feed.objects.filter(state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False)
    found: dict[str, int] = {}
    for feed in fine.order_by("-last_fetched_at")[:CONTROL_FEEDS]:
        if not web_url(feed.address) or not is_elsewhere(feed):
            continue
        address = web_address(feed.address)
        if address.host not in others and not _is_number(address.host):
            found[address.host] = address.port
        if len(found) == CONTROLS:
            break
    return list(found.items())


def _is_number(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
