"""The rendered mail, parsed again as a mail program parses it."""

import re
from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html as lxml_html

from digest.daily.services import digest_build
from digest.daily.store import exposures_log
from digest.mail.due import MAIL_ITEMS
from digest.mail.links import THUMB_LASTS, thumb_read, unsubscribe_read
from digest.mail.send import digests_deliver
from digest.models import Delivery, Exposure, Story, Summary
from ranking.config_body import ConfigEdit
from ranking.services import config_edit
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory, confirmed
from tests.support.mailbox import Mailbox

# Gmail cuts messages off at 102 KB.
CLIPPED_BYTES = 102 * 1024
HOSTILE = 'Tides <script>alert(1)</script> & "bells"'


@pytest.fixture
def ada(ada, settings):
    """Return Ada, who wants daily mail, on a site with a public name."""
    settings.SITE_URL = "https://tidings.example/"
    source = SourceFactory(key="gazette.example", title="Gazette")
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    ada.mail_rhythm = "daily"
    ada.save()
    return confirmed(ada)


def items(n: int, **fields: object) -> list:
    return [ItemFactory(source=SourceFactory(key="gazette.example"), **fields) for _ in range(n)]


def arrived(mailbox: Mailbox, now) -> tuple[object, str, str]:
    digests_deliver(now=now)
    message = mailbox.messages[-1]
    return (
        message,
        message.get_body(("plain",)).get_content(),
        message.get_body(("html",)).get_content(),
    )


def test_it_is_one_message_in_two_forms_with_the_headers_of_good_mail(ada, mailbox: Mailbox, now):
    items(2, title="Harbour opens")
    message, text, html = arrived(mailbox, now)
    assert message.get_content_type() == "multipart/alternative"
    assert message["Subject"] == "Wednesday, 18 March: Harbour opens"
    assert message["Auto-Submitted"] == "auto-generated" and message["Content-Language"] == "en"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stop = message["List-Unsubscribe"].strip(" <>")
    assert stop.startswith("https://tidings.example/ui/mail/end/")
    assert unsubscribe_read(stop.rsplit("/", 1)[1]) == ada.pk
    assert parsedate_to_datetime(message["Date"]) == now
    assert message["Message-ID"].endswith("@tidings.example>")
    assert "Harbour opens" in text and "Harbour opens" in html and stop in text


def test_every_item_has_its_reasons_its_source_and_both_links(ada, mailbox: Mailbox, now):
    (item,) = items(1, text="The bridge was lifted at dawn.")
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["bridge"]), expected_version=0, now=now)
    _, text, html = arrived(mailbox, now)
    for part in (text, html):
        assert "Why it is here: your topic: bridge" in part and "Gazette · 18 March, 07:00" in part
        assert "The bridge was lifted at dawn." in part
        links = [thumb_read(found) for found in re.findall(r"/ui/mail/thumb/([\w.=-]+)", part)]
        assert [(mail_text.reader_id, mail_text.item_id, mail_text.useful) for mail_text in links] == [
            (ada.pk, item.pk, True),
            (ada.pk, item.pk, False),
        ]
        assert {mail_text.until - now for mail_text in links} == {THUMB_LASTS}


def test_a_link_of_the_mail_works(ada, mailbox: Mailbox):
    items(1, published_at=timezone.now() - timedelta(hours=2))
    ada.mail_hour = 0
    ada.save()
    _, text, _ = arrived(mailbox, timezone.now())
    place = re.search(r"https://tidings.example(/ui/mail/thumb/\S+)", text).group(1)
    assert "Recorded:" in Client().post(place).content.decode()


def test_nothing_in_it_runs_loads_or_counts(ada, mailbox: Mailbox, now):
    items(1, title=HOSTILE, text=HOSTILE, author=HOSTILE)
    _, text, html = arrived(mailbox, now)
    page = lxml_html.fromstring(html)
    assert not page.xpath("//script | //img | //iframe | //form | //link | //*[@onclick or @background]")
    assert "url(" not in html and "@import" not in html
    assert all(link.startswith("https://") for link in page.xpath("//a/@href"))
    assert HOSTILE in text and HOSTILE in page.text_content()


