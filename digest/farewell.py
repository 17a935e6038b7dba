"""What went with a deleted account, in words. Pure."""

from collections.abc import Mapping

# Tables by the words a reader knows them by; what is not listed counts among "other records".
WORDS = (
    ("feeds you read", ("digest.Subscription",)),
    ("thumbs", ("digest.Feedback",)),
    ("items marked as read or saved", ("digest.Reading",)),
    ("digests", ("digest.Digest",)),
    ("versions of your settings", ("ranking.ConfigVersion",)),
    ("suggestions", ("suggestions.Suggestion",)),
    ("runs of the advisor", ("advisor.Run",)),
    ("tokens for scripts", ("digest.ApiToken",)),
)
ACCOUNT = ("digest.Reader", "account.EmailAddress", "mfa.Authenticator")


def deleted_words(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """(kind in words, how many) for each kind of row in `counts` (by model label) of which there were any;
    the account itself is not counted."""
    listed = [(words, sum(counts.get(label, 0) for label in labels)) for words, labels in WORDS]
    named = {*ACCOUNT, *(label for _, labels in WORDS for label in labels)}
    other = sum(count for label, count in counts.items() if label not in named)
    return [(words, count) for words, count in [*listed, ("other records behind them", other)] if count]
