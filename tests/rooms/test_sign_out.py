"""The button to sign out: where the portal has a page for it, in the way that this page takes."""

import re
from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth import logout as end_session
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import clear_script_prefix, include, path, set_script_prefix
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET


class OnlyGet(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        end_session(request)
        return HttpResponse()


class NoMethod(View):
    http_method_names = ["options"]


def any_method(request: HttpRequest) -> HttpResponse:
    end_session(request)
    return HttpResponse()


def portal(*own: Any) -> Any:
    """The URLs of a portal, as a module has them."""
    urls = ModuleType("urls")
    urls.urlpatterns = [path("ask/", include("rooms.urls")), *own]  # type: ignore[attr-defined]
    return urls


OWN_ADMIN = path("admin/", admin.site.urls)
DJANGO = path("bye/", never_cache(LogoutView.as_view(next_page="/ask/")), name="logout")
# What the portal has and says, and how the button signs out; None for no button.
PORTALS: dict[str, tuple[Any, dict[str, str], tuple[str, str] | None]] = {
    "none": (portal(), {}, None),
    "Django's": (portal(DJANGO), {}, ("post", "/bye/")),
    "allauth's name": (
        portal(path("out/", LogoutView.as_view(), name="account_logout")),
        {},
        ("post", "/out/"),
    ),
    "class with GET only": (portal(path("bye/", OnlyGet.as_view(), name="logout")), {}, ("get", "/bye/")),
    "class without a method": (portal(path("bye/", NoMethod.as_view(), name="logout")), {}, None),
    "function": (portal(path("bye/", any_method, name="logout")), {}, ("post", "/bye/")),
    "function with GET only": (
        portal(path("bye/", require_GET(any_method), name="logout")),
        {"LOGOUT_METHOD": "get"},
        ("get", "/bye/"),
    ),
    "other name": (
        portal(path("bye/", LogoutView.as_view(), name="leave")),
        {"LOGOUT_URL": "leave"},
        ("post", "/bye/"),
    ),
    "unknown name": (portal(), {"LOGOUT_URL": "leave"}, None),
    "path": (portal(DJANGO), {"LOGOUT_URL": "/bye/"}, ("post", "/bye/")),
    "single sign-on": (
        portal(DJANGO),
        {"LOGOUT_URL": "https://login.example.org/end"},
        ("get", "https://login.example.org/end"),
    ),
    "no button wanted": (portal(DJANGO), {"LOGOUT_METHOD": "none"}, None),
    "admin only, of no use to others": (portal(OWN_ADMIN), {}, None),
}


def buttons(client: Client, address: str) -> set[tuple[str, str]]:
    html = client.get(address).content.decode()
    forms = re.findall(r'<form method="(post)" action="([^"]+)">(?:(?!</form>).)*Sign out', html, re.DOTALL)
    links = re.findall(r'<a class="[^"]+" href="([^"]+)">Sign out', html)
    return {*forms, *(("get", link) for link in links)}


@pytest.fixture
def mounted(settings: Any) -> Any:
    def mount(urls: Any, **own: str) -> None:
        settings.ROOT_URLCONF = urls
        settings.ASK_BRIDGE = own
        settings.LOGIN_URL = settings.LOGOUT_REDIRECT_URL = "/ask/"

    return mount


@pytest.mark.parametrize("kind", PORTALS)
def test_button_is_shown_only_if_it_signs_out(browser: Client, mounted: Any, kind: str) -> None:
    urls, own, expected = PORTALS[kind]
    mounted(urls, **own)
    for page in ("/ask/", "/ask/settings"):
        assert buttons(browser, page) == ({expected} if expected else set())
    if expected and expected[1].startswith("/"):
        method, address = expected
        getattr(browser, method)(address)
        assert "_auth_user_id" not in browser.session


@pytest.mark.parametrize(
    ("login", "logout"), [("shop-login", "shop-logout"), ("sign_in", "sign_out"), ("login", "logout")]
)
@pytest.mark.parametrize("as_path", [False, True])
def test_the_page_beside_the_login_goes_before_the_usual_names(
    browser: Client, mounted: Any, settings: Any, login: str, logout: str, as_path: bool
) -> None:
    pages = [
        path("in/", LoginView.as_view(), name=login),
        path("out/", LogoutView.as_view(next_page="/ask/"), name=logout),
    ]
    mounted(portal(path("shop/", include((pages, "shop"))), DJANGO))
    settings.LOGIN_URL = "/shop/in/" if as_path else f"shop:{login}"
    assert buttons(browser, "/ask/") == {("post", "/shop/out/")}
    browser.post("/shop/out/")
    assert "_auth_user_id" not in browser.session


def test_the_login_may_be_below_a_prefix_for_the_language(
    browser: Client, mounted: Any, settings: Any
) -> None:
    pages = [
        path("in/", LoginView.as_view(), name="login"),
        path("out/", LogoutView.as_view(), name="logout"),
    ]
    mounted(portal(*i18n_patterns(path("", include((pages, "shop"))))))
    settings.LOGIN_URL = "/in/"  # Django redirects to /en/in/
    settings.LANGUAGE_CODE = "en"
    assert buttons(browser, "/ask/") == {("post", "/en/out/")}


@pytest.mark.parametrize("login", ["entrance", "no-such-name", "https://login.example.org/"])
def test_a_login_of_another_name_leads_to_the_usual_names(
    browser: Client, mounted: Any, settings: Any, login: str
) -> None:
    mounted(portal(path("in/", LoginView.as_view(), name="entrance"), DJANGO))
    settings.LOGIN_URL = login
    assert buttons(browser, "/ask/") == {("post", "/bye/")}


def test_admin_signs_out_its_staff(mounted: Any, db: None) -> None:
    mounted(portal(OWN_ADMIN))
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    assert buttons(browser, "/ask/") == {("post", "/admin/logout/")}
    browser.post("/admin/logout/")
    assert "_auth_user_id" not in browser.session


def test_portal_below_a_prefix(browser: Client, mounted: Any) -> None:
    mounted(portal(DJANGO))
    set_script_prefix("/portal/")
    try:
        assert buttons(browser, "/ask/") == {("post", "/portal/bye/")}
    finally:
        clear_script_prefix()
