"""The app's name for INSTALLED_APPS of a portal. Refuses to start with another package named `rooms`."""

from importlib.util import find_spec
from pathlib import Path

OWN_PACKAGE = Path(__file__).resolve().parent.with_name("rooms")


def check_package() -> None:
    """Python finds one package of a name: that of the portal's own folder, if it has one."""
    spec = find_spec("rooms")
    found = Path(spec.origin).resolve().parent if spec and spec.origin else None
    if found != OWN_PACKAGE:
        raise ImportError(
            f"Ask Bridge needs its package “rooms” in {OWN_PACKAGE.parent}, and Python finds another one in "
            f"{found}. Rename that one, or move it into a package of your project, or run "
            "Ask Bridge as a site of its own."
        )


check_package()
