"""Bytes become the words that were written, by the labels and the order that browsers know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds import fetch_batch as rounds
from digest.feeds.encodings import codec_of, text_of
from digest.feeds.fetch import FetchResponse
from digest.feeds.parse import parse_document
from digest.feeds.services import FeedAnswer
from digest.models import Feed

HEAD = (
    '<?xml version="1.0"{}?><rss version="2.0"><channel><title>{}</title><item><title>{}</title></item>'
    "</channel></rss>"
)


def title(words: str, codec: str, *, declared: str = "", content_type: str = "", more: str = "") -> str:
    text = HEAD.format(f' encoding="{declared}"' if declared else "", more or "R", words)
    return parse_document(text.encode(codec), content_type=content_type).entries[0].title


@pytest.mark.parametrize(
    ("label", "codec", "words"),
    [
        ("gb2312", "gbk", "朱镕基与囧喆字也在。"),
        ("GBK", "gb18030", "朱镕基 𠮷"),
        ("iso-8859-1", "cp1252", "L’œuvre — 10 €, “cité”…"),
        ("us-ascii", "cp1252", "L’œuvre"),
        ("latin1", "cp1252", "œ"),
        ("Shift_JIS", "cp932", "①②㈱髙﨑"),
        ("x-sjis", "cp932", "日本語"),
        ("windows-31j", "cp932", "①"),
        ("euc-kr", "cp949", "똠방각하 펲시"),
        ("ks_c_5601-1987", "cp949", "한국어"),
        ("euc-jp", "euc_jis_2004", "①日本語"),
        ("iso-2022-jp", "iso2022_jp", "日本語の記事"),
        ("big5", "big5hkscs", "香港嘅新聞"),
        ("windows-1251", "cp1251", "Новая тема"),
        ("koi8-r", "koi8-r", "Новая тема"),
        ("iso-8859-9", "cp1254", "İstanbul’da “ağaç”"),
        ("tis-620", "cp874", "ภาษาไทย"),
        ("utf-8", "utf-8", "Ünïcödé 🚀"),
    ],
)
def test_a_label_means_what_browsers_mean_by_it(label: str, codec: str, words: str):
    assert title(words, codec, declared=label) == words
    assert title(words, codec, content_type=f'text/xml; charset="{label}"') == words


def test_the_mark_then_the_header_then_the_document_says_it():
    russian = "Новая тема"
    sent = "application/rss+xml; charset=windows-1251"
    assert title(russian, "cp1251", content_type=sent) == russian
    assert title(russian, "cp1251", content_type=sent, declared="iso-8859-1") == russian
    assert title(russian, "koi8-r", declared="koi8-r", content_type="text/xml") == russian
    for codec in ("utf-8-sig", "utf-16", "utf-32"):
        assert title(russian, codec, content_type=sent, declared="koi8-r") == russian
    assert title(russian, "utf-16-le", declared="utf-16") == russian


def test_a_label_that_the_bytes_contradict_is_passed_over():
    assert title("Привет, мир", "utf-8", declared="iso-8859-1") == "Привет, мир"
    assert title("Café", "utf-8", content_type="text/xml; charset=iso-8859-1") == "Café"
    assert title("Café", "cp1252", declared="utf-8") == "Café"
    assert (
        title("Новая тема", "cp1251", content_type="text/xml; charset=utf-8", declared="windows-1251")
        == "Новая тема"
    )
    assert title("Café", "utf-8", declared="utf-16") == "Café"
    assert title("Café", "utf-8", declared="nonsense", content_type="text/xml; charset=nonsense") == "Café"


@pytest.mark.parametrize(
    ("label", "codec", "words"),
    [
        ("iso-8859-2", "cp1250", "Śląsk i źródło. Źrebię śpi. Ťuknutí"),
        ("iso-8859-2", "iso8859_2", "Śląsk i źródło. Źrebię śpi. Ťuknutí"),
        ("iso-8859-5", "cp1251", "Привет, Њива"),
        ("iso-8859-7", "cp1253", "Άνοιξη — θάλασσα"),
        ("iso-8859-13", "cp1257", "Žuvis „šaltis“"),
    ],
)
def test_letters_where_iso_has_controls_are_those_of_windows(label: str, codec: str, words: str):
    assert title(words, codec, declared=label) == words


def test_without_any_label_the_bytes_are_looked_at():
    russian = "В столице открылась новая выставка о реках и озёрах страны"
    assert title(russian, "cp1251", more="Новости города и области на каждый день") == russian
    japanese = "東京で新しい展覧会が開かれました。川と湖についての写真が並びます。"
    assert title(japanese, "shift_jis", more="毎日のニュースと天気予報をお届けします") == japanese


def test_a_few_broken_bytes_leave_the_rest_readable():
    body = HEAD.format("", "R", "Ünïcödé wörds äre reädable").encode().replace("ü".encode(), b"\xfc")
    assert parse_document(body.replace("ä".encode(), b"\xe4", 1)).entries[0].title.startswith("Ünïcödé w")


@pytest.mark.parametrize(
    "label", ["utf-7", "idna", "punycode", "unicode_escape", "hz-gb-2312", "base64", "nonsense", ""]
)
def test_what_is_no_encoding_of_documents_is_none(label: str):
    assert codec_of(label) == ""


def test_nothing_is_raised_whatever_the_bytes():
    for body in (b"", b"\xff\xfe", b"\xfe\xff\x00", b"<\x00", b"\x00<", bytes(range(256)), b"\xef\xbb\xbf"):
        for sent in ("", "text/xml; charset=utf-16", "text/xml; charset=iso-2022-jp", "; charset="):
            assert isinstance(text_of(body, content_type=sent), str)


def test_a_fetched_document_is_read_by_the_header_it_came_with():
    words = "Новая тема"
    body = HEAD.format("", words, words).encode("cp1251")
    answer = FetchResponse(
        "https://ada.example/feed", body, "", "", None, content_type="text/xml; charset=windows-1251"
    )
    read = rounds._read(Feed(url="https://ada.example/feed"), answer, 0.5)
    assert isinstance(read, FeedAnswer) and read.parsed and read.parsed.title == words


# --- Documents that name no encoding, only a language ----------------------------------------------------

SPOKEN = {
    "pl": ("Zażółć gęślą jaźń", "Święto łąki – „cześć”", ("iso8859_2", "cp1250")),
    "cs": ("Příliš žluťoučký kůň", "Dnes prší", ("iso8859_2", "cp1250")),
    "sk": ("Kŕdeľ šťastných ďatľov", "Mŕtvy vĺk", ("iso8859_2", "cp1250")),
    "hu": ("Árvíztűrő tükörfúrógép", "Eső", ("iso8859_2", "cp1250")),
    "ro": ("Ploaia cade în baltă şi ţine", "Apă", ("iso8859_2", "cp1250")),
    "hr": ("Kiša pada, čovječe, šuma žuti", "Đak", ("iso8859_2", "cp1250")),
    "sl": ("Dež in žaba v šoli", "Češnja", ("iso8859_2", "cp1250")),
    "tr": ("Yağmur yağıyor, seller akıyor", "İstanbul’da kış", ("cp1254",)),
    "he": ("יורד גשם על העיר", "גשם", ("cp1255", "iso8859_8")),
    "ru": ("Дождь идёт", "Ёж", ("cp1251", "koi8_r")),
    "uk": ("Їжак іде під дощем", "Ґанок", ("cp1251", "koi8_u")),
    "bg": ("Дъжд вали", "Щъркел", ("cp1251",)),
    "el": ("Βρέχει στην πόλη", "Ήλιος", ("iso8859_7", "cp1253")),
    "lt": ("Lietus lyja, ąžuolas šlama", "Žąsis", ("cp1257", "iso8859_13")),
    "lv": ("Līst lietus, ūdens šļakstās", "Ķēve", ("cp1257",)),
    "et": ("Sajab vihma, öösel külm, žürii", "Šokk õue", ("cp1257",)),
    "ar": ("المطر يهطل", "مطر", ("cp1256", "iso8859_6")),
    "th": ("ฝนตก", "ฝน", ("cp874",)),
}
SAID = {
    "rss": "<rss><channel><language>{}</language><item><title>{}</title></item></channel></rss>",
    "a region": "<rss><channel><language>\n{}-XX</language><item><title>{}</title></item></channel></rss>",
    "dc": "<rss><channel><dc:language>{}</dc:language><item><title>{}</title></item></channel></rss>",
    "atom": '<feed xml:lang="{}"><entry><title>{}</title></entry></feed>',
}


@pytest.mark.parametrize("form", SAID.values(), ids=SAID)
@pytest.mark.parametrize("language", SPOKEN)
def test_a_short_text_is_read_by_the_language_that_the_document_names(language: str, form: str):
    *texts, codecs = SPOKEN[language]
    for codec in codecs:
        for text in texts:
            document = form.format(language, text)
            try:
                body = document.encode(codec)
            except UnicodeEncodeError:
                continue  # a dash that this encoding does not have
            assert text_of(body) == document, codec


@given(st.sampled_from(sorted(SPOKEN)), st.data())
def test_any_words_of_a_language_are_read_in_its_first_encoding(language: str, data: st.DataObject):
    letters = "".join(sorted({*"".join(SPOKEN[language][:2]).lower()} - {*"–’„”\u0307"}))
    text = data.draw(st.text(letters, min_size=1, max_size=40))
    codec = SPOKEN[language][2][0]
    document = SAID["rss"].format(language, f"{text} {SPOKEN[language][0]}")
    assert text_of(document.encode(codec)) == document


@pytest.mark.parametrize("language", ["pl", "cs", "tr", "lt", "en", "xx", ""])
def test_a_language_that_the_bytes_contradict_is_passed_over(language: str):
    document = SAID["rss"].format(language, "L’œuvre « libre » à Besançon, très drôle à Noël")
    assert text_of(document.encode("cp1252")) == document
    assert text_of(document.encode()) == document


def test_a_declared_encoding_counts_before_the_language():
    document = '<?xml version="1.0" encoding="windows-1250"?>' + SAID["rss"].format("ru", "Příliš žluťoučký")
    assert text_of(document.encode("cp1250")) == document
    document = SAID["rss"].format("pl", "Дождь")
    assert text_of(document.encode("cp1251"), content_type="text/xml; charset=windows-1251") == document
