"""After a test that commits, the database is as `migrate` left it; one that does not renews no lease."""

from datetime import timedelta

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import TransactionTestCase

from advisor.run import execute
from config.jobs import lease
from digest.models import Reader, ReasonTag
from tests.support.database_fixtures import NEVER_S
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


@pytest.mark.django_db
def test_a_test_that_holds_a_transaction_renews_no_lease():
    assert execute.BEAT_S == lease.HEARTBEAT_S == NEVER_S


@pytest.mark.django_db(transaction=True)
def test_a_test_that_commits_renews_leases_as_a_site_does():
    assert timedelta(seconds=execute.BEAT_S) < execute.LEASE
    assert timedelta(seconds=lease.HEARTBEAT_S) < lease.LEASE
