"""Failed sign-ins: the counts they raise, how long these last, and that they betray no account."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from config import settings as site
from digest.models import Reader
from digest.throttling import SIGN_IN, limit_count
from tests.digest.accounts.test_adapters import PASSWORD, link_in, sign_in, sign_up, with_password
from tests.digest.accounts.test_mfa import code_for, switched_on
from tests.support.mailbox import Mailbox

# Limits, and codes that were used, are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

TARGET = "target@example.org"
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.9"}


@pytest.fixture
def hashes() -> Iterator[list[str]]:
    """Record every password hash that a test computes. Hashes take most of the time of a sign-in."""
    done: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        done.append(password)
        return encode(self, password, salt)

    with patch.object(MD5PasswordHasher, "encode", counted):
        yield done


@pytest.mark.parametrize("taken", [False, True], ids=["nobody has it", "somebody has it"])
@pytest.mark.parametrize("confirmed", [False, True])
def test_whoever_signs_up_with_an_address_learns_nothing_of_others_who_have_it(
    ada: Reader, taken: bool, confirmed: bool
):
    if taken:
        Reader.objects.filter(pk=ada.pk).update(email=TARGET)
        EmailAddress.objects.create(user=ada, email=TARGET, primary=True, verified=confirmed)
    sign_up(Client(), "mallory", TARGET)
    assert sign_in(Client(), TARGET).status_code == 302, "one's own password opens one's own account"
    answers = [sign_in(Client(), TARGET, "wrong").status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]
    assert sign_in(Client(), "mallory").status_code == 302
    assert sign_in(Client(), "mallory", "wrong").status_code == 200


def test_failures_by_an_address_do_not_show_which_name_it_belongs_to(ada: Reader, ben: Reader):
    EmailAddress.objects.create(user=with_password(ada), email=ada.email, primary=True, verified=True)
    for _ in range(6):
        sign_in(Client(), ada.email, "wrong")
    for name in ("ada", "ben", "nobody"):
        answers = [sign_in(Client(), name, "wrong").status_code for _ in range(6)]
        assert answers == [200] * 5 + [429], name


def test_an_account_whose_names_were_all_tried_answers_as_to_a_wrong_password(ada: Reader):
    """Beyond ten failures under any login the right password opens nothing, and looks like a wrong one."""
    with_password(ada)
    EmailAddress.objects.create(user=ada, email=ada.email, primary=True, verified=True)
    EmailAddress.objects.create(user=ada, email="ada@new.example", verified=False)
    for login in ("ada", ada.email):
        for _ in range(5):
            sign_in(Client(), login, "wrong")
    locked, unknown = sign_in(Client(), "ada@new.example"), sign_in(Client(), "zoe@new.example")
    assert locked.status_code == unknown.status_code == 200
    assert locked.context["form"].errors == unknown.context["form"].errors
    assert "_auth_user_id" not in locked.client.session


@pytest.mark.parametrize(
    ("logins", "times"), [(("ada", "ben", "nobody"), 1), (("ada@example.org", TARGET, "zoe@example.org"), 2)]
)
def test_a_refusal_takes_the_same_time_whoever_was_named(
    ada: Reader, ben: Reader, hashes: list[str], logins: tuple[str, ...], times: int
):
    """A hash takes nearly all of it. Of an address a second account may be the visitor's own."""
    with_password(ada)
    ben.set_unusable_password()
    ben.save()
    sign_up(Client(), "mallory", TARGET)
    for login in logins:
        hashes.clear()
        assert sign_in(Client(), login, "wrong").status_code == 200
        assert len(hashes) == times, login
    sign_up(Client(), "trudy", "ada@example.org")
    hashes.clear()
    sign_in(Client(), "ada@example.org", "wrong")
    assert len(hashes) == 2


def test_an_address_with_many_accounts_costs_no_more_than_a_few_hashes(hashes: list[str], db: None):
    for n in range(12):
        Reader.objects.create(username=f"many{n}", email=TARGET)
    sign_in(Client(), TARGET, "wrong")
    assert len(hashes) <= 5


def test_a_forgotten_password_is_one_mail_however_many_accounts_have_the_address(
    ada: Reader, client: Client, mailbox: Mailbox
):
    sign_up(Client(), "mallory", ada.email)
    client.post("/accounts/password/reset/", {"email": ada.email})
    (message,) = mailbox.messages
    text = message.get_content()
    assert "“ada”" in text and "“mallory”" in text and text.count("/accounts/password/reset/key/") == 2


