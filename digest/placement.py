"""Where items stand when a digest is built again: what was rated keeps its place, the rest flows round it."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def place(ranked: Sequence[T], kept: Mapping[int, T], size: int) -> list[T]:
    """The first `size` of `ranked`, with each item of `kept` (rank from 1 -> item) at its rank.

    A kept item is never lost: where the list ends before its rank, it moves up to the end.
    """
    standing = set(kept.values())
    rest = iter([item for item in ranked if item not in standing][: max(0, size - len(standing))])
    placed: list[T] = []
    for rank in sorted(kept):
        while len(placed) < rank - 1 and (item := next(rest, None)) is not None:
            placed.append(item)
        placed.append(kept[rank])
    return [*placed, *rest]
