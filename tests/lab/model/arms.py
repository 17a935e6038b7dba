"""One arm on one data set, in a shard: readers get a run each, and all that is suggested is accepted."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db.models import Sum
from django.test.utils import override_settings

from advisor.models import Run, Step
from digest.models import Reader
from ranking.entities import EffectiveConfig
from tests.lab.advisor.rules import Targets, changes_all
from tests.lab.advisor.wire import served
from tests.lab.histories.pools import About, History, Pools, start_config, targets_of
from tests.lab.histories.trials import Trial, about_for, histories_for, readers_tested, trial_run
from tests.lab.model.phrases import oracle_of_names, phrases, reasons, topics_that_help
from tests.lab.model.policies import POLICIES, WORD, WRITE, Policy, oracle_of
from tests.lab.model.replies import replies_stored
from tests.lab.model.same_world import same_world

PLANNER, ORACLE, NAMES_ORACLE, CONFIGURED = "planner", "oracle", "oracle-of-names", "configured"
SCRIPTS: Mapping[str, Policy] = {**POLICIES, "phrases": phrases, "reasons": reasons}
ARMS = (PLANNER, *SCRIPTS, ORACLE, NAMES_ORACLE)
# The number of words from liked titles that an oracle weighs, and the number it tries.
WORDS_MAX, IDEAS_MAX = 60, 8
# A rule has always the same answer to a scripted policy, so that reviewers are the checks.
REVIEW = "openai:none"
REPLIES = "var/model-replies"
Json = dict[str, Any]
Progress = Callable[[int], None]


def arm_run(arm: str, trial: Trial, progress: Progress, *, replies: str = REPLIES) -> Json:
    """Return the courses of an arm, with the cost of its runs and the outcomes of its writes.

    `replies`: the folder in which answers of configured models are stored.
    """
    with same_world(trial), _chain(arm, trial, replies):
        courses = trial_run(trial, progress)
    loop = Run.objects.exclude(trigger=Run.Trigger.MCP)
    used = loop.aggregate(tokens_in=Sum("input_tokens"), tokens_out=Sum("output_tokens"), usd=Sum("cost_usd"))
    writes = Step.objects.filter(run__in=loop, tool=WRITE).values_list("error_code", flat=True)
    models = Step.objects.filter(run__in=loop, kind=Step.Kind.MODEL).exclude(model="planner")
    return {
        "courses": [course.as_dict() for course in courses],
        "tokens_in": used["tokens_in"] or 0,
        "tokens_out": used["tokens_out"] or 0,
        "usd": float(used["usd"] or 0),
        "requests": models.count(),
        "writes": dict(Counter(code or "stored" for code in writes)),
        "by_planner": loop.filter(meta__finished_by="planner").count(),
    }


@contextmanager
def _chain(arm: str, trial: Trial, replies: str) -> Iterator[None]:
    """Return the chain that `arm` asks: none, a policy behind a server on loopback, or the configured one."""
    if arm == PLANNER:
        yield
        return
    if arm == CONFIGURED:
        with replies_stored(Path(replies)):
            yield
        return
    with (
        served(_policy(arm, trial)) as url,
        override_settings(LOCAL_LLM_BASE_URL=url, LLM_CHAIN=["local:policy"], LLM_CHAIN_REVIEW=[REVIEW]),
    ):
        yield


def _policy(arm: str, trial: Trial) -> Policy:
    if arm in SCRIPTS:
        return SCRIPTS[arm]
    knowing = _Knowing(trial)
    return oracle_of(knowing.changes) if arm == ORACLE else oracle_of_names(knowing.topics)


class _Knowing:
    """What helps each reader, computed at the first request of a reader's run."""

    def __init__(self, trial: Trial) -> None:
        self._histories = histories_for(trial)
        self._numbers = {self._histories[n].reader: n for n in readers_tested(self._histories, trial)}
        self._thumbs, self._topics = trial.thumbs, dict[str, list[str]]()
        self._changes = dict[str, list[tuple[str, str]]]()
        self._first, self._about = start_config(targets_of(self._histories)), about_for(trial)

    def changes(self, reader_id: str) -> Sequence[tuple[str, str]]:
        """Return the changes that gain most on a reader's later thumbs, best first."""
        if reader_id not in self._changes:
            number, history = self._history(reader_id)
            self._changes[reader_id] = changes_that_help(
                history, number, self._thumbs, self._first, self._about
            )
        return self._changes[reader_id]

    def topics(self, reader_id: str) -> list[str]:
        """Return the topics that gain with all their other names."""
        if reader_id not in self._topics:
            number, history = self._history(reader_id)
            judge = Pools(history.rated[self._thumbs :], [number, 0], self._about)
            self._topics[reader_id] = topics_that_help(judge, self._first)
        return self._topics[reader_id]

    def _history(self, reader_id: str) -> tuple[int, History]:
        number = self._numbers[Reader.objects.get(pk=reader_id).username]
        return number, self._histories[number]


def changes_that_help(
    history: History, number: int, thumbs: int, first: EffectiveConfig, about: About | None = None
) -> list[tuple[str, str]]:
    """Return (type, target) of the changes of `first` that gain most on a reader's later thumbs, best first.

    Sources, the topics that items name, and the words of titles that the reader liked so far.
    """
    rated, held = history.rated[:thumbs], history.rated[thumbs:]
    liked = Counter(word for one in rated if one.liked for word in set(WORD.findall(one.title.casefold())))
    words = [word for word, _ in liked.most_common(WORDS_MAX)]
    topics = tuple(dict.fromkeys([*(name for one in rated for name in one.named), *words]))
    targets = Targets(tuple(sorted({one.source for one in rated})), topics)
    judge = Pools(held, [number, 0], about)
    worth = [(judge.gain(first, one.applied(first)), one) for one in changes_all(first, targets)]
    best = sorted((pair for pair in worth if pair[0] > 0), key=lambda pair: -pair[0])
    return [(one.kind, one.key) for _, one in best[:IDEAS_MAX]]
