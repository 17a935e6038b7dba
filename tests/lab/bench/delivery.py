"""Mail: `python -m tests.lab bench.delivery [--json] [--readers N] [--items N]`.

Readers with a digest of today each, a mail server on a socket of this machine. Ours: `digests_deliver`, from
who is due to the rows of what was shown. The floor in the same run: `smtplib` sending the same messages,
made already, over one connection.
"""

import argparse
import json
import smtplib
import time
from datetime import UTC, datetime, timedelta

from tests.lab.bench.engine import Clock, engine, where

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--items", type=int, default=200, help="items of the week, 10 sources")
    options = parser.parse_args()
    with engine():
        report = {
            "command": "python -m tests.lab bench.delivery",
            **where(),
            **measured(options.readers, options.items),
        }
    print(json.dumps(report) if options.json else words(report))


def measured(readers: int, items: int) -> dict[str, object]:
    """Mails a second of ours and of the floor, and how large a mail is."""
    from django.conf import settings  # noqa: PLC0415

    from digest.daily.services import digests_build  # noqa: PLC0415
    from digest.mail.send import digests_deliver  # noqa: PLC0415
    from tests.support.mailbox import mailbox_open  # noqa: PLC0415

    world(readers, items)
    digests_build(now=NOW - timedelta(minutes=5))
    with mailbox_open() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        clock = Clock()
        sent = digests_deliver(now=NOW).sent
        ours = clock.read()
        raw = [message.as_bytes() for message in box.messages]
        began = time.monotonic()
        with smtplib.SMTP("127.0.0.1", box.port) as server:
            for body in raw:
                server.sendmail("a@example.org", ["b@example.org"], body)
        floor = time.monotonic() - began
    return {
        "readers": readers,
        "sent": sent,
        "mails_per_s": round(sent / ours["wall_s"], 1),
        # With the mail server's share, a thread of this process.
        "cpu_ms_per_mail": round(1000 * ours["cpu_s"] / sent, 1),
        "floor_mails_per_s": round(len(raw) / floor, 1),
        "mail_kb_max": round(max(map(len, raw)) / 1024, 1),
        "connections": box.connections - 1,
    }


def world(readers: int, items: int) -> None:
    """Ten sources with items of everyday length, each reader subscribed to all."""
    from tests.support.factories import (  # noqa: PLC0415
        FeedFactory,
        ItemFactory,
        ReaderFactory,
        SourceFactory,
        SubscriptionFactory,
    )

    feeds = [FeedFactory(source=SourceFactory(key=f"s{n}.example")) for n in range(10)]
    for n in range(items):
        ItemFactory(
            source=feeds[n % 10].source,
            title=f"Number {n}: a headline of everyday length about the harbour",
            text="Rain over the hills, and more of it to come. " * 20,
            published_at=NOW - timedelta(hours=1 + n % 140),
        )
    for n in range(readers):
        reader = ReaderFactory(username=f"r{n}", mail_rhythm="daily", mail_hour=7)
        for feed in feeds:
            SubscriptionFactory(reader=reader, feed=feed)


def words(report: dict[str, object]) -> str:
    """The report for people."""
    return (
        f"{report['at']}, {report['cpus']} cpus, load {report['load']}: {report['sent']} mails of up to "
        f"{report['mail_kb_max']} KB over {report['connections']} connection: {report['mails_per_s']}/s "
        f"({report['cpu_ms_per_mail']} ms of processor each); the wire alone {report['floor_mails_per_s']}/s"
    )


if __name__ == "__main__":
    main()
