import digest.models.feeds
import digest.models.readers
import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from ranking.common.migrations import ModelsCreate

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
# Django model: rows of `digest_item` are all that anybody writes, and the database maintains its index. Scripts without
# spaces are indexed in pairs of letters (of 日本語, 日本, 本語 and 語), and the signs of "C++", "C#" and ".NET" as words.
# `digest.items.search_query` writes queries the same way.

# Thai, Lao, Myanmar, Khmer, kana, Chinese characters, Hangul.
SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U000323af"
)
# Two ranges around all of these, which rule most texts out in a third of the time.
AROUND_SPACELESS = "\u0e01-\u17d3\u3005-\U000323af"
# What a dot that begins a name stands after (".NET").
OPENERS = ' \n\t\u00a0("\u201c\u201e\u00ab['


def sqlite_words(column):
    """Write the SQL of what is indexed of a column: the text itself unless it has such letters or signs.

    A text with such letters is walked in pieces of 256 characters, each with the one before and the one after it:
    `substr` counts from the beginning of its text. Another one is split where the signs are.
    """
    plain, letter, text = "[a-zA-Z0-9]", f"[{SPACELESS}]", f"' ' || {column}"
    # What costs little rules most texts out of what costs more: a character is looked for faster than one of some.
    opened = " OR ".join(f"instr({text}, '{opener}.')" for opener in OPENERS)
    signs = sqlite_split(text, ".", "dotsign", f"before GLOB '[{OPENERS}]' AND part GLOB '[a-zA-Z]*'")
    signs = sqlite_split(signs, "++", "plusplus", f"before GLOB '{plain}'")
    signs = sqlite_split(signs, "#", "sharpsign", f"before GLOB '{plain}'")
    return f"""
        CASE WHEN length(CAST({column} AS BLOB)) > length({column}) AND {column} GLOB '*[{AROUND_SPACELESS}]*' AND {column} GLOB '*{letter}*' THEN (
            WITH RECURSIVE piece(n, chars) AS (
                SELECT 0, substr({text}, 1, 258)
                UNION ALL SELECT n + 1, substr({text}, n * 256 + 257, 258) FROM piece
                WHERE (n + 1) * 256 < length({column})
            ), place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < 256)
            SELECT group_concat(CASE
                WHEN c GLOB '{letter}' AND after GLOB '{letter}' THEN ' ' || c || after || ' '
                WHEN c GLOB '{letter}' THEN ' ' || c || ' '
                WHEN c = '#' AND before GLOB '{plain}' THEN ' sharpsign '
                WHEN c = '+' AND after = '+' AND before GLOB '{plain}' THEN ' plusplus '
                WHEN c = '.' AND after GLOB '[a-zA-Z]' AND before GLOB '[{OPENERS}]' THEN ' dotsign '
                ELSE c END, '')
            FROM (
                SELECT substr(chars, i, 1) AS before, substr(chars, i + 1, 1) AS c, substr(chars, i + 2, 1) AS after
                FROM piece CROSS JOIN place
            )
        ) WHEN {column} GLOB '*.[a-zA-Z]*' AND ({opened}) AND {text} GLOB '*[{OPENERS}].[a-zA-Z]*'
            OR instr({column}, '#') AND {column} GLOB '*{plain}#*'
            OR instr({column}, '++') AND {column} GLOB '*{plain}++*'
        THEN {signs}
        ELSE {column} END"""


def sqlite_split(text, sign, word, where):
    """Write the SQL of a text in which each `sign` is a `word` where it stands as `where` says."""
    return f"""(
            SELECT group_concat(CASE WHEN n = 0 THEN part WHEN {where} THEN ' {word} ' || part ELSE '{sign}' || part END, '')
            FROM (
                SELECT key AS n, value AS part, substr(lag(value) OVER (ORDER BY key), -1) AS before
                FROM json_each('[' || replace(json_quote({text}), '{sign}', '","') || ']')
            )
        )"""


def sqlite_row(row):
    return f"{row}id, {sqlite_words(f'{row}title')}, {sqlite_words(f'{row}text')}"


FORGET = f"""
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text) SELECT 'delete', {sqlite_row("old.")};"""
ADD = f"""
        INSERT INTO digest_item_search(rowid, title, text) SELECT {sqlite_row("new.")};"""
