"""Exactly one answer per question, whoever clicks at once."""

from tests.actors import Person
from tests.faults.winners import click_all_at_once, vote_all_at_once
from tests.world import World


def test_fifty_clicks_at_once_have_one_winner_each_time(bridge: World, people: list[Person]) -> None:
    click_all_at_once(bridge, bridge.agent(), people, count=40)


def test_fifty_votes_at_once_make_one_decision_each_time(bridge: World, people: list[Person]) -> None:
    vote_all_at_once(bridge, bridge.agent(), people, count=10)
