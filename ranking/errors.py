"""What ranking refuses, with a stable code and words for the person who can mend it."""

from collections.abc import Sequence


class RankingError(Exception):
    """A refused write. `code` is stable; `message` says what was wrong and what to do."""

    code = "ranking_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StaleVersion(RankingError):
    """The config changed after the page that is being saved was loaded."""

    code = "config_changed"

    def __init__(self, *, seen: int, current: int, changed: Sequence[str]) -> None:
        listed = ", ".join(changed) or "nothing you can see here"
        super().__init__(
            f"Your settings moved on from version {seen} to {current} meanwhile ({listed}). "
            "Nothing was saved; look at them again and repeat your change."
        )
        self.seen, self.current, self.changed = seen, current, list(changed)


class UnknownVersion(RankingError):
    """A version this reader never had."""

    code = "unknown_version"


class InvalidSetting(RankingError):
    """A value outside what ranking can work with."""

    code = "invalid_setting"
