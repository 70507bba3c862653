"""`/metrics` of running processes: open connections, and reachable services."""

import re
from collections.abc import Callable

import pytest

from tests.harness.agents import Agent
from tests.harness.metrics import TOKEN, fetch, value
from tests.harness.sites import Site
from tests.harness.timing import eventually

Serve = Callable[..., Site]

PRODUCTION = {"PRODUCTION": "1", "SECRET_KEY": "k" * 60, "METRICS_TOKEN": TOKEN}


def agent_of(site: Site) -> Agent:
    return Agent(site, "lobby", re.findall(r"abk_\w+", site.printed)[0])


@pytest.mark.usefixtures("migrated")
def test_without_a_token_there_are_no_metrics(serve: Serve) -> None:
    assert fetch(serve()).status == 404


@pytest.mark.usefixtures("migrated")
def test_who_sleeps_in_the_process_is_counted(serve: Serve) -> None:
    site = serve(METRICS_TOKEN=TOKEN)
    agent = agent_of(site)
    question = agent.ask()
    with agent.waiting(question["id"]), agent.events():
        assert eventually(lambda: value(site, "ask_bridge_waiting_agents")) == 1
        assert value(site, "ask_bridge_listening_agents") == 1
        # A wait is counted before the database hears of it.
        eventually(lambda: value(site, 'ask_bridge_open_questions{agent="waiting"}') == 1)
    eventually(lambda: value(site, "ask_bridge_waiting_agents") == 0)
    assert value(site, "ask_bridge_channel_layer_up") == 1


def test_every_process_knows_the_whole_site(serve: Serve, postgres_and_redis: dict[str, str]) -> None:
    first, second = (serve(METRICS_TOKEN=TOKEN, **postgres_and_redis) for _ in range(2))
    agent = agent_of(first)
    question = agent.ask()
    with agent.waiting(question["id"]):
        eventually(lambda: value(first, "ask_bridge_waiting_agents") == 1)
        eventually(lambda: value(second, 'ask_bridge_open_questions{agent="waiting"}') == 1)
        assert value(second, "ask_bridge_waiting_agents") == 0
    assert value(second, "ask_bridge_database_up") == value(second, "ask_bridge_channel_layer_up") == 1


@pytest.mark.usefixtures("migrated")
def test_a_scraper_past_the_proxy_needs_no_https_but_a_name_that_is_allowed(serve: Serve) -> None:
    site = serve(ALLOWED_HOSTS="ask.example.org,127.0.0.1", **PRODUCTION)
    assert fetch(site).status == 200
    site.stop()
    assert fetch(serve(ALLOWED_HOSTS="ask.example.org", **PRODUCTION)).status == 400
