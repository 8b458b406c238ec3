"""The folder of an app in a repository with environments: what each one runs of it, and what is out of place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from gitops_bg.core.environments.model import Environments
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.spec.app.layout import only_seen_in
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.environments.load import load_environments
from gitops_bg.spec.environments.release import release_document, release_of
from gitops_bg.spec.manifests.configuration import configuration_of
from tests.spec.environments.test_load import TEXT

WEB = AppKey("shop", "web")
MAIN = Source("9be1" * 10)
APP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}
spec:
  strategy: {blueGreen: {activeService: web, scaleDownDelaySeconds: 30}}
"""
TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:2
        env:
        - {name: MODE, value: dev}
        - {name: LOG, value: info}
        envFrom: [{configMapRef: {name: settings}}]
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {speed: fast}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
OVERLAY = """\
spec:
  replicas: 5
  template:
    spec:
      containers:
      - name: web
        env: [{name: MODE, value: prod}]
        resources: {limits: {cpu: "2"}}
"""


def environments() -> Environments:
    found = load_environments(TEXT.encode()).environments
    assert found is not None
    return found


def released(image: str = "web:1", number: int = 12, speed: str = "slow") -> str:
    target: dict[str, Any] = yaml.safe_load(TARGET.replace("web:2", image))
    settings = configuration_of("ConfigMap", "settings", {"data": {"speed": speed}})
    return release_document(WEB, release_of(target, [settings], MAIN, number), "release.yaml")


IN_POD = "spec:\n  template:\n    spec:\n"
SHARED = {"app.yaml": APP, "target.yaml": TARGET, "settings.yaml": SETTINGS, "service.yaml": SERVICE}


def load(environment: str, files: Mapping[str, str], *more: str) -> AppConfig:
    """The app as an environment has it; ``more`` are the names of folders without files that count."""
    folders = {name.partition("/")[0] for name in files if "/" in name} | set(more)
    of = environments()
    found = of.named(environment)
    assert found is not None
    home = Home(found, of, frozenset(folders))
    contents: dict[str, Any] = {name: text.encode() for name, text in files.items()}
    return load_app(WEB, only_seen_in(environment, contents), lambda *names: Source("+".join(names)), home=home)


def template(config: AppConfig) -> Any:
    assert config.target is not None, config.problems
    return yaml.safe_load(config.target.snapshot.text)


def container(config: AppConfig) -> Any:
    return template(config)["spec"]["containers"][0]


def test_the_first_environment_runs_the_target_as_without_environments_and_its_release_is_the_target() -> None:
    config = load("dev", SHARED, "dev", "staging", "prod")
    alone = load_app(WEB, {name: text.encode() for name, text in SHARED.items()}, lambda *_: MAIN)
    assert not config.problems
    assert config.target is not None
    assert alone.target is not None
    assert config.target.snapshot == alone.target.snapshot
    assert config.target.release is not None
    assert (config.target.release.number, config.target.release.digest[:3]) == (0, "r1:")
    assert alone.target.release is None
    assert config.target.source.commit == "target.yaml+settings.yaml"


def test_a_later_environment_runs_its_release_and_the_configuration_of_that_whatever_the_target_of_today_is() -> None:
    config = load("prod", {**SHARED, "prod/release.yaml": released()}, "dev", "staging")
    assert not config.problems
    assert container(config)["image"] == "web:1"
    assert config.configuration[0].content["data"] == {"speed": "slow"}
    assert config.target is not None
    named = config.target.release
    assert named is not None
    assert (named.number, named.commit) == (12, "9be1" * 10)
    assert config.target.source.commit == "release.yaml"
    broken = {**SHARED, "prod/release.yaml": released(), "target.yaml": "kind: [", "settings.yaml": SETTINGS}
    same = load("prod", broken, "dev", "staging")
    assert same.target is not None
    assert same.target.snapshot == config.target.snapshot


