"""`check`: what will silently go wrong in the files of one commit."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.affected import ImportGraph
from engine.arbitration import arbitrate
from engine.findings import SEVERITY_ORDER, CheckReport, Evidence, FailedFile, FileCounts, Finding, Fix
from engine.fingerprints import Context, ContextIndex, place_order, with_fingerprints
from engine.garbage import OF_AN_ANALYSIS, rarely_collected
from engine.kept.analyses import KeptAnalysis, analysis_key, keep, recalled
from engine.kept.observed import ObservedProject
from engine.plugins import plugins
from engine.project import Module, Project, UnreadableFile
from engine.project.module import split_cell
from engine.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.affected import ImportStatement
    from engine.kept.store import Store
    from engine.rules import Rule
    from engine.rules.rule import Draft, FixMaker
    from engine.trace import Trace

SOURCE_SUFFIXES = (".py", ".ipynb")

_MATTERS = re.compile(
    r"torch|lightning|accelerat|transformers|deepspeed|diffusers|timm|\bfabric\b|\bignite\b|\btrl\b|peft"
    r"|\.(?:backward|zero_grad|step|eval|train|no_grad|item|state_dict|parameters|requires_grad_|cuda)\("
    r"|\bnn\.|\bF\.\w+\(|DataLoader|autocast|\bloader\b|\bdist\.\w+\(",
    re.IGNORECASE,
)
"""A file that holds none of these has no training code of its own; it is still read where another imports it."""

_LOOP = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:for|while)[ \t]", re.MULTILINE)
_BACKWARD = re.compile(r"\.(?:manual_)?backward\(")

_STACK_DEPTH = 8_000
"""Python frames that walking a deeply nested file may need; frames of Python code do not use the C stack since 3.11."""


def _mentions_training(text: str) -> bool:
    """Whether a file has training code of its own, by its text."""
    return bool(_MATTERS.search(text)) or any(name in text for name in plugins().names)


UNUSED_SUPPRESSION = ("PF001", "unused-suppression")


class UnknownRule(ValueError):
    """A rule was named that does not exist."""


@dataclass(frozen=True)
class Analysis:
    """A check with what reviewing needs beyond its report: contexts of findings, and the files that were read."""

    report: CheckReport
    contexts: dict[str, Context] = field(default_factory=dict)
    """Fingerprint to the place that it was made from."""
    silenced: Sequence[tuple[Finding, Context]] = ()
    """Findings that arbitration dropped: true as well, but another one speaks for them."""
    roots: Sequence[str] = ()


def check(
    project: Project,
    paths: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    report_unused_suppressions: bool = False,
    store: Store | None = None,
) -> CheckReport:
    """Findings of a project, or of the files and folders named in `paths`.

    Without `settings` the project's own hold. `select` and `ignore` come on top. A file that cannot be read is named
    in the report's `files.failed` and loses nothing else. Results are taken from `store` where all that they were made
    from is the same, and kept there. Raises UnknownRule.
    """
    return analyse(
        project,
        paths,
        settings=settings,
        select=select,
        ignore=ignore,
        report_unused_suppressions=report_unused_suppressions,
        store=store,
    ).report


def analyse(
    project: Project,
    paths: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    report_unused_suppressions: bool = False,
    store: Store | None = None,
    in_groups: bool = False,
    known: dict[str, tuple[ImportStatement, ...]] | None = None,
    done: Callable[[int], None] = lambda files: None,
) -> Analysis:
    """`check`, with the contexts that comparing two commits needs.

    `in_groups` analyses files that have nothing to do with each other apart, so that each group's result can be kept
    on its own. `known` holds the import statements of contents that were read before: see ImportGraph. `done` hears of
    the number of files of each group that is finished.
    """
    if settings is None:
        settings = load_settings(project).settings
    rules = enabled_rules(settings, select, ignore)
    wanted = wanted_paths(project, paths, settings)
    asked = (settings.model_dump_json(), repr((tuple(select), tuple(ignore), report_unused_suppressions)))
    groups = ImportGraph(project, known).related(wanted) if in_groups else [wanted]

    def analysed(view: Project, group: Sequence[str]) -> Analysis:
        return _analysed(view, group, rules, settings, report_unused_suppressions)

    parts: list[Analysis] = []
    with rarely_collected(OF_AN_ANALYSIS):
        for group in groups:
            if store is None:
                parts.append(analysed(project, group))
            else:
                parts.append(_recalled_or(analysed, project, group, store, asked))
            done(len(group))
    return together(parts, plugins().problems)


def _recalled_or(
    analysed: Callable[[Project, Sequence[str]], Analysis],
    project: Project,
    group: Sequence[str],
    store: Store,
    asked: Sequence[str],
) -> Analysis:
    """What is kept of a group of files, else its analysis, which is kept."""
    key = analysis_key(project, group, asked)
    kept = recalled(store, key, project)
    if kept is None:
        view = ObservedProject(project)
        found = analysed(view, group)
        keep(
            store,
            key,
            KeptAnalysis(
                observed=view.observations(),
                report=found.report,
                contexts=found.contexts,
                silenced=tuple(found.silenced),
                roots=tuple(found.roots),
            ),
        )
        return found
    return Analysis(kept.report, kept.contexts, kept.silenced, kept.roots)


def together(parts: Sequence[Analysis], problems: Sequence[FailedFile] = ()) -> Analysis:
    """Analyses of groups of files that have nothing to do with each other, as one, with what concerns all of them."""
    reports = [part.report for part in parts]
    failed = {failure.path: failure for report in reports for failure in report.files.failed}
    failed |= {problem.path: problem for problem in problems}
    findings = sorted((finding for report in reports for finding in report.findings), key=place_order)
    counts = FileCounts(
        read=sum(report.files.read for report in reports),
        skipped=sum(report.files.skipped for report in reports),
        failed=tuple(failed[path] for path in sorted(failed)),
    )
    return Analysis(
        CheckReport(findings=tuple(findings), files=counts),
        {fingerprint: context for part in parts for fingerprint, context in part.contexts.items()},
        [each for part in parts for each in part.silenced],
        [root for part in parts for root in part.roots],
    )


def _analysed(
    project: Project,
    group: Sequence[str],
    rules: Sequence[Rule],
    settings: Settings,
    report_unused_suppressions: bool,
) -> Analysis:
    """The analysis of one group of files."""
    roots, skipped = _that_matter(project, group)
    drafts, problems = _traced(project, roots, rules)
    reportable = frozenset(group)
    findings, contexts, silenced, stopped = _finished(
        project, drafts, settings, reportable, report_unused_suppressions, roots
    )
    problems |= stopped
    failed = {**project.failed, **problems}
    counts = FileCounts(
        read=len([p for p in roots if p not in failed]),
        skipped=skipped,
        failed=tuple(
            FailedFile(path=p, reason=r) for p, r in sorted(failed.items()) if p in reportable or p in problems
        ),
    )
    return Analysis(CheckReport(findings=tuple(findings), files=counts), contexts, silenced, roots)


def enabled_rules(settings: Settings, select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules that run. Raises UnknownRule if `select` or `ignore` names one that does not exist."""
    from engine.rules import registry

    rules = list(registry())
    for entry in (*select, *ignore):
        if not any(settings.names_rule((entry,), rule.code, rule.name) for rule in rules):
            raise UnknownRule(entry)
    return [
        rule
        for rule in rules
        if settings.enabled(rule.code, rule.name)
        and (not select or settings.names_rule(select, rule.code, rule.name))
        and not settings.names_rule(ignore, rule.code, rule.name)
    ]


