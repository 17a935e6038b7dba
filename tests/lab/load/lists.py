"""Every list of the admin at a million rows: `python -m tests.lab load.lists [--rows N] [--only NAME …]`.

For each registered model, in one transaction that is rolled back, its table is filled up to N rows with
made-up values (references point at existing rows). Then an operator opens the list, its second page, each
filter and a search. It reports seconds by the clock for the whole page through Django's test client, and
queries before and after filling. The slowest page is shown with PostgreSQL's plan.
"""

import argparse
from typing import Any

from tests.lab.bench.running import Watch
from tests.lab.load.setting import Json, django_up, head, target, told

LIST_S = 1.0
OPERATOR = "load-operator"


def main() -> None:
    """Measure every list and report. Exit 1 if one takes too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    from django.contrib import admin  # noqa: PLC0415

    report: Json = {**head("lists"), "rows": options.rows, "lists": []}
    watch = Watch()
    admin.autodiscover()
    models = sorted(admin.site._registry, key=lambda model: model._meta.label)
    for model in models:
        if not options.only or model.__name__ in options.only:
            row = looked_at(model, options.rows)
            report["lists"].append(row)
            if not options.json:
                print(row, flush=True)
    report |= {f"watch_{key}": value for key, value in watch.read().items()}
    slowest = max((row["slowest_s"] for row in report["lists"]), default=None)
    grown = sum(row["queries"] > row["queries_small"] for row in report["lists"])
    report["targets"] = [
        target("slowest list, s", LIST_S, slowest),
        target("lists whose queries grew", 0, grown),
    ]
    told(report, options.json)
    raise SystemExit(0 if all(aim["met"] for aim in report["targets"]) else 1)


def looked_at(model: Any, rows: int) -> Json:
    """Return one list, small and large."""
    from django.contrib.contenttypes.models import ContentType  # noqa: PLC0415
    from django.db import connection, transaction  # noqa: PLC0415

    from digest.models import Reader  # noqa: PLC0415
    from tests.lab.load.filling import fill  # noqa: PLC0415
    from tests.lab.load.visiting import visit  # noqa: PLC0415

    ContentType.objects.clear_cache()
    with transaction.atomic():
        operator = Reader.objects.create_superuser(OPERATOR, password=None)
        fill(model, 150)
        small = visit(model, operator)
        made = fill(model, rows)
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {model._meta.db_table}")
        large = visit(model, operator)
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {model._meta.db_table}")
    slow = max(large, key=lambda page: page["s"])
    return {
        "model": model._meta.label,
        "rows": made,
        "list_s": large[0]["s"],
        "list_cpu_s": large[0]["cpu_s"],
        "sql_s": max(page["sql_s"] for page in large),
        "slowest_s": slow["s"],
        "slowest": slow["asked"],
        "queries": large[0]["queries"],
        "queries_small": small[0]["queries"],
        "slow": [page for page in large if page["s"] > LIST_S / 2],
    }


if __name__ == "__main__":
    main()
