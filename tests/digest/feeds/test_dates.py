"""A date is read as a whole or not at all."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.dates import DATE_MAX_CHARS, FILE, date_read
from digest.feeds.parse import parse_document
from tests.support import month_names

RIGHT = {
    "2026-11-11T22:52:30Z": "2026-11-11 22:52:30",
    "2026-11-11t22:52:30z": "2026-11-11 22:52:30",
    "2026-11-11T22:52:30.123456789-05:00": "2026-11-12 03:52:30.123456",
    "2026-11-11T22:52:30,5Z": "2026-11-11 22:52:30.5",
    "2026-11-11 22:52:30+02": "2026-11-11 20:52:30",
    "2026-11-11T22:52:30-0500": "2026-11-12 03:52:30",
    "2026-11-11T22:52": "2026-11-11 22:52:00",
    "20261111T225230Z": "2026-11-11 22:52:30",
    "2026-11-11": "2026-11-11 00:00:00",
    "2026/11/11 10:00": "2026-11-11 10:00:00",
    "Wed, 11 Nov 2026 22:52:30 GMT": "2026-11-11 22:52:30",
    "Wed, 11 Nov 2026 22:52:30 +0100": "2026-11-11 21:52:30",
    "Wed, 11 Nov 2026 22:52:30 GMT+0200": "2026-11-11 20:52:30",
    "Wed, 11 Nov 2026 22:52:30 UTC-3": "2026-11-12 01:52:30",
    "Wed, 11 Nov 2026 22:52:30+5:30": "2026-11-11 17:22:30",
    "Wed, 11 Nov 2026 22:52:30+0530": "2026-11-11 17:22:30",
    "Wed, 11 Nov 2026 22:52:30 ART": "2026-11-12 01:52:30",
    "Wed, 11 Nov 2026 22:52:30 BRT": "2026-11-12 01:52:30",
    "Wed, 11 Nov 2026 22:52:30 HKT": "2026-11-11 14:52:30",
    "Wed, 11 Nov 2026 22:52:30 EST": "2026-11-12 03:52:30",
    "Wed, 11 Nov 2026 22:52:30 MSK": "2026-11-11 19:52:30",
    "Wed, 11 Nov 2026 22:52:30 IST": "2026-11-11 17:22:30",
    "Wed, 11 Nov 2026 22:52:30 JST": "2026-11-11 13:52:30",
    "Wed, 11 Nov 2026 24:00:00 GMT": "2026-11-12 00:00:00",
    "Wed, 11 Nov 2026 23:59:60 GMT": "2026-11-11 23:59:59",
    "Wed, 11 Nov 2026 22:52 GMT": "2026-11-11 22:52:00",
    "Wed, 11 Nov 2026": "2026-11-11 00:00:00",
    "11 Nov 26 22:52:30 GMT": "2026-11-11 22:52:30",
    "Thu, 01 Jan 98 00:00:00 GMT": "1998-01-01 00:00:00",
    "Wed, 09 Sept 2026 08:00:00 GMT": "2026-09-09 08:00:00",
    "Wednesday, 11 November 2026 22:52:30 GMT": "2026-11-11 22:52:30",
    "11-Nov-2026": "2026-11-11 00:00:00",
    "Wed Nov 11 22:52:30 2026": "2026-11-11 22:52:30",
    "Wed Nov 11 22:52:30 EST 2026": "2026-11-12 03:52:30",
    "Wed Nov 11 2026 22:52:30 GMT+0200 (Central European Summer Time)": "2026-11-11 20:52:30",
    "Mon, May 25 2026": "2026-05-25 00:00:00",
    "October 30, 2026 at 5:30 pm": "2026-10-30 17:30:00",
    "Oct 30, 2026 12:15 AM": "2026-10-30 00:15:00",
    "Pe, 30 Lok 2026 11:34:37 +0000": "2026-10-30 11:34:37",
    "Mi, 14 Okt 2026 08:00:00 +0200": "2026-10-14 06:00:00",
    "Dienstag, 3. März 2026 um 10:00 Uhr": "2026-03-03 10:00:00",
    "lun., 02 nov. 2026 08:00:00 +0100": "2026-11-02 07:00:00",
    "sam. 1 août 2026": "2026-08-01 00:00:00",
    "30 de octubre de 2026": "2026-10-30 00:00:00",
    "seg, 02 fev 2026 08:00:00 -0300": "2026-02-02 11:00:00",
    "gio, 14 mag 2026 10:00:00 +0200": "2026-05-14 08:00:00",
    "пт, 30 окт 2026 10:00:00 +0300": "2026-10-30 07:00:00",
    "30 октября 2026 г.": "2026-10-30 00:00:00",
    "czw, 15 paź 2026 10:00:00 +0200": "2026-10-15 08:00:00",
    "Cum, 30 Eki 2026 10:00:00 +0300": "2026-10-30 07:00:00",
    "2026年10月30日 12:30": "2026-10-30 12:30:00",
    "2026년 10월 30일": "2026-10-30 00:00:00",
    "27.11.2026 14:30": "2026-11-27 14:30:00",
    "27.11.2026": "2026-11-27 00:00:00",
    "5.6.2026 9:05": "2026-06-05 09:05:00",
    "05.06.2026 14:30:15 +0200": "2026-06-05 12:30:15",
    "27. 11. 2026 14:30": "2026-11-27 14:30:00",
    "27.11.2026, 14:30 Uhr": "2026-11-27 14:30:00",
    "27.11.2026 um 14:30 Uhr": "2026-11-27 14:30:00",
    "27.11.2026 - 14:30": "2026-11-27 14:30:00",
    "27.11.2026 klo 14.30": "2026-11-27 14:30:00",
    "Fr, 27.11.2026 14:30 MEZ": "2026-11-27 13:30:00",
    "27.11.2026 г. 14:30": "2026-11-27 14:30:00",
    "14:30 27.11.2026": "2026-11-27 14:30:00",
    "14:30, 27/11/2026": "2026-11-27 14:30:00",
    "27/11/2026 14:30": "2026-11-27 14:30:00",
    "27/11/2026 à 14h30": "2026-11-27 14:30:00",
    "27-11-2026 14:30:00": "2026-11-27 14:30:00",
    "11/27/2026 2:30 PM": "2026-11-27 14:30:00",
    "11/27/2026 14:30:00 GMT": "2026-11-27 14:30:00",
    "11-27-2026": "2026-11-27 00:00:00",
    "05/05/2026 10:00": "2026-05-05 10:00:00",
    "2026/11/27 14:30": "2026-11-27 14:30:00",
    "2026/11/27 9:30": "2026-11-27 09:30:00",
    "2026/1/7": "2026-01-07 00:00:00",
    "2026-1-7 14:30:00": "2026-01-07 14:30:00",
    "2026.11.27 14:30": "2026-11-27 14:30:00",
    "2026. 11. 27. 14:30": "2026-11-27 14:30:00",
}
UNKNOWN = [
    "",
    " ",
    "12",
    "2019",
    "20260105",
    "1793620350",
    "1793620350000",
    "7",
    "2026-13-01",
    "2026-00-10",
    "2026-11",
    "10/11/2026",
    "11.10.26",
    "27.11.26 14:30",
    "27.11",
    "1.2.3",
    "6/5/2026 14:30",
    "06-05-2026",
    "11/12/2026 2:30 PM",
    "31/13/2026",
    "11.27.2026",
    "31.11.2026 10:00",
    "27.11/2026",
    "27.11.2026 25:30",
    "27.11.2026 14",
    "2026/27/11",
    "2026/11",
    "27.11.2026.1",
    "192.168.2026.1",
    "Wed, 31 Feb 2026 10:00:00 GMT",
    "Wed, 11 Nov 2026 22:52:30 XYZ",
    "Wed, 11 Nov 2026 22:52:30 +2",
    "Wed, 11 Nov 2026 22:52:30 +200",
    "Wed, 11 Nov 2026 22:52:30 +9900",
    "Wed, 11 Nov 2026 22:52:30 GMT+99:00",
    "Wed, 11 Nov 2026 25:00:00 GMT",
    "Wed, 11 Nov 2026 13:00 PM GMT",
    "Wed, 11 Foo 2026 10:00:00 GMT",
    "Foo, 11 Nov 2026 10:00:00 GMT",
    "Wed, 11 Nov 2026 10:00:00 GMT and more",
    "yesterday",
    "3 days ago",
    "now",
    "30 listopada 2026",
    "Wed, 11 Nov 2026 22:52:30 A",
    "0000-00-00 00:00:00",
    "2026-11-11T22:52:30Q",
    "v2026-11-11",
    "2026-11-11-final",
    "https://ada.example/2026/11/11",
]


@pytest.mark.parametrize(("text", "moment"), RIGHT.items())
def test_a_date_is_the_moment_it_names(text: str, moment: str):
    assert date_read(text) == datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert date_read(f"\n {text}\t") == date_read(text)


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_cannot_be_read_whole_is_unknown(text: str):
    assert date_read(text) is None


def test_the_first_readable_date_counts():
    assert date_read("", "soon", "2026-11-11", "2026-11-12") == datetime(2026, 11, 11, tzinfo=UTC)


@given(st.text(max_size=DATE_MAX_CHARS + 5) | st.text("0123456789 :+-TZ,./WedNov", max_size=40))
def test_whatever_the_text_nothing_is_raised(text: str):
    found = date_read(text)
    assert found is None or found.tzinfo is UTC


def test_the_table_of_names_is_what_cldr_says():
    assert FILE.read_text(encoding="utf-8") == month_names.table()


@pytest.mark.parametrize(
    "others",
    ["", "<item><title>B</title><guid>7</guid><pubDate>Wed, 11 Nov 2026 22:52:30 GMT</pubDate></item>"],
)
@pytest.mark.parametrize("guid", ["12", "2019", "2026-01-05", "20150607"])
def test_a_number_that_names_a_post_is_no_date(guid: str, others: str):
    item = f"<item><title>A</title><guid>{guid}</guid></item>{others}"
    first = parse_document(
        f"<rss version='2.0'><channel><title>T</title>{item}</channel></rss>".encode()
    ).entries[0]
    assert (first.guid, first.published) == (guid, None)


def test_a_date_of_any_vocabulary_is_read():
    spaces = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    for date in ("dc:date", "dcterms:issued", "dcterms:modified", "dcterms:created"):
        item = f"<item><title>A</title><{date}>2026-11-11T10:00:00Z</{date}></item>"
        (entry,) = parse_document(
            f"<rss version='2.0' {spaces}><channel>{item}</channel></rss>".encode()
        ).entries
        assert entry.published == datetime(2026, 11, 11, 10, tzinfo=UTC), date
