"""The codes with which a draft is refused, on its way from an agent to a reader, as the source has them."""

import ast
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFUSING = ("rules.py", "notes.py", "services/lifecycle.py", "changes/*.py")


def codes_refused() -> set[str]:
    """Return the codes of every refusal in `REFUSING`."""
    files = [path for pattern in REFUSING for path in (ROOT / "suggestions").glob(pattern)]
    return set().union(*map(_codes_of, files))


def _codes_of(path: Path) -> set[str]:
    """Return the codes that the functions of a file refuse with."""
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    found = set()
    for call in ast.walk(ast.parse(path.read_text())):
        name = getattr(call.func, "id", getattr(call.func, "attr", "")) if isinstance(call, ast.Call) else ""
        if name == "Refusal" or (name == "refusal" and len(call.args) > 1):
            match call.args[0]:
                case ast.Constant(value=code):
                    found.add(code)
                case ast.Name(id=constant) if hasattr(module, constant):
                    found.add(getattr(module, constant))
    return found
