"""A site with all ways to sign in at once, as a process: a real provider, a mail server, a browser."""

import re
from base64 import b32decode
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from django_otp.oath import totp
from playwright.sync_api import Browser, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.chromium import violations_in
from tests.harness.openid_provider import OpenIDProvider, openid_provider
from tests.harness.people import Person, Visitor
from tests.harness.receivers import MailServer, mail_server
from tests.harness.sites import Site, clean_environment, run_manage
from tests.harness.timing import eventually

# Sessions of open streams are checked every ten seconds; the rest is for a busy machine.
STREAM_SECONDS = 10 + 10
NEW = "another long sentence"


@dataclass
class Company:
    site: Site
    provider: OpenIDProvider
    mails: MailServer
    environment: dict[str, str]

    @property
    def password(self) -> str:
        """Of the first admin."""
        (found,) = re.findall(r"Password +(\S+)", self.site.printed)
        return found

    def shell(self, script: str) -> str:
        done = run_manage(self.environment, "shell", "-v0", "-c", script)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, visitor: Visitor, next_page: str = "") -> str:
        """The address at the provider."""
        begun = visitor.get(f"/sso/?next={next_page}")
        assert begun.status == 302, begun.text
        return begun.headers["Location"]

    def sign_in(self, subject: str, next_page: str = "") -> Visitor:
        visitor = Visitor(self.site)
        back = self.provider.approve(self.begin(visitor, next_page), subject)
        done = visitor.get(back)
        assert (done.status, done.headers["Location"]) == (302, next_page or "/"), done.text
        return visitor


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with ExitStack() as stack:
        provider, mails = stack.enter_context(openid_provider()), stack.enter_context(mail_server())
        data: Path = tmp_path_factory.mktemp("company") / "data"
        environment = clean_environment(data) | {
            **provider.variables,
            "EMAIL_URL": mails.url,
            "PASSWORD_RESET": "1",
            "SESSION_LIST": "1",
            "TWO_FACTOR": "optional",
        }
        site = Site(environment)
        stack.callback(site.end)
        yield Company(site, provider, mails, environment)


# ---- single sign-on --------------------------------------------------------------------------------------


def test_a_person_signs_in_with_the_account_of_the_organisation(company: Company) -> None:
    company.provider.know("7", name="Ana Diaz", email="ana@example.org", email_verified=True)
    ana = company.sign_in("7", "/settings")
    assert "Ana Diaz" in ana.get("/settings").text
    assert ana.get("/rooms/lobby").status == 200
    cookie = ana.cookies["sessionid"]
    again = company.sign_in("7")
    assert again.cookies["sessionid"] != cookie
    assert company.shell("from bridge.models import *; print(CompanyAccount.objects.count())").strip() == "1"


def test_a_reply_of_the_provider_is_of_use_only_in_the_browser_that_began(company: Company) -> None:
    company.provider.know("8", name="Ben", email="ben@example.org", email_verified=True)
    began, other = Visitor(company.site), Visitor(company.site)
    back = company.provider.approve(company.begin(began), "8")
    refused = other.get(back)
    assert refused.status == 403
    assert "in another browser" in refused.text
    company.begin(other)  # with a sign-in of its own, too
    assert other.get(back).status == 403
    assert began.get(back).status == 302
    assert began.get(back).status == 403, "and once"


def test_a_code_that_the_provider_does_not_know_signs_nobody_in(company: Company) -> None:
    visitor = Visitor(company.site)
    back = company.provider.approve(company.begin(visitor), "8")
    forged = re.sub(r"code=[^&]+", "code=forged", back)
    failed = visitor.get(forged)
    assert failed.status == 502
    assert "gave a wrong reply" in failed.text
    assert visitor.get("/").status == 302


def test_who_cancels_at_the_provider_is_told_so(company: Company) -> None:
    visitor = Visitor(company.site)
    refused = visitor.get(company.provider.deny(company.begin(visitor)))
    assert refused.status == 403
    assert "did not sign you in" in refused.text


def test_it_leads_to_no_other_site(company: Company) -> None:
    visitor = Visitor(company.site)
    back = company.provider.approve(company.begin(visitor, "https://evil.example/"), "8")
    assert visitor.get(back).headers["Location"] == "/"


def test_the_admin_has_no_login_page_of_its_own(company: Company) -> None:
    visitor = Visitor(company.site)
    assert visitor.get("/admin/login/?next=/admin/").headers["Location"] == "/login/?next=/admin/"


# ---- sessions and mail -----------------------------------------------------------------------------------


