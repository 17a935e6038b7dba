"""Prompts as files: Markdown below a YAML front matter that is for people only. Pure."""

from pathlib import Path

SUMMARY = Path(__file__).parent.parent / "summaries" / "summary.md"
MARKER = "---"


class PromptUnusable(Exception):
    """The prompt file is missing or malformed; what needs it cannot start."""


def prompt_read(path: Path) -> str:
    """Return the body of the prompt at `path`. Raises `PromptUnusable`.

    The file starts with a `---` line, a second one ends the front matter, and there is no third.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptUnusable(f"The prompt {path.name} cannot be read: {error}") from error
    markers = [n for n, line in enumerate(lines) if line.rstrip() == MARKER]
    if len(markers) != 2 or markers[0] != 0:
        raise PromptUnusable(
            f"The prompt {path.name} needs exactly two {MARKER} lines, the first of them on top; "
            f"it has {len(markers)}."
        )
    body = "\n".join(lines[markers[1] + 1 :]).strip()
    if not body:
        raise PromptUnusable(f"The prompt {path.name} is empty below its front matter.")
    return body
