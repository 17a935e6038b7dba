import digest.models.readers
import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

# The canonical reasons a reader can give with a thumb: slug, label, synonyms.
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


def reason_tags_add(apps, schema_editor):
    tags = apps.get_model("digest", "ReasonTag")
    for kind, rows in (("valued", VALUED), ("disliked", DISLIKED)):
        for position, (slug, label, synonyms) in enumerate(rows):
            tags.objects.update_or_create(
                slug=slug, defaults={"label": label, "kind": kind, "synonyms": synonyms, "position": position}
            )


# The words of items, ready to be searched: an FTS5 table on SQLite, a generated column on PostgreSQL. Neither is a
# Django model: rows of `digest_item` are all that anybody writes, and the database maintains its index.
# External content: the index stores no text of its own. Accents are folded by the tokenizer.
SEARCH_SQLITE_TABLE = [
    """
    CREATE VIRTUAL TABLE digest_item_search USING fts5(
        title, text, content='digest_item', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2', prefix='3'
    )
    """,
    "INSERT INTO digest_item_search(digest_item_search) VALUES ('rebuild')",
]
SEARCH_SQLITE_TRIGGERS = [
    """
    CREATE TRIGGER digest_item_search_added AFTER INSERT ON digest_item BEGIN
        INSERT INTO digest_item_search(rowid, title, text) VALUES (new.id, new.title, new.text);
    END
    """,
    """
    CREATE TRIGGER digest_item_search_gone AFTER DELETE ON digest_item BEGIN
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END
    """,
    """
    CREATE TRIGGER digest_item_search_changed AFTER UPDATE OF title, text ON digest_item BEGIN
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
        INSERT INTO digest_item_search(rowid, title, text) VALUES (new.id, new.title, new.text);
    END
    """,
]
SEARCH_SQLITE_DROP = [
    "DROP TRIGGER IF EXISTS digest_item_search_added",
    "DROP TRIGGER IF EXISTS digest_item_search_gone",
    "DROP TRIGGER IF EXISTS digest_item_search_changed",
]

# Accents are split off and dropped, and punctuation becomes space, so that PostgreSQL's parser sees words and
# nothing it would take for a host, an address or a signed number. No extension is needed. A tsvector holds
# 1 MB at most, hence the cut.
SEARCH_POSTGRESQL = [
    r"""
    CREATE FUNCTION digest_words(part text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
        SELECT to_tsvector('pg_catalog.simple', regexp_replace(
            regexp_replace(normalize(left(part, 100000), NFKD), '[\u0300-\u036f]+', '', 'g'),
            '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2010-\u206f\u3000-\u303f]+', ' ', 'g'))
    $$
    """,
    """
    ALTER TABLE digest_item ADD COLUMN search_words tsvector GENERATED ALWAYS AS (
        setweight(digest_words(title), 'A') || setweight(digest_words(text), 'D')
    ) STORED
    """,
    "CREATE INDEX digest_item_search ON digest_item USING gin (search_words)",
]
SEARCH_POSTGRESQL_REMOVE = ["ALTER TABLE digest_item DROP COLUMN search_words", "DROP FUNCTION digest_words(text)"]


def search_add(apps, schema_editor):
    _run(schema_editor, SEARCH_SQLITE_TABLE + SEARCH_SQLITE_TRIGGERS, SEARCH_POSTGRESQL)


def search_remove(apps, schema_editor):
    drop = [*SEARCH_SQLITE_DROP, "DROP TABLE digest_item_search"]
    _run(schema_editor, drop, SEARCH_POSTGRESQL_REMOVE)


def search_triggers_add(apps, schema_editor):
    """Make SQLite's triggers again: whoever alters a column of `digest_item` there makes its table anew without them."""
    _run(schema_editor, [*SEARCH_SQLITE_DROP, *SEARCH_SQLITE_TRIGGERS], [])


