"""The demo: a fictional world of feeds, three readers with tastes of their own, and the main job as a story.

`world` reads the written items, `feeds` renders them as real feed files, `taste` decides the thumbs,
`readers` seeds the accounts, `story` does the main job in the terminal.
"""
