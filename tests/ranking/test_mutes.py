"""Mutes find items, and are part of the versioned config."""

import fnmatch
import re
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from ranking.config_words import change_words
from ranking.entities import Candidate, InvalidMute, InvalidSetting, Mute, TooManyMutes
from ranking.models import ConfigVersion, RankConfig
from ranking.mutes import (
    MUTES_MAX,
    MuteFilter,
    address_matches,
    mute_check,
    mute_over,
    text_finder,
)
from ranking.selectors import config_effective, config_hiding, reader_export_ranking
from ranking.services import config_revert, mute_remove, mute_set, source_key_rename

AT = datetime(2026, 3, 18, 12, tzinfo=UTC)


def item(title: str = "", text: str = "", **more: Any) -> Candidate:
    return Candidate(1, more.pop("source", "gazette.example"), title, text, AT, **more)


def hides(kind: str, value: str, what: Candidate) -> bool:
    return MuteFilter([Mute(kind, value)]).finds(what) is not None


@pytest.mark.parametrize(
    ("kind", "value", "title", "hidden"),
    [
        ("word", "bitcoin", "Bitcoins rise", True),
        ("word", "AI", "She said so", False),
        ("word", "ＢＩＴＣＯＩＮ", "bitcoin falls", True),
        ("word", "C++", "A C++ compiler", True),
        ("word", "東京", "東京都の天気", True),
        ("word", "выборы", "Выборы сегодня", True),
        ("phrase", "climate change", "Climate-change talks", True),
        ("phrase", "climate change", "A change of climate", False),
        ("phrase", "art of war", "The start of war", False),
        ("phrase", "天気 予報", "明日の天気 予報です", True),
        ("phrase", "की बात", "मन की बात", True),
    ],
)
def test_a_mute_finds_its_words_in_any_script(kind, value, title, hidden):
    assert hides(kind, value, item(title)) is hidden
    assert hides(kind, value, item("Nothing", f"and then {title}")) is hidden


def test_a_mute_finds_a_category_in_any_spelling_and_no_part_of_one():
    piece = item("A", categories=("Electric-Cars", "News"))
    assert hides("category", "electric cars", piece) and not hides("category", "cars", piece)
    assert not hides("category", "electric cars", item("Electric cars"))


def test_a_mute_finds_sources_authors_and_addresses():
    piece = item("A", source="paper.example", author="Jane  Doe", url="https://www.Paper.example/sport/1")
    assert hides("source", "paper.example", piece) and not hides("source", "paper", piece)
    assert hides("author", "jane doe", piece) and not hides("author", "jane", piece)
    assert hides("address", "http://paper.example/sport/*", piece)
    assert not hides("address", "paper.example/sport", piece)
    assert not hides("author", "jane doe", item("A"))
    assert hides("author", "jane doe", item("A", author="Ben Low, Jane Doe"))


@given(
    st.text("ab*/", max_size=12).filter(lambda text: "[" not in text),
    st.text("ab/", max_size=20),
)
def test_an_address_pattern_means_what_a_shell_would_make_of_its_stars(pattern, url):
    if "*" not in pattern:
        assert address_matches(pattern, url) is (pattern.rstrip("/") == url.rstrip("/"))
    else:
        assert address_matches(pattern, url) is (re.match(fnmatch.translate(pattern), url) is not None)


@given(
    st.lists(st.text("abé日ж", min_size=1, max_size=4), min_size=1, max_size=3),
    st.text("ab é,日ж-", max_size=30),
)
def test_a_phrase_is_found_wherever_its_words_stand_in_a_row(words, around):
    finds = text_finder(" ".join(words))
    spaced = around if not around or around[-1] in " ,-" else f"{around} "
    assert finds(f"{spaced}{' '.join(words)} {around}".casefold())


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("colour", "red"),
        ("word", ""),
        ("word", " \u200b"),
        ("word", "!?"),
        ("word", "two words"),
        ("word", "x" * 65),
        ("phrase", "x " * 100),
        ("address", "***"),
        ("address", "https://*a*"),
    ],
)
def test_what_could_hide_nothing_or_everything_is_refused(kind, value):
    with pytest.raises(InvalidMute) as refused:
        mute_check(Mute(kind, value))
    assert refused.value.code == "invalid_mute" and isinstance(refused.value, InvalidSetting)


