"""A reader's taste as rows of bars: liked articles, shown articles, and the effect on the score. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from ranking.common.categories import author_names, category_key, label_keys, topic_finder
from ranking.common.charts import Bar, bars_stack
from ranking.common.text import fold
from ranking.config_words import weight_parts_words
from ranking.entities import WEIGHT_DEFAULT, WEIGHT_MAX, EffectiveConfig
from ranking.language import figure, ngettext, times
from ranking.language import gettext as _
from ranking.mutes import SOURCE as MUTED_SOURCE
from ranking.taste.entities import AUTHOR, CATEGORY, SOURCE, TOPIC
from ranking.taste.learn import Columns, TargetLean, columns_of, leans_learned, targets_of
from ranking.taste.signal import TasteSignal, factors_of

# Rows of each kind: those with the most thumbs.
ROWS_MAX = 12
# An article that has a topic counts double.
TOPIC_FACTOR = 2.0
# The largest factor that the bar of an effect can show, from its middle to its end.
FACTOR_MAX = WEIGHT_MAX * TOPIC_FACTOR
# A factor nearer to 1 reads "× 1.00".
SHOWN_MIN = 0.005
SPARK_WIDTH, SPARK_HEIGHT = 72, 16
# A source is plainly disliked from this many thumbs on, if at most one in ten is up.
DISLIKED_THUMBS, DISLIKED_SHARE = 10, 0.1


@dataclass(frozen=True, slots=True)
class TasteRow:
    """A source, topic, category or author with thumbs.

    `likes` of `thumbs` were up. `shown` counts the articles seen in the last month. The score of an article
    is multiplied by `factor`, of which `thumbs_factor` is what the thumbs do. `setting` is the reader's own
    weight of a source, `None` for others. `spark` has a bar for each week, likes (series 0) below the others.
    Articles of a `muted` source are not shown at all. `named` articles were picked to see more like them, and
    count beside the thumbs.
    """

    key: str
    label: str
    likes: int
    thumbs: int
    shown: int
    factor: float
    thumbs_factor: float
    setting: float | None = None
    spark: tuple[Bar, ...] = ()
    muted: bool = False
    named: int = 0

    @property
    def is_disliked(self) -> bool:
        """Return whether it is a source that the reader plainly does not want and has not muted."""
        plainly = self.thumbs >= DISLIKED_THUMBS and self.likes <= DISLIKED_SHARE * self.thumbs
        return plainly and self.setting is not None and not self.muted

    @property
    def liked(self) -> float:
        """Return the share of thumbs that were up, in percent."""
        return round(100 * self.likes / self.thumbs, 1)

    @property
    def effect(self) -> tuple[float, float]:
        """Return the start and the width of the effect's bar, in percent. 50 is no effect."""
        size = min(50.0, 50 * abs(log(self.factor)) / log(FACTOR_MAX))
        return (round(50.0 if self.factor >= 1 else 50 - size, 1), round(size, 1))

    @property
    def words(self) -> str:
        """Return the parts of the effect: "your setting: as usual; your ratings: × 1.50"."""
        if self.muted or not self.named:
            return _("muted") if self.muted else self._effect_words
        words = ngettext(
            "with {n} article you wanted more like", "with {n} articles you wanted more like", self.named
        )
        return f"{self._effect_words}, {words.format(n=self.named)}"

    @property
    def _effect_words(self) -> str:
        thumbs = times(figure(self.thumbs_factor)) if abs(self.thumbs_factor - 1) >= SHOWN_MIN else ""
        if self.setting is not None:
            return weight_parts_words(self.setting, thumbs)
        if self.factor != self.thumbs_factor:
            both = _("your topic; your ratings: {thumbs}")
            return both.format(thumbs=thumbs) if thumbs else _("your topic")
        return _("your ratings: {thumbs}").format(thumbs=thumbs) if thumbs else _("no effect")


def leans_all(signal: TasteSignal, topics: Mapping[str, Sequence[str]]) -> list[TargetLean]:
    """Return the lean towards each source, topic, category and author of the examples, 0 included."""
    columns: Columns = columns_of(signal.examples, signal.at)
    targets = targets_of(signal.examples, topics)
    return leans_learned(
        signal.examples,
        targets,
        columns,
        spread=signal.spread,
        on_hold=signal.on_hold,
        deviations=signal.deviations,
    )


def taste_rows(
    leans: Iterable[TargetLean],
    *,
    effective: EffectiveConfig,
    titles: Mapping[str, str],
    shown: Mapping[tuple[str, str], int],
    sparks: Mapping[str, tuple[Bar, ...]],
) -> dict[str, list[TasteRow]]:
    """Return the rows by kind, those with the most thumbs first; targets without thumbs are left out.

    `titles` and `sparks` go by source, `shown` by kind and key.
    """
    found: dict[str, list[TasteRow]] = {}
    muted = {mute.value for mute in effective.config.mutes if mute.kind == MUTED_SOURCE}
    for one in leans:
        target = one.target
        factor = thumbs = float(factors_of(np.array([one.lean]), effective.config.taste)[0])
        setting = None
        if target.kind == SOURCE:
            setting = effective.config.source_weights.get(target.key, WEIGHT_DEFAULT)
            factor *= effective.weight(target.key)
            thumbs = factor / setting
        if target.kind == TOPIC:
            factor *= TOPIC_FACTOR
        if one.thumbs:
            found.setdefault(target.kind, []).append(
                TasteRow(
                    target.key,
                    titles.get(target.key, target.label),
                    one.likes,
                    one.thumbs,
                    shown.get((target.kind, target.key), 0),
                    factor,
                    thumbs,
                    setting,
                    sparks.get(target.key, ()) if target.kind == SOURCE else (),
                    target.kind == SOURCE and target.key in muted,
                    one.named,
                )
            )
    for rows in found.values():
        rows.sort(key=lambda row: (-row.thumbs, -row.likes, row.label.casefold()))
        del rows[ROWS_MAX:]
    return found


def shown_counts(
    items: Iterable[tuple[str, str, Sequence[str], str]], topics: Sequence[str]
) -> Counter[tuple[str, str]]:
    """Return the number of items of each source, topic, category and author, by kind and key.

    `items` are (source, title, categories, author).
    """
    finders = [(fold(topic), topic_finder(topic)) for topic in topics]
    found: Counter[tuple[str, str]] = Counter()
    for source, title, categories, author in items:
        names = author_names(author) if author else ()
        keys = {(SOURCE, source)}
        keys |= {(CATEGORY, category_key(one)) for one in categories}
        keys |= {(AUTHOR, category_key(one)) for one in names}
        text = (fold(title), label_keys(categories, author))
        keys |= {(TOPIC, key) for key, finds in finders if finds(*text)}
        found.update(keys)
    return found


def spark_bars(weeks: Sequence[tuple[int, int]]) -> tuple[Bar, ...]:
    """Return the bars of a sparkline for (likes, thumbs) of each week, oldest first."""
    rows = [(likes, thumbs - likes) for likes, thumbs in weeks]
    return bars_stack(rows, width=SPARK_WIDTH, height=SPARK_HEIGHT).bars
