"""Each loop over strangers' material isolates one row from the others by one helper, or is named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.loops import ROOMS, Code, product

HELPER = "ranking/common/isolation.py"
# Broad handlers beside the helper, with their reasons. None of them is in a loop over rows.
REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "an alert or a log that fails must not end what it reports": {
        "advisor/agent/error_policy.py": (
            "alert_raise",
            "_remember",
            "_first_of_outage",
            "run_end_handle",
            "error_kind_handle",
        ),
    },
    "guidance may fail, and the run goes on without it": {
        "advisor/guidance/engine.py": (
            "reader_facts",
            "start",
            "before",
            "_store_advice",
            "_store_failure",
            "guide_for",
        ),
        "advisor/guidance/health.py": ("_write",),
    },
    "a run, a tool call or a review fails as a result that is stored": {
        "advisor/mcp_server.py": ("_renew",),
        "advisor/review/compose.py": ("review",),
        "advisor/run/execute.py": ("_drive", "run_execute"),
        "advisor/tools/registry.py": ("dispatch",),
        "config/api/mcp_endpoint.py": ("_call",),
    },
    "a process, a step or a probe reports its failure itself": {
        "config/jobs/nightly.py": ("_step",),
        "config/management/commands/restore.py": ("_set_aside",),
        "config/management/commands/serve.py": ("worker_fork",),
        "config/readiness.py": ("_check",),
        "config/tasks.py": ("tick", "_first_round"),
        "digest/feeds/sandbox_server.py": ("_run_child",),
        "digest/sources/mailbox.py": ("_connect",),
    },
    "one mail that cannot be sent is stored with it, and tried again": {
        "digest/mail/send.py": ("send", "_deliver"),
    },
    "a library raises what it likes, and another reading is tried": {
        "digest/feeds/feed_xml.py": ("_read_strictly", "_read_loosely"),
        "digest/feeds/mails.py": ("_header", "_date"),
    },
    "without locks a host is fetched all the same": {
        "digest/feeds/rate_limit.py": ("host_take", "host_pauses_s", "host_hold"),
    },
}
# Loops of jobs and commands that work on rows and isolate none, and why.
NIGHT = ("fetch", "cluster", "summarise", "learn", "digests", "deliver", "advise")
STEPS = {
    *(("config.jobs.nightly", step) for step in NIGHT),
    ("config.tasks", "Worker.tick"),
    ("digest.daily.first_fetch", "first_round_part"),
}
LOOPS: dict[str, tuple[str, ...]] = {
    "it refuses a mistyped argument before anything is done": (
        "digest.management.commands.import_feedback.Command.handle",
    ),
    "its caller isolates the reader, feed or batch that this loop works for": (
        "digest.feeds.ingest.documents_ingest",
        "digest.feeds.services._sources_follow",
        "digest.feeds.services.answers_store",
        "digest.feeds.twins._pairs_join",
        "digest.items.meanings.topics_about",
        "ranking.services._versions_merge",
        "suggestions.outcomes.check.effects_check",
        "suggestions.outcomes.services.reader_compact",
        "suggestions.services.lifecycle._ids_changed",
    ),
    "it is one run, or one reader's import or deletion, and ends with it": (
        "advisor.agent.error_policy.run_end_handle",
        "advisor.agent.loop._Conversation.turns",
        "advisor.guidance.engine.Guide._advice",
        "advisor.run.request.run_wait",
        "digest.accounts.services._unread_items_delete",
        "digest.accounts.services.reader_delete",
        "digest.llm.caller.ModelCaller._reserve",
        "digest.llm.caller.ModelCaller._run",
        "digest.llm.caller.ModelCaller.ask",
        "digest.sources.subscriptions._by_address",
    ),
    "its rows are the installation's own: jobs, models, days, the demo, or what an operator typed": (
        "advisor.run.model_check.model_check",
        "advisor.run.scheduling.run_cost_expected",
        "config.demo.seed.demo_seed",
        "config.jobs.nightly.nightly_run",
        "config.management.commands.demo._suggestion_show",
        "config.management.commands.demo.walkthrough_run",
        "config.tasks.Worker.tick",
        "digest.feedback.noisy_counts.community_publish",
        "digest.feedback.transfer.feedback_import",
        "digest.feeds.fetch_batch.folder_ingest",
    ),
    "it takes the next batch by ids, and what works on a row of it isolates": (
        "digest.daily.services._build_days",
        "digest.feeds.fetch_batch._fetch_all",
        "digest.feeds.fetch_batch.feeds_fetch",
        "digest.items.stories.stories_update",
        "digest.notifications.send.notifications_send",
        "digest.retention._items_prune",
        "digest.summaries.services._Round.run",
        "digest.summaries.services.extracts_make",
    ),
}


def broad_handlers(node: ast.AST, function: str = "") -> Iterator[str]:
    """Yield the function of each handler that catches everything."""
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.ExceptHandler):
            caught = ast.unparse(child.type) if child.type else ""
            if caught in ("", "Exception", "BaseException"):
                yield inside
        yield from broad_handlers(child, inside)


def test_only_the_helper_and_those_named_with_a_reason_catch_everything():
    """Otherwise an error could be swallowed without being counted."""
    found = {
        (str(path), function)
        for room in ROOMS
        for path in Path(room).rglob("*.py")
        if str(path) != HELPER
        for function in broad_handlers(ast.parse(path.read_text()))
    }
    named = {
        (path, function)
        for places in REASONS.values()
        for path, functions in places.items()
        for function in functions
    }
    assert found - named == set(), "use ranking.common.isolation"
    assert named - found == set(), "no longer there"


def test_the_search_finds_a_loop_that_swallows():
    loop = "def f():\n  for one in all:\n    try:\n      g(one)\n    except Exception:\n      pass\n"
    assert list(broad_handlers(ast.parse(loop))) == ["f"]
    assert list(broad_handlers(ast.parse(loop.replace("except Exception", "except ValueError")))) == []


def test_no_job_or_command_loops_over_rows_without_isolating_them():
    code = product()
    found = {".".join(name) for name, _ in code.loops(code.reached(code.roots(STEPS)))}
    named = {name for names in LOOPS.values() for name in names}
    assert found - named == set(), "use ranking.common.isolation, or say why not"
    assert named - found == set(), "no longer there"


SHAPES = {
    "for": "for row in rows: store(row)",
    "while": "while store(rows): pass",
    "list": "[store(row) for row in rows]",
    "dict": "{row: store(row) for row in rows}",
    "through another": "for row in rows: through(row)",
    "handled by itself": "for row in rows:\n    try: store(row)\n    except ValueError: pass",
}


JOB = "from b import store, through, careful\n@shared_task()\ndef job():\n    work([])\ndef work(rows):\n"
ROWS = """
def store(row):
    Item.objects.create(row)
def through(row):
    store(row)
def careful(row):
    with isolate('row', row, 'x'):
        store(row)
"""


def code_of(loop: str) -> Code:
    body = "\n".join(f"    {line}" for line in loop.splitlines())
    return Code({"a.tasks": f"{JOB}{body}\n", "b": ROWS})


def loops_of(loop: str) -> list[str]:
    code = code_of(loop)
    return [name[1] for name, _ in code.loops(code.reached(code.roots()))]


def test_the_search_finds_loops_of_every_shape_and_leaves_those_that_isolate():
    assert {shape: loops_of(loop) for shape, loop in SHAPES.items()} == {shape: ["work"] for shape in SHAPES}
    for safe in (
        "for row in rows:\n    with isolate('row', row, 'x'): store(row)",
        "for row in rows: careful(row)",
        "for done in isolate_batches(rows, store, event='x'): print(done)",
        "for row in rows: print(row)",
    ):
        assert loops_of(safe) == []
