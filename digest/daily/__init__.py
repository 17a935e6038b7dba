"""Building a digest: candidates, composition, exclusion, explanation, storage."""
