"""Static files of the site: collected at the start, compressed, with a hash of their content in each name.

A name with a hash never changes its content, so browsers keep the file for a year and do not ask again.
"""

import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import django
from csp.decorators import csp_exempt
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.files.base import ContentFile, File
from django.core.management import call_command
from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.views.decorators.clickjacking import xframe_options_exempt
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Folders of files that we have written ourselves; those of others may be minified, with a licence as comment.
OWN_FOLDERS = ("ask_bridge",)
COMMENTS = {
    ".js": re.compile(rb"^[ \t]*//.*\n", re.MULTILINE),
    ".css": re.compile(rb"^[ \t]*/\*.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL),
}
# What browsers ask again with; a file whose name changes with its content is never asked for again.
VALIDATORS = ("ETag", "Last-Modified")
# Names the state of the source files from which the folder was made.
STAMP = "sources.sha256"


class CollectedFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage, with plain names as long as nothing is collected: in commands and unit tests."""

    def stored_name(self, name: str) -> str:
        return super().stored_name(name) if self.hashed_files else name

    def _save(self, name: str, content: File) -> str:
        return super()._save(name, without_comments(name, content))


def without_comments(name: str, content: File) -> File:
    """Our own scripts and styles without their comments, which are a tenth of what a first visit loads.

    Only whole lines of scripts, so that no address in a text is taken for a comment.
    """
    path = Path(name)
    comment = COMMENTS.get(path.suffix)
    if comment is None or path.parts[0] not in OWN_FOLDERS:
        return content
    return ContentFile(comment.sub(b"", b"".join(content.chunks())))


# The decorators mark the response as none of a page; their types know only views.
_serve: Any = csp_exempt()(xframe_options_exempt(cast(Any, WhiteNoiseMiddleware.serve)))


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files, without headers that no browser needs: a fifth of a first visit was headers."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> Any:
        """Without those for pages, and without validators where the name has a hash of the content."""
        response = _serve(static_file, request)
        if "immutable" in response.get("Cache-Control", ""):
            for name in VALIDATORS:
                response.headers.pop(name, None)
        return response


class PageCompressionMiddleware(GZipMiddleware):
    """Compresses whole pages, and nothing else.

    Not streams, which must not be buffered, and not the parts of pages that htmx fetches after a click, where
    a few KB less gain nothing. An attacker cannot find a secret by the size of a page (BREACH): Django masks
    the CSRF token differently in each page and adds a random number of bytes. A new agent key is in one reply
    only.
    """

    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        is_page = response.get("Content-Type", "").startswith("text/html") and not response.streaming
        if not is_page or "HX-Request" in request.headers:
            return response
        return super().process_response(request, response)


def collect() -> None:
    """Collect all static files into STATIC_ROOT, unless they are unchanged since the last time."""
    stamp = Path(settings.STATIC_ROOT) / STAMP
    digest = _digest_of_sources()
    if stamp.exists() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)  # an interrupted run is repeated
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(digest)


def _digest_of_sources() -> str:
    """Versions, names, sizes and times of change: reading all files would take as long as collecting them."""
    lines = [django.__version__, version("whitenoise"), *sorted(_sources())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _sources() -> Iterator[str]:
    for finder in get_finders():
        for path, storage in finder.list([]):
            file = Path(storage.path(path)).stat()
            yield f"{path} {file.st_size} {file.st_mtime_ns}"
