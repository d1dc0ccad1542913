"""Repositories and what git holds: files, trees, commits, comparisons, who may do what."""

from __future__ import annotations

from bot.standin.exchange import Answer, Request, operation
from bot.standin.git import UnknownRevision
from bot.standin.refusals import Refused, invalid, not_found
from bot.standin.state import Json

LARGEST_CONTENTS_BYTES = 1_000_000
"""Above this, contents come only as raw or object; above a hundred times that, not at all."""
MOST_TREE_ENTRIES = 100_000
MOST_COMPARED_FILES = 300
ROLES = {"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read", "none": "none"}


@operation("repos/get")
def get(request: Request) -> Answer:
    return Answer(body=request.documents.repository(request.repo))


@operation("repos/get-collaborator-permission-level")
def get_permission(request: Request) -> Answer:
    """On a public repository everybody reads; a login that nobody knows is not found."""
    repository, login = request.repo, request.parameters["username"]
    role = repository.permissions.get(login)
    if role is None:
        if login not in request.github.people:
            raise Refused(404, f"{login} is not a user")
        role = "none" if repository.private else "read"
    document = {
        "permission": ROLES[role],
        "role_name": role,
        "user": {**request.documents.user(login), "role_name": role},
    }
    return Answer(body=document)


@operation("repos/get-content")
def get_content(request: Request) -> Answer:
    repository, path = request.repo, request.parameters["path"].strip("/")
    ref = request.query.get("ref", repository.default_branch)
    commit = request.commit(ref)
    try:
        kind, sha = repository.git.object_at(commit, path)
    except UnknownRevision:
        raise not_found() from None
    url = f"{request.github.url}/repos/{repository.full_name}"

    submodule = "submodule" if request.version >= "2026-03-10" else "file"

    def entry(name: str, entry_path: str, entry_kind: str, entry_sha: str, size: int) -> Json:
        contents, git = f"{url}/contents/{entry_path}?ref={ref}", f"{url}/git/{entry_kind}s/{entry_sha}"
        page = f"{request.github.web_url}/{repository.full_name}/{entry_kind}/{commit}/{entry_path}"
        return {
            "name": name,
            "path": entry_path,
            "sha": entry_sha,
            "size": size,
            "url": contents,
            "html_url": page,
            "git_url": git,
            "download_url": page if entry_kind == "blob" else None,
            "type": {"blob": "file", "tree": "dir", "commit": submodule}[entry_kind],
            "_links": {"self": contents, "git": git, "html": page},
        }

    if kind == "tree":
        rows = repository.git.tree(sha)[:1000]
        listed = [entry(row.path, f"{path}/{row.path}".strip("/"), row.kind, row.sha, row.size or 0) for row in rows]
        return Answer(body=listed)
    content = repository.git.blob(sha)
    if len(content) > 100 * LARGEST_CONTENTS_BYTES:
        error: Json = {"resource": "Blob", "field": "data", "code": "too_large"}
        raise Refused(
            403, "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch", [error]
        )
    if request.wants_raw:
        return Answer(raw=content, content_type="application/vnd.github.raw; charset=utf-8")
    document = entry(path.rpartition("/")[2], path, "blob", sha, len(content))
    if len(content) > LARGEST_CONTENTS_BYTES:
        return Answer(body={**document, "encoding": "none", "content": ""})
    blob = request.documents.blob(repository, sha, content)
    return Answer(body={**document, "encoding": "base64", "content": blob["content"]})


@operation("repos/download-tarball-archive")
def get_tarball(request: Request) -> Answer:
    """GitHub answers with a redirect to another host; here the same server serves the archive."""
    request.commit(request.parameters["ref"])
    place = f"{request.github.web_url}/{request.repo.full_name}/legacy.tar.gz/{request.parameters['ref']}"
    return Answer(302, headers={"Location": place})


@operation("repos/get-commit")
def get_commit(request: Request) -> Answer:
    repository, ref = request.repo, request.parameters["ref"]
    commit = repository.git.commit(request.commit(ref))
    document = request.documents.commit(repository, commit)
    before = commit.parents[0] if commit.parents else repository.git.text("hash-object", "-t", "tree", "/dev/null")
    files = repository.git.diff(before, commit.sha)
    shown, headers = request.cut(files[:3000])
    additions, deletions = sum(file.additions for file in files), sum(file.deletions for file in files)
    stats = {"additions": additions, "deletions": deletions, "total": additions + deletions}
    listed = [request.documents.file(repository, file, commit.sha) for file in shown]
    return Answer(200, {**document, "stats": stats, "files": listed}, headers)