def test_the_last_day_is_whole():
    mute = Mute("word", "lamp", date(2026, 3, 18))
    assert not mute_over(mute, date(2026, 3, 18)) and mute_over(mute, date(2026, 3, 19))
    assert not MuteFilter([mute], date(2026, 3, 19))


def test_a_mute_is_a_version_and_going_back_brings_it_back(ada):
    now = timezone.now()
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp"), now=now)
    mute_set(reader_id=ada.pk, mute=Mute("word", "LAMP", date(2030, 1, 2)), now=now)
    assert mute_remove(reader_id=ada.pk, mute=Mute("word", "Lamp"), now=now) == 3
    assert config_hiding(reader_id=ada.pk).mutes == ()
    config_revert(reader_id=ada.pk, version=2, expected_version=3, now=now)
    assert config_effective(reader_id=ada.pk).config.mutes == (Mute("word", "LAMP", date(2030, 1, 2)),)
    rows = ConfigVersion.objects.filter(reader=ada).order_by("version")
    words = [change_words(change) for row in rows for change in row.changes]
    assert words[0] == "Muted for ever: the word “lamp”"
    assert "No longer muted: the word “LAMP”" in words
    exported = dict(reader_export_ranking(reader_id=ada.pk))
    assert [row["mutes"] for row in exported["config"]] == [
        [{"kind": "word", "value": "LAMP", "until": "2030-01-02"}]
    ]


def test_a_version_from_before_mutes_can_be_gone_back_to(ada):
    now = timezone.now()
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp"), now=now)
    row = ConfigVersion.objects.get(reader=ada)
    del row.body["mutes"]
    row.save()
    config_revert(reader_id=ada.pk, version=1, expected_version=1, now=now)
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_a_config_holds_a_hundred_mutes(ada):
    full = [Mute("word", f"w{n}").as_dict() for n in range(MUTES_MAX)]
    RankConfig.objects.create(reader=ada, mutes=full)
    with pytest.raises(TooManyMutes) as refused:
        mute_set(reader_id=ada.pk, mute=Mute("word", "more"), now=timezone.now())
    assert refused.value.code == "too_many_mutes"
    assert len(config_hiding(reader_id=ada.pk).mutes) == MUTES_MAX


def test_a_renamed_source_stays_muted(ada, ben):
    now = timezone.now()
    mute_set(reader_id=ada.pk, mute=Mute("source", "old.example"), now=now)
    mute_set(reader_id=ben.pk, mute=Mute("word", "old.example"), now=now)
    assert source_key_rename(old="old.example", new="new.example", now=now) == 1
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("source", "new.example"),)
    assert config_hiding(reader_id=ben.pk).mutes == (Mute("word", "old.example"),)


NOW = datetime(2026, 3, 2, tzinfo=UTC)
FAR = "Nothing of it here. " * 20


@pytest.mark.parametrize(
    ("title", "text", "is_hidden"),
    [
        ("War is over", "", True),
        ("Talks", "The war goes on. " + FAR, True),
        ("Talks", FAR + "It was a war.", False),
        ("Talks", FAR + "After the war came the wars.", True),
        ("Post-war Bosnia", "Post-war years, post-war houses. " + FAR, False),
        ("A war-torn town", "", True),
        ("War\u2011time songs", "", True),
        ("An anti-war march", "", True),
        ("The art-of-war school", "", False),
        ("Talks", FAR + "War-weary and war-torn.", True),
        ("Pre-war and war", "", True),
        ("War - what is it good for", "", True),
        ("No more war-", "", True),
        ("The word is warm", "", False),
    ],
)
def test_a_word_hides_what_is_about_it_and_not_what_says_it_in_passing(
    title: str, text: str, is_hidden: bool
) -> None:
    item = Candidate(1, "a.example", title, text, NOW)
    assert (MuteFilter([Mute("word", "war")]).finds(item) is not None) == is_hidden


@pytest.mark.parametrize(
    ("word", "category", "is_hidden"),
    [
        ("war", "War", True),
        ("war", "War and peace", True),
        ("war", "civil_war", True),
        ("war", "Wars", True),
        ("trump", "donald-trump", True),
        ("Trump", "Trump-Regierung", True),
        ("war", "post-war", False),
        ("war", "Warsaw", False),
    ],
)
def test_a_word_hides_what_is_filed_under_it(word: str, category: str, is_hidden: bool) -> None:
    filed = Candidate(1, "a.example", "Talks", "", NOW, categories=("Europe", category))
    assert (MuteFilter([Mute("word", word)]).finds(filed) is not None) == is_hidden


