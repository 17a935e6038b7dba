"""What a rating, or asking for more like an article, changes and from when, said at once."""

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from digest.requests import reader_of
from ranking.selectors import config_effective
from ranking.taste.entities import TasteLevel


def effect_words(request: HttpRequest, *, more: bool, named: bool = True) -> SafeString:
    """Return as HTML what a rating changes, or that an article was `named` for more like it.

    If the reader's ratings order their page, it has the way to see that now, else the way to let them.
    """
    taste = config_effective(reader_id=reader_of(request).pk).config.taste
    context = {"more": more, "named": named, "counts": taste is not TasteLevel.OFF}
    return render_to_string("digest/_effect_words.html", context, request)
