"""Whatever isolates one failure from the rest does so through one of two helpers, or is named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("advisor", "config", "digest", "ranking", "suggestions")
HELPERS = {"ranking/common/apart.py", "ranking/common/failures.py"}
# Broad handlers beside the helpers (`reader_apart`, `batches_apart`, `Apart.run`), and what each is for.
REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "an alert or a log that fails must not end what it reports": {
        "advisor/agent/error_policy.py": (
            "alert_raise",
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
            "_stored",
            "_failed",
            "guide_for",
        ),
        "advisor/guidance/health.py": ("_write",),
    },
    "a run, a tool call or a review fails as a result that is stored": {
        "advisor/mcp_server.py": ("_renew",),
        "advisor/review/compose.py": ("review",),
        "advisor/run/execute.py": ("_drive",),
        "advisor/run/scheduling.py": ("reader_advise", "_claim", "_request"),
        "advisor/tools/registry.py": ("dispatch",),
        "config/api/mcp_endpoint.py": ("_call",),
    },
    "a process, a step or a probe reports its failure itself": {
        "config/jobs/nightly.py": ("_step",),
        "config/management/commands/serve.py": ("worker_fork",),
        "config/readiness.py": ("_check",),
        "config/tasks.py": ("tick", "_first_round"),
        "digest/feeds/sandbox_server.py": ("_run_child",),
        "digest/sources/mailbox.py": ("_connect",),
    },
    "the failure is stored with the feed, document, page or text that it is of": {
        "digest/articles/favicons.py": ("favicons_update",),
        "digest/articles/full_text.py": ("_fetch",),
        "digest/feeds/fetch_batch.py": ("_fetch_into", "_read", "_store_each", "_read_files"),
        "digest/sources/adding.py": ("found_store",),
        "digest/sources/newsletters.py": ("_mail_handle",),
        "digest/summaries/services.py": ("_extract",),
    },
    "the failure is stored with the mail or notification, which may be tried again": {
        "digest/mail/send.py": ("send", "_apart", "_deliver"),
        "digest/notifications/send.py": ("_send_row",),
    },
    "a library raises what it likes, and another reading is tried": {
        "digest/feeds/feed_xml.py": ("_read_strictly", "_read_loosely"),
        "digest/feeds/mails.py": ("_header", "_date"),
    },
    "several readers are built together, then each apart": {
        "digest/daily/services.py": ("_build_together",),
    },
    "without locks a host is fetched all the same": {
        "digest/feeds/rate_limit.py": ("host_take", "host_hold"),
    },
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


def test_only_helpers_and_those_named_with_a_reason_catch_everything():
    """A loop over strangers' material isolates one row by a helper, which records it."""
    found = {
        (str(path), function)
        for room in ROOMS
        for path in Path(room).rglob("*.py")
        if str(path) not in HELPERS
        for function in broad_handlers(ast.parse(path.read_text()))
    }
    named = {
        (path, function)
        for places in REASONS.values()
        for path, functions in places.items()
        for function in functions
    }
    assert found - named == set(), "use ranking.common.failures or ranking.common.apart"
    assert named - found == set(), "no longer there"


def test_the_search_finds_a_loop_that_swallows():
    loop = "def f():\n  for one in all:\n    try:\n      g(one)\n    except Exception:\n      pass\n"
    assert list(broad_handlers(ast.parse(loop))) == ["f"]
    assert list(broad_handlers(ast.parse(loop.replace("except Exception", "except ValueError")))) == []