def test_an_overlay_changes_the_version_and_not_the_release() -> None:
    files = {**SHARED, "prod/release.yaml": released(), "prod/overlay.yaml": OVERLAY}
    bare, config = load("prod", {**SHARED, "prod/release.yaml": released()}, "dev"), load("prod", files, "dev")
    assert not config.problems
    assert bare.target is not None
    assert config.target is not None
    assert config.target.release == bare.target.release
    assert config.target.snapshot.digest != bare.target.snapshot.digest
    assert (bare.target.replicas, config.target.replicas) == (1, 5)
    assert container(config)["env"] == [{"name": "MODE", "value": "prod"}, {"name": "LOG", "value": "info"}]
    assert container(config)["resources"] == {"limits": {"cpu": "2"}}
    assert config.target.source.commit == "release.yaml+overlay.yaml"


def test_the_first_environment_may_have_an_overlay() -> None:
    config = load("dev", {**SHARED, "dev/overlay.yaml": OVERLAY})
    assert container(config)["env"][0] == {"name": "MODE", "value": "prod"}
    plain = load("dev", SHARED, "dev")
    assert config.release == plain.release or (config.release and plain.release)
    assert config.release is not None
    assert plain.release is not None
    assert config.release.id == plain.release.id


def test_an_object_of_the_environment_takes_the_place_of_the_shared_one_of_its_kind_and_name() -> None:
    own = {"prod/settings.yaml": SETTINGS.replace("fast", "fastest"), "prod/service.yaml": SERVICE.replace("80", "81")}
    config = load("prod", {**SHARED, "prod/release.yaml": released(), **own}, "dev")
    assert not config.problems
    assert [each.content["data"]["speed"] for each in config.configuration] == ["fastest"]
    assert config.services["web"]["spec"]["ports"] == [{"port": 81}]
    assert config.target is not None
    assert config.target.source.commit == "release.yaml+prod/settings.yaml"


def test_the_environments_app_yaml_has_the_last_word_and_environments_yaml_the_second() -> None:
    plain = load("prod", {**SHARED, "prod/release.yaml": released()}, "dev")
    assert plain.spec is not None
    assert (plain.spec.strategy.auto_promotion_enabled, plain.spec.strategy.scale_down_delay_seconds) == (False, 30)
    dev = load("dev", SHARED, "dev")
    assert dev.spec is not None
    assert dev.spec.strategy.auto_promotion_enabled
    own = APP.replace("activeService: web, scaleDownDelaySeconds: 30", "autoPromotionEnabled: false, maxUnavailable: 0")
    own = own.replace(", maxUnavailable: 0", ", scaleDownDelaySeconds: 600")
    config = load("dev", {**SHARED, "dev/app.yaml": own})
    assert not config.problems
    assert config.spec is not None
    assert not config.spec.strategy.auto_promotion_enabled
    assert config.spec.strategy.scale_down_delay_seconds == 600
    assert config.spec.strategy.active_service == "web"


def test_a_later_environment_without_a_release_has_no_target_and_no_problem() -> None:
    config = load("prod", SHARED, "dev", "prod")
    assert (config.target, config.has_target, config.problems) == (None, False, ())
    assert config.spec is not None


def test_what_other_environments_have_is_not_read() -> None:
    config = load("dev", {**SHARED, "dev/overlay.yaml": OVERLAY, "prod/release.yaml": "kind: [", "prod/x.yaml": "- ["})
    assert not config.problems


RELEASED = {**SHARED, "prod/release.yaml": released(), "dev/overlay.yaml": "{}\n"}


