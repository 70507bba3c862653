"""Settings of sites that tests populate: the standalone site with a cheap password hash.

Each of their people signs in, and a million rounds cost a fifth of a second of the CPU each time. Sites of
the fixture `serve`, and all tests about passwords, have the real settings.
"""

from bridge.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
