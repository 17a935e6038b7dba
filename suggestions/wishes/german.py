"""German wishes: replace their words by those of the English grammar, and keep the rest as typed. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ranking.common.text import fold
from suggestions.wishes.lexicon import FILLERS, PHRASES

# Each English phrase with the German ones for it. A filler has no meaning for the wish.
_TABLE = """
more: mehr | mehr von | noch mehr | häufiger | öfter
too much: zu viel | zu viele | zu oft
not enough: zu wenig | nicht genug | zu selten
less often: weniger oft | nicht so häufig
less: weniger | seltener | reduzier | reduziere | verringere
enough of: genug von | die nase voll von | die schnauze voll von | müde von
too much: hängt mir zum hals raus | hängt mir zum hals heraus | hängen mir zum hals raus | satt
too much: hängen mir zum hals heraus
enough of: es leid
not so much: nicht so viel | nicht so viele | nicht so oft | nicht ganz so viel
no: kein | keine | keinen | keiner | keinem | keinerlei
no more: nicht mehr | nie mehr | nie wieder | nimmer
nothing: nichts | nix
without: ohne
hide: versteck | verstecke | verstecken | verbirg | blende | blend | ausblenden | stummschalten | stumm
out of: verschone mich mit | verschon mich mit | lass mich in ruhe mit
out of: keine lust auf | keine lust mehr auf | kein interesse an | gar kein interesse an
stop: stopp | stoppe | schluss mit
hide: weg | weglassen | rauslassen | raus
like: liebe | mag | find | lese gern | lese gerne | super | toll | klasse | gefällt mir | fan von
want: will | möchte | hätte gern | hätte gerne | würde gern | würde gerne | wünsche mir | brauche
interested in: interessiere mich für | interessier mich für | verfolge
care about: interessiert mich | interessieren mich | mich interessiert | mich interessieren
don't care about: interessiert mich nicht | interessieren mich nicht | ist mir egal | sind mir egal
hate: hasse | nervt | nerven | kann nicht leiden | langweilt mich | langweilen mich
rather: lieber | eher
prefer: bevorzuge
more important than: wichtiger als
than: als
instead of: statt | anstatt | anstelle von
only: nur | nur noch | ausschließlich
unmute: wieder anzeigen | wieder zeigen | wieder einblenden | nicht mehr ausblenden | nicht länger ausblenden
again: wieder
miss: verpassen | verpass | verpasse
want everything: alles von | jeden artikel von | jeden beitrag von
and: und | sowie | außerdem
but: aber | dafür | jedoch | sondern | dagegen
or: oder
mostly: vor allem | besonders | hauptsächlich
a bit: etwas | ein bisschen | ein wenig | bisschen | leicht
much: viel | deutlich | wesentlich
if possible: ohne ausnahme | um jeden preis | ab sofort | ab jetzt | von jetzt an
for a week: die ganze woche | ganze woche
out of: verschone mich | verschon mich
newest first: neueste zuerst | neuestes zuerst | das neueste zuerst | das neuste zuerst | aktuelles zuerst
newer: neuer | aktueller | aktuellere | neuere
older: älter | ältere | älteres | länger da
stale too quickly: veralten zu schnell | altern zu schnell | verschwinden zu schnell
not only today's: nicht nur von heute | nicht nur heutige | nicht nur heutiges
at most: höchstens | maximal | nicht mehr als | bis zu
fewer than: weniger als
a day: am tag | pro tag | täglich | jeden tag | am tage
a week: pro woche | in der woche | wöchentlich
until: bis | bis zum | bis zur
for: für
for the rest of the: den rest der | den rest des | für den rest der | für den rest des
for the next: die nächsten | in den nächsten | für die nächsten
this: diese | diesen | dieses | dieser | diesem
new year: neujahr | silvester | jahresende
if it's about: wenn es um | falls es um | sobald es um
when: wenn | falls | sofern | solange
unless: außer | es sei denn | ausgenommen
at the weekend: am wochenende | nur am wochenende
about: über | zum thema | zu den themen | rund um | in sachen
from: von | vom | aus
in: in | im | bei | beim
topic: thema
word: wort
long: lange | langen | langer | langes | längere
short: kurze | kurzen | kurzer | kurzes | kürzere
don't recommend: empfiehl keine | empfiehl mir keine
source: quelle
author: autor | autorin
category: kategorie | rubrik
everything: alles | alle
good: gute | guten | gutes
stories: artikel | beiträge | beitrag | meldungen | geschichten | sachen | dinge | zeug | kram | ergebnisse
news: nachrichten | neuigkeiten
something: irgendwas
please: bitte | der | die | das | den | dem | des | ich | mir | mich | uns | du | dir | es | sie | ist | sind
show: zeig | zeige | zeigt
please: zeigen | anzeigen | sehen | lesen | hören | leiden | haben | hätte | gern
please: gerne | könntest | kannst | könnte | kann | würde | würdest | wäre | werden | soll | sollen | gib
please: bring | geht | noch | mal | doch | auch | so | gar | ja | jetzt | am | zu | zur | zum
please: ich habe | ich hab | ich bin | habe ich | hab ich | bin ich
please: mit | für mich | hallo | hi | hey | moin | servus | danke | vielen dank | tidings | davon | dazu
please: darüber | hier | da | los | ganze | ganzen | ständige | ständig | dauernd | wirklich | echt | einfach
please: immer | finde | nicht länger | schalte | schalt | lass | ganz | bunter | um | man | wie | dass | mein
please: halte | halt | nimm | auftauchen | erscheinen | landen | stehen
please: meine | meiner | sehr | zwar | dauerhaft | für immer | weil | schalten | ehrlich | im ernst
please: wär | endgültig | ein für alle mal | ein für allemal | auf dauer
please: komplett | völlig | generell | unbedingt | sofort
starting: ab
after: nach
limit: begrenze | begrenz | beschränke | beschränk | limitiere
is enough: reicht | reichen | genügt | genügen | ist genug | sind genug
"""
# Words of days and numbers, each with its English one.
_PAIRS = """
    nächste next nächsten next nächster next
    nächstem next woche week wochen week monat month monate month monaten
    month monats month tag day tage day tagen day jahr year jahre year jahres year wochenende weekend
    wochenendes weekend ende end heute today morgen tomorrow weihnachten christmas montag monday
    dienstag tuesday mittwoch wednesday donnerstag thursday freitag friday samstag saturday sonnabend
    saturday sonntag sunday januar january februar february märz march mai may juni june juli july
    oktober october dezember december ein a eine a einen a einem a einer a zwei two drei three vier four
    einmal once zweimal twice dreimal three fünf five sechs six sieben seven acht eight neun nine zehn ten
