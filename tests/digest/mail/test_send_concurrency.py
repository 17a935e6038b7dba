"""Several workers or taps at the same moment give one mail a reader, one thumb a link, and one night."""

from collections import Counter

import pytest

from config.jobs.lease import STEP_NAMES
from config.jobs.nightly import nightly_run
from config.models import NightlyReport
from digest.mail.links import thumb_link_use, thumb_sign
from digest.mail.send import digests_deliver
from digest.models import Delivery, Reader, UsedLink
from tests.support.concurrency import WRITERS, at_once, database_on_disk, seen_by_writers
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.mailbox import Mailbox

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def readers(tmp_path) -> list[Reader]:
    """Create eight readers who want daily mail, in a database that threads share."""
    source = SourceFactory()
    feed = FeedFactory(source=source)
    ItemFactory.create_batch(3, source=source)
    made = [ReaderFactory(username=f"r{n}", mail_rhythm="daily", mail_hour=0) for n in range(8)]
    for reader in made:
        SubscriptionFactory(reader=reader, feed=feed)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        yield made


def test_six_workers_at_once_send_each_reader_one_mail(readers, mailbox: Mailbox, now):
    reports = at_once(lambda n: digests_deliver(now=now))
    assert sum(report.sent for report in reports) == len(readers)
    assert sorted(mailbox.recipients) == sorted(reader.email for reader in readers)
    statuses = seen_by_writers(lambda: Counter(Delivery.objects.values_list("status", flat=True)))
    assert statuses == {"sent": len(readers)}


def test_a_link_tapped_six_times_at_once_records_once(readers, now):
    ada = readers[0]
    item_id = seen_by_writers(lambda: ada.subscriptions.get().feed.source.items.order_by("pk")[0].pk)
    link = thumb_sign(reader_id=ada.pk, item_id=item_id, useful=True, now=now)
    answers = at_once(lambda n: thumb_link_use(link=link, now=now)[1])
    assert sorted(answers) == [False] * (WRITERS - 1) + [True]
    assert seen_by_writers(UsedLink.objects.count) == 1


def test_six_workers_at_once_do_one_night(readers, now):
    did: list[str] = []
    steps = {name: lambda _now, name=name: did.append(name) or {} for name in STEP_NAMES}
    at_once(lambda n: nightly_run(now=now, steps=steps))
    assert did == list(STEP_NAMES)
    assert seen_by_writers(lambda: NightlyReport.objects.get().token) == 1
