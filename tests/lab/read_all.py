"""A reader of every feed, because a fetch batch only asks for feeds with readers."""


def feeds_are_read() -> None:
    """Subscribe one reader to every feed."""
    from django.utils import timezone  # noqa: PLC0415

    from digest.models import Feed, Reader, Subscription  # noqa: PLC0415

    reader, _ = Reader.objects.get_or_create(username="reads-all")
    rows = [Subscription(reader=reader, feed=feed, created_at=timezone.now()) for feed in Feed.objects.all()]
    Subscription.objects.bulk_create(rows, ignore_conflicts=True)
