"""`python -m tests.lab.mutants.source MODULE ...`: replace modules here by ones that hold all their mutants.

mutmut writes each function many times behind a switch, once unchanged and once for each mutant. The switch is
ours (`tests.lab.mutants.plugin`), so that the tests do not need mutmut. It prints the mutants as JSON. It
runs in a copy of the repository, in an environment that has mutmut.
"""

import json
import sys
from difflib import ndiff
from pathlib import Path
from typing import Any

import libcst
from mutmut.mutation.file_mutation import Mutation, combine_mutations_to_source, create_mutations

SWITCH = "from mutmut.mutation.trampoline import wrap_in_trampoline as _mutmut_mutated, MutantDict"
OURS = "from tests.lab.mutants.plugin import MutantDict, switched as _mutmut_mutated"


def main() -> None:
    """Rewrite the modules; print their mutants and how many changed only a sentence's spelling."""
    mutants, wording = list[dict[str, Any]](), 0
    for module in sys.argv[1:]:
        found, left_out = made(module)
        mutants, wording = mutants + found, wording + left_out
    print(json.dumps({"mutants": mutants, "wording": wording}))


def made(path: str) -> tuple[list[dict[str, Any]], int]:
    """Rewrite one module; its mutants, and the number left out."""
    tree, mutations, *ignored = create_mutations(path, Path(path).read_text(encoding="utf-8"))
    kept = [m for m in mutations if m.contained_by_top_level_function and not rewords(m)]
    left_out = sum(rewords(m) for m in mutations if m.contained_by_top_level_function)
    result = combine_mutations_to_source(tree, kept, *ignored)
    assert SWITCH in result.code
    Path(path).write_text(result.code.replace(SWITCH, OURS), encoding="utf-8")
    lines, spans = result.code.splitlines(), result.line_span_by_function_name

    def text(name: str) -> list[str]:
        return lines[spans[name].start - 1 : spans[name].end]

    mutants = []
    for name in result.mutant_names:
        function = name.partition("__mutmut_")[0]
        before, after = differing(text(f"{function}__mutmut_orig"), text(name))
        dotted = path.removesuffix(".py").replace("/", ".")
        mutants.append(
            {"name": f"{dotted}.{name}", "module": path, "function": plain(function)}
            | {"before": before, "after": after}
        )
    return mutants, left_out


def rewords(mutation: Mutation) -> bool:
    """Return whether the mutant spells a text of several words differently, and does nothing else."""
    node = mutation.original_node
    return isinstance(node, libcst.SimpleString) and " " in node.value.strip("\"' ")


def differing(original: list[str], mutant: list[str]) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines. The definition's own line is left out, because only its name
    differs."""
    changed = [line for line in ndiff(original, mutant) if line[0] in "+-" and "__mutmut_" not in line]
    return [line[2:].strip() for line in changed if line[0] == "-"], [
        line[2:].strip() for line in changed if line[0] == "+"
    ]


def plain(mangled: str) -> str:
    """Return `Class.method` or the function's name from mutmut's name."""
    return mangled.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")


if __name__ == "__main__":
    main()
