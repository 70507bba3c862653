"""PostgreSQL and MariaDB databases of tests, and the shared Redis."""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
import pytest
import redis


@contextmanager
def postgres_and_redis_urls(template: str = "template1") -> Iterator[dict[str, str]]:
    """A PostgreSQL database, empty or as its template, and Redis: the two variables that name them."""
    urls = new_database(template)
    yield urls
    drop_database(urls["DATABASE_URL"])


def new_database(template: str = "template1") -> dict[str, str]:
    """A database that the caller has to drop, and Redis."""
    postgres = _postgres()
    redis_url = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
    name = f"ask_bridge_site_{uuid.uuid4().hex[:8]}"
    try:
        with redis.Redis.from_url(redis_url) as client:
            client.ping()
        admin = psycopg.connect(postgres, dbname="postgres", autocommit=True)
    except (OSError, psycopg.Error, redis.RedisError):
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("needs PostgreSQL and Redis")
    with admin:
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return {"DATABASE_URL": f"{postgres.rpartition('/')[0]}/{name}", "REDIS_URL": redis_url}


def drop_database(url: str) -> None:
    with psycopg.connect(_postgres(), dbname="postgres", autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name_of_database(url)}" WITH (FORCE)')


def name_of_database(url: str) -> str:
    return url.rpartition("/")[2]


def _postgres() -> str:
    return os.environ.get("TEST_DATABASE_URL", "postgres://ask_bridge:ask_bridge@127.0.0.1:5432/ask_bridge")


@contextmanager
def mariadb_url() -> Iterator[str]:
    """An empty MariaDB database, dropped afterwards. It has MariaDB's usual collation, which ignores case."""
    url = os.environ.get("TEST_MARIADB_URL", "mysql://root@127.0.0.1:3306/ask_bridge")
    name = f"ask_bridge_site_{uuid.uuid4().hex[:8]}"
    try:
        server = pymysql.connect(**mariadb_login(url), autocommit=True)
    except (OSError, pymysql.Error):
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("needs MariaDB")
    with closing(server), server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            cursor.execute(f"DROP DATABASE {name}")


@contextmanager
def mariadb_and_redis() -> Iterator[dict[str, str]]:
    """A MariaDB database and Redis, as the two variables that name them."""
    redis_url = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
    with mariadb_url() as url:
        yield {"DATABASE_URL": url, "REDIS_URL": redis_url}


def mariadb_login(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    login = {"host": parts.hostname, "port": parts.port or 3306, "user": unquote(parts.username or "")}
    return {**login, "password": unquote(parts.password or "")}
