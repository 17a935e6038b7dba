"""The canonical reasons a reader can give with a thumb."""

from django.db import migrations

VALUED = [
    ("clarity", "Well explained", ["finally explained well", "clear", "clearly explained", "well written"]),
    ("depth", "Real depth", ["in-depth", "in depth", "deep dive", "thorough", "detailed"]),
    ("original", "Original reporting", ["original", "exclusive", "first-hand", "own research"]),
    ("practical", "Useful to me", ["useful", "practical", "actionable", "hands-on", "helpful"]),
    ("surprising", "New to me", ["surprising", "new to me", "learned something", "novel"]),
    ("on-topic", "My kind of topic", ["relevant", "interesting topic", "more like this", "on topic"]),
]
DISLIKED = [
    ("hype", "Too much hype", ["hype", "hyped", "sensational", "overblown", "marketing"]),
    ("clickbait", "Clickbait headline", ["clickbait", "misleading headline", "bait"]),
    ("shallow", "Too shallow", ["shallow", "superficial", "thin", "no substance"]),
    ("known", "Already knew this", ["already knew", "old news", "known", "repeat", "duplicate"]),
    ("paywall", "Behind a paywall", ["paywall", "paywalled", "paywall issues", "subscribers only"]),
    ("off-topic", "Not my topic", ["irrelevant", "not interested", "less like this", "off topic", "boring"]),
]


def add(apps, schema_editor):
    tags = apps.get_model("digest", "ReasonTag")
    for kind, rows in (("valued", VALUED), ("disliked", DISLIKED)):
        for position, (slug, label, synonyms) in enumerate(rows):
            tags.objects.update_or_create(
                slug=slug, defaults={"label": label, "kind": kind, "synonyms": synonyms, "position": position}
            )


class Migration(migrations.Migration):
    dependencies = [("digest", "0001_initial")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
