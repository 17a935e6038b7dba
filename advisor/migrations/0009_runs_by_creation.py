from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0008_guidance_days")]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["-created_at"], name="runs_by_creation"),
        ),
    ]
