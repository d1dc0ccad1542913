"""The review in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from bot import messages
from bot.demo.markup import FENCE, for_terminal
from bot.demo.shown import Shown, Thread
from bot.standin import CheckRun
from bot.standin.anchors import DiffLine

MARKS = {"success": ("✓", "green"), "neutral": ("●", "yellow"), "failure": ("✗", "red")}
LEVELS = {"failure": ("✗", "red"), "warning": ("!", "yellow"), "notice": ("i", "blue")}
COLOURS = {"+": "green", "-": "red", " ": "dim"}


def show(console: Console, shown: Shown) -> None:
    pull = shown.pull
    additions, deletions = sum(f.additions for f in shown.files), sum(f.deletions for f in shown.files)
    heading = Text.assemble(
        (pull.title, "bold"), (f"  #{pull.number}\n", "dim"),
        (f"{pull.author} wants to merge into {pull.base} from {pull.head}   ", ""),
        (f"+{additions} ", "green"), (f"−{deletions}", "red"),
        (f"   {messages.count(len(shown.files), 'file')}", "dim"),
    )  # fmt: skip
    console.print(Panel(heading, title=f"Pull request · {pull.repository.full_name}", title_align="left"))
    if shown.check is not None:
        # The summary comment repeats the check's summary: once is enough here.
        said = any((shown.check.summary or "").strip() in comment.body for comment in shown.comments)
        show_check(console, shown.check, with_summary=not said)
    if shown.threads:
        console.print(Rule("Review comments", align="left", style="cyan"))
    for thread in shown.threads:
        console.print(comment_panel(thread))
    for comment in shown.comments:
        console.print(Rule("Summary comment", align="left", style="cyan"))
        console.print(Padding(Markdown(for_terminal(comment.body)), (0, 2)))
    requests, writes = shown.requests
    console.print(Text(f"\n{requests} requests to the stand-in for GitHub, {writes} of them writes.", style="dim"))


def show_check(console: Console, check: CheckRun, *, with_summary: bool) -> None:
    mark, colour = MARKS.get(check.conclusion or "", ("●", "yellow"))
    console.print(Rule("Check run", align="left", style="cyan"))
    line = Text.assemble(
        (f"{mark} {check.name}", f"bold {colour}"), f"  {check.conclusion or check.status}  ", check.title or ""
    )
    console.print(Padding(line, (0, 2)))
    for text in (check.summary if with_summary else None, check.text):
        if text:
            console.print(Padding(Markdown(for_terminal(text)), (0, 2)))
    if not check.annotations:
        return
    table = Table(box=None, show_header=False, padding=(0, 1), expand=False)
    for annotation in check.annotations:
        symbol, level = LEVELS[annotation["annotation_level"]]
        place = f"{annotation['path']}:{annotation['start_line']}"
        words = Text.assemble(
            (f"{annotation['title']}\n" if annotation.get("title") else "", "bold"), annotation["message"]
        )
        table.add_row(Text(symbol, style=level), Text(place, style="cyan"), words)
    console.print(Padding(Text("Annotations", style="bold"), (1, 2, 0, 2)))
    console.print(Padding(table, (0, 2)))


def comment_panel(thread: Thread) -> Panel:
    """A comment under the piece of diff that it is about, its suggestion shown as a diff."""
    parts: list[RenderableType] = [diff_text(thread.diff)]
    body, end = thread.top.body, 0
    for block in FENCE.finditer(body):
        parts += words(body[end : block.start()])
        new = block["text"].removesuffix("\n").split("\n") if block["text"] else []
        change = Text("Suggested change\n", style="bold")
        for line in thread.replaced:
            change.append(f"- {line}\n", style="red")
        for line in new:
            change.append(f"+ {line}\n", style="green")
        parts.append(Padding(change, (0, 2)))
        end = block.end()
    parts += words(body[end:])
    return Panel(Group(*parts), title=Text(thread.place, style="cyan"), title_align="left", border_style="dim")


def words(markdown: str) -> list[RenderableType]:
    text = for_terminal(markdown)
    return [Padding(Markdown(text), (0, 0, 1, 0))] if text else []


def diff_text(lines: Sequence[DiffLine]) -> Text:
    text = Text()
    for line in lines:
        number = line.new if line.new is not None else line.old
        text.append(f"{number:>5} {line.mark} {line.text}\n", style=COLOURS[line.mark])
    return text
