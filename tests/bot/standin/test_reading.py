"""What a client reads: pull requests, files in pages, contents, trees, blobs, comparisons."""

from __future__ import annotations

import base64
import re

from bot.standin import PullRequest, StandIn

from .conftest import Client, Folder


async def test_a_pull_request_is_against_the_merge_base(
    github: StandIn, folder: Folder, pull: PullRequest, call: Client
) -> None:
    folder.git("checkout", "--quiet", "main")
    folder.commit("Meanwhile", data_py="changed on main\n")
    github.retarget(pull, "main")
    files = (await call("GET", "~/pulls/1/files")).body
    assert [(entry["filename"], entry["status"]) for entry in files] == [("new.py", "added"), ("train.py", "modified")]
    assert (await call("GET", "~/pulls/1")).body["changed_files"] == 2


async def test_renames_are_found(github: StandIn, folder: Folder, pull: PullRequest, call: Client) -> None:
    folder.git("mv", "data.py", "loading.py")
    github.push(pull, folder.commit("Rename"))
    renamed = next(entry for entry in (await call("GET", "~/pulls/1/files")).body if entry["status"] == "renamed")
    assert (renamed["filename"], renamed["previous_filename"]) == ("loading.py", "data.py")
    assert "patch" not in renamed


async def test_lists_come_in_pages_with_links(github: StandIn, pull: PullRequest, call: Client) -> None:
    for number in range(65):
        github.add_comment(pull, "octocat", f"comment {number}")
    first = await call("GET", "~/issues/1/comments")
    assert len(first.body) == 30
    following = re.search(r'<([^>]+)>; rel="next"', first.headers["Link"])
    assert following is not None
    second = await call("GET", following[1])
    assert second.body[0]["body"] == "comment 30"
    assert len((await call("GET", "~/issues/1/comments?per_page=500")).body) == 65
    last = await call("GET", "~/issues/1/comments?page=3")
    assert len(last.body) == 5 and 'rel="next"' not in last.headers["Link"]


async def test_no_more_than_3000_files_are_listed(
    github: StandIn, folder: Folder, pull: PullRequest, call: Client
) -> None:
    for number in range(3005):
        (folder.path / f"f{number:04d}.txt").write_text("x\n")
    github.push(pull, folder.commit("Many"))
    assert len((await call("GET", "~/pulls/1/files?per_page=100&page=30")).body) == 100
    assert (await call("GET", "~/pulls/1/files?per_page=100&page=31")).body == []
    refused = await call("GET", "~/pulls/1", Accept="application/vnd.github.diff")
    assert (refused.status, refused.body["errors"][0]["code"]) == (406, "too_large")


async def test_the_diff_of_a_small_pull_request(pull: PullRequest, call: Client) -> None:
    answer = await call("GET", "~/pulls/1", Accept="application/vnd.github.diff")
    assert b"+twenty" in answer.body and answer.body.startswith(b"diff --git")


async def test_contents_as_json_raw_and_folder(folder: Folder, pull: PullRequest, call: Client) -> None:
    document = (await call("GET", "~/contents/new.py?ref=faster")).body
    assert base64.b64decode(document["content"]) == b"first\nsecond\n"
    raw = await call("GET", f"~/contents/new.py?ref={pull.head_sha}", Accept="application/vnd.github.raw+json")
    assert raw.body == b"first\nsecond\n"
    through_pull = await call("GET", "~/contents/new.py?ref=refs/pull/1/head")
    assert through_pull.body["sha"] == document["sha"]
    assert (await call("GET", "~/contents/new.py?ref=main")).status == 404
    assert (await call("GET", "~/contents/.github/preflight.yml")).status == 404
    assert [entry["name"] for entry in (await call("GET", "~/contents/?ref=main")).body] == ["data.py", "train.py"]


async def test_json_contents_above_a_megabyte_are_empty(folder: Folder, pull: PullRequest, call: Client) -> None:
    folder.commit("Big", big_py="#" * 1_000_001)
    document = (await call("GET", "~/contents/big.py?ref=faster")).body
    assert (document["encoding"], document["content"], document["size"]) == ("none", "", 1_000_001)
    raw = await call("GET", "~/contents/big.py?ref=faster", Accept="application/vnd.github.raw+json")
    assert len(raw.body) == 1_000_001


async def test_trees_are_cut_where_they_are_too_large(github: StandIn, pull: PullRequest, call: Client) -> None:
    whole = (await call("GET", f"~/git/trees/{pull.head_sha}?recursive=1")).body
    assert [entry["path"] for entry in whole["tree"]] == ["data.py", "new.py", "train.py"] and not whole["truncated"]
    github.most_tree_entries = 2
    cut = (await call("GET", f"~/git/trees/{pull.head_sha}?recursive=1")).body
    assert len(cut["tree"]) == 2 and cut["truncated"]


