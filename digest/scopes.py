"""What a personal token may do: decided here, from the method and the address alone. Pure.

Reading needs `read`; a reader's own responses to items (thumb, read, saved) need `rate`; everything else
that changes something needs `full`, and so does whatever only operators may see.
"""

import re

READ, RATE, FULL = "read", "rate", "full"
SCOPES = (READ, RATE, FULL)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# A reader's response to one item, and nothing below or beside it.
_RESPONSES = re.compile(r"^/api/items/\d+/(feedback|read|save|saved)/?$")
# What only operators get to see, whoever they are besides.
_OPERATORS = re.compile(r"^/api/(admin|costs|debug|metrics)(/|$)")


def scope_needed(method: str, path: str) -> str:
    """The least scope for a request with this method to this path (from the site's root, without a query)."""
    if _OPERATORS.match(path):
        return FULL
    if method.upper() in SAFE:
        return READ
    return RATE if _RESPONSES.match(path) else FULL


def scope_allows(scope: str, needed: str) -> bool:
    """Whether a token of `scope` may do what needs `needed`; each scope includes those before it."""
    return SCOPES.index(scope) >= SCOPES.index(needed)
