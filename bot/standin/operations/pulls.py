"""Pull requests: the state, the files, the commits."""

from __future__ import annotations

from bot.standin.exchange import Answer, Request, operation
from bot.standin.refusals import Refused

MOST_FILES = 3000
"""Files of a pull request that GitHub lists, whatever the paging."""
LONGEST_DIFF_LINES = 20_000
MOST_DIFF_FILES = 300


@operation("pulls/list")
def list_pulls(request: Request) -> Answer:
    state = request.query.get("state", "open")
    rows = [pull for pull in request.github.pulls if pull.repository is request.repo]
    rows = [pull for pull in rows if state in ("all", pull.state)]
    if base := request.query.get("base"):
        rows = [pull for pull in rows if pull.base == base]
    if head := request.query.get("head"):
        owners = [(f"{pull.author if pull.fork else pull.repository.owner}:{pull.head}", pull) for pull in rows]
        rows = [pull for label, pull in owners if label == head]
    rows.sort(key=lambda pull: pull.number, reverse=request.query.get("direction", "desc") == "desc")
    return request.page(rows, lambda pull: request.documents.pull_in_list(pull, request.version))


@operation("pulls/get")
def get(request: Request) -> Answer:
    pull = request.pull()
    if "diff" in request.accept:
        return diff(request)
    stale = None
    if pull.stale_reads and pull.previous_sha:
        pull.stale_reads -= 1
        stale = pull.previous_sha
    return Answer(body=request.documents.pull(pull, request.version, head_sha=stale))


def diff(request: Request) -> Answer:
    pull = request.pull()
    text = pull.repository.git.raw_diff(pull.merge_base(), pull.head_sha)
    files = len(pull.files())
    if files > MOST_DIFF_FILES:
        words = f"Sorry, the diff exceeded the maximum number of files ({MOST_DIFF_FILES})."
        raise Refused(406, words, [{"resource": "PullRequest", "field": "diff", "code": "too_large"}])
    if text.count("\n") > LONGEST_DIFF_LINES:
        words = f"Sorry, the diff exceeded the maximum number of lines ({LONGEST_DIFF_LINES})."
        raise Refused(406, words, [{"resource": "PullRequest", "field": "diff", "code": "too_large"}])
    return Answer(raw=text.encode(), content_type="application/vnd.github.diff; charset=utf-8")


@operation("pulls/list-files")
def list_files(request: Request) -> Answer:
    pull = request.pull()
    documents = request.documents
    return request.page(pull.files(), lambda file: documents.file(pull.repository, file, pull.head_sha), cap=MOST_FILES)


@operation("pulls/list-commits")
def list_commits(request: Request) -> Answer:
    pull = request.pull()
    commits = pull.repository.git.commits_between(pull.merge_base(), pull.head_sha)[:250]
    return request.page(commits, lambda commit: request.documents.commit(pull.repository, commit))