def test_a_second_factor_of_ones_own_wipes_no_failures_of_the_address_one_sits_at(ada: Reader, ben: Reader):
    """Sixty failures from one address stay sixty, whatever succeeds in between."""
    client = Client()
    client.force_login(with_password(ada))
    secret, _ = switched_on(client)
    for n in range(60):
        sign_in(Client(), f"guess{n}", "wrong", **ELSEWHERE)
        if n == 30:
            door = Client()
            asked = sign_in(door, "ada", **ELSEWHERE)
            assert door.post(asked.url, {"code": code_for(secret, 1)}, **ELSEWHERE).status_code == 302
    assert sign_in(Client(), "ben", "wrong", **ELSEWHERE).status_code == 429


def test_wrong_codes_count_against_the_address_too(ada: Reader):
    client = Client()
    client.force_login(with_password(ada))
    switched_on(client)
    door = Client()
    asked = sign_in(door, "ada", **ELSEWHERE)
    for n in range(58):
        sign_in(Client(), f"guess{n}", "wrong", **ELSEWHERE)
    codes = [door.post(asked.url, {"code": "000000"}, **ELSEWHERE).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_a_password_reset_wipes_no_failures_of_others(ada: Reader, client: Client, mailbox: Mailbox):
    """It resets neither the failures of its own address, nor those of a merely claimed one."""
    mallory = Reader.objects.create(username="mallory", email="mallory@example.org")
    EmailAddress.objects.create(user=mallory, email=mallory.email, primary=True, verified=True)
    EmailAddress.objects.create(user=mallory, email=ada.email, verified=False)
    for _ in range(5):
        sign_in(Client(), ada.email, "wrong")
        sign_in(Client(), mallory.email, "wrong")
    for n in range(50):
        sign_in(Client(), f"guess{n}", "wrong")
    client.post("/accounts/password/reset/", {"email": mallory.email})
    form = client.get(link_in(mailbox.messages[-1].get_content()))
    client.post(form.url, {"password1": PASSWORD, "password2": PASSWORD})
    assert sign_in(Client(), mallory.email, **ELSEWHERE).status_code == 302
    assert sign_in(Client(), ada.email, "wrong", **ELSEWHERE).status_code == 429
    assert sign_in(Client(), "ben", "wrong").status_code == 429


def test_a_flood_of_made_up_names_does_not_remove_a_lock(ada: Reader):
    """An address that is blocked already adds no counters; the others have room for 100,000."""
    with_password(ada)
    for _ in range(5):
        sign_in(Client(), "ada", "wrong")
    for n in range(60):
        sign_in(Client(), f"first{n}", "wrong", **ELSEWHERE)
    before = len(cache._cache)
    for n in range(100):
        assert sign_in(Client(), f"more{n}", "wrong", **ELSEWHERE).status_code == 429
    assert len(cache._cache) <= before + 1
    assert sign_in(Client(), "ada").status_code == 429
    assert site.REDIS_URL or site.CACHES["default"]["OPTIONS"]["MAX_ENTRIES"] >= 100_000


def test_a_flood_of_resets_from_one_address_adds_no_counters_beyond_its_limit(client: Client, db: None):
    for n in range(60):
        client.post("/accounts/password/reset/", {"email": f"first{n}@example.org"})
    before = len(cache._cache)
    for n in range(20):
        answer = client.post("/accounts/password/reset/", {"email": f"more{n}@example.org"})
        assert answer.status_code == 429
    assert len(cache._cache) <= before


def test_a_name_that_grows_when_it_is_normalised_is_refused_rather_than_cut(db: None):
    """One character may become three (NFKC); cut to 150, two such names would be one."""
    for ending in ("a", "b"):
        answer = sign_up(Client(), "\ufb03" * 100 + ending)
        assert answer.status_code == 200 and not Reader.objects.exists()


def test_somebody_who_signs_in_again_and_again_stores_no_sessions_without_end(
    client: Client, ada: Reader, ben: Reader, own_cache: None
):
    """Each is a row for months, and 300 a minute would come through the limit of an address."""
    for reader in (ada, ben):
        reader.set_password(PASSWORD)
        reader.save()
    now = timezone.now()
    for moment in (now, now + timedelta(hours=1)):
        for _ in range(SIGN_IN.times):
            limit_count(limit=SIGN_IN, who=ada.pk, now=moment)
    for _ in range(3):
        refused = Client().post("/accounts/login/", {"login": "ada", "password": PASSWORD})
        assert refused.status_code == 429 and SIGN_IN.message in refused.content.decode()
    assert not [one.get_decoded() for one in Session.objects.all()]
    assert client.post("/accounts/login/", {"login": "ben", "password": PASSWORD}).status_code == 302
    assert client.get("/ui/account").status_code == 200
