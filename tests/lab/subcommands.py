"""The subcommands of `python -m tests.lab`, each with its name, its module and its work. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subcommand:
    """`main()` of `module` reads the command line. `django`: it needs Django set up.

    `quick` are options that make it take seconds; `None` if it cannot be run just so, and `needs` says why.
    `data`: it reads TIDINGS_DATA. `long`: even its quick form takes more than five seconds of processor time,
    so its test runs in `make nightly`.
    """

    module: str
    work: str
    quick: tuple[str, ...] | None = ()
    django: bool = False
    data: bool = False
    long: bool = False
    needs: str = ""


def _evaluation(
    name: str, work: str, *quick: str, module: str = "command", data: bool = False, long: bool = False
) -> Subcommand:
    return Subcommand(f"tests.lab.{name}.{module}", work, quick, django=True, data=data, long=long)


SUBCOMMANDS = {
    "advisor": _evaluation(
        "advisor",
        "does the advisor help? a simulated world, then open histories",
        *("--data", "planner", "--readers", "2", "--weeks", "1"),
        long=True,
    ),
    "model": _evaluation(
        "model",
        "does a model earn its cost? policies on the wire beside the planner",
        *("--data", "labels-topics-bbc", "--arms", "silent", "hostile", "--readers", "2"),
        data=True,
        long=True,
    ),
    "model groups": _evaluation(
        "model",
        "would topics made of groups by meaning help the planner?",
        *("--readers", "2"),
        module="groups",
        data=True,
        long=True,
    ),
    "model names": _evaluation(
        "model",
        "what do other names of a topic gain, and how often do they ask by chance?",
        *("--readers", "2"),
        module="names",
        data=True,
        long=True,
    ),
    "ranking": _evaluation(
        "ranking",
        "the order of items against what readers chose later",
        *("--readers", "20", "--data", "topics"),
        data=True,
        long=True,
    ),
    "steer": _evaluation(
        "steer", "does a change move what it names, and nothing else?", "--pools", "1", data=True, long=True
    ),
    "guidance": _evaluation(
        "guidance", "what guidance says, withholds and blocks", module="evaluate", long=True
    ),
    "reflector": _evaluation(
        "reflector", "whether the second look earns its place", "--data", "nemig-en", data=True, long=True
    ),
    "memory": _evaluation(
        "memory", "what remembering costs, what the outcome check finds", "--readers", "2", long=True
    ),
    "summaries": _evaluation(
        "summaries", "extracts and the grounding check on captured feeds", data=True, long=True
    ),
    "cost": _evaluation("cost", "what a typical run of the advisor costs"),
    "bench": Subcommand(
        "tests.lab.bench.__main__", "speed, size and cost beside peers; every evaluation", ("rank", "--quick")
    ),
    "report": Subcommand(
        "tests.lab.bench.report", "plots from the records, and every target they miss", ("--no-plots",)
    ),
    "load": Subcommand(
        "tests.lab.load.__main__",
        "a large installation under load",
        None,
        needs="a PostgreSQL that `load.seed` has filled for minutes",
    ),
    "load day": Subcommand(
        "tests.lab.load.day.__main__",
        "a distributed installation: kills, Redis gone, a deploy",
        None,
        needs="PostgreSQL, Redis and some minutes",
    ),
    "faults": Subcommand(
        "tests.lab.faults.__main__",
        "crashes, kills, floods and lost servers, done on purpose",
        ("shutdown", "--stage", "sqlite"),
        long=True,
    ),
    "image": Subcommand(
        "tests.lab.image.__main__",
        "the image, built and run without a Docker daemon",
        None,
        needs="root, buildah and debootstrap",
    ),
    "mutants": Subcommand(
        "tests.lab.mutants.__main__",
        "do the tests notice when the code is wrong?",
        None,
        needs="mutmut, which it installs, and an hour",
    ),
    "mutations": Subcommand(
        "tests.lab.bench.mutations",
        "feed documents and mutations, read within limits",
        ("--n", "20"),
        data=True,
        long=True,
    ),
    "meaning": _evaluation(
        "meaning", "what vectors of meaning tell that words do not", "--draws", "1", data=True
    ),
    "page": _evaluation(
        "page",
        "what thumbs do for the first page of readers with known tastes",
        *("--sizes", "6", "--readers", "1", "--days", "3", "--documents", "60"),
        data=True,
        long=True,
    ),
    "page offers": _evaluation(
        "page",
        "how many readers are ever offered to order their page by their thumbs",
        *("--size", "6", "--readers", "1", "--days", "5", "--documents", "60"),
        module="offers",
        data=True,
        long=True,
    ),
    "upgrade": Subcommand(
        "tests.lab.upgrade.command",
        "a database of an earlier version, migrated and used by this one",
        ("HEAD", "--feeds", "3"),
        data=True,
        long=True,
    ),
    "feeds": Subcommand(
        "tests.lab.feeds.command", "what peers' suites state about documents, against what is read"
    ),
    "size": Subcommand(
        "tests.lab.size.command",
        "files, lines, names, docs; files that one deed passes through",
        long=True,
    ),
    "fuzz": Subcommand(
        "tests.lab.fuzz.__main__",
        "every operation of the API by schemathesis",
        None,
        needs="schemathesis, which it installs, and minutes",
    ),
}
