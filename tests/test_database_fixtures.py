"""After a test that commits, the database is as `migrate` left it."""

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import TransactionTestCase

from digest.models import Reader, ReasonTag
from tests.support.factories import ReaderFactory


@pytest.mark.django_db(transaction=True)
def test_what_a_test_committed_is_gone_and_what_migrations_wrote_is_there():
    tags, kinds = ReasonTag.objects.count(), [*ContentType.objects.order_by("pk").values_list("pk", "model")]
    assert tags and kinds and not Reader.objects.exists()
    ReasonTag.objects.all().delete()
    ReaderFactory()
    TransactionTestCase._fixture_teardown(None)
    assert not Reader.objects.exists()
    assert ReasonTag.objects.count() == tags
    assert [*ContentType.objects.order_by("pk").values_list("pk", "model")] == kinds
