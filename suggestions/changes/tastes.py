"""The order of the page by a reader's own thumbs: order_by_taste. Pure.

It is about the whole page, so every rated item is about it. It may be suggested if the reader's thumbs can be
predicted from those of other days (`suggestions.planner.by_taste`).
"""

from ranking.config_body import Body
from ranking.entities import EffectiveConfig
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.taste.entities import TasteLevel
from suggestions.changes.change import ORDER, Change, Field, Kind, State, Texts
from suggestions.changes.pages import PAGE_LABEL, PageKind
from suggestions.proposals import Draft, Facts, Refusal

PAGE = "page"
_LEVELS = (str(TasteLevel.ON), str(TasteLevel.STRONG))


class TasteKind(PageKind):
    """A change of how much the reader's own taste may change the order."""

    field = Field.TASTE
    target = PAGE

    def state(self, effective: EffectiveConfig, label: str) -> State:
        """Return how much taste may change the order: "off", "on" or "strong"."""
        return str(effective.config.taste)

    def make(self, body: Body, change: Change) -> None:
        """Set the level."""
        body["taste"] = str(change.after or TasteLevel.OFF)

    def undo(self, body: Body, earlier: Body, change: Change) -> None:
        """Set the level that was there."""
        body["taste"] = earlier.get("taste", str(TasteLevel.OFF))

    def read(self, draft: Draft, facts: Facts, named: str) -> Change | Refusal:
        """Return the change of a draft; without a level it is "on"."""
        level = draft.suggested_value or str(TasteLevel.ON)
        if level not in _LEVELS:
            return Refusal("invalid_level", f"The level must be one of {', '.join(_LEVELS)}.", PAGE)
        change = self.change(facts.effective, str(level))
        if change.before != TasteLevel.OFF:
            return change.refusal(
                "no_change", f"The reader's thumbs order their page already: {change.before}."
            )
        return change

    def stored(self, target: str, value: str, current: str) -> Change:
        """Return the change of a stored suggestion."""
        return Change(self, PAGE, PAGE_LABEL, current or str(TasteLevel.OFF), value)

    def change(self, effective: EffectiveConfig, level: str) -> Change:
        """Return the change to this level."""
        return Change(self, PAGE, PAGE_LABEL, str(effective.config.taste), level)

    def value_text(self, state: State, label: str) -> str:
        """Return the level as suggestions store it."""
        return str(state or TasteLevel.OFF)

    def state_word(self, state: State) -> str:
        """Return the level for an agent."""
        return str(state or TasteLevel.OFF)

    def reason(self, label: str, counts: tuple[int, int, int, int], *, is_author: bool) -> str:
        """Return that ratings foretell ratings, with their number."""
        tell = "your other ratings told which you liked, better than chance"
        return f"We tested it on the {counts[1]} articles you rated: {tell}."

    def still_words(self, label: str, about: int) -> str:
        """Return why today's page would not change."""
        return _("Today’s page would not change: nothing on it is like what you rated.")


ORDER_BY_TASTE = TasteKind(
    ORDER,
    name=Kind.ORDER_BY_TASTE,
    texts=Texts(
        headline=gettext_noop("Order my page by my ratings"),
        title="Order the page by the reader's thumbs",
        doing="{} order by thumbs",
        targets="orders by thumbs",
        about=(gettext_noop("the order by your ratings"), gettext_noop("the order by your ratings")),
        sentence=gettext_noop(
            "Articles like those you liked move up, articles like those you did not like move down, and each "
            "says why. Every new rating counts at once."
        ),
        impact=gettext_noop("Articles like those you liked will rank higher in your digest."),
        nothing_left=gettext_noop("Your ratings order your page already, so nothing had to change."),
        for_model="order the page by the reader's thumbs",
        argument="target `page`",
    ),
)
