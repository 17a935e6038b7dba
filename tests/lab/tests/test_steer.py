"""Steerability on a small field: what is named moves, the rest keeps its order, less mirrors more."""

from tests.lab.steer.cases import Field, Target, Thing
from tests.lab.steer.rows import steer_rows

CHESS = frozenset(["chess"])


def small_field() -> Field:
    things = []
    for n in range(240):
        about = n % 4 == 0
        categories, labels = (("chess",), CHESS) if about else ((), frozenset[str]())
        things.append(Thing(f"s{n % 3}.example", f"Title {n}", "", categories, labels))
    return Field("small", things, [Target("chess", CHESS)], [{n: n % 3 == 0 for n in range(240)}])


def test_more_raises_what_it_names_and_less_is_its_mirror() -> None:
    rows = {row["name"]: row for row in steer_rows(small_field(), seed=3, pools=4)}

    more, less = rows["small: add_topic"], rows["small: remove_topic"]
    assert more["delta_auc"] > 0.2 and more["matched"] == 1.0
    assert less["delta_auc"] == -more["delta_auc"]


def test_the_order_of_the_rest_stays_and_only_places_are_lost() -> None:
    rows = steer_rows(small_field(), seed=3, pools=4)

    assert {row["order_lost"] for row in rows} == {0.0}
    assert {row["wrong_way"] for row in rows} == {0}
    assert any(row["places_lost"] > 0 for row in rows)


def test_a_topic_whose_words_nothing_has_moves_nothing() -> None:
    field = small_field()
    rows = steer_rows(Field("small", field.things, [Target("opera", CHESS)]), seed=3, pools=2)

    assert {(row["delta_auc"], row["matched"]) for row in rows} == {(0.0, 0.0)}
