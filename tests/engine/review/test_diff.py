"""What a unified diff says: where comments may stand, and which line became which."""

from __future__ import annotations

import subprocess
from pathlib import Path

from engine.diff import FileDiff, parse_hunks, revision_diff

PATCH = """\
@@ -1,4 +1,5 @@ def f():
 a
-b
+B
+C
 c
 d
@@ -20,3 +21,2 @@
 x
-y
 z
\\ No newline at end of file"""


def test_hunks_hold_changed_and_context_lines_of_the_head() -> None:
    diff = FileDiff.from_patch("a.py", PATCH)
    assert diff.added_lines == {2, 3}
    assert [n for n in range(1, 30) if diff.hunk_of(n)] == [1, 2, 3, 4, 5, 21, 22]
    assert diff.hunk_of(2, 5) is not None
    assert diff.hunk_of(5, 21) is None


def test_lines_are_followed_from_base_to_head() -> None:
    diff = FileDiff.from_patch("a.py", PATCH)
    assert diff.same_place(1, 1)
    assert diff.same_place(2, 2) and diff.same_place(2, 3)
    assert not diff.same_place(2, 4)
    assert diff.same_place(3, 4) and diff.same_place(10, 11)
    assert diff.same_place(22, 22) and diff.same_place(30, 30)
    assert not diff.same_place(21, 21)


def test_a_pure_deletion_and_a_missing_patch() -> None:
    (hunk,) = parse_hunks("@@ -3,2 +2,0 @@\n-a\n-b\n")
    assert (hunk.removed, hunk.added) == ({3, 4}, frozenset())
    assert FileDiff.from_patch("big.py", None).hunk_of(1) is None
    assert FileDiff.from_patch("a.py", "@@ -1 +1 @@\n-a\n+b").hunk_of(1) is not None


def test_a_local_repository_gives_renames_and_odd_names(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "old.py").write_text("".join(f"x{n} = {n}\n" for n in range(20)))
    (tmp_path / 'a "b"\té.py').write_text("x = 1\n")
    (tmp_path / "gone.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "-qm", "a")
    git("mv", "old.py", "new.py")
    (tmp_path / "new.py").write_text("".join(f"x{n} = {n}\n" for n in range(21)))
    (tmp_path / 'a "b"\té.py').write_text("x = 2\n")
    git("rm", "-q", "gone.py")
    (tmp_path / "fresh.py").write_text("--- a\n+++ b\n")
    git("add", ".")
    git("commit", "-qm", "b")
    found = {diff.path: diff for diff in revision_diff(tmp_path, "HEAD~1", "HEAD")}
    assert found["new.py"].base_path == "old.py"
    assert found["new.py"].added_lines == {21}
    assert found['a "b"\té.py'].added_lines == {1}
    assert found["gone.py"].head_path is None
    assert found["fresh.py"].base_path is None
    assert found["fresh.py"].added_lines == {1, 2}
