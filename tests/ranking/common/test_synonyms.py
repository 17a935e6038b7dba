"""Each name of a topic finds its other names, and no words that only look like them."""

import csv
import gzip
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.common.text import (
    _forms,
    first_words,
    fold,
    fold_lightly,
    known_topic,
    known_topics,
    term_finder,
    term_matches,
    term_named,
    topic_key,
    topics_distinct,
)
from ranking.entities import Candidate, Config, EffectiveConfig
from ranking.pool import Pool
from ranking.scoring import rank
from tests.conftest import NOW

NAMES = [name for known in known_topics() for name in known.names]
MATCHED = [(known.names[0], form) for known in known_topics() for form in known.match]
TECH, SPORT = {"Sci/Tech", "tech"}, {"Sports", "sport"}


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("AI", "What artificial intelligence costs"),
        ("Artificial Intelligence", "Why AI costs so much"),
        ("artificial intelligence", "The A.I. race"),
        ("KI", "Was künstliche Intelligenz kostet"),
        ("AI", "Wie KI-Modelle rechnen"),
        ("electric cars", "Ein Elektroauto für alle"),
        ("EVs", "An electric vehicle for all"),
        ("US", "The United States votes"),
        ("United States", "U.S. troops leave"),
        ("climate change", "Der Klimawandel und das Meer"),
        ("Klimawandel", "What global warming does"),
        ("Formula 1", "A return to Formula One"),
        ("WHO", "The World Health Organization warns"),
        ("EU", "In der Europäischen Union"),
        ("politics", "Die Politik streitet"),
        ("Wissenschaft", "What science knows"),
    ],
)
def test_a_topic_is_found_by_its_other_names(topic, title):
    assert term_matches(topic, fold(title))


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("AI", "He said it again in Dubai"),
        ("artificial intelligence", "The Taiwan air raid, aimed at trains"),
        ("artificial intelligence", "A show of Ai Weiwei opens"),
        ("AI", "Ban Ki-moon speaks"),
        ("KI", "Skiing in Kiev, a kiosk"),
        ("United States", "They told us who we are"),
        ("United Nations", "Un homme et une femme"),
        ("World Health Organization", "The man who sold the world"),
        ("United States", "Bus usage in Musaab"),
        ("electric cars", "Evening news about an EV Zug"),
        ("machine learning", "Add 20 ml of milk"),
        ("soccer", "A football coach of the NFL"),
        ("European Union", "A neutral museum"),
        ("Krieg", "Es war einmal"),
        ("Technik", "A teacher of technical terms"),
    ],
)
def test_no_other_name_finds_what_only_looks_like_it(topic, title):
    assert not term_matches(topic, fold(title))


def test_a_short_name_that_is_a_word_of_its_own_is_found_only_where_it_was_typed():
    forms = {fold(form) for known in known_topics() for form in known.match}
    assert not forms & {"us", "it", "who", "un", "uno", "ml", "ev", "vr", "fed", "f1", "bip", "crypto"}


@pytest.mark.parametrize(("topic", "form"), MATCHED)
def test_what_finds_a_topic_is_a_name_of_it_or_an_inflection(topic, form):
    """If two topics shared a form, texts could not tell them apart."""
    owners = {known.names[0] for known in known_topics() if form in known.match or form in known.names}
    assert owners == {topic}
    assert term_matches(topic, fold(f"So {form}, they say."))


def test_every_name_leads_to_one_topic_and_is_no_longer_than_a_topic_may_be():
    keys = [topic_key(name) for name in NAMES]
    assert len(set(keys)) == len({fold(name) for name in NAMES} - _inflected())
    assert all(known_topic(name, topic_key).names[0] for name in NAMES) and max(map(len, NAMES)) <= 64


def _inflected() -> set[str]:
    """Return the names that have the same identity as another name of the same topic."""
    seen: dict[str, str] = {}
    return {fold(name) for name in NAMES if seen.setdefault(topic_key(name), name) != name}


@given(st.sampled_from(NAMES), st.sampled_from("abcxyzäö0"), st.sampled_from("qxz7"))
def test_no_name_is_found_inside_a_word(name, before, after):
    text = fold(f"{before}{re.sub(r'[^a-zäöüß0-9]', '', fold(name))}{after}")
    assert not term_matches(name, text)


@given(st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "said", "us and them", "Ban Ki-moon"])))
def test_one_text_or_many_the_same_is_found(topic, words):
    title = " – ".join(words)
    light, folded = fold_lightly(title), fold(title)
    assert term_finder(topic)(light) == term_matches(topic, folded)
    pool = Pool([Candidate(1, "gazette.example", title, "", NOW)])
    pool.search_all([topic])
    assert bool(pool.matches(topic)[0]) == term_matches(topic, folded)
    if term_matches(topic, folded):
        assert first_words(topic) & set(re.findall(r"\w+", folded))


def test_the_name_it_was_found_by_is_told_where_it_is_another():
    assert term_named("AI", fold("What Artificial  Intelligence costs")) == "artificial intelligence"
    assert term_named("AI", fold("AI, or artificial intelligence")) == ""
    assert term_named("AI", fold("Plain news")) == term_named("climate", fold("climate")) == ""


def test_two_names_of_one_topic_count_once():
    item = Candidate(1, "gazette.example", "AI and artificial intelligence", "", NOW)
    both = EffectiveConfig(Config(topics=("AI", "artificial intelligence", "rail")))
    one = EffectiveConfig(Config(topics=("AI", "rail")))
    scored = rank([item], both, NOW)[0]
    assert scored.total == rank([item], one, NOW)[0].total and scored.parts.topics == ("AI",)
    assert topics_distinct(("KI", "Rail", "AI", "rails"), topic_key) == ("KI", "Rail", "rails")


def labelled(data_dir) -> Iterator[tuple[str, str]]:
    """Return (label, folded text) for the labelled news of two collections."""
    with gzip.open(data_dir / "topics-ag-news" / "ag_news_test.csv.gz", "rt", encoding="utf-8") as rows:
        yield from ((r["label"], fold(f"{r['title']}\n{r['description']}")) for r in csv.DictReader(rows))
    with gzip.open(data_dir / "topics-bbc" / "bbc_news.csv.gz", "rt", encoding="utf-8") as rows:
        yield from ((r["label"], fold(r["text"])) for r in csv.DictReader(rows))


def plainly(topic: str) -> Callable[[str], bool]:
    """Return whether a text has the topic by its own name."""
    forms = "|".join(map(re.escape, sorted(_forms(fold(topic)), key=len, reverse=True)))
    return lambda text: re.search(rf"(?<!\w)(?:{forms})(?!\w)", text) is not None


@pytest.mark.data
def test_what_other_names_find_is_about_the_topic_as_often_as_what_its_own_name_finds(data_dir):
    """The measure is the section that an editor chose for the text: technology or sport."""
    texts = list(labelled(data_dir))
    sections = {"ai": TECH, "cybersecurity": TECH, "open source": TECH, "virtual reality": TECH}
    sections |= {"formula 1": SPORT, "olympics": SPORT, "soccer": SPORT}
    own = added = own_right = added_right = 0
    for topic, section in sections.items():
        by_name, finds = plainly(topic), term_finder(topic)
        for label, text in texts:
            if by_name(text):
                own, own_right = own + 1, own_right + (label in section)
            elif finds(text):
                added, added_right = added + 1, added_right + (label in section)
    assert own > 80 and added > 25
    assert added_right / added >= own_right / own
