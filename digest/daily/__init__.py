"""Building a reader's digest of a day: candidates, composition, exclusion, explanation, storage."""