def source_paths(project: Project) -> list[str]:
    """All Python files and notebooks."""
    return [path for path in project.paths() if path.endswith(SOURCE_SUFFIXES)]


def wanted_paths(project: Project, paths: Sequence[str] | None, settings: Settings) -> list[str]:
    """The source files asked for. A file named itself is taken even where the settings exclude it."""
    sources = source_paths(project)
    if paths is None:
        return [path for path in sources if not settings.excludes(path)]
    named = {path.removeprefix("./").rstrip("/") for path in paths}
    if named & {".", ""}:
        return [path for path in sources if path in named or not settings.excludes(path)]
    folders = tuple(f"{path}/" for path in named)
    return [path for path in sources if path in named or (path.startswith(folders) and not settings.excludes(path))]


def _that_matter(project: Project, paths: Iterable[str]) -> tuple[list[str], int]:
    """The files worth tracing, and how many were passed over because their text cannot matter."""
    roots: list[str] = []
    skipped = 0
    graph = ImportGraph(project)
    for path in paths:
        try:
            text = project.read_text(path)
            if not _mentions_training(text) and not _repeats_training(graph, project, path, text):
                skipped += 1
                continue
            project.module(path)
        except UnreadableFile:
            continue
        roots.append(path)
    return roots, skipped


def _repeats_training(graph: ImportGraph, project: Project, path: str, text: str) -> bool:
    """Whether a file without a word of training repeats, in a loop, what a file that trains gives it."""
    if "import" not in text or not _LOOP.search(text) or not path.endswith(".py"):
        return False
    targets = sorted(target for target in graph.imports(path) if target.endswith(".py"))
    return any(_BACKWARD.search(project.read_text(target)) for target in targets)