@pytest.mark.parametrize(
    ("environment", "files", "place", "said", "remedy"),
    [
        ("dev", {"prdo/overlay.yaml": OVERLAY}, "prdo", "is the folder of no environment", "did you mean prod?"),
        ("dev", {"qa/x.yaml": SERVICE}, "qa", "is the folder of no environment", "there are dev, staging, prod"),
        (
            "dev",
            {"primary.yaml": ""},
            "primary.yaml",
            "is in no environment's folder",
            "web/primary.yaml apps/shop/web/dev/",
        ),
        ("prod", {"overlay.yaml": OVERLAY}, "overlay.yaml", "is in no environment's folder", "git mv"),
        (
            "dev",
            {"dev/release.yaml": released()},
            "dev/release.yaml",
            "dev is the first environment",
            "Bring it back first",
        ),
        ("prod", {"prod/overlay.yaml": "kind: StatefulSet\n"}, "prod/overlay.yaml:1", "Deployment", "write Deployment"),
        ("prod", {"prod/overlay.yaml": "metadata: {name: api}\n"}, "prod/overlay.yaml:1", "cannot change it", "web"),
        (
            "prod",
            {"prod/overlay.yaml": "metadata: {namespace: x}\n"},
            "prod/overlay.yaml:1",
            "cannot change it",
            "shop",
        ),
        (
            "prod",
            {"prod/overlay.yaml": "spec:\n  selector: {matchLabels: {app: x}}\n"},
            "prod/overlay.yaml:2",
            "by which labels the workload selects its pods",
            "remove it",
        ),
        ("prod", {"prod/overlay.yaml": "spec:\n  template: null\n"}, "prod/overlay.yaml:2", "would remove", "write"),
        ("prod", {"prod/overlay.yaml": "spec: {template: {$patch: delete}}\n"}, "prod/overlay.yaml:1", "directive", ""),
        (
            "prod",
            {"prod/overlay.yaml": IN_POD + "      containers:\n      - {name: web, $patch: delete}\n"},
            "prod/overlay.yaml:4",
            "it removes the container web",
            "keep it",
        ),
        (
            "prod",
            {"prod/overlay.yaml": IN_POD + "      tolerations:\n      - {key: a, $patch: delete}\n"},
            "prod/overlay.yaml:5",
            "have no key by which Kubernetes tells them apart",
            "write the whole list",
        ),
        (
            "prod",
            {"prod/overlay.yaml": "spec:\n  template:\n    $retainKeys: [spec]\n"},
            "prod/overlay.yaml:3",
            "$retainKeys is not understood",
            "",
        ),
        (
            "prod",
            {"prod/overlay.yaml": OVERLAY.replace('cpu: "2"', "cpu: [2]").replace("replicas: 5", "replicas: many")},
            "prod/overlay.yaml:2",
            "expected a whole number, found text",
            "",
        ),
        (
            "prod",
            {"prod/app.yaml": APP.replace("scaleDownDelaySeconds: 30", "scaleDownDelaySeconds: soon")},
            "prod/app.yaml:5",
            "",
            "",
        ),
        (
            "prod",
            {"prod/release.yaml": released().replace("web:1", "web:9")},
            "prod/release.yaml:9",
            "by hand",
            "overlay",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_would_be_right(
    environment: str, files: Mapping[str, str], place: str, said: str, remedy: str
) -> None:
    config = load(environment, {**RELEASED, **files})
    found = [str(each) for each in config.problems if str(each).startswith(f"apps/shop/web/{place}")]
    assert found, config.problems
    assert said in found[0]
    assert remedy in found[0]
    if environment == "prod" and "overlay.yaml" not in files:
        assert config.target is None or "app.yaml" in place


def test_an_overlay_that_refers_to_shared_configuration_which_the_release_lacks_is_a_mistake() -> None:
    """Else a change of a shared file would reach production without a release."""
    both = "envFrom: [{configMapRef: {name: settings}}, {configMapRef: {name: more}}]"
    target = TARGET.replace("envFrom: [{configMapRef: {name: settings}}]", both)
    more = SETTINGS.replace("settings", "more")
    overlay = IN_POD + "      containers:\n      - {name: web, envFrom: [{configMapRef: {name: more}}]}\n"
    files = {**RELEASED, "target.yaml": target, "more.yaml": more}
    assert not load("prod", files).problems
    (problem,) = load("prod", {**files, "prod/overlay.yaml": overlay}).problems
    assert "refers to ConfigMap more, which this release does not have" in str(problem)
    assert "copy it to apps/shop/web/prod/" in str(problem)
    own = {**files, "prod/overlay.yaml": overlay, "prod/more.yaml": more}
    assert not load("prod", own).problems
