"""The language of a page, and of our texts on it: that of the catalogue which gettext uses for the page's."""

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import activate, get_language, get_language_from_request, override, pgettext


def follow_person(request: HttpRequest) -> None:
    """Activate the language of the person where Django has not, though our addresses have no language.

    If `i18n_patterns` have no prefix for the default language, LocaleMiddleware activates that language for
    all pages beside them.
    """
    # Undocumented, but what that middleware itself asks.
    is_used, has_prefix = is_language_prefix_patterns_used(getattr(request, "urlconf", settings.ROOT_URLCONF))
    is_default = getattr(request, "LANGUAGE_CODE", "") == get_language() == settings.LANGUAGE_CODE
    if not is_used or has_prefix or not is_default:
        return
    language = get_language_from_request(request)
    with override(language):
        address = reverse("ask_bridge:inbox")
    if address == reverse("ask_bridge:inbox"):
        activate(language)


def text_language() -> str:
    """Such as "en" in a French portal: there is no French catalogue, so our texts are English.

    A variant of the language stays one: "en-gb" has other dates than "en".
    """
    active = get_language() or ""
    # Each catalogue translates this into its own code, also one that a portal adds.
    language = pgettext("code of this language", "en")
    return active if active.partition("-")[0] == language else language


def text_direction() -> str:
    """The `dir` of an element with our texts."""
    return "rtl" if text_language().partition("-")[0] in settings.LANGUAGES_BIDI else "ltr"
