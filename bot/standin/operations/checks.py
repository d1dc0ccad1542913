"""Check runs and check suites."""

from __future__ import annotations

from typing import Any

from bot.standin.exchange import Answer, Request, operation
from bot.standin.git import UnknownRevision
from bot.standin.refusals import Refused, invalid, not_found
from bot.standin.state import CheckRun, CheckSuite, Json, stamp


def check_annotations(annotations: list[Json]) -> None:
    """The rules that GitHub's own description leaves out."""
    for annotation in annotations:
        columns = "start_column" in annotation or "end_column" in annotation
        if annotation["start_line"] < 1 or annotation["end_line"] < annotation["start_line"]:
            raise invalid({"resource": "CheckRun", "code": "custom", "message": "Annotation lines are not a range"})
        if columns and annotation["start_line"] != annotation["end_line"]:
            words = "start_column and end_column may only be given when start_line and end_line are equal"
            raise invalid({"resource": "CheckRun", "code": "custom", "message": words})


def check_conclusion(body: Json) -> None:
    completed = body.get("status") == "completed" or "completed_at" in body
    if completed and "conclusion" not in body:
        raise invalid({"resource": "CheckRun", "code": "missing_field", "field": "conclusion"})


def fill(run: CheckRun, body: Json, now: float) -> None:
    """Carries the fields of a request into the run; annotations are added to those that are there."""
    check_conclusion(body)
    output: dict[str, Any] = body.get("output") or {}
    check_annotations(output.get("annotations") or [])
    run.name = body.get("name", run.name)
    run.details_url = body.get("details_url", run.details_url)
    run.external_id = body.get("external_id", run.external_id)
    run.started_at = body.get("started_at", run.started_at)
    run.actions = body.get("actions", run.actions)
    run.status = body.get("status", run.status)
    if "conclusion" in body:
        run.status, run.conclusion = "completed", body["conclusion"]
        run.completed_at = body.get("completed_at", stamp(now))
    elif run.status != "completed":
        run.conclusion = run.completed_at = None
    if output:
        run.title, run.summary = output["title"], output["summary"]
        run.text = output.get("text", run.text)
        run.annotations.extend(output.get("annotations") or [])
    run.suite.status = run.status


@operation("checks/create")
def create(request: Request) -> Answer:
    github, repository = request.github, request.repo
    try:
        sha = repository.git.commit_sha(request.body["head_sha"])
    except UnknownRevision:
        raise invalid(message=f"No commit found for SHA: {request.body['head_sha']}") from None
    if sha != request.body["head_sha"]:
        raise invalid(message="head_sha must be a full commit SHA")
    suite = github.suite_for(repository, sha)
    now = github.clock()
    run = CheckRun(github.new_id(), repository, suite, request.body["name"], sha, "queued", stamp(now))
    fill(run, request.body, now)
    github.checks.append(run)
    return Answer(201, request.documents.check_run(run))


def _run(request: Request) -> CheckRun:
    number = request.number("check_run_id")
    for run in request.github.checks:
        if run.id == number and run.repository is request.repo:
            return run
    raise not_found()


@operation("checks/get")
def get(request: Request) -> Answer:
    return Answer(body=request.documents.check_run(_run(request)))


@operation("checks/update")
def update(request: Request) -> Answer:
    run = _run(request)
    fill(run, request.body, request.github.clock())
    return Answer(body=request.documents.check_run(run))


@operation("checks/list-annotations")
def list_annotations(request: Request) -> Answer:
    run = _run(request)
    return request.page(run.annotations, lambda annotation: request.documents.annotation(run, annotation))


@operation("checks/rerequest-run")
def rerequest_run(request: Request) -> Answer:
    """Resets the suite; the run itself stays as it is until its App changes it."""
    _run(request).suite.status = "queued"
    return Answer(201, {})


@operation("checks/list-for-ref")
def list_for_ref(request: Request) -> Answer:
    github, sha = request.github, request.commit(request.parameters["ref"])
    runs = [run for run in github.checks if run.repository is request.repo and run.head_sha == sha]
    if "app_id" in request.query:
        own = request.query["app_id"] == str(github.app.id)
        runs = [run for run in runs if own and not run.by_other]
    if name := request.query.get("check_name"):
        runs = [run for run in runs if run.name == name]
    if status := request.query.get("status"):
        runs = [run for run in runs if run.status == status]
    if request.query.get("filter", "latest") == "latest":
        latest = {(run.by_other, run.name): run for run in runs}
        runs = list(latest.values())
    runs.reverse()
    shown, headers = request.cut(runs)
    documents = [request.documents.check_run(run) for run in shown]
    return Answer(200, {"total_count": len(runs), "check_runs": documents}, headers)


@operation("checks/list-suites-for-ref")
def list_suites(request: Request) -> Answer:
    github, sha = request.github, request.commit(request.parameters["ref"])
    suites = [suite for suite in github.suites if suite.repository is request.repo and suite.head_sha == sha]
    if "app_id" in request.query and request.query["app_id"] != str(github.app.id):
        suites = []
    shown, headers = request.cut(suites)
    documents = [request.documents.check_suite(suite) for suite in shown]
    return Answer(200, {"total_count": len(suites), "check_suites": documents}, headers)


@operation("checks/create-suite")
def create_suite(request: Request) -> Answer:
    github, sha = request.github, request.commit(request.body["head_sha"])
    known = any(suite.repository is request.repo and suite.head_sha == sha for suite in github.suites)
    suite = github.suite_for(request.repo, sha)
    return Answer(200 if known else 201, request.documents.check_suite(suite))


def _suite(request: Request) -> CheckSuite:
    number = request.number("check_suite_id")
    for suite in request.github.suites:
        if suite.id == number and suite.repository is request.repo:
            return suite
    raise not_found()


@operation("checks/get-suite")
def get_suite(request: Request) -> Answer:
    return Answer(body=request.documents.check_suite(_suite(request)))


@operation("checks/rerequest-suite")
def rerequest_suite(request: Request) -> Answer:
    suite = _suite(request)
    if not any(run.suite is suite for run in request.github.checks):
        raise Refused(403, "This check suite is not rerequestable")
    suite.status = "queued"
    return Answer(201, {})
