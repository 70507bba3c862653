"""`/metrics` of a running process."""

import re

from tests.harness.http import Reply
from tests.harness.sites import Site

TOKEN = "a-token-of-the-monitoring"


def fetch(site: Site, **headers: str) -> Reply:
    authorization = {"Authorization": f"Bearer {TOKEN}"}
    return site.request("GET", f"{site.prefix}/metrics", headers=authorization | headers)


def value(site: Site, name: str, **headers: str) -> float:
    [number] = re.findall(rf"^{re.escape(name)} (\S+)$", fetch(site, **headers).text, re.MULTILINE)
    return float(number)
