"""Make the table of word pieces that this folder ships, from a sentence-transformers model.

    python ranking/meaning/make_table.py MODEL FOLDER

MODEL is a folder with a sentence-transformers model, such as all-MiniLM-L6-v2; FOLDER gets `english.npz` and
`english-tokenizer.json`. Needs `model2vec[distill]`, which needs torch, and about five minutes on two cores.
Tidings itself never imports this module: at run time it only looks numbers up.
"""

import sys
from pathlib import Path

import numpy as np

DIMENSIONS = 128
# The first 128 principal components of 256 are the same as of 128. Computing more loses less in the cut.
DISTILLED_DIMENSIONS = 256


def main(model: str, folder: Path) -> None:
    """Distil `model` and write the table and its tokenizer to `folder`."""
    from model2vec.distill import distill  # type: ignore[import-not-found]  # noqa: PLC0415

    static = distill(model_name=model, pca_dims=DISTILLED_DIMENSIONS)
    rows = np.asarray(static.embedding[:, :DIMENSIONS], dtype=np.float32)
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
    vectors = np.round(rows / scales[:, None]).astype(np.int8)
    np.savez_compressed(folder / "english.npz", vectors=vectors, scales=scales.astype(np.float16))
    static.tokenizer.save(str(folder / "english-tokenizer.json"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
