"""The same readers, published noise and guidance for every arm, so that arms differ by the model alone.

Figures over all readers are published with secret noise, forecasts are drawn by a reader's id, and a tenth of
guidance is left out at random. With other draws for each arm, equal arms would differ by chance.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.test.utils import override_settings

from digest.feedback import noisy_counts
from digest.models import Reader
from suggestions.planner import population
from tests.lab.histories.trials import Trial, histories_for
from tests.lab.world.world import Floats

# Modules that draw the noise of what they publish.
DRAWING = (noisy_counts, population)


@contextmanager
def same_world(trial: Trial) -> Iterator[None]:
    """Create the readers by fixed ids. Within, draw noise by the seed, and leave no guidance out."""
    names = dict.fromkeys(history.reader for history in histories_for(trial))
    # Without a password, as an import makes them: it adds nothing to accounts that somebody signs in to.
    made = {"password": UNUSABLE_PASSWORD_PREFIX}
    Reader.objects.bulk_create(Reader(pk=uuid5(NAMESPACE_URL, name), username=name, **made) for name in names)
    rng, secret = np.random.default_rng(trial.seed), noisy_counts.uniforms_secret

    def uniforms_seeded(shape: tuple[int, int]) -> Floats:
        return 1.0 - rng.random(shape)

    for module in DRAWING:
        module.uniforms_secret = uniforms_seeded
    try:
        with override_settings(GUIDANCE={"holdout": "0"}):
            yield
    finally:
        for module in DRAWING:
            module.uniforms_secret = secret
