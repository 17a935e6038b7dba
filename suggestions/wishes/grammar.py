"""The grammar of wishes: from a sentence to clauses, each a direction, a target, a last day. Pure.

A sentence is cut into tokens. The reader's own names of several words become one token, last days are taken
out, and the rest is split at joining words. A clause without a direction takes that of the one before. A last
day at the end counts for all clauses that have none. Time grows only with the length.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import dropwhile, groupby, pairwise

from suggestions.changes.change import FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.wishes import lexicon
from suggestions.wishes.last_days import NUMBERS
from suggestions.wishes.limits import PAST, PRAISE, QUESTION, TASTE, is_question, limit_of, tells_no_effect
from suggestions.wishes.rule_words import OUT_OF_TODAY, SHELF
from suggestions.wishes.targets import MEANINGLESS, halves_of, phrase_of, target_strip
from suggestions.wishes.tokens import (
    AMOUNT,
    BETWEEN,
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
REASONS = lexicon.SETS["reasons"]
# After these a sentence begins, which does not go on with the direction of the one before.
STOPS = frozenset({".", "!", "?"})
_APART = STOPS | {"but", "while", "whereas", "yet"}


@dataclass(frozen=True, slots=True)
class Clause:
    """One wish before its target is looked up. `target` is the typed text, from `begin` to `end`.

    `direction` is "" if none was given, and `inherited` that of the clause before; `is_contrast` if it stands
    after "than" or "instead of". `about` is a word of
    `KIND_WORDS` before the target, or "". `halves` are the two names in "chess from Gazette", the possible
    source second, and the word between them. `condition` are the words of one. `rule` is one for
    a source, of `rule_words`. `limit` is a wish that settings cannot express, of `limits`. `keeps`: its
    condition names what should stay. `is_more`: a word for more is said, not only for liking.
    `is_apart`: a "but" or the end of a sentence is before it.
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
    condition: str = ""
    rule: str = ""
    limit: str = ""
    keeps: bool = False
    is_more: bool = False
    is_apart: bool = False
    span: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class _Part:
    """Tokens between two joining words, and the direction that a contrast gives them.

    `is_first`: a sentence begins, so the direction of the one before is not its own. `later` are the words of
    a first day that is not today. `is_asked`: a question mark follows somewhere. `leads`: no wish is before.
    `is_apart`: a "but" or the end of a sentence is before, over which no direction goes back.
    """

    direction: str = ""
    tokens: list[Token] = field(default_factory=list)
    condition: str = ""
    bounds: tuple[int, int] = (0, 0)
    is_first: bool = False
    later: str = ""
    is_asked: bool = False
    keeps: bool = False
    leads: bool = False
    is_apart: bool = False

    @property
    def directed(self) -> list[str]:
        """Return its directions, in order."""
        return [token.value for token in self.tokens if token.kind == DIRECTION]


def clauses_read(sentence: str, names: KnownNames, today: date) -> tuple[list[Clause], list[Token]]:
    """Return the clauses of `sentence`, in order, and its words that mean something, but for a reason's.

    `names` are the reader's own.
    """
    tokens = tokens_read(sentence, names, today)
    found: list[Clause] = []
    leading: Token | None = None
    telling: list[Token] = []
    later, is_reason = "", False
    for part in _parts(tokens):
        later = part.later or ("" if part.is_first else later)
        if not part.tokens:
            found = [replace(c, condition=c.condition or later) for c in found]
            continue
        part.condition, part.leads = later, not found
        before = found[-1].direction if found and not part.is_first else ""
        days = [token for token in part.tokens if token.kind == UNTIL]
        if days and all(one.kind not in (WORD, NAME, DIRECTION) or _is_filling(one) for one in part.tokens):
            # A day alone belongs to the words before it, or to those that follow.
            leading = None if found else days[0]
            found = [c if c.dated else replace(c, until=days[0].day, dated=True) for c in found]
            continue
        is_reason = _is_reason(part, is_reason)
        if is_reason or _is_self(part, names.own):
            continue
        if not found or found[-1].direction in _OPPOSITE:
            part.tokens = _nouns_apart(part.tokens)
        telling += filter(_is_telling, part.tokens)
        rule, *others = _rules(part.tokens) or [""]
        clauses = _clauses(part, before, names.own)
        if part.leads and part.condition and not clauses:
            # "When I'm away, no chess": for all that follows, until a sentence ends.
            later = "" if part.keeps else part.condition
            found += [_clause(part, (), ())] if part.keeps else []
            continue
        if not clauses and rule:
            # A count or a rule alone, "at most five a day", is a clause about nothing.
            clauses = [_clause(part, (), ())]
        if found and (part.condition or rule) and not any(clause.target for clause in clauses):
            found[-1:] = _bounded(found[-1], part, rule)
            continue
        if part.later and clauses and clauses[0].inherited:
            # "Mute chess and football after Friday."
            found = [replace(c, condition=c.condition or later) for c in found]
        found += _ruled_alike(found, clauses, part)
        found += [replace(c, rule=other) for other in others for c in clauses if c.target]
    if leading:
        found = [c if c.dated else replace(c, until=leading.day, dated=True) for c in found]
    return _until_last(_join(_direction_first(_rule_first(found)))), telling


