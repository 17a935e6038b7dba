"""The lists of words: each phrase has one meaning, and each meaning is one that the grammar knows."""

from collections import Counter

from suggestions.wishes.german import GERMAN
from suggestions.wishes.last_days import DAYS, MONTHS, NUMBERS, UNIT_DAYS, UNTIL_WORDS
from suggestions.wishes.lexicon import FILLERS, KIND_WORDS, LENGTHS, PHRASES, words_read


def test_an_alternative_stands_for_a_phrase_of_its_own():
    found = words_read("english.txt")
    assert ("twice", "as", "much") in found["more"] and ("dial", "up") in found["more"]


def test_no_phrase_has_two_meanings():
    for name in ("english.txt", "german.txt"):
        rows = words_read(name)
        meanings = ("subjects", "lengths", "everything", "fresh", "old", "compounding", "carrying", "fillers")
        phrases = [phrase for meaning, row in rows.items() if meaning not in meanings for phrase in row]
        assert [phrase for phrase, n in Counter(phrases).items() if n > 1] == [], name


def test_german_words_mean_words_of_the_grammar():
    known = {word for phrase in PHRASES for word in phrase} | FILLERS | KIND_WORDS.keys() | LENGTHS
    known |= {*DAYS, *MONTHS, *NUMBERS, *UNIT_DAYS, *UNTIL_WORDS, "months", "tomorrow", "christmas", "end"}
    known |= {"year", "weekend", "next", "twice", "new"}
    assert [
        english for english in GERMAN.values() if not known & {*english, *(w + "s" for w in english)}
    ] == []
