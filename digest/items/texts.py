"""Rows that are made from texts of items, and shared by all items with the same text."""

from collections.abc import Collection

from digest.models import Item, SuggestedReasons, Summary


def texts_delete(*, fingerprints: Collection[str]) -> None:
    """Delete the summaries and reasons made from these texts, except those of texts that an item still has.

    Call it after the items are deleted. Anybody can bring the text of somebody else's article and remove it
    again.
    """
    gone = set(fingerprints)
    gone -= set(Item.objects.filter(fingerprint__in=gone).values_list("fingerprint", flat=True))
    for model in (Summary, SuggestedReasons):
        model._default_manager.filter(fingerprint__in=gone).delete()
