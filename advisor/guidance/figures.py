"""Every number guidance can be tuned by, with its default. Pure; `tunables` lays the settings over it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tunables:
    """Scores and shares are 0 to 1, `_s` seconds, `_ms` milliseconds, `_days` days of 24 hours.

    Defaults are those of the published advisory engine (vibeship-spark-intelligence, 2026-02) where the
    benchmark of `evaluate_guidance` confirmed them, else what its development seeds settled on.
    """

    relevance_weight: float = 0.45
    quality_weight: float = 0.30
    trust_weight: float = 0.25
    rank_min: float = 0.35
    relevance_min: float = 0.45
    items_max: int = 8
    warning_min: float = 0.80
    note_min: float = 0.48
    whisper_min: float = 0.30
    boost_max: float = 1.5
    boost_relevance_min: float = 0.35
    profile_boost: float = 1.4
    caution_boost: float = 1.5
    negative_boost: float = 1.3
    trust_half_life_days: float = 90.0
    wilson_min: int = 5
    note_relevance_min: float = 0.45
    note_shared_relevance_min: float = 0.455
    note_evidence_min: int = 3
    note_confidence_min: float = 0.60
    note_share_min: float = 0.66
    warning_evidence_min: int = 3
    warning_sources_min: int = 2
    told_max: int = 2
    note_chars: int = 500
    whispers: bool = True
    whispers_max: int = 3
    shown_ttl_s: float = 600.0
    tool_cooldown_s: float = 10.0
    advice_repeat_s: float = 300.0
    text_repeat_s: float = 600.0
    packet_ttl_s: float = 900.0
    cache_ttl_s: float = 120.0
    state_ttl_s: float = 7200.0
    recent_tools: int = 20
    budget_ms: float = 4000.0
    synthesis: bool = False
    synthesis_min_ms: float = 1800.0
    holdout: float = 0.10
    failures_max: float = 0.01
    export: bool = False
    export_automatic: bool = True
    export_dir: str = ""
    export_max: int = 2000
    tip_gap_hours: float = 24.0
    tip_dismissed_days: float = 30.0
