"""Sources are operators' to rename and to join: whatever speaks of a key follows.

The import contract lets this module write ranking settings: settings speak of sources by key, and a key that
changed under them would silently cost readers their weights. Only the admin calls it.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from digest.errors import InvalidSourceKey, UnknownSource
from digest.identity import SOURCE_KEY_MAX_CHARS
from digest.models import Feed, Item, Source
from ranking.services import source_key_renamed

# A domain, or one with the path of a publisher on it ("medium.com/@ada"): never a whole address.
_KEY: Final = re.compile(r"(?!\w+:/)[^\s<>\"'\x00-\x1f\x7f]+\Z")


@dataclass(frozen=True, slots=True)
class SourceMove:
    """What moving a source takes along; `joined` where the key it moves to is a source already."""

    key: str
    into: str
    joined: bool
    feeds: int
    items: int
    configs: int = 0


def source_move_plan(*, key: str, into: str) -> SourceMove:
    """What `source_move` would do; nothing is written.

    Raises `UnknownSource` where there is no source `key`, `InvalidSourceKey` where `into` cannot be a key or
    is the same one.
    """
    into = into.strip().casefold()
    if not _KEY.match(into) or len(into) > SOURCE_KEY_MAX_CHARS:
        words = f"A key has 1 to {SOURCE_KEY_MAX_CHARS} characters, no spaces, quotes or angle brackets"
        raise InvalidSourceKey(f"{words}, and no https:// before it.")
    if into == key:
        raise InvalidSourceKey("That is the key it has.")
    if not Source.objects.filter(pk=key).exists():
        raise UnknownSource(f"There is no source “{key}”.")
    return SourceMove(
        key=key,
        into=into,
        joined=Source.objects.filter(pk=into).exists(),
        feeds=Feed.objects.filter(source_id=key).count(),
        items=Item.objects.filter(source_id=key).count(),
    )


def source_move(*, key: str, into: str, now: datetime) -> SourceMove:
    """Give the source `key` the key `into`, or join it with the source that has it, in one transaction.

    Feeds, items, settings, pins and learned weights follow; the title moves along where `into` is new.
    Evidence and past versions of settings are records and keep the old key, which leads to the new one from
    now on: in imports, in new feeds, where a reader goes back to such a version. Raises what
    `source_move_plan` raises.
    """
    with transaction.atomic():
        source = Source.objects.select_for_update().filter(pk=key).first()
        plan = source_move_plan(key=key, into=into)
        title = source.title if source else ""
        Source.objects.get_or_create(key=plan.into, defaults={"title": title})
        feeds = Feed.objects.filter(source_id=key).update(source_id=plan.into)
        items = Item.objects.filter(source_id=key).update(source_id=plan.into)
        configs = source_key_renamed(old=key, new=plan.into, now=now)
        Source.objects.filter(pk=key).delete()
    return SourceMove(key, plan.into, plan.joined, feeds, items, configs)