# Without content of its own: the words differ from the columns. Marks belong to words (Hindi is full of them),
# except those that only choose how an emoji looks.
SQLITE_TABLE = [
    """
    CREATE VIRTUAL TABLE digest_item_search USING fts5(
        title, text, content='',
        tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc' separators '\ufe0e\ufe0f'"
    )
    """,
    f"INSERT INTO digest_item_search(rowid, title, text) SELECT {sqlite_row('')} FROM digest_item",
]
SQLITE_TRIGGERS = [
    f"CREATE TRIGGER digest_item_search_added AFTER INSERT ON digest_item BEGIN{ADD} END",
    f"CREATE TRIGGER digest_item_search_gone AFTER DELETE ON digest_item BEGIN{FORGET} END",
    f"CREATE TRIGGER digest_item_search_changed AFTER UPDATE OF title, text ON digest_item BEGIN{FORGET}{ADD} END",
]

SQLITE_DROP = [
    "DROP TRIGGER IF EXISTS digest_item_search_added",
    "DROP TRIGGER IF EXISTS digest_item_search_gone",
    "DROP TRIGGER IF EXISTS digest_item_search_changed",
]

# Accents are split off and dropped, and punctuation becomes space, so that PostgreSQL's parser sees words and
# nothing it would take for a host, an address or a signed number. No extension is needed.
# Composed again after accents are dropped, so that kana and Hangul are letters as they are typed. Half of the
# longest text makes pairs: a tsvector holds 1 MB at most. The fence (OFFSET 0) has each step done once.
POSTGRESQL_WORDS = rf"""
    CREATE FUNCTION digest_words(part text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
        SELECT to_tsvector('pg_catalog.simple', regexp_replace(
            CASE WHEN plain ~ '[{SPACELESS}]' THEN (
                SELECT string_agg(CASE
                    WHEN c !~ '[{SPACELESS}]' THEN c
                    WHEN after ~ '[{SPACELESS}]' THEN ' ' || c || after || ' '
                    ELSE ' ' || c || ' ' END, '' ORDER BY n)
                FROM (
                    SELECT c, n, lead(c) OVER (ORDER BY n) AS after
                    FROM unnest(string_to_array(left(plain, 50000), NULL)) WITH ORDINALITY AS letters(c, n)
                ) AS pairs
            ) ELSE plain END,
            '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2010-\u206f\u3000-\u3004\u3008-\u303f]+', ' ', 'g'))
        FROM (
            SELECT regexp_replace(regexp_replace(regexp_replace(
                normalize(regexp_replace(normalize(left(part, 100000), NFKD), '[\u0300-\u036f]+', '', 'g'), NFKC),
                '([a-zA-Z0-9])#', '\1 sharpsign ', 'g'),
                '([a-zA-Z0-9])\+\+', '\1 plusplus ', 'g'),
                '(^|[\s("\u201c\u201e\u00ab[])\.(?=[a-zA-Z])', '\1 dotsign ', 'g') AS plain
            OFFSET 0
        ) AS folded
    $$
"""
POSTGRESQL = [
    POSTGRESQL_WORDS,
    """
    ALTER TABLE digest_item ADD COLUMN search_words tsvector GENERATED ALWAYS AS (
        setweight(digest_words(title), 'A') || setweight(digest_words(text), 'D')
    ) STORED
    """,
    "CREATE INDEX digest_item_search ON digest_item USING gin (search_words)",
]
POSTGRESQL_REMOVE = ["ALTER TABLE digest_item DROP COLUMN search_words", "DROP FUNCTION digest_words(text)"]


def search_add(apps, schema_editor):
    _run(schema_editor, [*SQLITE_TABLE, *SQLITE_TRIGGERS], POSTGRESQL)


def search_remove(apps, schema_editor):
    _run(schema_editor, [*SQLITE_DROP, "DROP TABLE digest_item_search"], POSTGRESQL_REMOVE)


def search_triggers_add(apps, schema_editor):
    """Make SQLite's triggers again: whoever alters a column of `digest_item` there makes its table anew without them."""
    _run(schema_editor, [*SQLITE_DROP, *SQLITE_TRIGGERS], [])


