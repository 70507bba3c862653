"""The language of our texts: that of the catalogue which gettext uses for the active language."""

from django.conf import settings
from django.utils.translation import get_language, pgettext


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
