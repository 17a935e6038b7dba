"""Steerability on a small field: named items move, the rest keeps its order, and less mirrors more."""

from tests.lab.steer.cases import BBC, Field, Target, Thing
from tests.lab.steer.rows import steer_rows, topic_row
from tests.lab.steer.topics import BY_WORDS, DEALT, PEOPLE, SHIPPED, precision_row, topic_fields

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


MATCH = "The final in straight sets: the champion served well and won the match on grass. "
STARS = "Astronomers measured the orbit of a planet and the light of a distant star."


def field_of_two_subjects() -> Field:
    """Return forty reports of matches among 440 texts; ten are filed under tennis, and none says it."""
    tennis = frozenset(["tennis"])
    played = [
        Thing("a.example", f"Sport {n}", MATCH * 6, ("tennis",) if n % 4 == 0 else (), tennis)
        for n in range(40)
    ]
    stars = [Thing("b.example", f"Sky {n}", STARS) for n in range(400)]
    return Field(BBC, played + stars, [Target("tennis", tennis)])


def test_a_topic_by_meaning_moves_what_never_says_it_and_dealt_vectors_do_not() -> None:
    fields = {
        name: one for kind, name, one in topic_fields(field_of_two_subjects(), seed=5) if kind == PEOPLE
    }
    gains = {name: topic_row(one, name, seed=3, pools=3)["delta_auc"] for name, one in fields.items()}

    assert gains[SHIPPED] > gains[BY_WORDS] + 0.1
    assert gains[DEALT] == gains[BY_WORDS]


def test_precision_counts_what_is_found_by_meaning() -> None:
    fields = {
        name: one for kind, name, one in topic_fields(field_of_two_subjects(), seed=5) if kind == PEOPLE
    }
    ours, words = precision_row(fields[SHIPPED]), precision_row(fields[BY_WORDS])

    assert (ours["precision"], ours["times_as_many"], ours["topics_by_meaning"]) == (1.0, 4.0, 1)
    assert (words["precision_of_new"], words["times_as_many"]) == (None, 1.0)