def test_signing_out_everywhere_else_ends_open_streams(company: Company) -> None:
    here, elsewhere = (Person(company.site, "admin", company.password) for _ in range(2))
    assert "this browser" in here.get("/sessions/").text
    with elsewhere.stream("lobby") as stream:
        assert here.post("/sessions/", {"others": "1"}).status == 302
        stream.wait_for_end(STREAM_SECONDS)
    assert elsewhere.get("/").status == 302
    assert here.get("/").status == 200


def test_a_session_without_its_second_factor_gets_no_stream(company: Company) -> None:
    company.shell(
        "from django.contrib.auth.models import User; from bridge.models import Authenticator;"
        f"emil = User.objects.create_user('emil', password={company.password!r});"
        "Authenticator.begin(emil).confirm()"
    )
    emil = Person(company.site, "emil", company.password)
    for path in ("/stream", "/rooms/lobby/stream", "/rooms/lobby", "/admin/"):
        refused = emil.get(path)
        assert (refused.status, refused.headers["Location"]) == (302, f"/second-factor/?next={path}")


def test_a_link_from_the_mail_sets_a_new_password(company: Company) -> None:
    company.shell(
        "from django.contrib.auth.models import User;"
        f"User.objects.create_user('cleo', email='cleo@example.org', password={company.password!r})"
    )
    visitor = Visitor(company.site)
    assert visitor.post("/password/reset/", {"email": "cleo@example.org"}).status == 302
    (mail,) = eventually(lambda: company.mails.mails)
    found = re.search(rf"http://127\.0\.0\.1:{company.site.port}(/password/reset/\S+)", mail.get_content())
    assert found
    form = visitor.get(found[1]).headers["Location"]
    assert visitor.post(form, {"new_password1": NEW, "new_password2": NEW}).status == 302
    assert Person(company.site, "cleo", NEW).get("/").status == 200


# ---- in a browser ----------------------------------------------------------------------------------------


def code(key: str, step: int = 0) -> str:
    """What the authenticator app shows for this key, so many steps from now."""
    return f"{totp(b32decode(key.replace(' ', '')), drift=step):06}"


@pytest.fixture
def page(chromium: Browser, company: Company) -> Iterator[Page]:
    """A new browser; a violated policy of our pages fails the test."""
    context = chromium.new_context(base_url=f"http://127.0.0.1:{company.site.port}")
    errors: list[str] = []
    context.on("console", lambda message: errors.extend(violations_in(message.text)))
    yield context.new_page()
    context.close()
    assert errors == []


def test_a_person_signs_in_sets_up_the_second_factor_and_needs_it(page: Page, company: Company) -> None:
    company.provider.know("9", name="Dana Olsen", email="dana@example.org", email_verified=True)

    def sign_in() -> None:
        page.goto("/settings")
        page.get_by_role("link", name="Sign in with Example Ltd").click()
        page.get_by_placeholder("sub").fill("9")
        page.get_by_role("button", name="Authorize", exact=True).click()

    sign_in()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    page.get_by_role("link", name="Two-factor sign-in").click()
    expect_no_problems(page)
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    key = page.locator(".ab-key-to-type").text_content() or ""
    page.get_by_label("Enter the code").fill(code(key))
    page.get_by_role("button", name="Turn on").click()
    expect(page.locator(".ab-recovery-codes li")).to_have_count(10)
    expect_no_problems(page)
    page.get_by_role("link", name="I have saved them").click()
    page.goto("/second-factor/setup/")
    expect_no_problems(page)

    page.goto("/settings")
    page.get_by_role("link", name="Where you are signed in").click()
    expect(page.get_by_text("this browser")).to_be_visible()
    expect_no_problems(page)

    page.context.clear_cookies()
    sign_in()
    expect(page.get_by_role("heading", name="Second step")).to_be_visible()
    expect_no_problems(page)
    # None works twice: the next one, which is accepted already because clocks differ.
    page.get_by_label("Code").fill(code(key, 1))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()


@pytest.mark.parametrize("path", ["/login/", "/password/reset/", "/password/reset/sent/", "/sso/callback/"])
def test_pages_without_a_session_are_accessible(page: Page, path: str) -> None:
    page.goto(path)
    expect_no_problems(page)


# ---- last, because it ends the provider ------------------------------------------------------------------


def test_without_the_provider_people_are_told_and_passwords_still_work(company: Company) -> None:
    visitor = Visitor(company.site)
    back = company.provider.approve(company.begin(visitor), "7")
    company.provider.end()
    failed = visitor.get(back)
    assert failed.status == 502
    assert "cannot be reached" in failed.text
    assert Person(company.site, "admin", company.password).get("/").status == 200
    returned, errors = company.site.stop()
    assert returned == 0
    assert f"Single sign-on with {company.provider.issuer} failed" in errors
    assert "code=" not in errors
    assert "Traceback" not in errors
