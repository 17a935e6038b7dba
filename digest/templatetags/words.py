"""Django's tags for translation, quicker where a text is constant, as nearly all are.

A list of items has some seven hundred: through lazy texts, filters and contexts of their own they took
a fifth of the page's processor time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.template import Context, Library, Node
from django.template.base import FilterExpression, Parser, Token, Variable, render_value_in_context
from django.templatetags import i18n
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext

register = Library()
register.tags.update(i18n.register.tags)


# By language, what each marked text of a template is in it; as many as templates mark.
_memos: dict[str, dict[tuple[str, str], SafeString]] = {}


def words_forget() -> None:
    """Forget what was looked up, for tests that exchange catalogues."""
    _memos.clear()


def _looked_up(context: Context, text: str, about: str = "") -> SafeString:
    """Return `text`, as it is used in `about`, in the language in which this context is rendered."""
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
    """A marked text."""

    text: str
    about: str

    def render(self, context: Context) -> SafeString:
        """Return the text in the language in force."""
        return _looked_up(context, self.text, self.about)


class _WithValues(Node):
    """A marked text with values in it, none of them a number that asks for a plural."""

    def __init__(self, text: str, values: Mapping[str, FilterExpression]) -> None:
        self.text, self.values = text, values

    def render(self, context: Context) -> SafeString:
        """Return the text in the language in force with its values, escaped as those of a template are."""
        found = {
            name: render_value_in_context(value.resolve(context), context)
            for name, value in self.values.items()
        }
        return SafeString(str(_looked_up(context, self.text)) % found)


def translate(parser: Parser, token: Token) -> Node:
    """Mark a text; see Django's tag of the same name."""
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
    """Mark a text with values; see Django's tag of the same name."""
    node = i18n.do_block_translate(parser, token)
    assert isinstance(node, BlockTranslateNode)
    special = node.countervar or node.plural or node.message_context or node.trimmed or node.asvar
    if special:
        return node
    text, names = node.render_token_list(node.singular)
    given = {name: node.extra_context.get(name) or parser.compile_filter(name) for name in names}
    return _WithValues(text, given)


register.tag("translate", translate)
register.tag("blocktranslate", blocktranslate)