def test_a_strangers_title_stays_within_the_subject(ada, mailbox: Mailbox, now):
    items(1, title="News\r\nBcc: ben@example.org" + "x" * 200)
    message, _, _ = arrived(mailbox, now)
    assert message["Bcc"] is None and mailbox.recipients == ["ada@example.org"]
    assert len(message["Subject"]) < 100


def test_its_looks_are_inlined_but_for_the_dark_ones(ada, mailbox: Mailbox, now):
    items(1)
    _, _, html = arrived(mailbox, now)
    page = lxml_html.fromstring(html)
    (style,) = page.xpath("//style/text()")
    assert "prefers-color-scheme: dark" in style
    assert "Georgia" in page.xpath("//body/@style")[0]
    assert page.xpath("//div[contains(@style, 'display')]")[0].text_content().strip()  # the preheader


def test_a_full_mail_is_not_cut_off(ada, mailbox: Mailbox, now):
    items(40, text="Rain over the hills. " * 40, title="A headline of some length " * 4)
    message, _, html = arrived(mailbox, now)
    assert html.count("All the reasons") == MAIL_ITEMS
    assert "15 more in today" in html
    assert len(message.as_bytes()) < CLIPPED_BYTES


def test_a_title_in_another_language_says_so(ada, mailbox: Mailbox, now):
    items(1, language="de", title="Gezeiten")
    _, _, html = arrived(mailbox, now)
    assert lxml_html.fromstring(html).xpath("//h2[@lang='de']")


def test_a_second_copy_has_the_first_ones_id(ada, mailbox: Mailbox, now):
    items(1)
    first, _, _ = arrived(mailbox, now)
    Delivery.objects.all().delete()
    second, _, _ = arrived(mailbox, now + timedelta(minutes=30))
    assert first["Message-ID"] == second["Message-ID"]


def test_it_says_who_else_tells_the_story(ada, mailbox: Mailbox, now):
    story = Story.objects.create(created_at=now, last_item_at=now)
    items(1, story=story, title="The old harbour bridge opens")
    for name in ("Courier", "Evening Post", "Herald", "Mercury"):
        source = SourceFactory(key=f"{name[:4].lower()}.example", title=name)
        SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
        ItemFactory(
            source=source, story=story, title="Old harbour bridge open", published_at=now - timedelta(days=3)
        )
    _, text, _ = arrived(mailbox, now)
    assert re.search(r"also reported by \w+( Post)?, \w+( Post)? and 2 others", text)


def test_a_models_words_are_named_as_such(ada, mailbox: Mailbox, now):
    (item,) = items(1, text="The tide was low at noon. Boats lay on the sand.")
    Summary.objects.create(
        fingerprint=item.fingerprint, model="openai:gpt-x", text="Low tide at noon.", created_at=now
    )
    _, text, html = arrived(mailbox, now)
    for part in (text, html):
        assert "Low tide at noon." in part and "Written by gpt-x" in part


def test_a_line_stands_before_what_was_passed_by_on_an_earlier_page(ada, mailbox: Mailbox, now):
    old = items(2, published_at=now - timedelta(hours=30))
    digest = digest_build(reader=ada, date=(now - timedelta(days=1)).date(), now=now - timedelta(days=1))
    exposures_log(digest=digest, door=Exposure.Door.PAGE, now=now - timedelta(days=1))
    new = items(1, published_at=now - timedelta(hours=1))
    line = "On an earlier page of yours"
    _, text, html = arrived(mailbox, now)
    told = [
        one.text_content() for one in lxml_html.fromstring(html).xpath("//h2 | //p[contains(., 'earlier')]")
    ]
    assert told[:2] == [new[0].title, line] and {*told[2:]} == {one.title for one in old}
    above, below = text.split(line)
    assert new[0].title in above and all(one.title in below and one.title not in above for one in old)


def test_a_mail_of_new_articles_alone_has_no_such_line(ada, mailbox: Mailbox, now):
    items(2)
    assert not any("On an earlier page" in part for part in arrived(mailbox, now)[1:])
