"""Structured logs: one JSON object a line, on stderr only, so that a command's stdout stays its own."""

from typing import Any

import structlog

SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def structlog_configure() -> None:
    """Send structlog's events through the standard library's handlers."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def logging_config(level: str) -> dict[str, Any]:
    """The `LOGGING` dictionary: structlog's and the standard library's records through one JSON renderer."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    structlog.processors.JSONRenderer(),
                ],
            }
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django gives itself a level of its own; at DEBUG it would tell every query and lookup.
            "django": {"level": "INFO" if level == "DEBUG" else level},
            "django.server": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
        },
    }
