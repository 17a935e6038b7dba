"""Taste on a real history: a reader who likes one source and one topic, and one whose thumbs are shuffled."""

from tests.lab.histories.pools import History, Rated, start_config, targets_of
from tests.lab.histories.taste import FULL, LOGISTIC, RANKERS, TASTE, TODAY, _offered, _reader


def history() -> History:
    """Return 240 thumbs on four sources: up for the first and for comedies, down for the others."""
    rows = [
        Rated(
            f"https://s{n % 4}.example/{n}",
            f"Film {n}, {'comedy' if n % 3 == 0 else 'drama'}",
            f"s{n % 4}.example",
            ("comedy" if n % 3 == 0 else "drama",),
            n % 4 == 0 or n % 3 == 0,
        )
        for n in range(240)
    ]
    return History("ada", tuple(rows))


def test_taste_gains_what_first_thumbs_tell_and_its_changes_say_how_sure_they_are():
    ada = history()
    judged = _reader(0, ada, start_config(targets_of([ada])), 100, 0.2)

    assert set(judged.gains) == set(RANKERS)
    assert judged.gains[TASTE] > 0.05 and judged.gains[LOGISTIC] > 0.05
    assert judged.gains[FULL] > judged.gains[TODAY]
    assert judged.asked and all(0.5 < (one.p_helpful or 0) <= 1 for one in judged.asked)
    offer = judged.by_taste
    assert offer and offer.gain == judged.gains[TASTE] and (offer.p_helpful or 0) > 0.8


def test_shuffled_thumbs_gain_hardly_anything():
    ada = history().shuffled(3)
    judged = _reader(0, ada, start_config(targets_of([ada])), 100, 0.0)

    assert abs(judged.gains[TASTE]) < 0.02
    assert judged.by_taste is None


def test_an_offer_needs_thumbs_that_tell_each_other_and_is_judged_by_later_ones():
    loved, loathed = (f"{name}.example" for name in ("loved", "loathed"))
    sources = [loved if n % 2 else loathed for n in range(30)]
    clear = [Rated(f"https://{of}/{n}", f"Film {n}", of, (), of == loved) for n, of in enumerate(sources)]
    assert _offered(clear) == (True, 1.0)
    assert _offered([*clear[:20], *(one for one in clear[20:] if one.liked)]) is None, "nothing to tell apart"
    assert _offered(history().shuffled(3).rated[:30]) != (True, 1.0)