@operation("repos/list-pull-requests-associated-with-commit")
def list_pulls_of_commit(request: Request) -> Answer:
    repository, sha = request.repo, request.commit(request.parameters["commit_sha"])
    found = []
    for pull in request.github.pulls:
        if pull.repository is repository:
            commits = {commit.sha for commit in repository.git.commits_between(pull.merge_base(), pull.head_sha)}
            if sha in commits | {pull.head_sha}:
                found.append(pull)
    return request.page(found, lambda pull: request.documents.pull_in_list(pull, request.version))


@operation("repos/compare-commits-with-basehead")
def compare(request: Request) -> Answer:
    """Against the merge base; at most 300 files, all of them on the first page."""
    repository, basehead = request.repo, request.parameters["basehead"]
    if "..." not in basehead:
        raise not_found()
    base, head = (request.commit(name.rpartition(":")[2]) for name in basehead.split("...", 1))
    git, documents = repository.git, request.documents
    try:
        common = git.merge_base(base, head)
    except UnknownRevision:
        raise Refused(404, "No common ancestor between base and head.") from None
    ahead, behind = git.commits_between(base, head), git.commits_between(head, base)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    shown, headers = request.cut(ahead)
    url = f"{request.github.url}/repos/{repository.full_name}/compare/{basehead}"
    page = f"{request.github.web_url}/{repository.full_name}/compare/{basehead}"
    document = {
        "url": url,
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": documents.commit(repository, git.commit(base)),
        "status": status,
        "merge_base_commit": documents.commit(repository, git.commit(common)),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [documents.commit(repository, commit) for commit in shown],
        "files": [],
    }
    if request.query.get("page", "1") == "1":
        files = git.diff(common, head)[:MOST_COMPARED_FILES]
        document["files"] = [documents.file(repository, file, head) for file in files]
    return Answer(200, document, headers)


@operation("git/get-blob")
def get_blob(request: Request) -> Answer:
    sha = request.parameters["file_sha"]
    try:
        content = request.repo.git.blob(sha)
    except UnknownRevision:
        raise not_found() from None
    if request.wants_raw:
        return Answer(raw=content, content_type="application/vnd.github.raw; charset=utf-8")
    return Answer(body=request.documents.blob(request.repo, sha, content))


@operation("git/get-tree")
def get_tree(request: Request) -> Answer:
    git, wanted = request.repo.git, request.parameters["tree_sha"]
    try:
        sha = git.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{tree}}")
    except UnknownRevision:
        sha = git.commit(request.commit(wanted)).tree_sha
    entries = git.tree(sha, recursive="recursive" in request.query)
    url = f"{request.github.url}/repos/{request.repo.full_name}/git"
    limit = request.github.most_tree_entries
    rows = []
    for entry in entries[:limit]:
        row: Json = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha}
        if entry.size is not None:
            row["size"] = entry.size
        if entry.kind != "commit":
            row["url"] = f"{url}/{entry.kind}s/{entry.sha}"
        rows.append(row)
    return Answer(body={"sha": sha, "url": f"{url}/trees/{sha}", "tree": rows, "truncated": len(entries) > limit})


@operation("git/get-commit")
def get_git_commit(request: Request) -> Answer:
    commit = request.repo.git.commit(request.commit(request.parameters["commit_sha"]))
    return Answer(body=request.documents.git_commit(request.repo, commit))


@operation("git/get-ref")
def get_ref(request: Request) -> Answer:
    name = request.parameters["ref"]
    sha = request.commit(f"refs/{name}")
    if name.count("/") < 1:
        raise invalid(message="Reference is not fully qualified")
    url = f"{request.github.url}/repos/{request.repo.full_name}/git"
    target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
    return Answer(body={"ref": f"refs/{name}", "node_id": f"REF_{sha}", "url": f"{url}/refs/{name}", "object": target})