def _bounded(clause: Clause, part: _Part, rule: str) -> list[Clause]:
    """Return a clause with the condition or the rule of the part after it, or both if it has another rule.

    "Less chess, except from Gazette." "Gazette, at most two a day." "Gazette, but not in Today."
    """
    if rule and clause.rule and _kind(rule) != _kind(clause.rule):
        # "At most two a day of Gazette, and nothing older than a day."
        return [clause, replace(clause, rule=rule, span=part.bounds)]
    span = clause.span[0], part.bounds[1]
    given = replace(clause, condition=part.condition, keeps=part.keeps)
    return [replace(given, rule=rule or clause.rule, span=span)]


def _is_reason(part: _Part, was_reason: bool) -> bool:
    """Return whether a part only says why: "because it's dull"."""
    typed = [token.typed for token in part.tokens]
    return (typed[0] in REASONS or (was_reason and not part.is_first)) and not part.directed


def _is_self(part: _Part, own: Set[str]) -> bool:
    """Return whether a part only says who the reader is, and names nothing of theirs."""
    typed = " ".join(token.typed for token in part.tokens)
    named = [one for one in part.tokens if one.kind == NAME or one.text in own]
    return bool(_SELF.match(typed)) and not named and {*part.directed} <= {NONE, lexicon.NOT}


# "I'm not a sports person", but not "I'm a fan of chess".
_SELF = re.compile(
    r"(?:i'm|i am|(?:ich )?bin)(?: \w+)?(?: not)? (?:an?|kein\w*|ein\w*) (?!.*\b(?:fan|freund)\b)"
)


