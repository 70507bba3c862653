"""Exactly one answer per question under simultaneous clicks."""

from tests.faults.simultaneous_answers import click_all_at_once, vote_all_at_once
from tests.harness.bridges import Bridge
from tests.harness.people import Person


def test_fifty_clicks_at_once_have_one_winner_each_time(bridge: Bridge, people: list[Person]) -> None:
    click_all_at_once(bridge, bridge.agent(), people, count=40)


def test_fifty_votes_at_once_make_one_decision_each_time(bridge: Bridge, people: list[Person]) -> None:
    vote_all_at_once(bridge, bridge.agent(), people, count=10)
