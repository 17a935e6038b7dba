"""The subcommands of `python -m tests.lab`: the name of each, its module, what it measures. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subcommand:
    """`main()` of `module` reads the command line. `django`: it needs Django set up."""

    module: str
    work: str
    django: bool = False


def _evaluation(name: str, work: str) -> Subcommand:
    return Subcommand(f"tests.lab.{name}.command", work, django=True)


SUBCOMMANDS = {
    "advisor": _evaluation("advisor", "does the advisor help? a simulated world, then open histories"),
    "ranking": _evaluation("ranking", "the order of items against what readers chose later"),
    "steer": _evaluation("steer", "does a change move what it names, and nothing else?"),
    "guidance": Subcommand(
        "tests.lab.guidance.evaluate", "what guidance says, withholds and blocks", django=True
    ),
    "reflector": _evaluation("reflector", "whether the second look earns its place"),
    "memory": _evaluation("memory", "what remembering costs, what the outcome check finds"),
    "summaries": _evaluation("summaries", "extracts and the grounding check on captured feeds"),
    "cost": _evaluation("cost", "what a typical run of the advisor costs"),
    "bench": Subcommand("tests.lab.bench.__main__", "speed, size and cost beside peers; every evaluation"),
    "report": Subcommand("tests.lab.bench.report", "plots from the records, and every target they miss"),
    "load": Subcommand("tests.lab.load.__main__", "a large installation under load"),
    "load day": Subcommand(
        "tests.lab.load.day.__main__", "a distributed installation: kills, Redis gone, a deploy"
    ),
    "faults": Subcommand(
        "tests.lab.faults.__main__", "crashes, kills, floods and lost servers, done on purpose"
    ),
    "image": Subcommand("tests.lab.image.__main__", "the image, built and run without a Docker daemon"),
    "mutants": Subcommand("tests.lab.mutants.__main__", "do the tests notice when the code is wrong?"),
    "mutations": Subcommand("tests.lab.bench.mutations", "feed documents and mutations, read within limits"),
    "upgrade": Subcommand(
        "tests.lab.upgrade.command", "a database of an earlier version, migrated and used by this one"
    ),
    "size": Subcommand(
        "tests.lab.size.command", "files, lines, names, docs; files that one deed passes through"
    ),
    "fuzz": Subcommand("tests.lab.fuzz.__main__", "every operation of the API by schemathesis"),
}