# Words of a headline that are a pronoun or a verb in one of the six languages of function words.
ALSO_NAMES = ("us", "war", "who", "it", "may", "will", "can", "son", "des", "die", "las", "los", "era", "van")


@pytest.mark.parametrize("other", ALSO_NAMES)
def test_a_word_hides_compounds_with_a_name_that_is_a_function_word_elsewhere(other: str) -> None:
    hides = MuteFilter([Mute("word", "Iran")])
    for spelt in (other, other.upper(), other.capitalize()):
        for compound in (f"{spelt}-Iran", f"Iran-{spelt}", f"Israel-Iran-{spelt}", f"{spelt}\u2011Iran"):
            for title in (f"What's next for {compound} talks?", f"{compound}\u2019s talks", compound):
                assert hides.finds(Candidate(1, "a.example", title, "", NOW)), title


@pytest.mark.parametrize("title", ["A pro-Trump rally", "Die Trump-Regierung", "Anti\u2010Trump-Demo"])
def test_a_word_hides_compounds_with_it(title: str) -> None:
    assert MuteFilter([Mute("word", "trump")]).finds(Candidate(1, "a.example", title, "", NOW))


def test_a_phrase_of_one_word_hides_it_wherever_it_stands() -> None:
    hides = MuteFilter([Mute("phrase", "war")])
    assert hides.finds(Candidate(1, "a.example", "Post-war Bosnia", "", NOW))
    assert hides.finds(Candidate(1, "a.example", "Talks", FAR + "It was a war.", NOW))


def test_a_compound_that_is_muted_hides_itself_alone() -> None:
    hides = MuteFilter([Mute("word", "post-war")])
    assert hides.finds(Candidate(1, "a.example", "Post-war Bosnia", "", NOW))
    assert not hides.finds(Candidate(1, "a.example", "War in Bosnia", "", NOW))


def test_a_word_without_spaces_around_it_follows_the_same_rule() -> None:
    hides = MuteFilter([Mute("word", "戦争")])
    assert hides.finds(Candidate(1, "a.example", "新しい戦争", "", NOW))
    assert not hides.finds(Candidate(1, "a.example", "話", "あ" * 400 + "戦争", NOW))
    assert hides.finds(Candidate(1, "a.example", "話", "あ" * 400 + "戦争と戦争", NOW))


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        ("word", "lamp", {"title": "A lamp"}),
        ("phrase", "a lamp", {"title": "A lamp"}),
        ("author", "Ann Lee", {"author": "Ann Lee"}),
        ("category", "Sea", {"categories": ("sea",)}),
    ],
)
def test_a_mute_of_one_source_finds_nothing_elsewhere(kind: str, value: str, what: dict[str, Any]):
    here = Mute(kind, value, within="gazette.example")
    assert MuteFilter([here]).finds(item(**what)) == here
    assert MuteFilter([here]).finds(item(source="herald.example", **what)) is None
    other = Mute(kind, value, within="herald.example")
    both = MuteFilter([here, other])
    assert both.finds(item(source="herald.example", **what)) == other
    assert both.finds(item(source="third.example", **what)) is None
    everywhere = Mute(kind, value)
    assert MuteFilter([here, everywhere]).finds(item(source="third.example", **what)) == everywhere


def test_a_mute_of_one_source_follows_it_when_it_is_renamed_and_reads_well_in_versions(ada):
    now = timezone.now()
    mute_set(reader_id=ada.pk, mute=Mute("word", "a:b", within="host.example/blog:1"), now=now)
    source_key_rename(old="host.example/blog:1", new="new.example", now=now)
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("word", "a:b", within="new.example"),)
    mute_set(reader_id=ada.pk, mute=Mute("word", "sea", within="host.example/blog:1"), now=now)
    assert config_hiding(reader_id=ada.pk).mutes[1].within == "new.example", "an old key is the new one"
    changes = ConfigVersion.objects.filter(reader=ada).order_by("version").values_list("changes", flat=True)
    titles = {"host.example/blog:1": "The Blog"}
    assert change_words(changes[0][0], titles) == "Muted for ever: the word “a:b” in The Blog"


def test_a_stored_mute_without_a_source_is_as_it_was(ada):
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp"), now=timezone.now())
    assert RankConfig.objects.get(reader=ada).mutes == [{"kind": "word", "value": "lamp", "until": None}]