def _run(schema_editor, sqlite, postgresql):
    vendor = schema_editor.connection.vendor
    for statement in {"sqlite": sqlite, "postgresql": postgresql}.get(vendor, []):
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Reader',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('time_zone', models.CharField(default='UTC', max_length=64, validators=[digest.models.readers.time_zone_validate])),
                ('ai_enabled', models.BooleanField(default=True, help_text="Off: no text of this reader's feeds or feedback ever goes to a model.")),
                ('peers_enabled', models.BooleanField(default=True, help_text="Off: this reader's thumbs count in no aggregate over readers, and none is used for them.")),
                ('suggestions_enabled', models.BooleanField(default=True, help_text='Off: no suggestion is worked out for this reader, and none is brought up.')),
                ('nudge_quiet_until', models.DateTimeField(blank=True, help_text="Until then, today's page says nothing of suggestions that wait.", null=True)),
                ('mail_rhythm', models.CharField(choices=[('off', 'never'), ('daily', 'every day'), ('weekly', 'once a week')], default='off', max_length=6)),
                ('mail_hour', models.PositiveSmallIntegerField(default=7, help_text="From this hour on, in the reader's zone.")),
                ('mail_weekday', models.PositiveSmallIntegerField(default=0, help_text='For weekly mail: 0 is Monday, 6 is Sunday.')),
                ('feed_token', models.CharField(blank=True, help_text="The secret in the reader's own feed address.", max_length=64, null=True, unique=True)),
                ('sources_left_at', models.DateTimeField(blank=True, help_text='When a feed was last unsubscribed from; older digests are due.', null=True)),
                ('welcomed_at', models.DateTimeField(blank=True, help_text="When the first visit's questions were answered or put aside.", null=True)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='Feed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=2000, unique=True)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('site_url', models.CharField(blank=True, max_length=2000)),
                ('state', models.CharField(choices=[('active', 'Active'), ('paused', 'Paused'), ('gone', 'Gone'), ('imported', 'imported (never fetched)')], default='active', max_length=10)),
                ('etag', models.CharField(blank=True, max_length=500)),
                ('last_modified', models.CharField(blank=True, max_length=100)),
                ('last_fetched_at', models.DateTimeField(blank=True, null=True)),
                ('next_check_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Failed fetches in a row.')),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('error_message', models.CharField(blank=True, max_length=300)),
                ('missing', models.PositiveIntegerField(default=0, help_text='Answers 404 in a row.')),
                ('check_minutes', models.PositiveIntegerField(default=60, help_text="The interval its own rhythm and its server's wishes lead to.")),
                ('last_new_at', models.DateTimeField(blank=True, help_text='When it last brought a new item.', null=True)),
                ('moved_url', models.CharField(blank=True, help_text='Where permanent redirects lead, until they are believed.', max_length=2000)),
                ('moved_sightings', models.PositiveIntegerField(default=0, help_text='Redirects there in a row.')),
                ('moved_since', models.DateTimeField(blank=True, help_text='When the first of them was seen.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=2000, unique=True)),
                ('title', models.CharField(max_length=500)),
                ('text', models.TextField(blank=True, help_text='Sanitised plain text.')),
                ('author', models.CharField(blank=True, max_length=200)),
                ('language', models.CharField(blank=True, max_length=20)),
                ('published_at', models.DateTimeField(help_text='As the publisher says, clamped; ages count from `dated_at`.')),
                ('first_seen_at', models.DateTimeField()),
                ('dated_at', models.DateTimeField(help_text='Published, or first seen where the published date lies.')),
                ('fingerprint', models.CharField(help_text='Hash of the folded title and text.', max_length=64)),
                ('clustered_at', models.DateTimeField(blank=True, help_text='When it was last compared with its neighbours; empty: not yet.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ReasonTag',
            fields=[
                ('slug', models.SlugField(max_length=40, primary_key=True, serialize=False)),
                ('label', models.CharField(max_length=60)),
                ('kind', models.CharField(choices=[('valued', 'Valued'), ('disliked', 'Disliked')], max_length=10)),
                ('synonyms', models.JSONField(blank=True, default=list)),
                ('position', models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                'ordering': ['kind', 'position'],
            },
        ),
        migrations.CreateModel(
            name='Source',
            fields=[
                ('key', models.CharField(max_length=120, primary_key=True, serialize=False)),
                ('title', models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Story',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField()),
                ('last_item_at', models.DateTimeField(db_index=True, help_text='`dated_at` of its newest item.')),
            ],
        ),
        migrations.CreateModel(
            name='TermCounts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('documents', models.PositiveBigIntegerField(default=0)),
                ('counts', models.BinaryField(default=bytes, help_text='One number for each place, compressed.')),
            ],
            options={
                'verbose_name_plural': 'term counts',
            },
        ),
        migrations.CreateModel(
            name='TasteProfile',
            fields=[
                ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='taste', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('day', models.IntegerField(help_text='The UTC day (since 1970) whose decay the sums stand at.')),
                ('likes', models.FloatField(default=0.0, help_text='Decayed.')),
                ('dislikes', models.FloatField(default=0.0, help_text='Decayed.')),
                ('terms', models.BinaryField(default=bytes, help_text='Places, liked and disliked sums.')),
                ('thumbs', models.BinaryField(default=bytes, help_text='Item, day and sign of each thumb in the sums.')),
                ('updated_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('digest', models.CharField(help_text='SHA-256 of the token.', max_length=64, unique=True)),
                ('hint', models.CharField(help_text='How it begins, to tell tokens apart.', max_length=8)),
                ('scope', models.CharField(choices=[('read', 'read'), ('rate', 'read and rate'), ('full', 'everything the reader may do')], default='read', max_length=4)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Digest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField()),
                ('config_version', models.PositiveIntegerField()),
                ('built_at', models.DateTimeField()),
                ('left_out', models.JSONField(blank=True, default=dict, help_text='How many candidates were left out or moved down, by reason.')),
                ('exposed_at', models.DateTimeField(blank=True, help_text='When this build was first shown and logged; empty: not yet.', null=True)),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='digests', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-date'],
            },
        ),
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('useful', models.BooleanField()),
                ('at', models.DateTimeField()),
                ('day', models.IntegerField(help_text='`at` as whole UTC days since 1970, so that SQL can weigh by age.')),
                ('has_reason', models.BooleanField(default=False)),
                ('other_reasons', models.JSONField(blank=True, default=list, help_text='Reasons outside the taxonomy, kept as quoted, untrusted text.')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='digest.item')),
            ],
            options={
                'verbose_name_plural': 'feedback',
            },
        ),
        migrations.CreateModel(
            name='ItemVector',
            fields=[
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='vector', serialize=False, to='digest.item')),
                ('fingerprint', models.CharField(help_text='Of the words it was made from.', max_length=64)),
                ('terms', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='Impression',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField()),
                ('score', models.FloatField()),
                ('parts', models.JSONField()),
                ('propensity', models.FloatField(default=1.0, help_text='The probability with which it was shown here.')),
                ('slot', models.CharField(choices=[('ranked', 'ranked by score'), ('novelty', 'drawn from sources little is known about'), ('kept', 'kept in place because it was rated')], default='ranked', max_length=8)),
                ('digest', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='impressions', to='digest.digest')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='impressions', to='digest.item')),
            ],
            options={
                'ordering': ['rank'],
            },
        ),
        migrations.CreateModel(
            name='FeedEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('guid', models.CharField(max_length=500)),
                ('feed', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='digest.feed')),
                ('item', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='entries', to='digest.item')),
            ],
        ),
        migrations.CreateModel(
            name='Exposure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField(help_text="The digest's day in the reader's zone.")),
                ('door', models.CharField(choices=[('page', 'Page'), ('mail', 'Mail'), ('feed', 'Feed'), ('api', 'Api')], max_length=5)),
                ('rank', models.PositiveIntegerField()),
                ('slot', models.CharField(choices=[('ranked', 'ranked by score'), ('novelty', 'drawn from sources little is known about'), ('kept', 'kept in place because it was rated')], max_length=8)),
                ('propensity', models.FloatField(help_text='The probability with which it was shown at all.')),
                ('score', models.FloatField()),
                ('config_version', models.PositiveIntegerField()),
                ('shown_at', models.DateTimeField()),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='exposures', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exposures', to='digest.item')),
            ],
        ),
        migrations.CreateModel(
            name='Reading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('saved_at', models.DateTimeField(blank=True, null=True)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='digest.item')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='readings', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='FeedbackTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('feedback', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='digest.feedback')),
                ('tag', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='digest.reasontag')),
            ],
        ),
        migrations.AddField(
            model_name='feedback',
            name='tags',
            field=models.ManyToManyField(related_name='feedback', through='digest.FeedbackTag', to='digest.reasontag'),
        ),
        migrations.AddField(
            model_name='item',
            name='source',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='digest.source'),
        ),
        migrations.AddField(
            model_name='feed',
            name='source',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='feeds', to='digest.source'),
        ),
        migrations.CreateModel(
            name='Spend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('surface', models.CharField(choices=[('ingest', 'Ingest'), ('advisor', 'Advisor')], max_length=10)),
                ('run_id', models.UUIDField(db_index=True, null=True)),
                ('purpose', models.CharField(default='advisor', help_text='advisor, review, summary or reasons.', max_length=20)),
                ('model', models.CharField(max_length=80)),
                ('reserved_usd', models.DecimalField(decimal_places=6, max_digits=12)),
                ('settled_usd', models.DecimalField(decimal_places=6, max_digits=12, null=True)),
                ('input_tokens', models.PositiveIntegerField(default=0)),
                ('cached_tokens', models.PositiveIntegerField(default=0)),
                ('output_tokens', models.PositiveIntegerField(default=0)),
                ('saved_usd', models.DecimalField(decimal_places=6, default=0, help_text="What the provider's cache saved on the input.", max_digits=12)),
                ('day', models.DateField(help_text='The UTC day whose cap it counts against.')),
                ('created_at', models.DateTimeField()),
                ('reader', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='spend', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'spend',
            },
        ),
        migrations.CreateModel(
            name='SpendRefusal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('surface', models.CharField(choices=[('ingest', 'Ingest'), ('advisor', 'Advisor')], max_length=10)),
                ('run_id', models.UUIDField(null=True)),
                ('purpose', models.CharField(default='advisor', max_length=20)),
                ('model', models.CharField(max_length=80)),
                ('code', models.CharField(help_text='Which cap: budget_day, budget_run, budget_reader.', max_length=40)),
                ('asked_usd', models.DecimalField(decimal_places=6, max_digits=12)),
                ('day', models.DateField(db_index=True)),
                ('created_at', models.DateTimeField()),
                ('reader', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='refusals', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='item',
            name='story',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='items', to='digest.story'),
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField()),
                ('folder', models.CharField(blank=True, help_text="As in the reader's OPML list.", max_length=100)),
                ('ai_enabled', models.BooleanField(default=True, help_text="Off: no text of this feed goes to a model on this reader's behalf.")),
                ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='subscriptions', to='digest.feed')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='subscriptions', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SuggestedReasons',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(help_text="Of the item's title and text.", max_length=64)),
                ('model', models.CharField(help_text='`offline`, or provider:model.', max_length=80)),
                ('reasons', models.JSONField(default=list, help_text='[{"tag": slug, "text": "…"}]')),
                ('cost_usd', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'suggested reasons',
                'constraints': [models.UniqueConstraint(fields=('fingerprint', 'model'), name='one_reasons_per_text_and_model')],
            },
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(help_text="Of the item's title and text.", max_length=64)),
                ('model', models.CharField(help_text='`offline`, or provider:model.', max_length=80)),
                ('text', models.TextField(blank=True)),
                ('citations', models.JSONField(blank=True, default=list, help_text='Exact substrings of the text.')),
                ('repaired', models.BooleanField(default=False, help_text="The publisher's first sentence stands in.")),
                ('refusal', models.CharField(blank=True, choices=[('', 'none'), ('NO_EVIDENCE', 'the text holds nothing to summarise'), ('GROUNDING_FAIL', 'the summary could not be grounded in the text'), ('TIME_LIMIT', 'the text took longer than one may'), ('FAILED', 'the text could not be read')], max_length=20)),
                ('cost_usd', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'summaries',
                'constraints': [models.UniqueConstraint(fields=('fingerprint', 'model'), name='one_summary_per_text_and_model')],
            },
        ),
        migrations.CreateModel(
            name='UsedLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(help_text="SHA-256 of the link's token.", max_length=64, unique=True)),
                ('used_at', models.DateTimeField()),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='used_links', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField(help_text="The day in the reader's zone whose digest it carries.")),
                ('status', models.CharField(choices=[('claimed', 'Claimed'), ('sent', 'Sent'), ('failed', 'Failed'), ('empty', 'nothing to send')], default='claimed', max_length=8)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('items', models.PositiveSmallIntegerField(default=0)),
                ('claimed_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(fields=['status', 'claimed_at'], name='deliveries_by_status')],
                'constraints': [models.UniqueConstraint(fields=('reader', 'date'), name='one_mail_per_day')],
            },
        ),
        migrations.AddConstraint(
            model_name='digest',
            constraint=models.UniqueConstraint(fields=('reader', 'date'), name='one_digest_per_day'),
        ),
        migrations.AddConstraint(
            model_name='impression',
            constraint=models.UniqueConstraint(fields=('digest', 'item'), name='one_impression_per_item'),
        ),
        migrations.AddConstraint(
            model_name='impression',
            constraint=models.UniqueConstraint(fields=('digest', 'rank'), name='one_impression_per_rank'),
        ),
        migrations.AddIndex(
            model_name='feedentry',
            index=models.Index(fields=['feed', 'item'], name='entries_of_a_feed_by_item'),
        ),
        migrations.AddConstraint(
            model_name='feedentry',
            constraint=models.UniqueConstraint(fields=('feed', 'guid'), name='one_entry_per_guid'),
        ),
        migrations.AddIndex(
            model_name='exposure',
            index=models.Index(fields=['reader', '-shown_at'], name='exposures_of_a_reader_by_date'),
        ),
        migrations.AddConstraint(
            model_name='exposure',
            constraint=models.UniqueConstraint(fields=('reader', 'date', 'item', 'door', 'rank'), name='one_exposure_per_rank_and_door'),
        ),
        migrations.AddIndex(
            model_name='reading',
            index=models.Index(fields=['reader', '-saved_at'], name='saved_by_a_reader_by_date'),
        ),
        migrations.AddConstraint(
            model_name='reading',
            constraint=models.UniqueConstraint(fields=('reader', 'item'), name='one_reading_per_item'),
        ),
        migrations.AddConstraint(
            model_name='feedbacktag',
            constraint=models.UniqueConstraint(fields=('feedback', 'tag'), name='one_tag_per_thumb'),
        ),
        migrations.AddIndex(
            model_name='feedback',
            index=models.Index(fields=['reader', '-at'], name='feedback_of_a_reader_by_date'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.UniqueConstraint(fields=('reader', 'item'), name='one_thumb_per_item'),
        ),
        migrations.AddIndex(
            model_name='spend',
            index=models.Index(fields=['day', 'surface'], name='spend_by_day_and_surface'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['source', '-dated_at'], name='items_of_a_source_by_date'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['fingerprint'], name='items_by_fingerprint'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['dated_at', 'id'], name='items_by_date_and_id'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(fields=('reader', 'feed'), name='one_subscription_per_feed'),
        ),
        migrations.CreateModel(
            name='CommunityRound',
            fields=[
                ('day', models.IntegerField(help_text='The UTC day it was made, counted from 1970.', primary_key=True, serialize=False)),
                ('after', models.IntegerField(help_text='The `until` of the round before.', unique=True)),
                ('until', models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='ItemFigure',
            fields=[
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='figure', serialize=False, to='digest.item')),
                ('day', models.IntegerField(db_index=True, help_text='The UTC day it was published.')),
                ('likes', models.IntegerField()),
                ('thumbs', models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='SourceFigure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.IntegerField(help_text='Periods of 28 UTC days, counted from 1970.')),
                ('day', models.IntegerField(help_text='The UTC day it was published.')),
                ('likes', models.IntegerField()),
                ('thumbs', models.IntegerField()),
                ('source', models.ForeignKey(db_index=False, help_text='Empty: all sources together.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='figures', to='digest.source')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('period', 'source'), name='one_figure_per_source_and_period')],
            },
        ),
        migrations.RunPython(reason_tags_add, migrations.RunPython.noop),
        migrations.RunPython(search_add, search_remove),
    ]
