"""Wishes that settings cannot express, each with a sentence that says so. Pure."""

from collections.abc import Set

from ranking.language import gettext_noop

PICTURES, LANGUAGE, PAYWALL, SEEN, DAY = "pictures", "language", "paywall", "seen", "day"
VARIETY, RESET, COUNT, QUESTION = "variety", "reset", "count", "question"
# The words that name each, before the bar, and those that may stand around them.
_NAMED = {
    PICTURES: "pictures picture images photos video videos bilder fotos bild | headlines",
    LANGUAGE: "english german french spanish deutsch deutsche deutschen englisch englische | language",
    PAYWALL: "paywall paywalls paywalled bezahlartikel bezahlschranke paywall-artikel | behind",
    SEEN: "read seen gelesen gelesene gesehen repeats doppelt | already schon bereits known",
    VARIETY: """
        varied variety diverse diversity mixed surprise surprises abwechslung vielfalt vielfältiger vielfältig
        überrasch überrasche überraschen mischen gemischt same derselben selben | source quelle row often too
        many hintereinander
        """,
    DAY: "today yesterday yesterday's heute gestern gestrige gestrigen |",
    RESET: "reset zurücksetzen | settings everything all alles",
}
LIMITS = {
    PICTURES: gettext_noop(
        "Settings cannot choose articles by their pictures. Display says whether pictures are loaded."
    ),
    LANGUAGE: gettext_noop("Settings knows nothing of an article’s language. Mute the sources instead."),
    PAYWALL: gettext_noop("Settings cannot tell which articles cost money. Mute the source instead."),
    SEEN: gettext_noop("Settings has a switch to leave out what you have read or rated."),
    VARIETY: gettext_noop("Today already mixes your sources; no setting adds variety."),
    DAY: gettext_noop(
        "Settings cannot leave out a day. A source can have a shelf life: “nothing older than two days from "
        "Gazette”."
    ),
    RESET: gettext_noop("Settings keeps every version: choose there which one to go back to."),
    COUNT: gettext_noop("Settings cannot limit how many articles a day there are in all."),
    QUESTION: gettext_noop("That is a question, not a wish. Settings shows what I go by."),
}
ASKING = frozenset({"what", "why", "how", "who", "was", "warum", "wieso", "wer"})


def limit_of(words: Set[str], telling: Set[str]) -> str:
    """Return the code of an impossible wish in `words`, or "". `telling` are the words without fillers."""
    for code, text in _NAMED.items():
        keys, _, around = text.partition("|")
        if words & set(keys.split()) and telling <= {*keys.split(), *around.split()}:
            return code
    return ""
