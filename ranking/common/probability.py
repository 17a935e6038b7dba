"""Probabilities and log-odds, of single numbers. Pure.

SciPy has each for whole arrays; to import it takes a tenth of a second, so what
needs it asks for it when it is used.
"""

from math import erfc, exp, log, sqrt


def log_odds(p: float) -> float:
    """Return the logit of a probability between 0 and 1, both excluded."""
    return log(p / (1 - p))


def logistic(x: float) -> float:
    """Return the probability whose log-odds are `x`."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def normal_above(t: float) -> float:
    """Return P(x > `t`) of a standard normal x."""
    return erfc(t / sqrt(2)) / 2


def beta_below(a: float, b: float, rate: float) -> float:
    """Return P(x < `rate`) of x ~ Beta(a, b): the regularised incomplete beta function."""
    from scipy.special import betainc  # noqa: PLC0415

    return float(betainc(a, b, rate))
