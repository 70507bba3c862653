"""A new site and shell for each document with examples."""

import shutil
from collections.abc import Iterator

import pytest

from tests.docs.reader import Reader, new_reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    if not shutil.which("curl"):
        pytest.skip("needs curl")
    with new_reader(tmp_path_factory.mktemp("docs")) as running:
        yield running
