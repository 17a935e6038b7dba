"""Django's translation tags: whole numbers get the thousands separator of the language, and texts are faster.

A page of items has about seven hundred of them. Lazy texts, filters and template contexts took a fifth of the
page's processor time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.template import Context, Library, Node
from django.template.base import FilterExpression, Parser, Token, Variable, render_value_in_context
from django.templatetags import i18n
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext, pgettext

from ranking.language import thousands

register = Library()
register.tags.update(i18n.register.tags)


# {language: {(text, context): translation}}. It grows to the number of texts marked in templates.
_memos: dict[str, dict[tuple[str, str], SafeString]] = {}


def words_forget() -> None:
    """Clear the cache of translations, for tests that exchange catalogues."""
    _memos.clear()


def _lookup(context: Context, text: str, about: str = "") -> SafeString:
    """Return `text` in the language of this rendering. `about` is its message context."""
    memo: dict[tuple[str, str], SafeString] | None = getattr(context, "words_in_force", None)
    if memo is None:
        memo = _memos.setdefault(get_language() or "", {})
        context.words_in_force = memo  # type: ignore[attr-defined]
    found = memo.get((text, about))
    if found is None:
        found = memo[text, about] = SafeString(pgettext(about, text) if about else gettext(text))
    return found


@dataclass(slots=True)
class _Constant(Node):
    """A constant text marked for translation."""

    text: str
    about: str

    def render(self, context: Context) -> SafeString:
        """Return the text in the active language."""
        return _lookup(context, self.text, self.about)


class _WithValues(Node):
    """A text marked for translation, with values but without plural."""

    def __init__(self, text: str, values: Mapping[str, FilterExpression]) -> None:
        self.text, self.values = text, values

    def render(self, context: Context) -> SafeString:
        """Return the text in the active language with its values, escaped as a template would."""
        found = {name: _shown(value.resolve(context), context) for name, value in self.values.items()}
        return SafeString(str(_lookup(context, self.text)) % found)


class _Counted(Node):
    """A text marked for translation in singular and plural. `values` has its count, too, if it shows it."""

    def __init__(
        self, texts: tuple[str, str], count: FilterExpression, values: Mapping[str, FilterExpression]
    ) -> None:
        self.texts, self.count, self.values = texts, count, values

    def render(self, context: Context) -> SafeString:
        """Return the form that goes with the count, with its values, escaped as a template would."""
        found = {name: _shown(value.resolve(context), context) for name, value in self.values.items()}
        return SafeString(ngettext(*self.texts, self.count.resolve(context)) % found)


def _shown(value: object, context: Context) -> str:
    """Return a value as a text shows it. A number that is no count comes as text, from a filter."""
    if isinstance(value, int) and not isinstance(value, bool):
        return thousands(value)
    return str(render_value_in_context(value, context))


def translate(parser: Parser, token: Token) -> Node:
    """Parse the tag `translate`. Constant texts get a faster node; all others get Django's."""
    node = i18n.do_translate(parser, token)
    assert isinstance(node, TranslateNode)
    expression = node.filter_expression
    text = expression.var.literal if isinstance(expression.var, Variable) else expression.var
    context = node.message_context
    named = context.var if context is not None and not context.filters else ""
    plain = not (expression.filters or node.noop or node.asvar)
    if not isinstance(text, str) or not plain or "%" in text or not isinstance(named, str):
        return node
    return _Constant(text, str(named))


def blocktranslate(parser: Parser, token: Token) -> Node:
    """Parse the tag `blocktranslate`. Texts with options other than values and a count get Django's node."""
    node = i18n.do_block_translate(parser, token)
    assert isinstance(node, BlockTranslateNode)
    if node.message_context or node.trimmed or node.asvar:
        return node
    text, names = node.render_token_list(node.singular)
    plural, others = node.render_token_list(node.plural) if node.plural else ("", [])
    known = {**node.extra_context, **({node.countervar: node.counter} if node.countervar else {})}
    given = {name: known.get(name) or parser.compile_filter(name) for name in {*names, *others}}
    return _Counted((text, plural), node.counter, given) if node.counter else _WithValues(text, given)


register.tag("translate", translate)
register.tag("blocktranslate", blocktranslate)
