"""The limits of GitHub's API: requests an hour of an installation, and content created in a minute."""

from __future__ import annotations

from bot.standin.refusals import SECONDARY, Refused
from bot.standin.state import Json, Token
from bot.standin.world import World


class Limits:
    """``hourly``: requests an hour; ``content``: comments and reviews a minute, or None for no limit."""

    def __init__(self, github: World, *, hourly: int, content: int | None) -> None:
        self.github = github
        self.hourly = hourly
        self.content = content
        self._created: list[float] = []
        self._spent: dict[int, tuple[float, int]] = {}

    def spend(self, token: Token | None, *, creates: bool = False) -> None:
        """Counts a request against the hour of its installation; refuses it when the hour is used up."""
        now = self.github.clock()
        if creates and self.content is not None:
            self._created = [moment for moment in self._created if moment > now - 60]
            if len(self._created) >= self.content:
                raise Refused(403, SECONDARY, Retry_After="60")
            self._created.append(now)
        if token is None:
            return
        start, used = self._hour(token)
        if used >= self.hourly:
            raise Refused(403, f"API rate limit exceeded for installation ID {token.installation_id}.")
        self._spent[token.installation_id] = (start, used + 1)

    def give_back(self, token: Token | None) -> None:
        if token is not None:
            start, used = self._hour(token)
            self._spent[token.installation_id] = (start, max(0, used - 1))

    def _hour(self, token: Token) -> tuple[float, int]:
        start, used = self._spent.get(token.installation_id, (self.github.clock(), 0))
        return (start, used) if self.github.clock() < start + 3600 else (self.github.clock(), 0)

    def state(self, token: Token | None) -> Json:
        """The hour of a token as the API shows it; `reset` in seconds since the epoch."""
        start, used = (self.github.clock(), 0) if token is None else self._hour(token)
        limit = self.hourly
        return {"limit": limit, "used": used, "remaining": limit - used, "reset": int(start + 3600), "resource": "core"}
