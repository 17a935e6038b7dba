"""The grammar of wishes: from a sentence to clauses, each a direction, a target, a last day. Pure.

A sentence is cut into tokens. The reader's own names of several words become one token, last days are taken
out, and the rest is split at joining words. A clause without a direction takes that of the one before. A last
day at the end counts for all clauses that have none. Time grows only with the length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from suggestions.changes.change import FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.wishes.lexicon import (
    AGAINST,
    CONTRAST,
    EVERY_WORDS,
    EVERYTHING,
    FILLERS,
    FRESH_WORDS,
    KIND_WORDS,
    LENGTHS,
    MISS,
    NOT,
    OLD_WORDS,
    ONLY,
    PRONOUNS,
    SO_MUCH,
    SUBJECT_WORDS,
    TELLING,
    THAN,
    UNCLEAR,
    WEAK,
)
from suggestions.wishes.limits import QUESTION, is_question, limit_of
from suggestions.wishes.rule_words import OUT_OF_TODAY, SHELF
from suggestions.wishes.tokens import (
    AMOUNT,
    BETWEEN,
    CAP,
    CONDITION,
    DIRECTION,
    NAME,
    RULE,
    START,
    UNTIL,
    WORD,
    KnownNames,
    Token,
    tokens_read,
)
from suggestions.wishes.wish import BIG, SMALL, USUAL

# They begin a reason, which is no wish: "less chess, it's dull".
REASONS = frozenset({"it's", "that's", "they're", "because", "weil", "denn"})
# After these a sentence begins, which does not go on with the direction of the one before.
STOPS = frozenset({".", "!", "?"})


@dataclass(frozen=True, slots=True)
class Clause:
    """One wish before its target is looked up. `target` is the typed text, from `begin` to `end`.

    `direction` is "" if none was given, and `inherited` that of the clause before; `is_contrast` if it stands
    after "than" or "instead of". `about` is a word of
    `KIND_WORDS` before the target, or "". `halves` are the two names in "chess from Gazette", the possible
    source second, and the word between them. `cap` is a number of articles a day, and `is_total` means of all
    articles. `condition` are the words of one. `rule` is one for
    a source, of `rule_words`. `limit` is a wish that settings cannot express, of `limits`.
    `first` and `last` are the bounds of direction and target, `span` those of everything that belongs to it.
    `dated` without `until` is an unreadable day.
    """

    direction: str
    target: str
    begin: int
    end: int
    first: int
    last: int
    amount: str = USUAL
    about: str = ""
    subject: bool = False
    length: str = ""
    inherited: bool = False
    only: bool = False
    is_contrast: bool = False
    until: date | None = None
    dated: bool = False
    halves: tuple[str, str, str] | None = None
    cap: str = ""
    is_total: bool = False
    condition: str = ""
    rule: str = ""
    limit: str = ""
    span: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class _Part:
    """Tokens between two joining words, and the direction that a contrast gives them.

    `is_first`: a sentence begins, so the direction of the one before is not its own. `later` are the words of
    a first day that is not today. `is_asked`: a question mark follows somewhere.
    """

    direction: str = ""
    tokens: list[Token] = field(default_factory=list)
    condition: str = ""
    bounds: tuple[int, int] = (0, 0)
    is_first: bool = False
    later: str = ""
    is_asked: bool = False


def clauses_read(sentence: str, names: KnownNames, today: date) -> list[Clause]:
    """Return the clauses of `sentence`, in order; `names` are the reader's own."""
    tokens = tokens_read(sentence, names, today)
    found: list[Clause] = []
    leading: Token | None = None
    later, is_reason = "", False
    for part in _parts(tokens):
        later = part.later or ("" if part.is_first else later)
        if not part.tokens:
            found = [replace(c, condition=c.condition or later) for c in found]
            continue
        part.condition = later
        before = found[-1].direction if found and not part.is_first else ""
        days = [token for token in part.tokens if token.kind == UNTIL]
        if days and not [token for token in part.tokens if token.kind in (WORD, NAME, DIRECTION)]:
            # A day alone belongs to the words before it, or to those that follow.
            leading = None if found else days[0]
            found = [c if c.dated else replace(c, until=days[0].day, dated=True) for c in found]
            continue
        is_reason = part.tokens[0].typed in REASONS or (is_reason and not part.is_first)
        is_reason = is_reason and DIRECTION not in {token.kind for token in part.tokens}
        if is_reason:
            continue
        caps = [token.value for token in part.tokens if token.kind == CAP]
        rule = _rule(part.tokens)
        clauses = _clauses(part, before)
        if not clauses and (caps or rule or (part.tokens and _limit(part, ()))):
            # A count or a rule alone, "at most five a day", is a clause about nothing. So is praise.
            clauses = [_clause(part, (), ())]
        if found and (part.condition or caps or rule) and not any(clause.target for clause in clauses):
            # "Less chess, except from Gazette." "Gazette, at most two a day." "Gazette, but not in Today."
            cap = caps[0] if caps else found[-1].cap
            given = replace(found[-1], condition=part.condition, cap=cap, rule=rule or found[-1].rule)
            found[-1] = replace(given, span=(given.span[0], part.bounds[1]))
            continue
        if part.later and clauses and clauses[0].inherited:
            # "Mute chess and football after Friday."
            found = [replace(c, condition=c.condition or later) for c in found]
        found += _ruled_alike(found, clauses, part)
    if leading:
        found = [c if c.dated else replace(c, until=leading.day, dated=True) for c in found]
    return _until_last(_join(_direction_first(_rule_first(found))))


