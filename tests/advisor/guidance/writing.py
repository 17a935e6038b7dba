"""An operator's input in the forms of rules and insights."""

from django.urls import reverse

WHEN = {"fact": "thumbs_on_target", "op": "lt", "value": 20}
TYPED = {
    "title": "Few thumbs",
    "text": "Leave a source alone that has fewer than 20 thumbs, because so few say little.",
    "tool": "write_suggestion",
    "suggestion_type": "reduce_source",
    "phase": "",
    "polarity": "-1",
    "ceiling": "block",
    "confidence": "0.8",
    "expires_at_0": "",
    "expires_at_1": "",
    "when": '{"fact": "thumbs_on_target", "op": "lt", "value": 20}',
}


def add(site, model="rule", **typed):
    return site.post(reverse(f"admin:advisor_guidance{model}_add"), TYPED | typed)


def change(site, row, **typed):
    return site.post(reverse("admin:advisor_guidancerule_change", args=[row.pk]), TYPED | typed)