async def test_blobs_in_one_graphql_query(folder: Folder, pull: PullRequest, call: Client) -> None:
    folder.commit("Long", long_py="#" * 600_000, weights_bin=b"\0\1")
    found = await call.graphql(
        """query { repository(owner: "acme", name: "trainer") {
          a: object(expression: "faster:new.py") { ...facts } b: object(expression: "faster:long.py") { ...facts }
          c: object(expression: "faster:absent.py") { ...facts }
          d: object(expression: "faster:weights.bin") { ...facts }
        } } fragment facts on Blob { text byteSize isBinary isTruncated }"""
    )
    blobs = found["data"]["repository"]
    assert blobs["a"] == {"text": "first\nsecond\n", "byteSize": 13, "isBinary": False, "isTruncated": False}
    assert blobs["b"]["isTruncated"] and len(blobs["b"]["text"]) < 600_000
    assert blobs["c"] is None and blobs["d"]["text"] is None


async def test_what_moved_and_whether_it_has_a_check_in_one_graphql_query(
    github: StandIn, pull: PullRequest, call: Client
) -> None:
    query = """query($ids: [ID!]!, $app: Int!, $name: String!) { nodes(ids: $ids) { ... on Repository {
      pullRequests(first: 5, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) { totalCount nodes {
        number updatedAt commits(last: 1) { nodes { commit {
          oid checkSuites(first: 1, filterBy: {appId: $app, checkName: $name}) { totalCount }
        } } }
      } }
    } } }"""
    closed = github.open_pull(pull.repository, base="main", head=pull.head)
    github.close_pull(closed)
    await call("POST", "~/check-runs", {"name": "Preflight", "head_sha": pull.head_sha})

    async def suites(app: int, name: str) -> int:
        node = (await call.graphql(query, ids=[f"R_{pull.repository.id}"], app=app, name=name))["data"]["nodes"][0]
        assert node["pullRequests"]["totalCount"] == 1
        (shown,) = node["pullRequests"]["nodes"]
        assert shown["number"] == pull.number
        (commit,) = [each["commit"] for each in shown["commits"]["nodes"]]
        assert commit["oid"] == pull.head_sha
        return int(commit["checkSuites"]["totalCount"])

    assert await suites(github.app.id, "Preflight") == 1
    assert await suites(github.app.id, "Another") == 0
    assert await suites(github.app.id + 1, "Preflight") == 0


async def test_the_tarball_is_behind_a_redirect(pull: PullRequest, call: Client) -> None:
    answer = await call("GET", f"~/tarball/{pull.head_sha}")
    assert answer.status == 302
    assert (await call("GET", answer.headers["Location"])).body[:2] == b"\x1f\x8b"


async def test_comparison_and_pulls_of_a_commit(pull: PullRequest, call: Client) -> None:
    compared = (await call("GET", f"~/compare/main...{pull.head_sha}")).body
    assert (compared["status"], compared["ahead_by"], len(compared["files"])) == ("ahead", 1, 2)
    assert [entry["number"] for entry in (await call("GET", f"~/commits/{pull.head_sha}/pulls")).body] == [1]


async def test_a_replica_lags_behind_a_push(github: StandIn, folder: Folder, pull: PullRequest, call: Client) -> None:
    old = pull.head_sha
    github.push(pull, folder.commit("More", new_py="only\n"))
    github.stale_reads(pull, 2)
    heads = [(await call("GET", "~/pulls/1")).body["head"]["sha"] for _ in range(3)]
    assert heads == [old, old, pull.head_sha]


async def test_a_fork_and_its_end(github: StandIn, pull: PullRequest, call: Client) -> None:
    pull.fork, pull.author = True, "grace"
    assert (await call("GET", "~/pulls/1")).body["head"]["repo"]["full_name"] == "grace/trainer"
    assert (await call("GET", "~/contents/new.py?ref=" + pull.head_sha)).status == 200
    github.delete_fork(pull)
    assert (await call("GET", "~/pulls/1")).body["head"]["repo"] is None


async def test_the_tree_of_a_partial_clone_is_listed(folder: Folder, pull: PullRequest, call: Client) -> None:
    blob = folder.git("rev-parse", f"{pull.head_sha}:new.py")
    (folder.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    answer = await call("GET", f"~/git/trees/{pull.head_sha}?recursive=1")
    assert answer.status == 200
    assert "new.py" in [entry["path"] for entry in answer.body["tree"]]
