"""GitHub's limits for one installation, as a clock of its own sees them."""

from __future__ import annotations

from collections import deque

from tests.capacity.assumptions import HOUR, Allowance

MINUTE = 60.0


class Window:
    """No more than `most` within any `seconds`, counted in sixtieths of that."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self._seconds = seconds
        self._part = seconds / 60
        self._spent: deque[tuple[int, int]] = deque()
        """Parts of time, each with what was spent in it."""
        self._sum = 0
        self.peak = 0
        """Most that was spent within one window."""

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until so much can be spent; 0 where it can now."""
        self._forget(now)
        missing = self._sum + amount - self.most
        if missing <= 0:
            return 0.0
        for part, spent in self._spent:
            missing -= spent
            if missing <= 0:
                return (part + 1) * self._part + self._seconds - now
        return self._seconds

    def spend(self, now: float, amount: int) -> None:
        """Take note of what was spent."""
        if not amount:
            return
        self._forget(now)
        part = int(now / self._part)
        if self._spent and self._spent[-1][0] == part:
            amount_before = self._spent.pop()[1]
            self._spent.append((part, amount_before + amount))
        else:
            self._spent.append((part, amount))
        self._sum += amount
        self.peak = max(self.peak, self._sum)

    def _forget(self, now: float) -> None:
        while self._spent and (self._spent[0][0] + 1) * self._part <= now - self._seconds:
            self._sum -= self._spent.popleft()[1]


class FixedWindow(Window):
    """No more than `most` in each stretch of `seconds`, which begins anew all at once, as GitHub's hour does."""

    def __init__(self, most: int, seconds: float) -> None:
        super().__init__(most, seconds)
        self._stretch = -1

    def wait(self, now: float, amount: int) -> float:
        """See `Window.wait`."""
        self._forget(now)
        return 0.0 if self._sum + amount <= self.most else (self._stretch + 1) * self._seconds - now

    def _forget(self, now: float) -> None:
        stretch = int(now / self._seconds)
        if stretch != self._stretch:
            self._stretch, self._sum = stretch, 0
            self._spent.clear()


class Installation:
    """One installation's allowance: requests an hour, points a minute, content a minute and an hour."""

    def __init__(self, allowance: Allowance, repositories: int) -> None:
        self._least_wait = allowance.least_wait
        self.requests = FixedWindow(allowance.requests(repositories), HOUR)
        self.points = Window(allowance.points_a_minute, MINUTE)
        self.content_a_minute = Window(allowance.content_a_minute, MINUTE)
        self.content = Window(allowance.content_an_hour, HOUR)
        self.refused: dict[str, int] = {}
        """How often each limit put a review off."""

    def ask(self, now: float, *, reads: int, writes: int, content: int) -> float:
        """Spend it and return 0, or spend nothing and return how long the caller has to wait."""
        wanted = {
            "requests an hour": (self.requests, reads + writes),
            "points a minute": (self.points, reads + 5 * writes),
            "content a minute": (self.content_a_minute, content),
            "content an hour": (self.content, content),
        }
        waits = {name: window.wait(now, amount) for name, (window, amount) in wanted.items() if amount}
        name = max(waits, key=lambda each: waits[each], default="")
        if name and waits[name] > 0:
            self.refused[name] = self.refused.get(name, 0) + 1
            return max(waits[name], self._least_wait)
        for window, amount in wanted.values():
            window.spend(now, amount)
        return 0.0
