"""Look up what is known to be vulnerable in the locked dependencies; run by `make audit`.

Fails for what is found. Where the advisories cannot be reached, or know nothing of a package, it says so.
"""

import json
import subprocess
import sys

AUDIT = [*("uv", "tool", "run", "pip-audit"), "--format=json", "--progress-spinner=off", "--timeout=5"]
LOCKED = ["--disable-pip", "--require-hashes", "--requirement=requirements/server.txt"]


def main() -> str | None:
    """What is wrong, if anything is."""
    audit = subprocess.run([*AUDIT, *LOCKED], capture_output=True, text=True)  # noqa: S603 - nothing from outside
    try:
        packages = json.loads(audit.stdout)["dependencies"]
    except ValueError:
        reason = (audit.stderr.strip().splitlines() or ["no reply"])[-1]
        print(f"The dependencies were not audited: {reason}")
        return None
    found = [
        f"{package['name']} {package['version']}: {known['id']}, "
        f"mended in {', '.join(known['fix_versions']) or 'no version yet'}"
        for package in packages
        for known in package.get("vulns", [])
    ]
    looked_up = sum("skip_reason" not in package for package in packages)
    print(f"Audited {looked_up} of {len(packages)} dependencies; {len(found)} known vulnerabilities.")
    return "\n".join([*found, "Run `make lock` for newer versions."]) if found else None


if __name__ == "__main__":
    sys.exit(main())
