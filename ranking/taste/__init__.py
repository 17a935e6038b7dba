"""A reader's taste, learned from examples, as a factor of the score.

    score = weight x freshness x interest x taste
    taste = clip(exp(s (leans + likeness)), 1/b, b)

`entities.Example` is one piece of evidence: a thumb, or an article named by the reader, which weighs more.
`signal.TasteSignal` has a reader's examples and the likeness of the items to rank. `columns.TasteColumns`
turns it into the factors of many items, with the reasons of some. `leans` has the arithmetic that the planner
shares. `foretold` predicts each example from those of other days.
"""
