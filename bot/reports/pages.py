"""The report pages: one review, the changes that can be tried on it, and an installation at a glance.

Private: who is not signed in is sent to GitHub, and who may not read the repository gets the same answer as for a
report that does not exist.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import gidgethub
from aiohttp import web

from bot.clock import Clock
from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.repository import Repository
from bot.pages.rendering import Pages, add_assets, is_own_form
from bot.reports import chart, findings
from bot.reports.access import Access
from bot.reports.document import ReportKey, Row
from bot.reports.explorer import Busy, Explorer
from bot.reports.overview import DAY_SECONDS, DAYS, overview
from bot.reports.sign_in import CALLBACK, Person, SignIn, SignInFailed
from bot.reports.sources import Sources
from bot.reports.store import ReportStore, Stored
from bot.review.analysis import AnalysisBroken
from bot.review.measured import in_words
from engine.explored import Change, Exploration
from engine.findings import EstimateReport, Saving
from engine.presentation.memory import show_setting

logger = logging.getLogger(__name__)

REPORT = r"/reports/{repository:\d{1,18}}/{number:\d{1,9}}/{sha:[0-9a-f]{40,64}}"
MOST_REPOSITORIES = 100
"""Repositories of an installation that one view asks about."""

Handler = Callable[[web.Request, Person], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Opened:
    """A report that the person may see."""

    stored: Stored
    repository: Repository
    person: Person

    @property
    def key(self) -> ReportKey:
        """Which one."""
        return self.stored.row.key


class ReportPages:
    """Serves the pages."""

    def __init__(
        self,
        *,
        store: ReportStore,
        sign_in: SignIn,
        access: Access,
        sources: Sources,
        explorer: Explorer,
        clock: Clock,
        web_url: str,
    ) -> None:
        self._store = store
        self._sign_in = sign_in
        self._access = access
        self._sources = sources
        self._explorer = explorer
        self._clock = clock
        self._web_url = web_url
        self._pages = Pages(size=chart.size, gpu_name=chart.gpu_name, moment=_moment, verdicts=chart.VERDICTS)

    def add_to(self, application: web.Application) -> None:
        """Serve the pages."""
        router = application.router
        router.add_get("/", self._private(self.start))
        router.add_get(REPORT, self._private(self.report))
        router.add_get(REPORT + "/exploration", self._private(self.exploration))
        router.add_get(r"/installations/{installation:\d{1,18}}", self._private(self.installation))
        router.add_get(CALLBACK, self.signed_in)
        router.add_post("/logout", self.signed_out)
        add_assets(application)

    def _private(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def private(request: web.Request) -> web.StreamResponse:
            person = self._sign_in.person(request)
            if person is None:
                return self._sign_in.begin(request.path)
            try:
                return await handler(request, person)
            except (InstallationGone, LimitedUntil, Unavailable, gidgethub.GitHubException) as error:
                logger.warning("%s: %s", request.path, error)
                return self._say(
                    person, "GitHub does not answer", "Who may see this is asked of GitHub. Try again in a minute.", 503
                )

        return private

    def _say(self, person: Person | None, title: str, text: str, status: int) -> web.Response:
        return self._pages.answer(
            "message.html", status=status, title=title, text=text, person=person.login if person else None
        )

    def _nothing(self, person: Person) -> web.Response:
        return self._say(
            person,
            "Nothing here for you",
            "There is no such report, or not any more, or you cannot read its repository.",
            404,
        )

    # Sign-in

    async def signed_in(self, request: web.Request) -> web.StreamResponse:
        """Take GitHub's redirect."""
        try:
            return await self._sign_in.finish(request)
        except SignInFailed as error:
            return self._pages.answer("sign_in_failed.html", status=403, text=str(error), person=None)

    async def signed_out(self, request: web.Request) -> web.StreamResponse:
        """End the session."""
        if not is_own_form(request):
            raise web.HTTPForbidden(text="This form belongs to another page.")
        answer = self._say(None, "Signed out", "You are signed out here. At GitHub you still are signed in.", 200)
        self._sign_in.leave(answer)
        return answer

    # Pages

    async def start(self, request: web.Request, person: Person) -> web.StreamResponse:
        """List the installations that the person sees."""
        return self._pages.answer("reports/start.html", person=person.login, installations=person.installations)

    async def _open(self, request: web.Request, person: Person) -> Opened | None:
        match = request.match_info
        key = ReportKey(int(match["repository"]), int(match["number"]), match["sha"])
        stored = await self._store.find(key)
        if stored is None:
            return None
        row = stored.row
        repository = await self._access.repository(
            person, row.installation_id, row.key.repository_id, row.owner, row.name
        )
        return None if repository is None else Opened(stored, repository, person)

    async def report(self, request: web.Request, person: Person) -> web.StreamResponse:
        """Show one review."""
        opened = await self._open(request, person)
        if opened is None:
            return self._nothing(person)
        document = opened.stored.document
        report = document.report
        texts = await self._sources.texts(
            opened.repository, opened.key.repository_id, opened.key.head_sha, findings.paths_of(report.introduced)
        )
        chosen = self._explorer.chosen(request.query.getall("with", []), opened.stored)
        found, trouble = await self._explored(opened, chosen)
        head, base = report.memory.head, report.memory.base
        exploration = document.details.exploration
        return self._pages.answer(
            "reports/report.html",
            person=person.login,
            row=opened.stored.row,
            document=document,
            report=report,
            owner=opened.repository.owner,
            name=opened.repository.name,
            pull_link=f"{self._web_url}/{opened.repository.owner}/{opened.repository.name}/pull/{opened.key.number}",
            commit_link=f"{self._web_url}/{opened.repository.owner}/{opened.repository.name}/commit/"
            f"{opened.key.head_sha}",
            findings=findings.shown(report.introduced, texts, self._link(opened)),
            head=head,
            base=base,
            measured=in_words(report, document.measured),
            bullets=chart.bullets(head.memory.occupied, head.targets) if head and head.memory else (),
            timeline=chart.timeline(exploration.curve, exploration.targets)
            if exploration and exploration.curve
            else None,
            parts=chart.breakdown_parts(head.memory.breakdown) if head and head.memory else (),
            configuration=_configuration(head, base, self._link(opened)),
            exploration=exploration,
            options=_options(exploration, head),
            **self._choice(opened, found, trouble, chosen),
        )

    async def exploration(self, request: web.Request, person: Person) -> web.StreamResponse:
        """Answer the part of the page that changes with the chosen options."""
        opened = await self._open(request, person)
        if opened is None:
            return self._nothing(person)
        chosen = self._explorer.chosen(request.query.getall("with", []), opened.stored)
        found, trouble = await self._explored(opened, chosen)
        return self._pages.answer("reports/choice.html", **self._choice(opened, found, trouble, chosen))

    async def _explored(self, opened: Opened, chosen: Sequence[str]) -> tuple[Exploration | None, str | None]:
        try:
            found = await self._explorer.explore(opened.stored, opened.repository, chosen)
        except Busy:
            return None, "Many people try changes at the moment. Try again in a minute."
        except AnalysisBroken as error:
            return None, f"These changes could not be tried: {error}."
        except (InstallationGone, LimitedUntil, Unavailable, gidgethub.GitHubException):
            return None, "The commit could not be read from GitHub, so nothing can be tried on it now."
        return found, f"{found.problem[:1].upper()}{found.problem[1:]}." if found and found.problem else None

    def _choice(
        self, opened: Opened, found: Exploration | None, trouble: str | None, chosen: Sequence[str]
    ) -> dict[str, Any]:
        whole = opened.stored.document.details.exploration
        before = whole.occupied if whole else None
        occupied = found.occupied if found else None
        return {
            "chosen": chosen,
            "trouble": trouble,
            "before": before,
            "occupied": occupied,
            "saved": before.expected - occupied.expected if before and occupied else 0,
            "choice_bullets": chart.bullets(occupied, found.targets) if found and occupied else (),
            "choice_parts": chart.breakdown_parts(found.breakdown) if found and found.breakdown else (),
        }

    def _link(self, opened: Opened) -> Callable[[str, int | None], str]:
        root = f"{self._web_url}/{opened.repository.owner}/{opened.repository.name}/blob/{opened.key.head_sha}/"

        def link(path: str, line: int | None) -> str:
            return root + quote(path) + (f"#L{line}" if line is not None else "")

        return link

    async def installation(self, request: web.Request, person: Person) -> web.StreamResponse:
        """Show an installation, of which the person sees the repositories that they may read."""
        now = self._clock.now()
        rows = await self._store.of_installation(
            int(request.match_info["installation"]), since=now - DAYS * DAY_SECONDS
        )
        newest: dict[int, Row] = {}
        for row in rows:
            newest.setdefault(row.key.repository_id, row)
        asked = [
            (row.installation_id, row.key.repository_id, row.owner, row.name)
            for row in list(newest.values())[:MOST_REPOSITORIES]
        ]
        readable = await self._access.readable(person, asked)
        seen = [row for row in rows if row.key.repository_id in readable]
        if not seen:
            return self._say(
                person,
                "No reports yet",
                f"No repository that you can read was reviewed here in the last {DAYS} days.",
                404,
            )
        closed = await self._store.closed(list(readable))
        return self._pages.answer(
            "reports/installation.html",
            person=person.login,
            overview=overview(seen, closed, now),
            days=DAYS,
            left_out=len(newest) > MOST_REPOSITORIES,
        )


