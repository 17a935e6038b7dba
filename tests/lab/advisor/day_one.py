"""Actions of a simulated reader besides thumbs: opening articles, and answering the early change of a day."""

from datetime import datetime

from django.db import transaction

from advisor.selectors import feedback_is_thin
from digest.daily.store import exposures_log
from digest.feedback.implicit import implicit_leans_current, implicit_update
from digest.items.reading import item_open
from digest.models import Digest, Exposure, Reader, Reading
from ranking.implicit import NO_LEANS, ImplicitLeans
from ranking.selectors import config_effective
from suggestions.proposals import Refusal
from suggestions.services.early import early_change_apply, early_change_find, early_change_put_off
from tests.lab.world.people import Person
from tests.lab.world.truth import Judge
from tests.lab.world.world import Floats


def articles_open(
    reader: Reader, person: Person, digest: Digest, numbers: dict[int, int], likes: Floats, now: datetime
) -> None:
    """Open this reader's choice of the day's page. The nightly job learns from it."""
    exposures_log(digest=digest, door=Exposure.Door.PAGE, now=now)
    for item_id, rank in digest.impressions.order_by("rank").values_list("item_id", "rank"):
        opened, finished = person.opening(numbers[item_id], rank, float(likes[numbers[item_id]]))
        if opened:
            item_open(reader=reader, item_id=item_id, door=Reading.Door.PAGE, now=now, finished=finished)
    implicit_update(reader_id=reader.pk, now=now)


def reading_of(reader: Reader) -> ImplicitLeans:
    """Return the implicit feedback of the reader's opens, in the form a digest uses."""
    return implicit_leans_current(reader_ids=[reader.pk]).get(reader.pk, NO_LEANS)


def early_answer(reader: Reader, person: Person, judge: Judge, now: datetime, *, flipped: bool) -> None:
    """Answer the early change that Today would ask about, as the reader answers a suggestion."""
    if not feedback_is_thin(reader_id=reader.pk):
        return
    early = early_change_find(reader=reader, now=now)
    if early is None:
        return
    before = config_effective(reader_id=reader.pk)
    with transaction.atomic():
        applied = early_change_apply(reader=reader, signed=early.signed, now=now)
        helps = judge.gain(before, config_effective(reader_id=reader.pk), flipped=flipped) > 0
        accepts = not isinstance(applied, Refusal) and person.accepts(0, early.words, helps)
        transaction.set_rollback(not accepts)
    reader.refresh_from_db()
    if not accepts:
        early_change_put_off(reader=reader, now=now)
