"""Whether words that nothing of the reader's is called can still be the target of a wish. Pure."""

import re

from digest.llm.phishing import PLAIN_WORDS, word_known
from ranking.common.text import fold
from suggestions.changes.change import ADD, LESS, MORE, NONE
from suggestions.wishes.lexicon import AGAINST, PLACED, SETS, UNCLEAR
from suggestions.wishes.lookup import CARRIERS
from suggestions.wishes.questions import Asker
from suggestions.wishes.tokens import QUOTES, is_german_noun

# A phrase with more words is no name of anything.
NAME_WORDS_MAX = 4
INHERITED_WORDS_MAX = 2
# Everyday words, without those that are subjects, too.
EVERYDAY = PLAIN_WORDS - SETS["everyday subjects"]
_CAPITAL = re.compile(r"(?<=[\w,] )[A-ZÄÖÜ]")


def is_clear(asker: Asker) -> bool:
    """Return whether a clause names a direction and a target that is known or could be a name."""
    clause = asker.clause
    if not (clause.direction or clause.limit or clause.only or clause.rule):
        return False
    most = INHERITED_WORDS_MAX if clause.inherited else NAME_WORDS_MAX
    return (is_worded(clause.target) and len(clause.target.split()) <= most) or bool(asker.found)


def is_bare(asker: Asker) -> bool:
    """Return whether a target is neither called a word, nor between quotation marks, nor an abbreviation."""
    typed = asker.sentence[asker.clause.begin : asker.clause.end]
    return not asker.clause.about and typed[:1] not in QUOTES and not typed.isupper()


def is_worded(target: str) -> bool:
    """Return whether a target is made of letters."""
    return all(word.isalpha() for word in target.replace("-", " ").split())


def is_plain(asker: Asker) -> bool:
    """Return whether unknown words can be a clause's target, because the clause names it explicitly."""
    clause = asker.clause
    is_way = clause.direction in (MORE, LESS, NONE, ADD)
    if not is_way or not is_worded(clause.target) or clause.about in ("source", "author"):
        return False
    typed = asker.lookup.typed(clause.target).split()
    spoken = [fold(word) for word in typed if not (word.isupper() or is_german_noun(word))]
    if not (PLACED | CARRIERS).isdisjoint(spoken):
        return False
    if not clause.about and len(spoken) == len(typed) and all(word_known(word, EVERYDAY) for word in spoken):
        # "More watching": every word is an everyday one, and none a subject.
        return False
    if not clause.about and asker.lookup.is_german and _CAPITAL.search(asker.sentence):
        # A German noun has a capital, if its writer has any beside the first.
        return any(word[:1].isupper() for word in typed)
    if clause.inherited or clause.direction == ADD:
        return len(typed) <= INHERITED_WORDS_MAX and not (clause.inherited and clause.direction == ADD)
    return clause.is_contrast or clause.first < clause.begin or clause.last > clause.end


def is_vague(asker: Asker) -> bool:
    """Return whether a clause names nothing known, and has no direction or no words that could be a name."""
    clause = asker.clause
    is_open = clause.direction in ("", AGAINST, UNCLEAR) or not is_plain(asker)
    return bool(clause.target) and is_open and not (asker.found or asker.lookup.named_in(clause.target))
