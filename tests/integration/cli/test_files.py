"""`init` and `check`: what they make, what they refuse, and what they say of bad files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gitops_bg.cli.main import app
from tests.fixtures.repos.build import build
from tests.fixtures.repos.texts import SETTINGS, folder
from tests.support.git.remote import locked_down_env
from tests.support.sarif import check_sarif


def run(*arguments: str, code: int = 0, cache: Path | None = None) -> Result:
    env = {"XDG_CACHE_HOME": str(cache)} if cache else {}
    result = CliRunner().invoke(app, list(arguments), env={"GITOPS_BG_REPO": "", **env})
    assert result.exit_code == code, result.output
    return result


def written(root: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def test_init_makes_a_repository_that_check_finds_sound(tmp_path: Path) -> None:
    made = tmp_path / "config"
    assert "gitops-bg check" in run("init", str(made)).stdout
    assert (made / "apps/shop/web/target.yaml").is_file()
    assert "no problem" in run("check", str(made)).stdout


def test_the_release_group_that_init_makes_is_sound_where_it_counts(tmp_path: Path) -> None:
    made = tmp_path / "config"
    assert f"A release group is in {made / 'examples/groups'}" in " ".join(run("init", str(made)).stdout.split())
    (made / "examples/groups").rename(made / "groups")
    assert "no problem" in run("check", str(made)).stdout
    (made / "groups/shop/store/v1/cart/routes.yaml").write_text("kind: ServiceRoutes\n")
    assert "groups/shop/store/v1/cart/routes.yaml" in run("check", str(made), code=1).stdout


def test_init_lists_its_files_as_json(tmp_path: Path) -> None:
    answer = json.loads(run("init", str(tmp_path / "new"), "-o", "json").stdout)
    assert "gitops-bg.yaml" in answer["files"]


def test_init_fills_an_empty_git_repository(tmp_path: Path) -> None:
    env = locked_down_env(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "made")], check=True, env=env)
    run("init", str(tmp_path / "made"))
    assert (tmp_path / "made/gitops-bg.yaml").is_file()


def test_init_overwrites_nobody_s_work(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = run("init", str(tmp_path), code=1)
    assert "is not empty (mine.txt)" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_init_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file" in run("init", str(tmp_path / "file"), code=1).stderr


def test_check_names_file_line_column_field_and_remedy(tmp_path: Path) -> None:
    bad = folder("shop", "web")
    bad["apps/shop/web/app.yaml"] = bad["apps/shop/web/app.yaml"].replace(b"activeService", b"activeServce")
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, **bad})
    lines = run("check", str(root), code=1).stdout.splitlines()
    assert any(
        line.startswith("apps/shop/web/app.yaml:8:7: spec.strategy.blueGreen.activeServce:")
        and "(did you mean activeService?)" in line
        for line in lines
    ), lines


def test_check_finds_fields_that_kubernetes_does_not_know_and_says_what_was_meant(tmp_path: Path) -> None:
    bad = folder("shop", "web")
    target = bad["apps/shop/web/target.yaml"].decode()
    assert "replicas: " in target
    assert "image: " in target
    bad["apps/shop/web/target.yaml"] = target.replace("replicas: ", "replica: ").replace("image: ", "imagee: ").encode()
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, **bad})
    shown = run("check", str(root), code=1).stdout
    assert shown.count("spec.replica: there is no such field (did you mean replicas?)") == 1
    assert "containers[0].imagee: there is no such field (did you mean image?)" in shown


def test_check_notes_what_the_agent_does_not_apply_and_ends_well(tmp_path: Path) -> None:
    service = b"apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: 80}]}\n"
    files = {"gitops-bg.yaml": SETTINGS, **folder("shop", "web"), "apps/shop/web/other.yaml": service}
    root = written(tmp_path, files)
    shown = run("check", str(root)).stdout
    assert "note: apps/shop/web/other.yaml:3:18: metadata.name: Service other is only checked" in shown
    assert "no problem" in shown
    answer = json.loads(run("check", str(root), "-o", "json").stdout)
    assert answer["problems"] == []
    assert "apps/shop/web/other.yaml" in [note["file"] for note in answer["notes"]]


def test_check_as_json_has_every_part_of_a_problem(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": b"kind: Settings\n"})
    answer = json.loads(run("check", str(root), "-o", "json", code=1).stdout)
    [problem] = answer["problems"]
    assert problem["file"] == "gitops-bg.yaml"
    assert problem["message"]


def test_check_follows_no_links_and_reads_no_huge_file(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, **folder("shop", "web")})
    (root / "apps/shop/web/link.yaml").symlink_to("/etc/hostname")
    (root / "apps/shop/web/huge.yaml").write_bytes(b"#" * 1_100_000)
    shown = run("check", str(root), code=1).stdout
    assert "apps/shop/web/link.yaml: is a symbolic link" in shown
    assert "apps/shop/web/huge.yaml: is larger than 1024 KiB" in shown


LINKS = {
    "apps/shop/web/docs": ("../../../docs", ""),
    "groups/shop/store/v1/cart/docs": ("../../../../../docs", ""),
    "apps/shop/web/config.yaml": ("target.yaml", "commit the file itself"),
    "apps/shop/other": ("web", "commit the folder itself"),
    "groups/shop/store/v2": ("v1", "commit the folder itself"),
    "groups/shop/store/v1/auth": ("cart", "commit the folder itself"),
    "groups/shop/store/v1/gone": ("nowhere", "commit the folder itself"),
}


@pytest.mark.parametrize("place", LINKS)
def test_check_says_of_a_link_what_the_agent_says_of_it(place: str, tmp_path: Path) -> None:
    """Found so: a link to a folder beside the files of an app was an error that the agent does not know; one that leads
    nowhere was none.
    """
    leads_to, remedy = LINKS[place]
    group = b"apiVersion: gitops-bg.dev/v1alpha1\nkind: ReleaseGroup\nmetadata: {name: store, namespace: shop}\n"
    files = {
        f"groups/shop/store/v1/cart/{name.rpartition('/')[2]}": text for name, text in folder("shop", "cart").items()
    }
    target = {path: text for path, text in files.items() if path.endswith("/target.yaml")}
    files = {"groups/shop/store/group.yaml": group + b"spec: {active: v1}\n", **target}
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, "docs/note.txt": b"", **folder("shop", "web"), **files})
    (root / place).symlink_to(leads_to)
    answer = json.loads(run("check", str(root), "-o", "json", code=1 if remedy else 0).stdout)
    assert [(each["file"], each["remedy"]) for each in answer["problems"]] == ([(place, remedy)] if remedy else [])


def test_check_reads_what_is_not_committed_and_skips_git_s_own_files(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, ".git/x.yaml": b"{", "apps/shop/x.yaml": b"a: 1\n"})
    shown = run("check", str(root), code=1).stdout
    assert "apps/shop/x.yaml: is not in the folder of an app" in shown
    assert ".git" not in shown


def test_check_reads_the_file_of_allowed_signers(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, "policies/allowed_signers": b"no key\n"})
    assert "policies/allowed_signers:1: is no line of a signer" in run("check", str(root), code=1).stdout


BAD = {
    "broken-yaml": "apps/shop/broken/target.yaml:",
    "duplicate-keys": "apps/shop/twice/target.yaml:6",
    "wrong-namespace": "apps/shop/astray/target.yaml:",
    "huge-file": "apps/shop/huge/target.yaml: is larger",
    "symlink": "apps/shop/link/target.yaml: is a symbolic link",
    "anchor-bomb": "apps/shop/bomb/target.yaml:",
    "non-utf-8": "apps/shop/latin/target.yaml:",
}


@pytest.mark.parametrize("name", BAD)
def test_check_of_a_remote_finds_what_is_bad(name: str, tmp_path: Path) -> None:
    remote = build(name, tmp_path)
    shown = run("check", "--repo", str(remote), code=1, cache=tmp_path).stdout
    assert BAD[name] in shown, shown
    assert not [line for line in shown.splitlines() if line.startswith("apps/shop/web")]


def test_check_of_a_sound_remote_ends_well(tmp_path: Path) -> None:
    answer: Any = json.loads(
        run("check", "--repo", str(build("healthy", tmp_path)), "-o", "json", cache=tmp_path).stdout
    )
    assert answer["problems"] == []
    assert answer["files"] == 7


def test_the_work_tree_that_is_named_is_checked_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", str(tmp_path / "made"))
    monkeypatch.chdir(tmp_path / "made")
    nowhere = {"GITOPS_BG_REPO": (tmp_path / "nowhere").as_uri(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert CliRunner().invoke(app, ["check", "."], env=nowhere).exit_code == 0
    assert CliRunner().invoke(app, ["check"], env=nowhere).exit_code != 0


def test_check_of_what_is_not_there(tmp_path: Path) -> None:
    assert "is no folder" in run("check", str(tmp_path / "nowhere"), code=5).stderr


def test_notes_fail_the_check_only_if_somebody_asks(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, **folder("shop", "web")})
    assert "3 files, no problem\n" in run("check", str(root)).stdout
    assert "3 files, no problem, but 3 notes (--strict)" in run("check", str(root), "--strict", code=1).stdout


def test_notes_of_a_rule_can_be_left_out_and_errors_cannot(tmp_path: Path) -> None:
    root = written(tmp_path, {"gitops-bg.yaml": SETTINGS, **folder("shop", "web")})
    rules = ("--ignore", "readiness-probe", "--ignore", "no-effect")
    assert "3 files, no problem\n" in run("check", str(root), "--strict", *rules).stdout
    assert "did you mean image-tag?" in run("check", str(root), "--ignore", "image-tags", code=2).stderr
    assert "it finds errors" in run("check", str(root), "--ignore", "image-reference", code=2).stderr


def test_every_format_names_the_same_files_from_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "config", {"gitops-bg.yaml": b"kind: Settings\n"})
    monkeypatch.chdir(tmp_path)
    shown = {how: run("check", "config", "-o", how, code=1).stdout for how in ("sarif", "github", "gitlab", "json")}
    [result] = check_sarif(json.loads(shown["sarif"]))
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    [annotation] = shown["github"].splitlines()
    [quality] = json.loads(shown["gitlab"])
    assert uri == quality["location"]["path"] == "config/gitops-bg.yaml"
    assert annotation.startswith("::error title=gitops-bg problem,file=config/gitops-bg.yaml,line=1,")
    assert json.loads(shown["json"])["problems"][0]["file"] == "gitops-bg.yaml", "below PATH, as for people"


def test_programs_are_told_as_data_that_check_could_not_look(tmp_path: Path) -> None:
    failed = run("check", str(tmp_path / "nowhere"), "-o", "json", code=5)
    report = json.loads(failed.stdout)
    assert (report["exitCode"], report["error"]["reason"]) == (5, "ObjectNotFound")
    assert "is no folder" in report["error"]["message"]
    assert "is no folder" in failed.stderr
