"""Topics match texts as whole words, in any spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.common.text import (
    _forms,
    fold,
    fold_lightly,
    subject_finder,
    term_finder,
    term_matches,
    topic_key,
    words_cut,
)

WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüßéñçøжщя0123456789", min_size=1, max_size=12)


@given(term=WORD, before=WORD, after=WORD)
def test_a_topic_never_matches_inside_a_word(term, before, after):
    # Compared with every spelling the term may stand in, a longer word around it is another word.
    assert not term_matches(f"{term}q", fold(f"{before}{term}q{after}x"))


@given(term=WORD, before=WORD, after=WORD)
def test_a_topic_matches_wherever_it_stands_alone(term, before, after):
    assert term_matches(term, fold(f"{before} {term}, {after}"))
    assert term_matches(term.upper(), fold(f"{before}-{term}’s {after}"))


@given(st.text(max_size=40))
def test_folding_joins_every_kind_of_space_and_strips_case(text):
    folded = fold(text)
    assert folded == " ".join(folded.split())
    assert folded == fold(f"  {text}\t\n")


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("AI", "What AI cannot do"),
        ("ai", "OpenAI and AI's limits"),
        ("electric car", "Electric cars in winter"),
        ("electric cars", "An ELECTRIC  CAR for less"),
        ("battery", "Cheaper batteries"),
        ("batteries", "A battery of salt"),
        ("movies", "A movie for the evening"),
        ("movie", "The best movies"),
        ("box", "Boxes, boxes"),
        ("taxes", "A tax on sugar"),
        ("prizes", "A prize for maths"),
        ("C++", "C++ at forty"),
        ("ﬁsh", "Fish and chips"),
        ("straße", "Die STRASSE"),
    ],
)
def test_spellings_that_match(topic, title):
    assert term_matches(topic, fold(title))


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("AI", "She said it rained"),
        ("news", "A new start"),
        ("Mars", "A mar on the table"),
        ("windows", "A window seat"),
        ("car", "Caring for cars_and"),
        ("electric car", "electric and a car"),
        ("us", "A virus in the census"),
        ("", "Anything"),
        ("  ", "Any thing"),
    ],
)
def test_spellings_that_do_not_match(topic, title):
    assert not term_matches(topic, fold(title))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Electric Cars", "electric  car"),
        ("Batteries", "battery"),
        ("Movies", "movie"),
        ("prizes", "prize"),
        ("boxes", "Box"),
        ("ÅNGSTRÖM", "ångström"),
    ],
)
def test_two_spellings_of_a_topic_have_one_key(one, other):
    assert topic_key(one) == topic_key(other)


@pytest.mark.parametrize("word", ["news", "series", "politics", "virus", "glass", "crisis", "gas", "ties"])
def test_words_that_only_end_like_a_plural_keep_their_end(word):
    assert topic_key(word) in {word, "tie"}


@given(st.lists(WORD, min_size=1, max_size=4))
def test_a_key_is_its_own_key_once_it_has_settled(words):
    key = topic_key(" ".join(words))
    assert fold(key) == key


@given(WORD)
def test_every_spelling_of_a_term_is_found(term):
    for spelling in _forms(fold(term)):
        assert term_matches(term, spelling)


@pytest.mark.parametrize("term", ["AI", "climate  change", "energies", "größe", "new york", "C++", " "])
@pytest.mark.parametrize(
    "text",
    [
        "He said AI is near",
        "Climate\n\tchange now",
        "climatechange",
        "Renewable energy",
        "Die GRÖSSE zählt",
        "New\u00a0York news",
        "C++ and C",
        "",
    ],
)
def test_looking_for_one_term_in_many_texts_finds_what_looking_in_each_does(term, text):
    assert term_finder(term)(fold_lightly(text)) == term_matches(term, fold(text))


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("Flüchtling", "Flüchtlinge"),
        ("Flüchtling", "Flüchtlingen"),
        ("Zeitung", "Zeitungen"),
        ("Universität", "Universitäten"),
        ("Minderheit", "Minderheiten"),
        ("Gewerkschaft", "Gewerkschaften"),
    ],
)
def test_german_plurals_that_their_endings_tell_are_one_topic(one, many):
    assert topic_key(one) == topic_key(many)
    assert term_matches(one, fold(f"Die {many} von heute"))
    assert term_matches(many, fold(f"Eine {one} von heute"))
    assert not term_matches(one, fold(f"{many}politik"))


@pytest.mark.parametrize(
    ("article", "is_subject"),
    [
        ("War in the north\nIt began.", True),
        ("One day\nA war began.", True),
        (f"One day\n{'It rained. ' * 80}A war began.", True),
        (f"One day\n{'It rained. ' * 100}A war began. War! War!", False),
        (f"{'A long title ' * 90}on war", True),
        ("Toward the north\nIt began.", False),
    ],
)
def test_the_subject_of_an_article_stands_in_its_title_or_at_its_beginning(article, is_subject):
    assert subject_finder("war")(fold_lightly(article)) is is_subject
    assert not subject_finder(" ")(fold_lightly(article))


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("A harbour lamp", "A harbour lamp"),
        ("A harbour lamp, which shines", "A harbour lamp…"),
        ("Donaudampfschifffahrt", "Donaudampfschif…"),
        ("港の灯台は今夜も静かに海を照らしている", "港の灯台は今夜も静かに海を照ら…"),
    ],
)
def test_a_text_is_cut_behind_a_word(text: str, cut: str):
    assert words_cut(text, 16) == cut
