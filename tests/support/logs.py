"""Capture an operator's log, with the real configuration."""

import io
import json
import logging.config
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from config.logs import logging_config


@contextmanager
def logged(level: str = "DEBUG", secrets: Collection[str] = ()) -> Iterator[io.StringIO]:
    """Everything that is logged meanwhile, in the lines that operators get."""
    stream = io.StringIO()
    config = logging_config(level, secrets)
    for handler in config["handlers"].values():
        handler["stream"] = stream
    logging.config.dictConfig(config)
    try:
        yield stream
    finally:
        logging.config.dictConfig(settings.LOGGING)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the lines as objects. Fail at one that is no JSON."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]