"""
_ROWS = _PAIRS.split()
GERMAN = {
    tuple(fold(typed).split()): tuple(english.split())
    for line in _TABLE.strip().splitlines()
    for english, _, row in [line.partition(": ")]
    for typed in row.split(" | ")
} | {(fold(typed),): (english,) for typed, english in zip(_ROWS[::2], _ROWS[1::2], strict=True)}
GERMAN |= {
    ("am", *typed): ("on", *day)
    for typed, day in GERMAN.items()
    if day[0].endswith("day") and len(day[0]) > 3
}
_LONGEST = max(map(len, GERMAN))
GERMAN_WORDS = {word for phrase in GERMAN for word in phrase}
_ENGLISH = (FILLERS | {word for phrase in PHRASES for word in phrase}) - {"a"}
_NEGATIVE = {"no", "nothing", "without"}
_ENDS = {"and", "but", "or", ",", ";", ".", "!", "?"}
# "Blende … aus", "schalte … stumm": the second half of a verb, at the end.
_HALVES = {"aus", "ab"}
_SPLIT = {"blende", "blend", "schalte", "schalt"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word for the grammar, with the words that were typed for it."""

    text: str
    own: str


def is_german(words: Iterable[str]) -> bool:
    """Return whether as many of `words` are German words of wishes as are English ones, and any is."""
    found = list(words)
    german = sum(word in GERMAN_WORDS and word not in _ENGLISH for word in found)
    return german > 0 and german >= sum(word in _ENGLISH and word not in GERMAN_WORDS for word in found)


def german_words(words: Sequence[str]) -> list[tuple[list[Word], int]]:
    """Return rows of (words for the grammar, number of `words` they stand for), in order; "" is a name."""
    rows: list[tuple[list[Word], int]] = []
    at, negative = 0, False
    while at < len(words):
        read = next(
            (n for n in range(min(_LONGEST, len(words) - at), 0, -1) if tuple(words[at : at + n]) in GERMAN),
            1,
        )
        typed = " ".join(words[at : at + read])
        english = GERMAN.get(tuple(words[at : at + read]), (words[at],))
        if english[0] in _ENDS:
            negative = False
        elif (english == ("more",) and negative) or (typed in _HALVES and _SPLIT & set(words[:at])):
            # "Keine … mehr" is no more than "keine …".
            english = ("please",)
        elif typed == "lang":
            _span(rows)
            english = ("please",)
        negative = negative or english[0] in _NEGATIVE
        rows.append(([Word(word, typed if n == 0 else "") for n, word in enumerate(english)], read))
        at += read
    return rows


def _span(rows: list[tuple[list[Word], int]]) -> None:
    """Put "for" before the last two words: "eine Woche lang" is for a week."""
    if len(rows) > 1:
        words, read = rows[-2]
        rows[-2] = ([Word("for", ""), *(replace(word) for word in words)], read)
