"""Room for the votes of rules beside those of models that could not be reached."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0004_sessions_apart")]

    operations = [
        migrations.RemoveConstraint(model_name="panelvote", name="one_vote_per_reviewer_and_round"),
        migrations.AddConstraint(
            model_name="panelvote",
            constraint=models.UniqueConstraint(
                fields=["run", "suggestion_type", "target_key", "round", "reviewer", "model"],
                name="one_vote_per_reviewer_and_model",
            ),
        ),
    ]