@contextmanager
def _deep_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _traced(
    project: Project, roots: Sequence[str], rules: Sequence[Rule]
) -> tuple[list[tuple[Rule, Draft]], dict[str, str]]:
    """What the rules say of all roots together; where that breaks, of each alone: one file costs only itself."""
    from engine.interpreter import trace_project

    with _deep_stack():
        try:
            trace = trace_project(project, roots)
        except Exception as problem:
            if len(roots) <= 1:
                return [], {root: f"could not be followed: {type(problem).__name__}: {problem}" for root in roots}
        else:
            drafts, problems = _run(rules, trace)
            return drafts + _presumed(project, roots, rules, trace, drafts), {**trace.failed, **problems}
    drafts, problems = [], {}
    for root in roots:
        some, failed = _traced(project, [root], rules)
        drafts += some
        problems.update(failed)
    return drafts, problems


def _presumed(
    project: Project, roots: Sequence[str], rules: Sequence[Rule], trace: Trace, said: Sequence[tuple[Rule, Draft]]
) -> list[tuple[Rule, Draft]]:
    """What the rules say besides where a function's model is taken to be the only one that its file defines and nothing
    builds: a guess, so notes without fixes, which say what was guessed."""
    from engine.interpreter import trace_project
    from engine.trace import Step

    known = {(rule.code, draft.place.path, draft.place.line) for rule, draft in said}
    added: list[tuple[Rule, Draft]] = []
    for path, guesses in trace.presumable.items():
        if path not in roots:
            continue
        steps = tuple(
            Step(place, f"taken to be an object of `{name}`: nothing in the files that were read builds one")
            for place, name in guesses.items()
        )
        drafts, _ = _run(rules, trace_project(project, [path], guesses))
        added += [
            (rule, replace(draft, severity="note", fix=None, evidence=(*draft.evidence, *steps)))
            for rule, draft in drafts
            # What the evidence leads to was said there: the same defect, seen from its other end.
            if draft.place.path == path
            and not any(
                (rule.code, place.path, place.line) in known
                for place in (draft.place, *(step.place for step in draft.evidence))
            )
        ]
    return added


def _run(rules: Sequence[Rule], trace: Trace) -> tuple[list[tuple[Rule, Draft]], dict[str, str]]:
    """What the rules say. A rule that breaks is named, and the others still speak."""
    drafts: list[tuple[Rule, Draft]] = []
    crashed: dict[str, str] = {}
    for rule in rules:
        try:
            with _quietly(rule):
                drafts += [(rule, _usable(draft) if rule.origin else draft) for draft in rule.check(trace)]
        except (Exception, SystemExit) as problem:
            crashed[rule.full_name] = _stopped(problem)
    return drafts, crashed


def _quietly(rule: Rule) -> AbstractContextManager[object]:
    """What another package's rule prints goes to standard error: standard output may be a report."""
    return redirect_stdout(sys.stderr) if rule.origin else nullcontext()


def _usable(draft: Draft) -> Draft:
    """A draft of another package's rule, if it is one. Raises TypeError."""
    from engine.trace import Place

    if not isinstance(getattr(draft, "place", None), Place) or not isinstance(draft.message, str):
        raise TypeError(f"a rule yields drafts with a place of the trace and a message, not {draft!r:.80}")
    if draft.severity not in (None, *SEVERITY_ORDER) or not all(
        isinstance(step.place, Place) for step in draft.evidence
    ):
        raise TypeError("a draft has a severity of error, warning or note, or none, and evidence of steps")
    return draft


def _stopped(problem: BaseException) -> str:
    return f"stopped: {type(problem).__name__}: {problem}"


