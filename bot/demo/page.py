"""The pull request as a page on this machine, laid out the way GitHub lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2
from aiohttp import web
from markupsafe import Markup
from pygments.formatters.html import HtmlFormatter

from bot.demo.markup import highlighted, lexer_for, rendered
from bot.demo.shown import Shown, Thread, file_lines
from bot.standin.anchors import DiffLine, hunks_of
from bot.standin.git import ChangedFile
from bot.standin.state import Json, Review

EXCERPT_LINES = 2
"""Lines of code shown around an annotation."""
POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
CLASSES = {"+": "added", "-": "removed", " ": "context"}


@dataclass(frozen=True)
class Row:
    """One line of a diff with what was said about it."""

    kind: str
    mark: str
    old: int | None
    new: int | None
    html: Markup
    threads: Sequence[Thread] = ()
    annotations: Sequence[Json] = ()


@dataclass(frozen=True)
class HunkShown:
    header: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class FileShown:
    file: ChangedFile
    hunks: Sequence[HunkShown]


@dataclass(frozen=True)
class AnnotationShown:
    annotation: Json
    excerpt: Sequence[Row]


def row(line: DiffLine, path: str, threads: Sequence[Thread] = (), annotations: Sequence[Json] = ()) -> Row:
    html = Markup(highlighted(line.text, lexer_for(path)))  # Pygments escapes what it shows
    return Row(CLASSES[line.mark], line.mark, line.old, line.new, html, threads, annotations)


class Page:
    """Three tabs: conversation, checks, files. A form sends a comment, another runs the check again."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.templates = jinja2.Environment(
            loader=jinja2.PackageLoader("bot.demo", "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.globals.update(
            markdown=rendered, thread_rows=self.thread_rows, thread_body=self.thread_body, is_review=is_review
        )

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/", self.conversation)
        application.router.add_get("/checks", self.checks)
        application.router.add_get("/files", self.files)
        application.router.add_get("/style.css", self.style)
        application.router.add_post("/comment", self.comment)
        application.router.add_post("/rerun", self.rerun)
        return application

    def answer(self, template: str, **more: Any) -> web.Response:
        text = self.templates.get_template(template).render(
            shown=self.shown, pull=self.shown.pull, check=self.shown.check, **more
        )
        return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def conversation(self, _request: web.Request) -> web.Response:
        return self.answer("conversation.html", tab="conversation")

    async def checks(self, _request: web.Request) -> web.Response:
        return self.answer("checks.html", tab="checks", annotations=self.annotations())

    async def files(self, _request: web.Request) -> web.Response:
        return self.answer("files.html", tab="files", files=[self.file(file) for file in self.shown.files])

    async def style(self, _request: web.Request) -> web.Response:
        own = files("bot.demo").joinpath("templates/style.css").read_text(encoding="utf-8")
        light, dark = colours("default"), colours("github-dark")
        text = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{own}"
        return web.Response(text=text, content_type="text/css")

    async def comment(self, request: web.Request) -> web.Response:
        """A person writes in the conversation; the bot hears of it as it would from GitHub."""
        self.own(request)
        text = str((await request.post()).get("body", "")).strip()
        if text:
            github, pull = self.shown.github, self.shown.pull
            comment = github.add_comment(pull, pull.author, text)
            await github.deliver("issue_comment", "created", comment=comment)
        raise web.HTTPSeeOther("/#end")

    async def rerun(self, request: web.Request) -> web.Response:
        self.own(request)
        if self.shown.check is not None:
            await self.shown.github.deliver("check_run", "rerequested", check_run=self.shown.check)
        raise web.HTTPSeeOther("/checks")

    def own(self, request: web.Request) -> None:
        """Refuses forms that another site sends to this machine."""
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            raise web.HTTPForbidden(text="This form belongs to another page.")

    def thread_rows(self, thread: Thread) -> list[Row]:
        return [row(line, thread.top.path) for line in thread.diff]

    def thread_body(self, thread: Thread) -> Markup:
        return rendered(thread.top.body, path=thread.top.path, replaced=thread.replaced)

    def annotations(self) -> list[AnnotationShown]:
        check, shown = self.shown.check, []
        for annotation in check.annotations if check else []:
            path, first, last = annotation["path"], annotation["start_line"], annotation["end_line"]
            lines = file_lines(self.shown.pull, self.shown.pull.head_sha, path)
            numbers = range(max(1, first - EXCERPT_LINES), min(len(lines), last + EXCERPT_LINES) + 1)
            excerpt = []
            for number in numbers:
                html = Markup(highlighted(lines[number - 1], lexer_for(path)))
                kind = annotation["annotation_level"] if first <= number <= last else "context"
                excerpt.append(Row(kind, "", None, number, html))
            shown.append(AnnotationShown(annotation, excerpt))
        return shown

    def file(self, file: ChangedFile) -> FileShown:
        threads = [entry for entry in self.shown.threads if entry.top.path == file.path]
        check = self.shown.check
        noted = [entry for entry in (check.annotations if check else []) if entry["path"] == file.path]

        def shown_row(line: DiffLine) -> Row:
            here = [
                entry
                for entry in threads
                if entry.top.line == (line.new if entry.top.side == "RIGHT" else line.old)
                and (entry.top.side == "RIGHT") == (line.mark != "-")
            ]
            notes = [entry for entry in noted if line.new is not None and entry["end_line"] == line.new]
            return row(line, file.path, here, notes)

        hunks = [HunkShown(hunk.header, [shown_row(line) for line in hunk.lines]) for hunk in hunks_of(file.patch)]
        return FileShown(file, hunks)


def colours(style: str) -> str:
    """The rules of a Pygments style for everything with the class `code`."""
    formatter: Any = HtmlFormatter(style=style)
    return str(formatter.get_style_defs(".code"))


def is_review(entry: object) -> bool:
    return isinstance(entry, Review)
