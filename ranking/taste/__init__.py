"""What a reader likes, learned from examples, as a factor of the score.

    score = weight x freshness x interest x taste
    taste = clip(exp(s (leans + likeness)), 1/b, b)

`entities.Example` is one piece of evidence: a thumb, or an article that the reader named as one they want
more of, which is only a heavier one. `signal.TasteSignal` has a reader's examples and how alike the items to
rank are to them; `columns.TasteColumns` turns it into the factors of many items, with the reasons of some.
`leans` has the arithmetic that the planner shares, `foretold` tells each example by those of other days.
"""
