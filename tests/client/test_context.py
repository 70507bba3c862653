"""The context of a question: folder, branch and last text, from files of any content."""

import json
import subprocess
from pathlib import Path

import pytest

from bridge_client.claude_code.context import gather, git_branch, last_assistant_text


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--initial-branch=feature/cards")
    git(folder, "commit", "--allow-empty", "--message=first")
    return folder


def test_the_branch_is_found_from_any_folder_below(repository: Path) -> None:
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    assert git_branch(str(repository)) == "feature/cards"
    assert git_branch(str(below)) == "feature/cards"


def test_a_worktree_has_a_branch_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-b", "fix", str(tmp_path / "tree"))
    assert git_branch(str(tmp_path / "tree")) == "fix"


def test_without_a_branch_it_is_the_commit(repository: Path) -> None:
    git(repository, "checkout", "--detach")
    assert len(git_branch(str(repository))) == 12


@pytest.mark.parametrize("text", ["", "gitdir: /nowhere", "garbage", "gitdir:"])
def test_an_unknown_git_file_is_no_branch(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert git_branch(str(tmp_path)) == ""


def test_outside_of_git_there_is_no_branch(tmp_path: Path) -> None:
    assert git_branch(str(tmp_path)) == ""
    assert gather(str(tmp_path)) == {"cwd": str(tmp_path)}
    assert gather() == {}


def entry(*blocks: object, kind: str = "assistant", **fields: object) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": list(blocks)}, **fields})


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


def transcript(folder: Path, *lines: str) -> str:
    path = folder / "transcript.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_the_last_text_of_the_agent_is_found(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        entry(text("First.")),
        entry(text("All tests pass."), text("Two ways to go on:")),
        entry({"type": "tool_use", "name": "AskUserQuestion", "input": {}}),
        entry(text("I am a person"), kind="user"),
        entry(text("from a helper"), isSidechain=True),
        "{not json",
        "",
    )
    assert last_assistant_text(path) == "All tests pass.\n\nTwo ways to go on:"


def test_only_the_end_of_a_long_text_is_kept(tmp_path: Path) -> None:
    path = transcript(tmp_path, entry(text("a" * 5_000 + "the end")))
    found = last_assistant_text(path)
    assert len(found) == 2_000
    assert found.startswith("…")
    assert found.endswith("the end")


def test_only_the_tail_of_a_huge_transcript_is_read(tmp_path: Path) -> None:
    path = transcript(tmp_path, entry(text("x" * 3_000_000)), entry(text("near the end")))
    assert last_assistant_text(path) == "near the end"
    path = transcript(tmp_path, entry(text("too far away")), entry(text("y" * 3_000_000), kind="user"))
    assert last_assistant_text(path) == ""


def test_what_the_server_cannot_store_is_left_out(tmp_path: Path) -> None:
    assert last_assistant_text(transcript(tmp_path, entry(text("a\x00b \ud83d c")))) == "ab ? c"


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "assistant"}',
        '{"type": "assistant", "message": "text"}',
        '{"type": "assistant", "message": {"content": 7}}',
        '{"type": "assistant", "message": {"content": [7, {"type": "text"}, {"type": "text", "text": 8}]}}',
        '["assistant"]',
        "[" * 100_000 + '"assistant"',
    ],
)
def test_unknown_lines_are_skipped(tmp_path: Path, line: str) -> None:
    path = transcript(tmp_path, entry(text("before")), line)
    assert last_assistant_text(path) == "before"


def test_a_missing_transcript_is_no_text(tmp_path: Path) -> None:
    assert last_assistant_text(str(tmp_path / "none")) == ""
    assert last_assistant_text(str(tmp_path)) == ""


def test_a_plain_text_as_content_counts(tmp_path: Path) -> None:
    line = json.dumps({"type": "assistant", "message": {"content": "plain"}})
    assert last_assistant_text(transcript(tmp_path, line)) == "plain"