def _rule(tokens: Sequence[Token]) -> str:
    return next((token.value for token in tokens if token.kind == RULE), "")


def _ruled_alike(found: list[Clause], clauses: list[Clause], part: _Part) -> list[Clause]:
    """Return the clauses of a part, with the rule or the count of the one before if they have none."""
    if not found or part.is_first or not (found[-1].rule or found[-1].cap):
        return clauses
    # "Never miss Gazette and Herald." "At most two a day of Gazette and Herald."
    rule, cap = found[-1].rule, found[-1].cap
    return [
        replace(c, rule=rule, cap=cap) if not (c.rule or c.cap) and (c.inherited or not c.direction) else c
        for c in clauses
    ]


def _rule_first(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; the first ones get the rule after them, as in "a and b out of Today"."""
    found: list[Clause] = []
    for clause in reversed(clauses):
        after = found[-1] if found else None
        if after and after.rule and not clause.target and after.inherited:
            # "Nothing older than two days, from Gazette": one wish.
            found[-1] = replace(after, span=(clause.span[0], after.span[1]))
        elif after and after.rule and _is_led(clause, after):
            found.append(replace(clause, rule=after.rule))
        else:
            found.append(clause)
    return found[::-1]


def _is_led(clause: Clause, after: Clause) -> bool:
    """Return whether both have the rule that follows the second, as in "no a and b in Today"."""
    if clause.rule or clause.only or clause.limit or clause.dated:
        return False
    shared = after.rule.startswith((SHELF, OUT_OF_TODAY)) and clause.direction == NONE and after.inherited
    return shared or not clause.direction


def _join(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses without those about "it", whose direction goes to the target before them."""
    found: list[Clause] = []
    for clause in clauses:
        is_pronoun = clause.target in PRONOUNS or (
            not clause.target and not clause.limit and not clause.length
        )
        if found and found[-1].target and is_pronoun and clause.direction not in (FRESHER, OLDER):
            given = found[-1].direction if found[-1].direction not in ("", WEAK) else clause.direction
            last = max(found[-1].last, clause.last)
            cap, rule = found[-1].cap or clause.cap, found[-1].rule or clause.rule
            found[-1] = replace(found[-1], direction=given, last=last, cap=cap, rule=rule, limit="")
        elif clause.target not in PRONOUNS or not clause.inherited:
            found.append(clause)
    return found


def _direction_first(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; the first ones get the direction that follows a target, as in "a and b: less"."""
    given = next((n for n, clause in enumerate(clauses) if clause.direction), 0)
    if not given or clauses[given].first < clauses[given].begin:
        return clauses
    first = [c if c.only else replace(c, direction=clauses[given].direction) for c in clauses[:given]]
    return [*first, *clauses[given:]]


def _until_last(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses, mutes without a day with the one that the sentence ends on.

    "I'm away until Sunday, no chess": also with the one of a beginning that wishes for nothing.
    """
    dated = [c for c in (*clauses[-1:], *clauses[:1]) if c.dated and (c == clauses[-1] or not c.direction)]
    if not dated:
        return clauses
    last = dated[0]
    return [
        c if c.dated or c.direction != NONE else replace(c, until=last.until, dated=True) for c in clauses
    ]


def _parts(tokens: Sequence[Token]) -> list[_Part]:
    parts = [_Part()]
    for token in tokens:
        values = {one.value for one in parts[-1].tokens}
        if token.kind != BETWEEN or (token.value == THAN and not values & {WEAK, MORE}):
            parts[-1].tokens.append(token)
        elif token.value in (CONTRAST, THAN):
            if DIRECTION not in {one.kind for one in parts[-1].tokens}:
                parts[-1].direction = MORE
            parts.append(_Part(LESS))
        elif parts[-1].tokens:
            parts.append(_Part(is_first=token.text in STOPS))
        else:
            parts[-1].is_first = parts[-1].is_first or token.text in STOPS
    for part in parts:
        part.is_asked = any(token.text == "?" for token in tokens)
        if part.tokens:
            part.bounds = min(one.begin for one in part.tokens), max(one.end for one in part.tokens)
            part.later = " ".join(one.text for one in part.tokens if one.kind == START)
            part.tokens = [one for one in part.tokens if one.kind != START]
    return [part for part in parts if part.tokens or part.later]


@dataclass(slots=True)
class _Run:
    """Directions, or words of a target, that follow one another."""

    is_target: bool
    tokens: list[Token]


def _clauses(part: _Part, before: str) -> list[Clause]:
    """Return the clauses of one part: directions and targets in turns, paired in the order they began."""
    runs: list[_Run] = []
    part.tokens = _without_courtesy(part.tokens)
    condition = next((n for n, token in enumerate(part.tokens) if token.kind == CONDITION), None)
    if condition is not None and _is_about(part.tokens[condition:]):
        # "If it's about chess, hide it" is no more than "hide chess".
        part.tokens[condition : condition + 2] = []
    elif condition is not None:
        # "In the mornings no politics": a condition may come first.
        ends = [n for n, one in enumerate(part.tokens) if one.kind == DIRECTION and one.value != ONLY]
        end = ends[0] if condition == 0 and ends else len(part.tokens)
        part.condition = " ".join(token.typed for token in part.tokens[condition:end] if token.typed)
        part.tokens = [*part.tokens[:condition], *part.tokens[end:]]
    for token in part.tokens:
        if token.kind in (AMOUNT, UNTIL, CAP, RULE) or (
            token.kind == DIRECTION and token.value in (ONLY, SO_MUCH)
        ):
            continue
        is_target = token.kind != DIRECTION
        if token.kind == WORD and token.text in FILLERS - TELLING and not (runs and runs[-1].is_target):
            if token.text in KIND_WORDS:
                runs.append(_Run(True, [token]))
            continue
        if runs and runs[-1].is_target == is_target:
            runs[-1].tokens.append(token)
        else:
            runs.append(_Run(is_target, [token]))
    runs = [run for run in runs if not run.is_target or _strip(run.tokens)[0] or _marks(run.tokens)]
    pairs = list(_pairs(runs))
    made = [_clause(part, words, target) for words, target in pairs]
    if len(made) == 1:
        # Together with the words around it: an amount, a count, a condition.
        made = [replace(made[0], span=part.bounds)]
    if len(made) == 1 and not made[0].direction:
        given = part.direction or ("" if made[0].only else before)
        return [replace(made[0], direction=given, inherited=bool(given) and not part.direction)]
    return made


def _without_courtesy(tokens: list[Token]) -> list[Token]:
    """Return the tokens without the "if" of "if there were more chess", or the "keep" of a rule."""
    if any(one.kind == RULE for one in tokens):
        # "Keep Gazette out of Today."
        tokens = [one for one in tokens if one.kind != CONDITION or not one.text.startswith("keep")]
    first = next((n for n, one in enumerate(tokens) if one.kind in (DIRECTION, CONDITION)), None)
    if first is None or tokens[first].text not in ("if", "when"):
        return tokens
    directed = {one.value for one in tokens[first:] if one.kind == DIRECTION}
    return [*tokens[:first], *tokens[first + 1 :]] if directed & {MORE, LESS} else tokens


def _is_about(tokens: Sequence[Token]) -> bool:
    return [token.text for token in tokens[:3]] in (["if", "it's", "about"], ["when", "it's", "about"])


def _marks(tokens: Sequence[Token]) -> bool:
    return any(token.text in LENGTHS for token in tokens)


def _pairs(runs: Sequence[_Run]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Yield (directions, target): "less of this" or "this less", in either order."""
    rows: list[tuple[list[Token], list[Token]]] = []
    leads = bool(runs) and (not runs[0].is_target or (len(runs) > 1 and runs[-1].is_target))
    directions: list[Token] = []
    for n, run in enumerate(runs):
        if run.is_target:
            following = runs[n + 1].tokens if not leads and n + 1 < len(runs) else []
            rows.append((following if not leads else directions, run.tokens))
            directions = []
        elif leads:
            directions = run.tokens
    if leads and directions:
        # Words after the last target belong to it: "use chess less". Or they have no target: "less, please".
        if rows:
            rows[-1] = ([*rows[-1][0], *directions], rows[-1][1])
        else:
            rows.append((directions, []))
    yield from rows


def _clause(part: _Part, directions: Sequence[Token], words: Sequence[Token]) -> Clause:
    target, about, subject, length = _strip(words)
    caps = [token.value for token in part.tokens if token.kind == CAP]
    days = [token for token in part.tokens if token.kind == UNTIL]
    amounts = {token.value for token in part.tokens if token.kind == AMOUNT}
    directed = [token.value for token in part.tokens if token.kind == DIRECTION]
    # A condition may have taken all tokens: "if at most two a day".
    own = [*directions, *words] or part.tokens
    bounds = (min(token.begin for token in own), max(token.end for token in own)) if own else part.bounds
    return Clause(
        direction=_direction(
            [token.value for token in directions],
            part.direction,
            so_much=SO_MUCH in directed,
            again=any(token.text == "again" for token in part.tokens),
        ),
        target=_phrase(target),
        begin=target[0].begin if target else bounds[0],
        end=target[-1].end if target else bounds[1],
        first=bounds[0],
        last=bounds[1],
        span=bounds,
        amount=SMALL if SMALL in amounts else BIG if BIG in amounts else USUAL,
        about=about,
        subject=subject,
        length=length,
        only=ONLY in directed and not directions,
        is_contrast=bool(part.direction) and not directions,
        until=days[0].day if days else None,
        dated=bool(days),
        halves=_halves(target),
        cap=caps[0].removeprefix("total ") if caps else "",
        is_total=bool(caps) and caps[0].startswith("total "),
        condition=part.condition,
        rule=_rule(part.tokens),
        limit=_limit(part, directed),
    )


def _phrase(tokens: Sequence[Token]) -> str:
    typed = [token.typed for token in tokens if token.typed]
    # "Apple apple apple" is said once.
    phrase = " ".join(word for n, word in enumerate(typed) if [word] != typed[n - 1 : n])
    head, _, subject = phrase.rpartition("-")
    return head if head and subject in _SUBJECTS else phrase


# The second half of a German compound that says that the first is a subject.
_SUBJECTS = frozenset({"thema", "themen", "ergebnisse", "nachrichten", "artikel", "beiträge", "news", "kram"})
_SUBJECTS |= {"meldungen", "geschichten", "sachen", "zeug", "posts", "texte"}
# After a target they begin what is told of it.
_TELLERS = frozenset({"i", "you", "we", "ich", "du", "wir"})


def _halves(tokens: Sequence[Token]) -> tuple[str, str, str] | None:
    """Return ("chess", "gazette", "from") of "chess from Gazette"; `None` for a target of one name."""
    for n, token in enumerate(tokens[1:-1], start=1):
        if token.kind == WORD and token.text in ("from", "by", "about", "in"):
            of, about = _strip(tokens[:n])[0], _strip(tokens[n + 1 :])[0]
            if not of or not about:
                return None
            halves = (_phrase(about), _phrase(of)) if token.text == "about" else (_phrase(of), _phrase(about))
            return (*halves, token.text)
    return None


def _limit(part: _Part, directed: Sequence[str]) -> str:
    """Return the code of a request in this part that settings cannot express; "" for none."""
    words = [token for token in part.tokens if token.kind in (WORD, NAME)]
    around = FILLERS | KIND_WORDS.keys() | LENGTHS
    telling = {token.typed for token in words if token.kind == NAME or token.text not in around}
    typed = " ".join(token.typed for token in part.tokens if token.typed)
    if is_question(typed, is_asked=part.is_asked):
        return QUESTION
    return limit_of(set(typed.split()), telling, typed, {*directed, part.direction} - {""})


def _direction(words: Sequence[str], given: str, *, so_much: bool, again: bool) -> str:
    """Combine several directions; `UNCLEAR` if they contradict each other."""
    found = set(words)
    if MISS in found:
        # "I don't want to miss": more. "I miss": more as well.
        return MORE
    if found - {WEAK}:
        found.discard(WEAK)
    if so_much and found & {NONE, AGAINST, NOT}:
        return LESS
    if not found:
        return given
    if found == {WEAK}:
        return UNMUTE if again else MORE
    if NOT in found:
        return AGAINST if found <= {NOT, AGAINST, WEAK} else UNCLEAR
    if found <= _NEGATIVE:
        # "Always this chess: I can't stand it."
        return NONE if NONE in found else found.pop() if len(found) == 1 else LESS
    for pair, means in _TOGETHER.items():
        if found == pair:
            return means
    return found.pop() if len(found) == 1 else UNCLEAR


_NEGATIVE = {LESS, NONE, AGAINST, REMOVE}
_TOGETHER = {
    frozenset({MORE, FRESHER}): FRESHER,
    frozenset({MORE, OLDER}): OLDER,
    frozenset({LESS, FRESHER}): OLDER,
    frozenset({LESS, OLDER}): FRESHER,
}


def _strip(tokens: Sequence[Token]) -> tuple[list[Token], str, bool, str]:
    """Return a target without the words around it, its kind and its length, if named."""
    # "The football news I hid" are football news.
    tellers = (n for n, one in enumerate(tokens[:-1]) if n and one.typed in _TELLERS)
    rest, about, subject, length = list(tokens[: next(tellers, len(tokens))]), "", False, ""
    while rest and rest[0].kind == WORD and rest[0].text in _BEFORE:
        word = rest[0].text
        if len(rest) == 1 and word not in FILLERS | LENGTHS:
            break
        about = KIND_WORDS.get(word, about)
        length = word if word in LENGTHS else length
        subject = subject or (bool(length or about) and word in SUBJECT_WORDS)
        rest.pop(0)
    while len(rest) > 0 and rest[-1].kind == WORD and (rest[-1].text in FILLERS | SUBJECT_WORDS):
        word = rest.pop().text
        subject = subject or word in SUBJECT_WORDS
    at = next((n for n, one in enumerate(tokens[:-1]) if one.kind == WORD and one.text in TELLING), None)
    if at is not None and rest in ([], [tokens[at]]) and tokens[at + 1].text not in KIND_WORDS:
        # "Good news", "opinion pieces": a wish. Each word alone would be another one.
        rest = list(tokens[at : at + 2])
    return rest, about, subject, length


_BEFORE = FILLERS | KIND_WORDS.keys() | LENGTHS | EVERY_WORDS


def target_special(target: str) -> str:
    """Return `FRESHER` or `OLDER` for a target that is an age, "all" for everything, else ""."""
    words = set(target.split())
    if words and words <= FRESH_WORDS:
        return FRESHER
    if words and words <= OLD_WORDS:
        return OLDER
    return "all" if words & EVERYTHING and words <= EVERYTHING | FILLERS else ""
