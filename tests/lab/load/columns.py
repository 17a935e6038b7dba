"""The columns of the tables that are copied into, in the order of the lines of `lines` and `opinions`."""

COLUMNS = {
    "digest_source": "key, title",
    "digest_feed": (
        "id, url, source_id, title, site_url, state, etag, last_modified, "
        "last_fetched_at, next_check_at, failures, error_code, error_message, missing, "
        "check_minutes, last_new_at, moved_url, moved_sightings, answered_by"
    ),
    "digest_item": (
        "id, feed_id, guid, url, article, own, source_id, title, text, author, language, published_at, "
        "first_seen_at, dated_at, fingerprint, story_id, clustered_at"
    ),
    "digest_itemvector": "item_id, fingerprint, terms",
    "digest_summary": ("fingerprint, model, text, citations, repaired, refusal, cost_usd, created_at"),
    "digest_suggestedreasons": "fingerprint, model, reasons, cost_usd, created_at",
    "digest_reader": (
        "id, username, password, first_name, last_name, email, is_superuser, is_staff, "
        "is_active, date_joined, time_zone, ai_enabled, peers_enabled, "
        "suggestions_enabled, mail_rhythm, mail_hour, mail_weekday, feed_token, "
        "welcomed_at"
    ),
    "digest_subscription": "reader_id, feed_id, created_at, folder, ai_enabled",
    "digest_digest": "id, reader_id, date, config_version, built_at, left_out, exposed_at",
    "digest_impression": "digest_id, item_id, rank, score, parts, propensity, slot",
    "digest_exposure": (
        "reader_id, item_id, date, door, rank, slot, propensity, score, config_version, shown_at"
    ),
    "digest_reading": "reader_id, item_id, article, read_at, saved_at",
    "digest_feedback": "id, reader_id, item_id, article, useful, at, day, has_reason, other_reasons",
    "digest_feedbacktag": "feedback_id, tag_id",
    "ranking_learnedweight": "reader_id, source_key, delta, p_better, n, updated_at",
    "advisor_run": (
        "id, reader_id, day, trigger, status, stop_reason, message, model, turns, "
        "tool_calls, input_tokens, output_tokens, cost_usd, meta, attempt, fence, "
        "created_at, finished_at"
    ),
    "suggestions_suggestion": (
        "id, reader_id, run_id, suggestion_type, field, target_key, label, "
        "current_value, suggested_value, reason, model_note, confidence, p_helpful, forecast, "
        "expected_impact, config_version, status, validation_notes, created_at, "
        "resolved_at"
    ),
    "suggestions_evidence": ("suggestion_id, item_id, url, title, source_key, useful, reason_tags, rated_at"),
    "suggestions_outcome": (
        "suggestion_id, reader_id, kind, outcome, suggestion_type, target_key, "
        "user_reason, edited_value, config_before, config_after, evidence_summary, "
        "measured, created_at, decided_at"
    ),
}