def _finished(
    project: Project,
    drafts: Sequence[tuple[Rule, Draft]],
    settings: Settings,
    reportable: frozenset[str],
    report_unused: bool,
    roots: Sequence[str],
) -> tuple[list[Finding], dict[str, Context], list[tuple[Finding, Context]], dict[str, str]]:
    """Drafts as findings, one per place, with fingerprints, sorted; their contexts; what arbitration dropped; and rules
    whose drafts or fixes cannot be used."""
    index = ContextIndex(project)
    used: set[tuple[str, int]] = set()
    placed: list[tuple[Finding, Context]] = []
    makers: dict[int, tuple[Rule, FixMaker]] = {}
    stopped: dict[str, str] = {}
    for rule, draft in drafts:
        path, line = draft.place.path, draft.place.line
        if path not in reportable or settings.silences(path, rule.code, rule.name):
            continue
        module = project.module(path)
        if _silenced(module, rule, line, draft.place.end_line or line, used):
            continue
        finding = _finding(project, module, rule, draft, settings)
        placed.append((finding, index.at(path, line)))
        if draft.fix is not None:
            makers[id(finding)] = rule, draft.fix
    kept = {id(finding) for finding in arbitrate([finding for finding, _ in placed])}
    dropped = [(finding, context) for finding, context in placed if id(finding) not in kept]
    placed = [
        (_with_fix(project, finding, *makers[id(finding)], stopped) if id(finding) in makers else finding, context)
        for finding, context in placed
        if id(finding) in kept
    ]
    if report_unused:
        placed += _unused(project, roots, used, index)
    findings = with_fingerprints(placed)
    ordered = {(f.rule, f.path, f.line, f.column): context for f, context in placed}
    contexts = {f.fingerprint: ordered[f.rule, f.path, f.line, f.column] for f in findings}
    return findings, contexts, dropped, stopped


def _silenced(module: Module, rule: Rule, first: int, last: int, used: set[tuple[str, int]]) -> bool:
    silenced = False
    for suppression in module.suppressions:
        if any(suppression.covers(rule.code, rule.name, line) for line in {first, last}):
            used.add((module.path, suppression.comment_line))
            silenced = True
    return silenced


def _finding(project: Project, module: Module, rule: Rule, draft: Draft, settings: Settings) -> Finding:
    place = draft.place
    path, line = module.display_path(place.line)
    last = max(place.end_line, place.line)
    _, end_line = module.display_path(last)
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=settings.severity_of(rule.code, rule.name, draft.severity or rule.severity),
        path=path,
        line=line,
        column=place.column + (module.rewritten(place.line) or 0),
        end_line=max(end_line, line),
        end_column=(place.end_column or place.column) + (module.rewritten(last) or 0),
        message=draft.message,
        evidence=tuple(_evidence(project, step.place.path, step.place.line, step.message) for step in draft.evidence),
    )


def _with_fix(project: Project, finding: Finding, rule: Rule, make: FixMaker, stopped: dict[str, str]) -> Finding:
    """The finding with its fix. A fix is an offer: where making it breaks, the finding stands without."""
    try:
        with _quietly(rule):
            fix = _shown(project, finding, make(project))
    except Exception as problem:
        if rule.origin:
            stopped[rule.full_name] = f"gives no fix: {type(problem).__name__}: {problem}"
        return finding
    return finding if fix is None else finding.model_copy(update={"fix": fix})


def _shown(project: Project, finding: Finding, fix: Fix | None) -> Fix | None:
    """A fix as people see it, None where it would leave a file that does not parse."""
    from engine.fixes.making import keeps_parsing
    from engine.fixes.placing import shown_fix

    if fix is None:
        return None
    module = project.module(split_cell(finding.path)[0])
    return shown_fix(module, fix, finding.path) if keeps_parsing(module, fix.edits) else None


def _evidence(project: Project, path: str, line: int, message: str) -> Evidence:
    try:
        path, line = project.module(path).display_path(line)
    except UnreadableFile:
        # Evidence may stand in a configuration file.
        return Evidence(path=path, line=max(line, 1), message=message)
    return Evidence(path=path, line=max(line, 1), message=message)


def _unused(
    project: Project, roots: Sequence[str], used: set[tuple[str, int]], index: ContextIndex
) -> list[tuple[Finding, Context]]:
    code, name = UNUSED_SUPPRESSION
    found: list[tuple[Finding, Context]] = []
    for root in roots:
        module = project.module(root)
        for suppression in module.suppressions:
            if (root, suppression.comment_line) in used:
                continue
            path, line = module.display_path(suppression.comment_line)
            rules = ", ".join(sorted(suppression.rules)) or "any rule"
            finding = Finding(
                rule=code,
                name=name,
                severity="note",
                path=path,
                line=line,
                column=1,
                end_line=line,
                end_column=len(module.lines[suppression.comment_line - 1]) + 1,
                message=f"This comment silences {rules}, but there is nothing to silence: it can go.",
            )
            found.append((finding, index.at(root, suppression.comment_line)))
    return found
