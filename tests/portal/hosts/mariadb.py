"""MariaDB, with the options that Django gives it by itself."""

import os

import pymysql

from tests.harness.databases import mariadb_login, name_of_database
from tests.portal.hosts.base import *  # noqa: F403

# Usually the package mysqlclient, which needs a compiler.
pymysql.install_as_MySQLdb()

URL = os.environ["HOST_DATABASE"]
LOGIN = mariadb_login(URL)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": name_of_database(URL),
        **{name.upper(): value for name, value in LOGIN.items()},
    }
}
