"""A new site for each document that has examples, and somebody who tries them."""

import shutil
from collections.abc import Iterator

import pytest

from tests.docs.reader import Reader, new_reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    if not shutil.which("curl"):
        pytest.skip("needs curl")
    with new_reader(tmp_path_factory.mktemp("docs")) as someone:
        yield someone
