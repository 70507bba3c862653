"""The groups of an app that has no migrations; `migrate --run-syncdb` makes its tables."""

from tests.portal.hosts.own_groups import *  # noqa: F403

MIGRATION_MODULES = {"teams": None}
