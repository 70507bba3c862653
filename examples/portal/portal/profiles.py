"""Names of the portal's people in Ask Bridge: with their team."""

from typing import Any

from rooms.profiles import Profiles


class TeamProfiles(Profiles):
    def name(self, user: Any) -> str:
        name = super().name(user)
        return f"{name} ({user.team})" if user.team else name