@dataclass(frozen=True)
class SettingShown:
    """One value of the configuration, what it was on the base branch, and where it stands."""

    name: str
    value: str
    before: str | None
    place: str | None
    link: str | None


@dataclass(frozen=True)
class OptionsShown:
    """Changes to try: those that save something alone, the best for their cost first, and the others."""

    worth: Sequence[tuple[Saving, Change]] = ()
    little: Sequence[Change] = ()


def _options(exploration: Exploration | None, head: EstimateReport | None) -> OptionsShown:
    if exploration is None or head is None:
        return OptionsShown()
    by_change = {option.change: option for option in exploration.options}
    worth = [(saving, by_change[saving.change]) for saving in head.savings if saving.change in by_change]
    saving_some = {option.key for _, option in worth}
    return OptionsShown(worth, [option for option in exploration.options if option.key not in saving_some])


def _configuration(
    head: EstimateReport | None, base: EstimateReport | None, link: Callable[[str, int | None], str]
) -> list[SettingShown]:
    if head is None:
        return []
    former = base.configuration if base is not None else {}
    shown = []
    for name, setting in head.configuration.items():
        was = former.get(name)
        changed = was is not None and was.value != setting.value
        place = None if setting.path is None else f"{setting.path}:{setting.line}" if setting.line else setting.path
        shown.append(
            SettingShown(
                name=name.replace("_", " "),
                value=show_setting(setting),
                before=show_setting(was) if was is not None and changed else None,
                place=place,
                link=link(setting.path, setting.line) if setting.path else None,
            )
        )
    return shown


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%-d %B %Y, %H:%M UTC")
