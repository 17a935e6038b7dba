"""What the admin calls tables and columns, in the words of docs/glossary.md.

They are not in the models: a third of the tables are libraries', and each word there would need a migration.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from django.apps import apps
from django.contrib.admin import AdminSite
from django.db.models import Field, Model

# The headings on the first page, by app.
APPS: Mapping[str, str] = MappingProxyType(
    {
        "account": "Sign-in: addresses",
        "advisor": "Advisor",
        "allauth_idp_oidc": "Assistants",
        "auth": "Rights",
        "digest": "Reading",
        "mfa": "Sign-in: second factors",
        "ranking": "Ranking",
        "socialaccount": "Sign-in: provider",
        "suggestions": "Suggestions",
        "tidings": "Nights",
    }
)
# One row and several rows of each table.
TABLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "account.emailaddress": ("e-mail address", "e-mail addresses"),
        "advisor.decision": ("decision of the machinery", "decisions of the machinery"),
        "advisor.guidanceevent": ("guidance event", "guidance events"),
        "advisor.guidanceinsight": ("guidance insight", "guidance insights"),
        "advisor.guidancerule": ("guidance rule", "guidance rules"),
        "advisor.heartbeat": ("sign of life", "signs of life of workers and jobs"),
        "advisor.judgment": ("judgment of the reflector", "judgments of the reflector"),
        "advisor.memory": ("memory", "memories"),
        "advisor.panelvote": ("vote of the panel", "votes of the panel"),
        "advisor.run": ("run", "runs"),
        "allauth_idp_oidc.client": ("assistant", "assistants"),
        "allauth_idp_oidc.token": ("assistant’s access", "access of assistants"),
        "auth.group": ("group of rights", "groups of rights"),
        "digest.apitoken": ("personal token", "personal tokens"),
        "digest.delivery": ("mail with a digest", "mails with digests"),
        "digest.digest": ("digest", "digests"),
        "digest.feed": ("feed", "feeds"),
        "digest.feedback": ("rating", "ratings"),
        "digest.feedbacktag": ("reason of the rating", "reasons of the rating"),
        "digest.impression": ("item of the digest", "items of the digest"),
        "digest.invitation": ("invitation", "invitations"),
        "digest.item": ("item", "items"),
        "digest.notification": ("notification", "notifications"),
        "digest.reader": ("reader", "readers"),
        "digest.reasontag": ("reason tag", "reason tags"),
        "digest.source": ("source", "sources"),
        "digest.spend": ("paid call of a model", "spending on models"),
        "digest.spendrefusal": ("call that a cap refused", "calls that a cap refused"),
        "digest.subscription": ("subscription", "subscriptions"),
        "digest.suggestedreasons": ("suggested reasons of a text", "suggested reasons"),
        "digest.summary": ("summary", "summaries"),
        "mfa.authenticator": ("second factor", "second factors"),
        "ranking.configversion": ("version of settings", "versions of settings"),
        "ranking.learnedweight": ("learned weight", "learned weights"),
        "ranking.rankconfig": ("reader’s ranking settings", "readers’ ranking settings"),
        "ranking.sourcealias": ("former key of a source", "former keys of sources"),
        "ranking.weightsnapshot": ("step of learning", "steps of learning"),
        "socialaccount.socialaccount": ("account at the provider", "accounts at the provider"),
        "suggestions.evidence": ("rated item behind it", "rated items behind it"),
        "suggestions.outcome": ("outcome", "outcomes"),
        "suggestions.outcomearchive": ("archived outcome", "archived outcomes"),
        "suggestions.preferenceprofile": (
            "profile of a reader’s decisions",
            "profiles of readers’ decisions",
        ),
        "suggestions.question": ("question to a reader", "questions to readers"),
        "suggestions.suggestion": ("suggestion", "suggestions"),
        "suggestions.untakenverdict": ("verdict on an untaken suggestion", "verdicts on untaken suggestions"),
        "tidings.nightlyreport": ("nightly run", "nightly runs"),
    }
)
# Columns whose name does not say enough: in every table, or as `table.column` in one.
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "acceptance_stats": "shares of accepted suggestions",
        "ai_enabled": "models allowed",
        "ai_score_alpha": "share of similarity in the score",
        "answered_by": "other site that answers",
        "asked_usd": "highest possible cost",
        "at": "time",
        "attempt": "try",
        "attempts": "tries",
        "before": "weight before",
        "body": "settings",
        "body_hash": "hash of its other parts",
        "cached_tokens": "input tokens from the cache",
        "candidates": "what guidance considered",
        "cause_ref": "row behind the cause",
        "ceiling": "loudest effect",
        "changes": "what changed",
        "check_minutes": "minutes between fetches",
        "claimed_at": "begun at",
        "clustered_at": "compared for stories at",
        "code": "reason",
        "compacted_through": "archived until",
        "computed_at": "updated at",
        "cors_origins": "sites whose scripts may ask",
        "config_after": "settings after it",
        "config_before": "settings before it",
        "config_version": "version of settings",
        "cycle": "week",
        "data": "details",
        "dated_at": "date",
        "delta": "change of the weight",
        "dimensions": "what it depends on",
        "edited_value": "value the reader chose instead",
        "emitted_ids": "memories shown",
        "etag": "version mark of the server",
        "evidence_summary": "rated items behind it",
        "exposed_at": "first shown at",
        "failures": "failures in a row",
        "feed_token": "secret of the reader’s feed",
        "field": "setting",
        "fingerprint": "hash of the text",
        "flipped": "changed its mind",
        "forecast": "forecast on past ratings",
        "guid": "name within the feed",
        "has_reason": "with a reason",
        "hint": "begins with",
        "holdout": "withheld to compare",
        "id": "identifier",
        "is_staff": "operator",
        "is_superuser": "all rights",
        "last_modified": "date of the server’s version",
        "lease_until": "held by a worker until",
        "literal": "topics as exact words",
        "by_meaning": "words that count by meaning",
        "meta": "counts",
        "missing": "times in a row not found",
        "model_note": "the model’s note",
        "moved_sightings": "times in a row seen moved",
        "moved_since": "seen moved since",
        "pause_until": "pause its server asked for ends",
        "moved_url": "new address",
        "ms": "milliseconds",
        "n": "number",
        "on_hold_until": "learning paused until",
        "on_hold_way": "direction learning may not take",
        "origin": "where from",
        "own": "from the article’s own site",
        "p_better": "probability of being liked more than usual",
        "p_helpful": "probability that it helps",
        "packet": "experiment",
        "parts": "parts of the score",
        "peers_enabled": "learns with others",
        "phase": "stage of the run",
        "polarity": "for or against",
        "position": "place in the list",
        "propensity": "probability of being shown",
        "purpose": "what for",
        "read_gone": "read items leave",
        "recency_by_day": "age counted by day",
        "recency_half_life_hours": "hours until half the score",
        "reserved_usd": "reserved cost",
        "resolved_at": "answered at",
        "retired_at": "out of force since",
        "run_id": "run",
        "saved_usd": "saved by the cache",
        "scope": "what it allows",
        "settled_usd": "real cost",
        "site_url": "site",
        "slug": "code",
        "source_key": "source",
        "source_ref": "written by",
        "source_weights": "weights of sources",
        "spend.surface": "budget",
        "spendrefusal.surface": "budget",
        "stop_reason": "why it ended",
        "suggested_value": "proposed value",
        "suggestion_type": "kind of change",
        "suggestions_enabled": "gets suggestions",
        "superseded_by": "replaced by",
        "target": "current key",
        "target_key": "what it is about",
        "text_sig": "hash of the text",
        "token": "number of the claim",
        "tokens": "words for the search",
        "guidanceevent.tokens": "tokens",
        "trigger": "asked by",
        "uid": "identifier",
        "unified": "strength",
        "url": "address",
        "user_reason": "the reader’s words",
        "validation_notes": "notes of the rules",
        "weightsnapshot.after": "weight after",
        "learnedweight.n": "ratings counted",
        "weightsnapshot.n": "ratings counted",
    }
)


def names_apply(site: AdminSite) -> None:
    """Give the tables and columns of `site` their names."""
    for label, words in APPS.items():
        if label in apps.app_configs:
            apps.get_app_config(label).verbose_name = words
    for model in admin_models(site):
        options = model._meta
        options.verbose_name, options.verbose_name_plural = TABLES[options.label_lower]
        for field in options.get_fields():
            words = COLUMNS.get(f"{options.model_name}.{field.name}") or COLUMNS.get(field.name, "")
            if words and isinstance(field, Field):
                field.verbose_name = words


def admin_models(site: AdminSite) -> Iterable[type[Model]]:
    """Return the models that `site` shows, on a page of their own or within another's."""
    inlines = (inline.model for admin in site._registry.values() for inline in admin.inlines)
    return dict.fromkeys([*site._registry, *inlines])