def search_rebuild(schema_editor):
    """Index all items of SQLite anew (docs/operations.md)."""
    _run(schema_editor, ["DROP TABLE IF EXISTS digest_item_search", *SQLITE_TABLE], [])


def _run(schema_editor, sqlite, postgresql):
    vendor = schema_editor.connection.vendor
    for statement in {"sqlite": sqlite, "postgresql": postgresql}.get(vendor, []):
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):

    replaces = [
        ('digest', '0001_initial'),
        ('digest', '0002_items_by_feed'),
        ('digest', '0003_item_bodies'),
        ('digest', '0004_reader_lists'),
        ('digest', '0005_items_of_a_feed_listed'),
        ('digest', '0006_sources_filled'),
        ('digest', '0007_search_signs_and_scripts'),
        ('digest', '0008_full_text'),
        ('digest', '0009_reader_theme'),
        ('digest', '0010_order_before'),
        ('digest', '0011_hide_read'),
        ('digest', '0012_feedback_origin'),
        ('digest', '0013_learn_from_reading'),
        ('digest', '0014_early_change'),
        ('digest', '0015_favicons_and_offline'),
        ('digest', '0016_notifications'),
        ('digest', '0017_private_feeds'),
        ('digest', '0018_newsletter_addresses'),
        ('digest', '0019_reader_language'),
        ('digest', '0020_mailbox_state'),
        ('digest', '0021_subscription_names'),
        ('digest', '0022_search_without_prefixes'),
        ('digest', '0023_search_words_split'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        ModelsCreate([
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
                    ('pictures', models.CharField(choices=[('shown', 'show them'), ('tap', 'show one when I tap it'), ('never', 'never show any')], db_default='shown', default='shown', help_text='Pictures in articles, which come through this site.', max_length=5)),
                    ('list_density', models.CharField(choices=[('comfortable', 'comfortable: with the beginning of each text'), ('compact', 'compact: titles alone')], db_default='comfortable', default='comfortable', max_length=11)),
                    ('list_size', models.PositiveSmallIntegerField(choices=[(20, 'Small'), (50, 'Medium'), (100, 'Large')], db_default=50, default=50, help_text='Items on one page of all items.')),
                    ('read_on_scroll', models.BooleanField(db_default=False, default=False, help_text='Items scrolled past in all items are marked as read.')),
                    ('sources_filled_at', models.DateTimeField(blank=True, help_text='When the first fetch of new feeds last ended for this reader; older digests are due.', null=True)),
                    ('theme', models.CharField(choices=[('system', 'as my device'), ('light', 'light'), ('dark', 'dark')], db_default='system', default='system', max_length=6)),
                    ('hide_read', models.BooleanField(db_default=False, default=False, help_text="Items that were read leave today's page.")),
                    ('learn_from_reading', models.BooleanField(db_default=True, default=True, help_text="Off: no open is recorded as such, and none counts in this reader's ranking.")),
                    ('early_answered_on', models.DateField(blank=True, help_text="The reader's day whose early change of settings was applied or put off.", null=True)),
                    ('offline_today', models.BooleanField(db_default=False, default=False, help_text="Browsers this reader uses store today's digest, to be read without a network.")),
                    ('newsletter_token', models.CharField(blank=True, help_text="The secret in the reader's own address for newsletters.", max_length=32, null=True, unique=True)),
                    ('language', models.CharField(blank=True, db_default='', default='', help_text="Of pages and mails, such as de; empty: the browser's for pages, English for mails.", max_length=7)),
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
                name='Source',
                fields=[
                    ('key', models.CharField(max_length=120, primary_key=True, serialize=False)),
                    ('title', models.CharField(blank=True, max_length=200)),
                    ('icon', models.CharField(blank=True, db_default='', default='', help_text='How the hash of its favicon begins; empty: there is none.', max_length=16)),
                ],
            ),
            migrations.CreateModel(
                name='Feed',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('url', models.CharField(max_length=2000, unique=True)),
                    ('title', models.CharField(blank=True, max_length=200)),
                    ('site_url', models.CharField(blank=True, max_length=2000)),
                    ('state', models.CharField(choices=[('active', 'Active'), ('paused', 'Paused'), ('gone', 'Gone'), ('refused', 'refused (its owner has to type its password again)'), ('moved', 'moved (its readers read the new address)'), ('imported', 'imported (never fetched)')], default='active', max_length=10)),
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
                    ('moved_url', models.CharField(blank=True, help_text='Where permanent redirects lead, or led its readers.', max_length=2000)),
                    ('moved_sightings', models.PositiveIntegerField(default=0, help_text='Redirects there in a row.')),
                    ('moved_since', models.DateTimeField(blank=True, help_text='When the first of them was seen.', null=True)),
                    ('source', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='feeds', to='digest.source')),
                    ('answered_by', models.CharField(blank=True, help_text="The key of the host that answered, where redirects left the address's own domain.", max_length=120)),
                    ('own_address', models.CharField(blank=True, db_default='', default='', help_text='Where a private feed is fetched.', max_length=2000)),
                    ('owner', models.ForeignKey(blank=True, help_text="The one reader of a private feed; empty: it is everybody's.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='private_feeds', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('own_address', ''), _negated=True), fields=('owner', 'own_address'), name='one_private_feed_per_address')],
                },
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
                name='Item',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('url', models.CharField(max_length=2000)),
                    ('title', models.CharField(max_length=500)),
                    ('text', models.TextField(blank=True, help_text='Sanitised plain text.')),
                    ('author', models.CharField(blank=True, max_length=200)),
                    ('language', models.CharField(blank=True, max_length=20)),
                    ('published_at', models.DateTimeField(help_text='As the publisher says, clamped; ages count from `dated_at`.')),
                    ('first_seen_at', models.DateTimeField()),
                    ('dated_at', models.DateTimeField(help_text='Published, or first seen where the published date lies.')),
                    ('fingerprint', models.CharField(help_text='Hash of the folded title and text.', max_length=64)),
                    ('clustered_at', models.DateTimeField(blank=True, help_text='When it was last compared with its neighbours; empty: not yet.', null=True)),
                    ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='digest.source')),
                    ('story', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='items', to='digest.story')),
                    ('feed', models.ForeignKey(blank=True, db_index=False, help_text='Empty: the feed was deleted.', null=True, on_delete=digest.models.feeds.private_deleted, related_name='items', to='digest.feed')),
                    ('guid', models.CharField(blank=True, help_text='Its identity in the feed: guid, else link, else hash.', max_length=500)),
                    ('article', models.BigIntegerField(help_text='Hash of the URL, which all items of the article share.')),
                    ('own', models.BooleanField(default=False, help_text="The feed is that of the address's own publisher.")),
                    ('body_hash', models.BigIntegerField(db_default=0, default=0, help_text='Hash of its HTML, enclosures, categories and picture; 0: it has none of them.')),
                    ('categories', models.JSONField(blank=True, db_default=[], default=list, help_text="The publisher's own.")),
                    ('image', models.CharField(blank=True, db_default='', default='', help_text='The address of its picture.', max_length=2000)),
                ],
                options={
                    'indexes': [models.Index(fields=['source', '-dated_at'], name='items_of_a_source_by_date'), models.Index(fields=['fingerprint'], name='items_by_fingerprint'), models.Index(fields=['dated_at', 'id'], name='items_by_date_and_id'), models.Index(fields=['article'], name='items_by_article'), models.Index(fields=['feed', '-dated_at', '-id', 'article'], name='items_of_a_feed_listed')],
                    'constraints': [models.UniqueConstraint(fields=('feed', 'guid'), name='one_item_per_guid')],
                },
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
                    ('change', models.JSONField(blank=True, help_text='Latest change of settings that day: items before, after.', null=True)),
                    ('seen', models.JSONField(blank=True, help_text='The items by rank as last seen, if before this build.', null=True)),
                ],
                options={
                    'ordering': ['-date'],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'date'), name='one_digest_per_day')],
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
                    ('tags', models.ManyToManyField(related_name='feedback', through='digest.FeedbackTag', to='digest.reasontag')),
                    ('article', models.BigIntegerField(help_text='That of the item: one thumb counts for all its items.')),
                    ('origin', models.CharField(choices=[('reading', 'given while reading, or imported'), ('interview', 'an answer to a question of ours')], db_default='reading', default='reading', max_length=9)),
                    ('propensity', models.FloatField(blank=True, help_text='Of an answer: the probability with which that question was asked.', null=True)),
                ],
                options={
                    'verbose_name_plural': 'feedback',
                    'indexes': [models.Index(fields=['reader', '-at'], name='feedback_of_a_reader_by_date')],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'article'), name='one_thumb_per_article')],
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
                    'constraints': [models.UniqueConstraint(fields=('digest', 'item'), name='one_impression_per_item'), models.UniqueConstraint(fields=('digest', 'rank'), name='one_impression_per_rank')],
                },
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
                options={
                    'indexes': [models.Index(fields=['reader', '-shown_at'], name='exposures_of_a_reader_by_date')],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'date', 'item', 'door', 'rank'), name='one_exposure_per_rank_and_door')],
                },
            ),
            migrations.CreateModel(
                name='Reading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('read_at', models.DateTimeField(blank=True, null=True)),
                    ('saved_at', models.DateTimeField(blank=True, null=True)),
                    ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='digest.item')),
                    ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='readings', to=settings.AUTH_USER_MODEL)),
                    ('article', models.BigIntegerField(help_text='That of the item: read or saved once for all its items.')),
                    ('finished_at', models.DateTimeField(blank=True, help_text='When it was first read to its end.', null=True)),
                    ('opened_at', models.DateTimeField(blank=True, help_text='When it was first opened.', null=True)),
                    ('opened_by', models.CharField(blank=True, choices=[('page', 'Page'), ('mail', 'Mail'), ('feed', 'Feed'), ('api', 'Api')], db_default='', default='', help_text='By which door.', max_length=4)),
                ],
                options={
                    'indexes': [models.Index(fields=['reader', '-saved_at'], name='saved_by_a_reader_by_date')],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'article'), name='one_reading_per_article')],
                },
            ),
            migrations.CreateModel(
                name='FeedbackTag',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('feedback', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='digest.feedback')),
                    ('tag', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='digest.reasontag')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('feedback', 'tag'), name='one_tag_per_thumb')],
                },
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
                    'indexes': [models.Index(fields=['day', 'surface'], name='spend_by_day_and_surface')],
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
            migrations.CreateModel(
                name='Subscription',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created_at', models.DateTimeField()),
                    ('folder', models.CharField(blank=True, help_text="As in the reader's OPML list.", max_length=100)),
                    ('ai_enabled', models.BooleanField(default=True, help_text="Off: no text of this feed goes to a model on this reader's behalf.")),
                    ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='subscriptions', to='digest.feed')),
                    ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='subscriptions', to=settings.AUTH_USER_MODEL)),
                    ('full_text', models.BooleanField(db_default=False, default=False, help_text='The page of each new item is fetched, where FULL_TEXT is on.')),
                    ('own_name', models.CharField(blank=True, db_default='', default='', help_text='What this reader calls the feed; empty: as it calls itself.', max_length=200)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('reader', 'feed'), name='one_subscription_per_feed')],
                },
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
            migrations.CreateModel(
                name='PrunedEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('guid', models.CharField(max_length=500)),
                    ('feed', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pruned_entries', to='digest.feed')),
                ],
                options={
                    'verbose_name_plural': 'pruned entries',
                    'constraints': [models.UniqueConstraint(fields=('feed', 'guid'), name='one_pruned_entry_per_guid')],
                },
            ),
            migrations.CreateModel(
                name='ItemBody',
                fields=[
                    ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='body', serialize=False, to='digest.item')),
                    ('html', models.BinaryField(default=bytes, help_text='Cleaned, compressed by zlib; empty: plain text says all.')),
                    ('enclosures', models.JSONField(default=list, help_text='As `digest.feeds.entities.Enclosure`.')),
                ],
                options={
                    'verbose_name_plural': 'item bodies',
                },
            ),
            migrations.CreateModel(
                name='FullText',
                fields=[
                    ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='full_text', serialize=False, to='digest.item')),
                    ('html', models.BinaryField(default=bytes, help_text='Cleaned, compressed by zlib; empty: there is none.')),
                    ('url', models.CharField(help_text='Where it came from, after redirects.', max_length=2000)),
                    ('problem', models.CharField(blank=True, help_text='The code of why there is none.', max_length=40)),
                    ('fetched_at', models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name='Favicon',
                fields=[
                    ('source', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='favicon', serialize=False, to='digest.source')),
                    ('body', models.BinaryField(default=bytes, help_text='As its site serves it; empty: there is none.')),
                    ('checked_at', models.DateTimeField(db_index=True)),
                ],
            ),
            migrations.CreateModel(
                name='NotificationSettings',
                fields=[
                    ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='notification_settings', serialize=False, to=settings.AUTH_USER_MODEL)),
                    ('events', models.JSONField(default=list)),
                    ('words', models.JSONField(blank=True, default=list, help_text='Words and phrases watched for.')),
                    ('per_day', models.PositiveSmallIntegerField(default=1, help_text="At most, of a day in the reader's zone.")),
                    ('quiet_from', models.PositiveSmallIntegerField(default=22, help_text="An hour in the reader's zone.")),
                    ('quiet_until', models.PositiveSmallIntegerField(default=7, help_text='The same hour: never quiet.')),
                    ('since', models.DateTimeField(help_text='Nothing earlier is told.')),
                    ('notified_at', models.DateTimeField(blank=True, help_text='Changes with every notification.', null=True)),
                    ('notified_on', models.DateField(blank=True, help_text="Its day, in the reader's zone.", null=True)),
                    ('notified_count', models.PositiveSmallIntegerField(default=0, help_text='On that day.')),
                    ('notified_keys', models.JSONField(blank=True, default=list, help_text='Keys of what was told lately.')),
                ],
                options={
                    'verbose_name_plural': 'notification settings',
                },
            ),
            migrations.CreateModel(
                name='Destination',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('webhook', 'Webhook'), ('ntfy', 'ntfy'), ('push', 'This browser'), ('readeck', 'Readeck'), ('karakeep', 'Karakeep'), ('wallabag', 'Wallabag')], max_length=8)),
                    ('address', models.CharField(max_length=2000)),
                    ('secret', models.TextField(blank=True, help_text='Encrypted: what signs, or lets in.')),
                    ('created_at', models.DateTimeField()),
                    ('failing_since', models.DateTimeField(blank=True, null=True)),
                    ('off_at', models.DateTimeField(blank=True, help_text='When it was switched off.', null=True)),
                    ('code', models.CharField(blank=True, help_text='Of its last failure.', max_length=40)),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='destinations', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='Notification',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('uid', models.UUIDField(default=uuid.uuid4, help_text='The same at every attempt.', unique=True)),
                    ('news', models.JSONField(help_text='Event, words and path of each thing that it tells.')),
                    ('status', models.CharField(choices=[('waiting', 'Waiting'), ('sending', 'Sending'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=7)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('code', models.CharField(blank=True, help_text='Of the last failure.', max_length=40)),
                    ('created_at', models.DateTimeField()),
                    ('next_at', models.DateTimeField(help_text='Not before; once claimed, when that was.')),
                    ('sent_at', models.DateTimeField(blank=True, null=True)),
                    ('destination', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='notifications', to='digest.destination')),
                    ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'indexes': [models.Index(fields=['status', 'next_at'], name='notifications_by_status'), models.Index(fields=['reader', '-created_at'], name='notifications_of_a_reader')],
                },
            ),
            migrations.CreateModel(
                name='FeedAccess',
                fields=[
                    ('feed', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='access', serialize=False, to='digest.feed')),
                    ('kind', models.CharField(choices=[('basic', 'User name and password'), ('header', 'A header'), ('cookie', 'A cookie'), ('none', 'No secret, only a user agent')], max_length=6)),
                    ('secret', models.TextField(blank=True, help_text='Encrypted: a name and a value.')),
                    ('user_agent', models.CharField(blank=True, help_text='Empty: that of Tidings.', max_length=200)),
                ],
                options={
                    'verbose_name_plural': 'feed accesses',
                },
            ),
            migrations.CreateModel(
                name='MailboxState',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('read_at', models.DateTimeField(help_text='When it was last tried.')),
                    ('problem', models.CharField(blank=True, help_text='Why it failed; empty: it was read.', max_length=300)),
                ],
            ),
        ]),
        migrations.RunPython(reason_tags_add, migrations.RunPython.noop),
        migrations.RunPython(search_add, search_remove),
    ]
