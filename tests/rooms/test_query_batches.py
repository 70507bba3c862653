"""Queries with many parameters are split into batches of a few sizes."""

import pytest

from rooms.db.transactions import LARGEST_BATCH, in_batches


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256, 257, 1000])
def test_every_value_is_in_a_batch_and_nothing_else(count: int) -> None:
    values = list(range(count))
    assert sorted({value for batch in in_batches(values) for value in batch}) == values


def test_whatever_their_number_there_are_few_sizes() -> None:
    sizes = {len(batch) for count in range(1, 1000) for batch in in_batches(range(count))}
    assert sizes == {1, 2, 4, 8, 16, 32, 64, 128, LARGEST_BATCH}


def test_nothing_makes_no_batch() -> None:
    assert not list(in_batches([]))
