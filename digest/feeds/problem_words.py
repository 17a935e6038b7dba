"""What is wrong with a feed, whose fault it is, and what a reader can do, in plain sentences. Pure.

The stored message is for operators: it quotes the parser. A reader learns what that means.
"""

from typing import Final

from digest.feeds.entities import FETCH_PROBLEMS
from ranking.language import gettext as _
from ranking.language import gettext_noop, stored_text

# What is wrong, where the stored message is in the words of a parser.
_WHAT: Final = {
    "malformed": gettext_noop("This feed is damaged, so that no program can read it."),
    "entity_declaration": gettext_noop("This feed contains something that is not safe to read."),
    "too_deep": gettext_noop("This feed is built in a way that no program should have to read."),
    "too_complex": gettext_noop("This feed is built in a way that no program should have to read."),
    "parse_memory": gettext_noop("This feed is built in a way that no program should have to read."),
    "parse_timeout": gettext_noop("This feed is built in a way that no program should have to read."),
    "parse_crashed": gettext_noop("This feed is built in a way that no program should have to read."),
    "too_large": gettext_noop("This feed is larger than any feed should be."),
    "empty": gettext_noop("What comes from this address is empty."),
    "broken_response": gettext_noop("The publisher’s server answers with something that is no answer."),
    "not_a_feed": gettext_noop("What comes from this address is no feed, perhaps a web page."),
    "parse_unavailable": gettext_noop("This site could not read the feed."),
    "internal": gettext_noop("This site could not read the feed."),
}
_PUBLISHER: Final = gettext_noop("Only its publisher can mend that.")
_PUBLISHER_NOW: Final = gettext_noop("That is the publisher’s fault, and often over soon.")
_MOVED: Final = gettext_noop("The feed may have moved: look on the publisher’s site for “RSS”.")
_OURS: Final = gettext_noop("That is a fault of this site: tell whoever runs it.")
_OPERATOR: Final = gettext_noop("Whoever runs this site decides that.")
# Whose fault it is, and what helps.
_WHOSE: Final = {
    **dict.fromkeys(
        ("malformed", "entity_declaration", "too_deep", "too_complex", "too_large", "tls_failed"), _PUBLISHER
    ),
    **dict.fromkeys(
        ("parse_memory", "parse_timeout", "parse_crashed", "broken_response", "too_many_redirects"),
        _PUBLISHER,
    ),
    **dict.fromkeys(("empty", "http_500", "http_502", "http_503", "http_504", "timeout"), _PUBLISHER_NOW),
    **dict.fromkeys(("not_a_feed", "http_404"), _MOVED),
    **dict.fromkeys(("parse_unavailable", "internal", "no_network"), _OURS),
    "bad_port": _OPERATOR,
}
# What is odd about an answer that was read, by `Feed.note`.
_NOTES: Final = {
    "empty": gettext_noop("It answers, but its document has no entries."),
    "broken": gettext_noop("It answers, but its document is broken, so that entries may be missing."),
}


def note_words(note: str) -> str:
    """Return the sentence about a feed's `note`, "" without one."""
    return _(_NOTES[note]) if note else ""


def problem_words(code: str, message: str) -> str:
    """Return the sentences for a reader about a problem with its stable `code` and stored `message`."""
    what = _(_WHAT[code]) if code in _WHAT else stored_text(message, FETCH_PROBLEMS)
    return f"{what} {_(_WHOSE[code])}" if code in _WHOSE else what
