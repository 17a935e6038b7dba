"""Changes by code, target and value, as suggestions store them. Pure."""

from ranking.entities import EffectiveConfig
from suggestions.changes.registry import KINDS, change_stored

ADD_TOPIC, REMOVE_TOPIC = "add_topic", "remove_topic"
BOOST_SOURCE, REDUCE_SOURCE = "boost_source", "reduce_source"
SOURCE_WEIGHTS, TOPICS = "source_weights", "topics"
FIELD_OF_TYPE = {name: str(kind.field) for name, kind in KINDS.items()}


def change_applied(effective: EffectiveConfig, kind: str, key: str, value: str) -> EffectiveConfig:
    """`effective` after a change, given by its type, target and suggested value."""
    return change_stored(kind=kind, target=key, value=value or key).applied(effective)
