"""Templates, the style sheet, and the headers under which every page is served."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import jinja2
from aiohttp import web
from markupsafe import Markup, escape
from pygments.formatters.html import HtmlFormatter

ASSETS = {"style.css": "text/css", "report.js": "text/javascript", "icon.svg": "image/svg+xml"}
STATIC = "/static"


def environment(package: str = "bot.pages") -> jinja2.Environment:
    """Return templates of a package over those of `bot.pages`, with everything escaped."""
    packages = dict.fromkeys((package, "bot.pages"))
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name, "templates") for name in packages]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def security_headers(form_targets: tuple[str, ...] = ()) -> Mapping[str, str]:
    """Return the headers of a page: it loads nothing from elsewhere, runs no inline script, and stands in no frame."""
    targets = " ".join(("'self'", *form_targets))
    return {
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
            f"form-action {targets}; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        # Not no-referrer: browsers would then send no origin with our own forms either.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def inline(text: str) -> Markup:
    """Return a text with `code` between backticks marked; everything in it is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup(escape(text))
    marked = [Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)]
    return Markup("").join(marked)


_INSIDE_A_NAME = re.compile(r"(?<=[\w)][._=/:(])(?=\w)")


def breakable(text: str) -> Markup:
    """Return a text whose long names may go on in the next line behind a mark in them: `torch.utils.checkpoint`."""
    return Markup("<wbr>").join(escape(part) for part in _INSIDE_A_NAME.split(text))


class Pages:
    """Renders templates to answers."""

    def __init__(self, package: str = "bot.pages", **shared: Any) -> None:
        self._templates = environment(package)
        self._templates.globals.update(shared)
        self._templates.filters.update(inline=inline, breakable=breakable)

    def text(self, template: str, **values: Any) -> str:
        """Return a rendered template."""
        return self._templates.get_template(template).render(**values)

    def answer(
        self, template: str, *, status: int = 200, form_targets: tuple[str, ...] = (), **values: Any
    ) -> web.Response:
        """Return a page. `form_targets` are the origins that its forms may be sent to beside our own."""
        return web.Response(
            text=self.text(template, **values),
            content_type="text/html",
            status=status,
            headers=security_headers(form_targets),
        )

    def message(self, title: str, text: str, *, status: int) -> web.Response:
        """Return a page that says one thing."""
        return self.answer("message.html", status=status, title=title, text=text)


def add_assets(application: web.Application) -> None:
    """Serve the style sheet, the script and the icon, once. They hold nothing private."""
    if "asset" in application.router.named_resources():
        return
    made = {name: _asset(name) for name in ASSETS}

    async def asset(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in made:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}
        return web.Response(text=made[name], content_type=ASSETS[name], headers=headers)

    application.router.add_get(STATIC + "/{name}", asset, name="asset")


def _asset(name: str) -> str:
    text = files("bot.pages").joinpath("static", name).read_text(encoding="utf-8")
    if name != "style.css":
        return text
    light, dark = _colours("default"), _colours("github-dark")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{text}"


def _colours(style: str) -> str:
    """The rules of a Pygments style for everything with the class `code`."""
    formatter: Any = HtmlFormatter(style=style)
    return str(formatter.get_style_defs(".code"))


def is_own_form(request: web.Request) -> bool:
    """Tell whether a form was sent by a page of ours.

    Browsers say so themselves, whatever name a proxy gives this server; old ones send only the origin of the page.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is None or origin.partition("://")[2] == request.host
