"""The check of a whole repository, and the repository to copy, which has no problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import PromoteVia
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import app_of
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.settings import Author, default_settings, load_settings
from gitops_bg.spec.yaml.reader import Document
from tests.spec.texts import APP, SERVICE, SOUND_SERVICE, SOUND_TARGET, source_of
from tests.spec.texts import TARGET as WITHOUT_PORTS

TEMPLATE = Path(__file__).parents[3] / "repo-template"
SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"

TARGET = WITHOUT_PORTS + "          ports: [{containerPort: 8080}]\n"
GOOD: dict[str, str | Problem] = {
    "gitops-bg.yaml": SETTINGS,
    "README.md": "# hello",
    "policies/library/later.yaml": "not: [read",
    "apps/README.md": "# apps",
    "apps/shop/web/app.yaml": APP,
    "apps/shop/web/target.yaml": SOUND_TARGET,
    "apps/shop/web/service.yaml": SOUND_SERVICE,
}


def check(**changed: str | Problem | None) -> list[str]:
    files = {**GOOD, **{path.replace("__", "/"): content for path, content in changed.items()}}
    contents = [(path, text.encode() if isinstance(text, str) else text) for path, text in files.items() if text]
    return [str(problem) for problem in check_repository(contents).problems]


def with_file(path: str, content: str | Problem | None) -> list[str]:
    return check(**{path: content})


def test_a_good_repository_has_no_problem() -> None:
    assert check() == []


def template_files() -> dict[str, bytes]:
    return {str(path.relative_to(TEMPLATE)): path.read_bytes() for path in TEMPLATE.rglob("*") if path.is_file()}


def test_the_repository_to_copy_has_no_problem() -> None:
    assert check_repository(template_files().items()).problems == []


def test_the_repository_to_copy_shows_analyses_that_work_as_they_stand() -> None:
    files = template_files()
    app = files["apps/shop/web/app.yaml"].decode()
    first = app.index("      # prePromotionAnalysis")
    last = app.index("  promotion:")
    used = app[:first] + app[first:last].replace("      # ", "      ") + app[last:]
    files["apps/shop/web/app.yaml"] = used.encode()
    assert check_repository(files.items()).problems == []
    config = load_app(AppKey("shop", "web"), {"app.yaml": used.encode()}, source_of, load_templates(files))
    assert config.templates == {"smoke", "error-rate"}


def test_what_is_wrong_with_a_template_is_said_once_however_many_apps_use_it() -> None:
    broken = "apiVersion: gitops-bg.dev/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: t}\nspec: {}\n"
    use = APP + "      prePromotionAnalysis: {templates: [{templateName: t}]}\n"
    other = {
        "apps/shop/zoo/app.yaml": use.replace(": web", ": zoo"),
        "apps/shop/zoo/target.yaml": TARGET.replace("name: web", "name: zoo", 1),
        "apps/shop/web/app.yaml": use,
        "analysis/t.yaml": broken,
    }
    assert check(**other) == ["analysis/t.yaml:4: spec: has neither metrics nor templates (add metrics)"]
    assert check(**{**other, "analysis/t.yaml": "a: ["})[0].startswith("analysis/t.yaml:2: a: this is not YAML")
    assert check(analysis__t__deep="x") == []


@pytest.mark.parametrize(
    ("name", "via", "services"),
    [("web", PromoteVia.PULL_REQUEST, {"web", "web-preview"}), ("api", PromoteVia.COMMIT, {"api"})],
)
def test_the_repository_to_copy_shows_both_ways_to_promote(name: str, via: PromoteVia, services: set[str]) -> None:
    app = AppKey("shop", name)
    files: dict[str, bytes | Problem] = {
        place[1]: data for path, data in template_files().items() if (place := app_of(path)) and place[0] == app
    }
    config = load_app(app, files, source_of)
    assert config.spec is not None
    assert config.target is not None
    assert config.spec.promote_via is via
    assert set(config.services) == services
    assert f"registry.example/shop/{name}:1.0.0" in config.target.snapshot.text


def test_settings_are_asked_for_and_checked() -> None:
    assert with_file("gitops-bg.yaml", None) == [
        "gitops-bg.yaml: is missing (copy it from repo-template, or run `gitops-bg init`)"
    ]
    assert with_file("gitops-bg.yaml", SETTINGS + "maxDeletedAppsPercent: 101\n") == [
        "gitops-bg.yaml:3: maxDeletedAppsPercent: 101 is too large (write 100 or less)"
    ]
    assert with_file("gitops-bg.yaml", Problem("gitops-bg.yaml", "is a symbolic link")) == [
        "gitops-bg.yaml: is a symbolic link"
    ]


def test_a_manifest_that_nobody_reads_is_named() -> None:
    where = "is not in the folder of an app, so nobody reads it (move it to apps/<namespace>/<app>/)"
    assert with_file("apps/shop/target.yaml", "a: 1") == [f"apps/shop/target.yaml: {where}"]
    assert with_file("apps/shop/web/base/x.yml", "a: 1") == [f"apps/shop/web/base/x.yml: {where}"]
    assert with_file("apps/shop/web/base/README", "a: 1") == []
    assert with_file("apps/shop/sub", Problem("apps/shop/sub", "is a submodule")) == ["apps/shop/sub: is a submodule"]


SEVERAL = "Services: [zoo, web]"


def test_two_apps_may_not_share_a_service() -> None:
    other = {
        "apps/shop/zoo/app.yaml": APP.replace("name: web", "name: zoo"),
        "apps/shop/zoo/target.yaml": TARGET.replace("name: web", "name: zoo", 1),
    }
    assert check(**other) == [
        "apps/shop/zoo/app.yaml:7: spec.strategy.blueGreen.activeService: the Service web belongs to shop/web already "
        "(give each app Services of its own)"
    ]
    several = {**other, "apps/shop/zoo/app.yaml": other["apps/shop/zoo/app.yaml"].replace("Service: web", SEVERAL)}
    assert check(**several) == [
        "apps/shop/zoo/app.yaml:7: spec.strategy.blueGreen.activeServices[1]: the Service web belongs to shop/web "
        "already (give each app Services of its own)"
    ]
    elsewhere = {path.replace("shop", "pay"): text.replace("shop", "pay") for path, text in other.items()}
    assert check(**elsewhere) == []


def test_one_broken_app_does_not_hide_the_others() -> None:
    problems = check(
        **{
            "apps/shop/web/app.yaml": "a: [",
            "apps/shop/bad/app.yaml": "a: yes",
            "apps/shop/bad/target.yaml": TARGET,
        }
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "apps/shop/bad/app.yaml",
        "apps/shop/bad/target.yaml",
        "apps/shop/web/app.yaml",
    ]


def test_settings_have_defaults() -> None:
    settings = default_settings()
    assert settings == load_settings(SETTINGS.encode())
    assert settings.max_deleted_apps_percent == 20
    assert (settings.history_generation, settings.accepted_history) == (0, None)
    assert settings.commit_author == Author()


def test_settings_as_written() -> None:
    commit = "9be1" * 10
    text = (
        SETTINGS
        + f"acceptedHistory: {commit}\nmaxDeletedAppsPercent: 0\ncommitAuthor: {{name: Bot, email: b@x.example}}\n"
    )
    settings = load_settings(text.encode())
    assert (settings.accepted_history, settings.max_deleted_apps_percent) == (commit, 0)
    assert settings.commit_author == Author(name="Bot", email="b@x.example")


def test_wrong_settings_are_refused_with_every_problem() -> None:
    with pytest.raises(InvalidInput) as caught:
        load_settings(SETTINGS.encode() + b"acceptedHistory: abc\nauthor: x\n")
    assert [str(problem) for problem in caught.value.problems] == [
        "gitops-bg.yaml:3: acceptedHistory: 'abc' is not allowed (use a full commit id: 40 or 64 hexadecimal digits)",
        "gitops-bg.yaml:4: author: there is no such field "
        "(known here: acceptedHistory, access, alerts, apiVersion, commitAuthor, forge, historyGeneration, "
        "kind, links, maxDeletedAppsPercent, require)",
    ]
    with pytest.raises(InvalidInput, match="the file is empty"):
        load_settings(b"")


# --- notes: what has no effect is said, and is no error ---

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"


def notes(**changed: str | Problem | None) -> list[str]:
    files = {**GOOD, **{path.replace("__", "/"): content for path, content in changed.items()}}
    contents = [(path, text.encode() if isinstance(text, str) else text) for path, text in files.items() if text]
    return [str(note) for note in check_repository(contents).notes]


def test_a_good_repository_has_no_note() -> None:
    assert notes() == []
    assert check_repository(template_files().items()).notes == []


AUXILIARY_OBJECTS = {
    "ConfigMap": "apiVersion: v1",
    "Secret": "apiVersion: v1",
    "HorizontalPodAutoscaler": "apiVersion: autoscaling/v2\n"
    "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}",
    "PodDisruptionBudget": "apiVersion: policy/v1\nspec: {selector: {matchLabels: {app: web}}}",
}


@pytest.mark.parametrize("kind", AUXILIARY_OBJECTS)
def test_an_auxiliary_object_is_applied_and_needs_no_note(kind: str) -> None:
    metadata = "{name: it, annotations: {gitops-bg.dev/config-tracking: disabled}}"
    file, text = "apps/shop/web/more.yaml", f"{AUXILIARY_OBJECTS[kind]}\nkind: {kind}\nmetadata: {metadata}\n"
    assert with_file(file, text) == []
    target = SOUND_TARGET.replace("  replicas: 3\n", "")
    assert notes(**{file: text, "apps/shop/web/target.yaml": target}) == []


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_configuration_that_nothing_refers_to_is_a_note(kind: str) -> None:
    """It is an auxiliary object, as it is live at once; whoever wrote it may think that a change of it is a version."""
    file, text = "apps/shop/web/more.yaml", f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: it}}\n"
    assert with_file(file, text) == []
    [note] = notes(**{file: text})
    assert note.startswith(f"{file}:3: metadata.name: the target does not refer to {kind} it")
    assert "gitops-bg.dev/config-tracking: disabled" in note


@pytest.mark.parametrize("said", ["", " {}", " {args: []}", " {templates: []}"])
def test_an_analysis_that_measures_nothing_is_a_note(said: str) -> None:
    text = f"{APP}      postPromotionAnalysis:{said}\n"
    assert with_file("apps/shop/web/app.yaml", text) == []
    [note] = notes(**{"apps/shop/web/app.yaml": text})
    assert "spec.strategy.blueGreen.postPromotionAnalysis: names no template: nothing is measured" in note


def test_a_countdown_that_nobody_waits_for_is_a_note() -> None:
    text = f"{APP}      autoPromotionSeconds: 60\n"
    [note] = notes(**{"apps/shop/web/app.yaml": text})
    assert "spec.strategy.blueGreen.autoPromotionSeconds: does nothing: nobody waits for it" in note
    assert notes(**{"apps/shop/web/app.yaml": f"{text}      autoPromotionEnabled: true\n"}) == []


def test_a_service_that_app_yaml_does_not_name_is_a_note() -> None:
    other = SERVICE.replace("name: web", "name: other")
    [note] = notes(**{"apps/shop/web/other.yaml": other})
    assert note.startswith("apps/shop/web/other.yaml:3: metadata.name: Service other is only checked")


def test_a_service_that_is_not_in_git_is_a_note_at_the_field_that_names_it() -> None:
    target = f"{SOUND_TARGET}          ports: [{{containerPort: 8080}}]\n"
    [note] = notes(**{"apps/shop/web/service.yaml": None, "apps/shop/web/target.yaml": target})
    assert note.startswith(
        "apps/shop/web/app.yaml:7: spec.strategy.blueGreen.activeService: Service web (live traffic)"
    )
    assert "the agent makes it of the pods' ports" in note


def test_a_preview_service_that_is_not_in_git_is_made_as_the_active_one_is() -> None:
    text = APP.replace("activeService: web", "activeService: web\n      previewService: web-preview")
    [note] = notes(**{"apps/shop/web/app.yaml": text})
    assert (
        "Service web-preview (the candidate) is not in Git: the agent makes it with the ports of the active one" in note
    )


def test_an_app_with_errors_has_no_notes() -> None:
    assert notes(**{"apps/shop/web/map.yaml": CONFIG_MAP, "apps/shop/web/target.yaml": "kind: [\n"}) == []


# --- what an expert for Kubernetes says is part of it ---


def test_the_lint_sees_every_manifest_but_our_own_and_repeats_nobody() -> None:
    seen: list[str] = []

    def lint(document: Document) -> list[Problem]:
        seen.append(f"{document.file}#{document.number}")
        return [document.problem(("spec", "replica"), "lint says so", at_key=True)]

    files = {**GOOD, "apps/shop/web/more.yaml": f"{CONFIG_MAP}---\n{CONFIG_MAP.replace('settings', 'more')}"}
    files["apps/shop/web/target.yaml"] = TARGET.replace("replicas: 3", "replica: 3")
    found = check_repository([(path, str(text).encode()) for path, text in files.items()], lint).problems
    assert sorted(seen) == [
        "apps/shop/web/more.yaml#0",
        "apps/shop/web/more.yaml#1",
        "apps/shop/web/service.yaml#0",
        "apps/shop/web/target.yaml#0",
    ]
    of_target = [problem.message for problem in found if problem.file.endswith("target.yaml")]
    assert of_target == ["there is no such field"], "said by the reader already"