def _nouns_apart(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a part; "more space", "more comics" name it if nothing else is named."""
    if any(_is_telling(one) or one.typed in lexicon.PRONOUNS for one in tokens):
        return tokens
    found = list[Token]()
    for token in tokens:
        way, _, noun = token.typed.partition(" ")
        is_named = token.typed in lexicon.SETS["nouns"] and found and found[-1].kind == DIRECTION
        found.append(replace(token, kind=NAME) if is_named else token)
        if noun in lexicon.SETS["room"]:
            begin = token.end - len(noun)
            found[-1:] = [
                replace(token, text=way, own=way, end=begin - 1),
                Token(WORD, noun, begin, token.end),
            ]
    return found


def _is_telling(token: Token) -> bool:
    is_word = token.kind == WORD and token.text not in MEANINGLESS
    return token.kind == NAME or (is_word and token.typed[:1].isalpha())


def _rules(tokens: Sequence[Token]) -> list[str]:
    """Return the rules of a part, one of a kind, a daily limit first."""
    rules = {_kind(token.value): token.value for token in reversed(tokens) if token.kind == RULE}
    return sorted(rules.values(), key=lambda rule: not rule.startswith(LIMIT))


def _kind(rule: str) -> str:
    return rule.partition(" ")[0]


def _ruled_alike(found: list[Clause], clauses: list[Clause], part: _Part) -> list[Clause]:
    """Return the clauses of a part, with the rule or the count of the one before if they have none."""
    if not found or part.is_first or not found[-1].rule:
        return clauses
    # "Never miss Gazette and Herald." "At most two a day of Gazette and Herald."
    rule = found[-1].rule
    numbers = [one.text for one in part.tokens if one.text in NUMBERS or one.text.isdecimal()]
    if numbers and rule.startswith(LIMIT):
        # "Gazette twice a day, Herald once."
        rule = f"{LIMIT} {numbers[0]}"
    return [replace(c, rule=rule) if not c.rule and (c.inherited or not c.direction) else c for c in clauses]


def _rule_first(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; the first ones get the rule after them, as in "a and b out of Today"."""
    found: list[Clause] = []
    for clause in reversed(clauses):
        after = found[-1] if found else None
        if after and after.rule and not clause.target and after.inherited:
            # "Nothing older than two days, from Gazette": one wish.
            found[-1] = replace(after, span=(clause.span[0], after.span[1]))
        elif after and after.rule and clause.rule and after.target and not clause.target:
            # "At most two a day and nothing older than a day of Gazette": both.
            found.append(replace(after, rule=clause.rule))
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
        is_pronoun = clause.target in lexicon.PRONOUNS or (
            not clause.target and not clause.limit and not clause.length
        )
        can_join = found and found[-1].target and found[-1].limit in ("", PRAISE, QUESTION)
        if can_join and not clause.target and _is_other_way(clause, found[-1].direction):
            # "Less football, more articles": the second half is no word about football.
            can_join = False
        if found and found[-1].limit == TASTE and is_pronoun and not clause.target:
            # "My ratings should count more, you ignore them": a complaint ends no wish.
            ways = (clause.direction, found[-1].direction)[:: -1 if clause.direction == NONE else 1]
            found[-1] = replace(found[-1], direction=ways[0] or ways[1])
        elif can_join and is_pronoun and found[-1].rule and not clause.rule and _is_own_way(clause):
            # "Gazette at most two a day, and less of it": two changes.
            of = found[-1]
            found.append(replace(clause, target=of.target, about=of.about, begin=of.begin, end=of.end))
        elif can_join and is_pronoun and clause.direction not in (FRESHER, OLDER):
            given = found[-1].direction if found[-1].direction not in ("", lexicon.WEAK) else clause.direction
            last = max(found[-1].last, clause.last)
            rule = found[-1].rule or clause.rule
            until = found[-1].until or clause.until
            found[-1] = replace(
                found[-1],
                direction=given,
                last=last,
                rule=rule,
                limit="",
                until=until,
                dated=found[-1].dated or clause.dated,
                condition=found[-1].condition or clause.condition,
                amount=clause.amount if found[-1].amount == USUAL else found[-1].amount,
            )
        elif clause.target not in lexicon.PRONOUNS or not clause.inherited:
            found.append(clause)
    return found


def _is_own_way(clause: Clause) -> bool:
    """Return whether a clause has a direction of its own, not one that only likes or that it inherits."""
    return clause.direction in (LESS, MORE, NONE) and not clause.inherited


def _is_other_way(clause: Clause, before: str) -> bool:
    """Return whether a clause without a target asks for another direction than the one before it."""
    is_unclear = clause.direction == lexicon.UNCLEAR and clause.is_more and before in _OPPOSITE
    return is_unclear or clause.direction in _OPPOSITE.get(before, ())


def _direction_first(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses; the first ones get the direction that follows a target, as in "a and b: less"."""
    given = next((n for n, clause in enumerate(clauses) if clause.direction), 0)
    if not given or clauses[given].first < clauses[given].begin:
        return clauses
    begin = max((n for n in range(given + 1) if clauses[n].is_apart), default=0)
    shared = [c if c.only else replace(c, direction=clauses[given].direction) for c in clauses[begin:given]]
    return [*clauses[:begin], *shared, *clauses[given:]]


def _until_last(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses, mutes without a day with the one that the sentence ends on.

    "I'm away until Sunday, no chess": also with the one of a beginning that wishes for nothing.
    """
    for n, (before, clause) in enumerate(pairwise(clauses), start=1):
        if clause.inherited and not clause.dated and clause.direction == NONE == before.direction:
            # "Until Sunday no chess and tennis."
            clauses[n] = replace(clause, until=clauses[n - 1].until, dated=clauses[n - 1].dated)
    ends = (*clauses[-1:], *clauses[:1])
    dated = [c for c in ends if c.dated and (c == clauses[-1] or not (c.direction and c.target))]
    if not dated:
        return clauses
    last = dated[0]
    return [
        c if c.dated or c.direction != NONE else replace(c, until=last.until, dated=True) for c in clauses
    ]


def _parts(tokens: Sequence[Token]) -> list[_Part]:
    parts = [_Part()]
    for token in tokens:
        if token.typed in ("because", "weil") and parts[-1].tokens:
            parts.append(_Part())
        values = {one.value for one in parts[-1].tokens}
        leads = len(parts) == 2 and parts[1].direction == LESS and not parts[0].tokens and parts[1].tokens
        if leads and (token.kind == BETWEEN or token.value in (lexicon.WEAK, MORE) or token.text == "please"):
            # "Instead of chess rather tennis."
            parts.append(_Part(MORE, [token] if token.kind == DIRECTION else []))
        elif token.kind != BETWEEN or (token.value == lexicon.THAN and not values & {lexicon.WEAK, MORE}):
            parts[-1].tokens.append(token)
        elif token.value in (lexicon.CONTRAST, lexicon.THAN):
            if DIRECTION not in {one.kind for one in parts[-1].tokens}:
                parts[-1].direction = MORE
            parts.append(_Part(LESS))
        elif parts[-1].tokens:
            parts.append(_Part(is_first=token.text in STOPS, is_apart=token.text in _APART))
        else:
            parts[-1].is_first = parts[-1].is_first or token.text in STOPS
            parts[-1].is_apart = parts[-1].is_apart or token.text in _APART
    for part in parts:
        part.is_asked = any(token.text == "?" for token in tokens)
        if part.tokens:
            part.bounds = min(one.begin for one in part.tokens), max(one.end for one in part.tokens)
            part.later = " ".join(one.text for one in part.tokens if one.kind == START)
            part.tokens = [one for one in part.tokens if one.kind != START]
    return [part for part in parts if part.tokens or part.later]


def _clauses(part: _Part, before: str, own: Set[str]) -> list[Clause]:
    """Return the clauses of one part: directions and targets in turns, paired in the order they began.

    `own` are words that name something of the reader's.
    """
    part.tokens = _without_courtesy(part.tokens)
    if part.tokens and (limit := _limit(part)):
        return [_limited(part, limit)]
    _take_condition(part)
    # Alternately directions and words of a target, the first ones if `True`.
    runs: list[tuple[bool, list[Token]]] = []
    left_out = (lexicon.ONLY, lexicon.SO_MUCH)
    tokens = [
        one for one in part.tokens if one.kind not in (AMOUNT, UNTIL, RULE) and one.value not in left_out
    ]
    for is_way, group in groupby(tokens, key=lambda one: one.kind == DIRECTION):
        run = [*dropwhile(_is_filling, group)]
        if is_way and runs and runs[-1][0]:
            runs[-1][1].extend(run)
        elif is_way or target_strip(run)[0] or any(one.text in lexicon.LENGTHS for one in run):
            runs.append((is_way, run))
    named = [not is_way and any(one.kind == NAME or one.text in own for one in run) for is_way, run in runs]
    targets = sum(not is_way for is_way, _ in runs)
    if any(named) and targets * 2 > len(runs) and NONE not in part.directed:
        # "Put Gazette higher on display": words with no direction of their own are left over.
        runs = [run for run, is_named in zip(runs, named, strict=True) if is_named or run[0]]
    made = [_clause(part, words, target) for words, target in _pairs(runs)]
    if len(made) == 1:
        # Together with the words around it: an amount, a count, a condition.
        made = [replace(made[0], span=part.bounds)]
    if len(made) == 1 and not made[0].direction:
        given = part.direction or ("" if made[0].only else before)
        return [replace(made[0], direction=given, inherited=bool(given) and not part.direction)]
    return made


def _is_filling(token: Token) -> bool:
    around = lexicon.FILLERS - lexicon.TELLING - lexicon.KIND_WORDS.keys()
    return token.kind == WORD and token.text in around


def _limited(part: _Part, limit: str) -> Clause:
    """Return the clause of a part that asks for what settings cannot express."""
    fillers = lexicon.FILLERS
    words = [one for one in part.tokens if one.kind == NAME or (one.kind == WORD and one.text not in fillers)]
    made = _clause(part, [one for one in part.tokens if one.kind == DIRECTION], words)
    ways = [way for way in (NONE, lexicon.AGAINST, LESS, MORE) if way in part.directed]
    ways += [NONE for one in part.tokens if one.text in _NEGATIONS]
    # "Follow my ratings less": how much they count is said by the words for how much.
    way = ways[0] if limit == TASTE and ways else made.direction
    if limit == TASTE and way == NONE and tells_no_effect(one.typed for one in part.tokens):
        way = MORE
    is_soft = {"so", "that"} & {one.typed for one in part.tokens} or lexicon.SO_MUCH in part.directed
    if limit == TASTE and way == NONE and is_soft:
        # "My ratings are not so important."
        way = LESS
    return replace(made, span=part.bounds, direction=way, limit=limit)


def _take_condition(part: _Part) -> None:
    """Move the words of a condition out of the tokens of a part."""
    tokens = part.tokens
    at = next((n for n, one in enumerate(tokens) if one.kind == CONDITION), None)
    if at is None:
        return
    about = [one.text for one in tokens[at : at + 3]]
    if about in (["if", "it's", "about"], ["when", "it's", "about"]) and part.leads:
        # "If it's about chess, hide it" is no more than "hide chess".
        part.tokens = [*tokens[:at], *tokens[at + 2 :]]
        return
    # "In the mornings no politics": a condition may come first.
    ways = [n for n, one in enumerate(tokens) if one.kind == DIRECTION and one.value != lexicon.ONLY]
    ways = ways or [n for n, one in enumerate(tokens) if one.value == lexicon.ONLY and n > at + 1]
    part.keeps = tokens[at].value == lexicon.KEEPS
    end = ways[0] if at == 0 and ways and not part.keeps else len(tokens)
    # "Chess can stay": what is kept stands before the verb.
    at = 0 if part.keeps and at + 1 == end else at
    part.condition = " ".join(one.typed for one in tokens[at:end] if one.typed)
    part.tokens = [*tokens[:at], *tokens[end:]]


def _without_courtesy(tokens: list[Token]) -> list[Token]:
    """Return the tokens without the "if" of "if there were more chess", or the "keep" of a rule."""
    if any(one.kind == RULE for one in tokens):
        # "Keep Gazette out of Today." "Keep it to two a day."
        tokens = [one for one in tokens if one.value != lexicon.KEEPS and one.text not in ("if", "when")]
    first = next((n for n, one in enumerate(tokens) if one.kind in (DIRECTION, CONDITION)), None)
    if first is None or tokens[first].text not in ("if", "when"):
        return tokens
    directed = {one.value for one in tokens[first:] if one.kind == DIRECTION}
    would = directed and not lexicon.SETS["wishing"].isdisjoint(one.typed for one in tokens)
    return [*tokens[:first], *tokens[first + 1 :]] if would or directed & {MORE, LESS} else tokens


def _pairs(runs: Sequence[tuple[bool, list[Token]]]) -> list[tuple[list[Token], list[Token]]]:
    """Return (directions, target) of each target: "less of this" or "this less", in either order."""
    leads = bool(runs) and (runs[0][0] or (len(runs) > 1 and not runs[-1][0]))
    rows: list[tuple[list[Token], list[Token]]] = []
    for n, (is_way, tokens) in enumerate(runs):
        beside = runs[n - 1 : n] if leads else runs[n + 1 : n + 2]
        if not is_way:
            rows.append((beside[0][1] if beside and beside[0][0] else [], tokens))
    if leads and runs[-1][0]:
        # Words after the last target belong to it: "use chess less". Or they have no target: "less, please".
        directions, target = rows.pop() if rows else ([], [])
        rows.append(([*directions, *runs[-1][1]], target))
    return rows


def _clause(part: _Part, directions: Sequence[Token], words: Sequence[Token]) -> Clause:
    target, about, subject, length = target_strip(words)
    if any(one.value == LESS for one in directions):
        # "Mach weniger Apple rein."
        directions = [one for one in directions if one.typed not in ("rein", "her")]
    days = [token for token in part.tokens if token.kind == UNTIL]
    amounts = {token.value for token in part.tokens if token.kind == AMOUNT}
    # A condition may have taken all tokens: "if at most two a day".
    own = [*directions, *words] or part.tokens
    bounds = (min(token.begin for token in own), max(token.end for token in own)) if own else part.bounds
    return Clause(
        direction=_direction(
            [token.value for token in directions],
            part.direction,
            so_much=lexicon.SO_MUCH in part.directed,
            again=any(token.text == "again" for token in part.tokens),
            negated=any(token.text in _NEGATIONS for token in part.tokens),
            doubly=_is_denied(part.tokens),
        ),
        target=phrase_of(target),
        begin=target[0].begin if target else bounds[0],
        end=target[-1].end if target else bounds[1],
        first=bounds[0],
        last=bounds[1],
        span=bounds,
        amount=SMALL if SMALL in amounts else BIG if BIG in amounts else USUAL,
        about=about,
        subject=subject,
        length=length,
        only=lexicon.ONLY in part.directed and not directions,
        is_more=MORE in {token.value for token in directions},
        is_contrast=bool(part.direction) and not directions,
        until=days[0].day if days else None,
        dated=bool(days),
        halves=halves_of(target),
        condition=part.condition,
        rule=next(iter(_rules(part.tokens)), ""),
        keeps=part.keeps,
        is_apart=part.is_apart,
    )


def _limit(part: _Part) -> str:
    """Return the code of a request in this part that settings cannot express; "" for none."""
    words = [token for token in part.tokens if token.kind in (WORD, NAME)]
    around = lexicon.FILLERS | lexicon.KIND_WORDS.keys() | lexicon.LENGTHS
    telling = {token.typed for token in words if token.kind == NAME or token.text not in around}
    typed = " ".join(token.typed for token in part.tokens if token.typed)
    directions = {*part.directed, part.direction} - {""}
    limit = limit_of(set(typed.split()), telling, typed, directions)
    # "What did I miss?" has an answer of its own.
    asks = limit != PAST and is_question(typed, directions, is_asked=part.is_asked)
    return QUESTION if asks else limit


def _direction(
    words: Sequence[str], given: str, *, so_much: bool, again: bool, negated: bool, doubly: bool
) -> str:
    """Combine several directions; `UNCLEAR` if they contradict each other, or if less is denied."""
    found = set(words)
    if lexicon.MISS in found:
        # "I don't want to miss": more. "I miss": more as well. "I don't miss": who knows.
        return lexicon.UNCLEAR if (negated or lexicon.NOT in found) and NONE not in found else MORE
    if found - {lexicon.WEAK}:
        found.discard(lexicon.WEAK)
    if given == LESS and found <= {FRESHER, OLDER} and len(found) == 1:
        # "Rather today's than older ones."
        return OLDER if FRESHER in found else FRESHER
    if found and given == LESS:
        # "Instead of hiding chess", "rather than less chess": what is not wished is no wish for the opposite.
        return lexicon.UNCLEAR
    if so_much and found & {NONE, lexicon.AGAINST, lexicon.NOT}:
        return LESS
    if not found:
        return given
    if found == {lexicon.WEAK}:
        return UNMUTE if again else lexicon.AGAINST if negated else MORE
    if lexicon.NOT in found:
        return lexicon.AGAINST if found <= {lexicon.NOT, lexicon.AGAINST, lexicon.WEAK} else lexicon.UNCLEAR
    if found <= _NEGATIVE:
        # "Always this chess: I can't stand it." But not "never less chess".
        if doubly:
            return lexicon.UNCLEAR
        return NONE if NONE in found else found.pop() if len(found) == 1 else LESS
    for pair, means in _TOGETHER.items():
        if found == pair:
            return means
    return found.pop() if len(found) == 1 else lexicon.UNCLEAR


def _is_denied(tokens: Sequence[Token]) -> bool:
    """Return whether the tokens deny less, as in "never less chess", or only, as in "not only chess"."""
    ways = [one for one in tokens if one.kind == DIRECTION]
    return any(
        one.value == NONE
        and (other.value == lexicon.ONLY or (other.value == LESS and other.text.split()[0] in _LESSENED))
        for one, other in pairwise(ways)
    )


_OPPOSITE = {MORE: (LESS, NONE), LESS: (MORE,), NONE: (MORE,)}
_NEGATIVE = {LESS, NONE, lexicon.AGAINST, REMOVE}
# With one of them elsewhere in a part, liking is the opposite: "I don't think Gazette is great".
_NEGATIONS = lexicon.SETS["negations"]
_LESSENED = lexicon.SETS["lessened"]
_TOGETHER = {
    frozenset({MORE, UNMUTE}): MORE,
    frozenset({MORE, FRESHER}): FRESHER,
    frozenset({MORE, OLDER}): OLDER,
    frozenset({LESS, FRESHER}): OLDER,
    frozenset({LESS, OLDER}): FRESHER,
    frozenset({NONE, OLDER}): FRESHER,
    frozenset({NONE, FRESHER}): FRESHER,
    frozenset({REMOVE, FRESHER}): FRESHER,
}
