"""The folder of a release group's member: what differs from an app's in ``apps/``, and what check says of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.spec.app.check import Checked, check_repository
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.primary import render_primary
from tests.spec.texts import SERVICE, SOUND_SERVICE, SOUND_TARGET, TARGET, source_of

CART = AppKey("shop", "cart-v1")
FOLDER = "groups/shop/store/v1/cart"

CART_TARGET = TARGET.replace("web", "cart")
CART_SERVICE = SERVICE.replace("web", "cart")
AS_CONFIGURATION = "          envFrom: [{configMapRef: {name: settings}}]\n"
ROUTES = "apiVersion: gitops-bg.dev/v1alpha1\nkind: ServiceRoutes\nroutes: [{path: {prefix: /cart}}]\n"
GROUP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop}
spec: {active: v1, gateway: {parentRefs: [{name: public}]}}
"""


def named(name: str) -> str:
    """The target under another name."""
    return CART_TARGET.replace("name: cart\n  namespace", f"name: {name}\n  namespace")


def app(active: str = "cart-v1", *lines: str, name: str = "cart-v1") -> str:
    more = "".join(f"      {line}\n" for line in lines)
    return (
        f"apiVersion: gitops-bg.dev/v1alpha1\nkind: BlueGreenDeployment\nmetadata: {{name: {name}, namespace: shop}}\n"
        f"spec:\n  strategy:\n    blueGreen:\n      activeService: {active}\n{more}"
    )


def kubernetes(kind: str, name: str, body: str = "", version: str = "v1") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\n{body}"


def budget(name: str, selector: str = "{matchLabels: {app: cart}}") -> str:
    return kubernetes("PodDisruptionBudget", name, f"spec: {{minAvailable: 1, selector: {selector}}}\n", "policy/v1")


def scaler(name: str = "cart", target: str = "cart") -> str:
    aim = f"{{apiVersion: apps/v1, kind: Deployment, name: {target}}}"
    return kubernetes(
        "HorizontalPodAutoscaler", name, f"spec: {{scaleTargetRef: {aim}, maxReplicas: 5}}\n", "autoscaling/v2"
    )


def load(folder: str = FOLDER, target: str = CART_TARGET, **files: str | Problem) -> AppConfig:
    contents = {"target": target, "service": CART_SERVICE, **files}
    encoded = {f"{name}.yaml": text.encode() if isinstance(text, str) else text for name, text in contents.items()}
    version, service = folder.split("/")[-2:]
    return load_app(AppKey("shop", f"{service}-{version}"), encoded, source_of, folder=folder)


def complaints(config: AppConfig) -> list[str]:
    return [str(problem).removeprefix(f"{FOLDER}/") for problem in config.problems]


class TestWithoutAnAppFile:
    def test_a_member_needs_none_and_its_service_is_live_under_the_name_of_the_app(self) -> None:
        config = load()
        assert config.problems == ()
        assert config.spec is not None
        assert config.spec.strategy.active_services == ("cart-v1",)
        assert config.body == {"strategy": {"blueGreen": {"activeService": "cart-v1"}}}
        assert {name: each["metadata"]["name"] for name, each in config.services.items()} == {"cart-v1": "cart-v1"}
        assert config.target is not None

    def test_it_has_every_default_of_an_app_that_says_no_more(self) -> None:
        assert load().spec == load(app=app()).spec

    def test_an_app_of_no_release_group_needs_one(self) -> None:
        files = {"target.yaml": TARGET.encode()}
        [missing] = load_app(AppKey("shop", "web"), files, source_of).problems
        assert str(missing) == "apps/shop/web/app.yaml: is missing (add it, or delete the folder)"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"app": app(name="cart")}, "app.yaml:3: metadata.name: cart is not the name of the folder"),
        (
            {"app": app("cart")},
            "app.yaml:7: spec.strategy.blueGreen.activeService: cart is the Service of the release group shop/store, "
            "which follows its active version (write cart-v1)",
        ),
        (
            {"app": app("cart-v1", "previewService: cart")},
            "app.yaml:8: spec.strategy.blueGreen.previewService: cart is the Service of the release group shop/store",
        ),
        (
            {"app": app("basket")},
            "app.yaml:7: spec.strategy.blueGreen.activeService: basket is not cart-v1, where the routes of the release "
            "group lead (write cart-v1, or use activeServices to name both)",
        ),
        (
            {"other": kubernetes("Service", "basket")},
            "other.yaml:3: metadata.name: basket is not the Service of this folder (call it cart: it is live as "
            "cart-v1)",
        ),
        (
            {"other": kubernetes("Service", "cart-v1")},
            "service.yaml:3: metadata.name: cart is live as cart-v1, and that is in the folder, too (keep one of the "
            "two)",
        ),
        (
            {"target": named("basket")},
            "target.yaml:4: metadata.name: basket is not the name of the folder groups/shop/store/v1/cart (write "
            "cart-v1, or rename the folder)",
        ),
        (
            {"target": CART_TARGET.replace("namespace: shop", "namespace: pay")},
            "target.yaml:5: metadata.namespace: pay is not the namespace of the folder groups/shop/store/v1/cart "
            "(write shop, or move the file to groups/pay/)",
        ),
        (
            {
                "target": CART_TARGET + AS_CONFIGURATION,
                "settings": kubernetes("ConfigMap", "settings").replace(
                    "namespace: shop", 'annotations: {gitops-bg.dev/config-tracking: "disabled"}'
                ),
            },
            "settings.yaml:3: metadata.name: ConfigMap settings is used under its own name, which other versions of "
            "the release group have as well (call it settings-v1, also where it is used)",
        ),
        (
            {"flags": kubernetes("ConfigMap", "flags"), "more": kubernetes("ConfigMap", "flags-v1")},
            "more.yaml:3: metadata.name: ConfigMap flags-v1 is live as flags-v1, and so is another one of the folder "
            "(rename one of the two)",
        ),
        (
            {"token": kubernetes("Secret", "robot", "type: kubernetes.io/service-account-token\n")},
            "token.yaml:3: metadata.name: Secret robot is used under its own name",
        ),
    ],
)  # fmt: skip
def test_a_mistake_has_file_line_and_remedy(files: dict[str, str], said: str) -> None:
    assert [each for each in complaints(load(**files)) if each.startswith(said)], complaints(load(**files))


@pytest.mark.parametrize("name", ["cart", "cart-v1"])
def test_target_and_service_have_the_name_of_the_service_or_of_the_app(name: str) -> None:
    config = load(target=named(name), service=kubernetes("Service", name, "spec: {ports: [{port: 80}]}\n"))
    assert config.problems == ()
    assert set(config.services) == {"cart-v1"}
    assert [(each.service, each.ports != "") for each in config.ports] == [("cart-v1", True)]


def test_a_service_that_the_app_file_names_keeps_its_name() -> None:
    preview = kubernetes("Service", "cart-v1-preview")
    config = load(app=app("cart-v1", "previewService: cart-v1-preview"), preview=preview)
    assert config.problems == ()
    assert set(config.services) == {"cart-v1", "cart-v1-preview"}


def auxiliary(config: AppConfig) -> dict[AuxiliaryObject, Any]:
    assert config.problems == ()
    return dict(config.auxiliary_objects.manifests)


class TestNothingIsLiveUnderANameThatAnotherVersionHas:
    FILES: ClassVar = {
        "scaler": scaler(),
        "budget": budget("cart"),
        "flags": kubernetes("ConfigMap", "flags"),
        "keys": kubernetes("Secret", "keys"),
    }

    def test_each_has_the_version_in_its_name(self) -> None:
        found = auxiliary(load(**self.FILES))
        assert {str(each) for each in found} == {
            "HorizontalPodAutoscaler cart-v1-primary",
            "PodDisruptionBudget cart-v1",
            "ConfigMap flags-v1",
            "Secret keys-v1",
        }
        assert all(each.name == manifest["metadata"]["name"] for each, manifest in found.items())

    def test_the_same_files_in_two_versions_have_no_live_name_in_common(self) -> None:
        one, two = (load(f"groups/shop/store/{version}/cart", **self.FILES) for version in ("v1", "v12"))
        assert not auxiliary(one).keys() & auxiliary(two).keys()
        assert not one.services.keys() & two.services.keys()
        assert len(auxiliary(one)) == len(auxiliary(two)) == len(self.FILES)

    def test_a_name_that_ends_with_the_version_stays(self) -> None:
        found = auxiliary(load(budget=budget("cart-v1"), flags=kubernetes("ConfigMap", "flags-v1")))
        assert {str(each) for each in found} == {"PodDisruptionBudget cart-v1", "ConfigMap flags-v1"}

    @pytest.mark.parametrize("selector", ["{matchLabels: {app: cart}}", "{}"])
    def test_a_budget_is_for_no_pods_of_another_version(self, selector: str) -> None:
        [made] = auxiliary(load(budget=budget("cart", selector))).values()
        assert made["spec"]["selector"]["matchLabels"]["gitops-bg.dev/app"] == "cart-v1"
        assert ("app" in made["spec"]["selector"]["matchLabels"]) == ("app" in selector)

    def test_the_autoscaler_that_the_app_file_names_is_found_by_its_name_in_git(self) -> None:
        ref = "spec:\n  autoscalerRef: {kind: HorizontalPodAutoscaler, name: cart}\n"
        config = load(app=app().replace("spec:\n", ref), scaler=scaler(), other=scaler("spare"))
        assert {str(each) for each in auxiliary(config)} == {"HorizontalPodAutoscaler cart-v1-primary"}

    def test_the_hpa_that_keda_makes_has_the_version_in_its_name_too(self) -> None:
        spec = (
            "spec:\n  scaleTargetRef: {name: cart}\n  advanced: {horizontalPodAutoscalerConfig: {name: load}}\n"
            '  triggers: [{type: cpu, metadata: {value: "60"}}]\n'
        )
        [made] = auxiliary(load(scaler=kubernetes("ScaledObject", "cart", spec, "keda.sh/v1alpha1"))).values()
        assert made["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["name"] == "load-v1-primary"

    def test_an_app_of_no_release_group_keeps_the_names_of_git(self) -> None:
        files = {name: text.replace("cart", "web").encode() for name, text in self.FILES.items()}
        files |= {"target": TARGET.encode(), "app": app("web", name="web").encode()}
        config = load_app(AppKey("shop", "web"), {f"{name}.yaml": each for name, each in files.items()}, source_of)
        budgets = [each for each in auxiliary(config) if each.kind == "PodDisruptionBudget"]
        assert {str(each) for each in auxiliary(config)} == {
            "HorizontalPodAutoscaler web-primary",
            "PodDisruptionBudget web",
            "ConfigMap flags",
            "Secret keys",
        }
        assert auxiliary(config)[budgets[0]]["spec"]["selector"] == {"matchLabels": {"app": "web"}}


def test_configuration_that_pods_use_is_part_of_the_version_under_its_name_in_git() -> None:
    config = load(target=CART_TARGET + AS_CONFIGURATION, settings=kubernetes("ConfigMap", "settings", "data: {a: b}\n"))
    assert config.problems == ()
    assert [each.ref.name for each in config.configuration] == ["settings"]
    assert not config.auxiliary_objects.manifests


@pytest.mark.parametrize("routes", [ROUTES, "not: [read", Problem("x", "is a symbolic link")])
def test_routes_belong_to_the_group_and_make_no_version(routes: str | Problem) -> None:
    assert load(routes=routes) == load()


def test_in_an_app_of_no_release_group_routes_yaml_is_a_manifest_as_any_other() -> None:
    files = {"app.yaml": app("web", name="web"), "target.yaml": TARGET, "routes.yaml": "not: [read"}
    config = load_app(AppKey("shop", "web"), {name: text.encode() for name, text in files.items()}, source_of)
    assert [problem.file for problem in config.problems] == ["apps/shop/web/routes.yaml"]


def test_primary_yaml_is_read_back_from_the_folder_of_the_member() -> None:
    target = load().target
    assert target is not None
    version = Version(
        3, target.snapshot, Color.BLUE, Stage.CANDIDATE, Source("9be1"), 1, datetime(2026, 3, 1, tzinfo=UTC)
    )
    config = load(primary=render_primary(CART, version))
    assert config.problems == ()
    assert config.primary is not None
    assert config.primary.snapshot.digest == target.snapshot.digest


GOOD: dict[str, str | Problem] = {
    "gitops-bg.yaml": "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n",
    "groups/shop/store/group.yaml": GROUP,
    "groups/shop/store/v1/cart/target.yaml": SOUND_TARGET.replace("web", "cart"),
    "groups/shop/store/v1/cart/service.yaml": SOUND_SERVICE.replace("web", "cart"),
    "groups/shop/store/v2/cart/target.yaml": SOUND_TARGET.replace("web", "cart"),
    "groups/shop/store/v2/cart/service.yaml": SOUND_SERVICE.replace("web", "cart"),
    "groups/shop/store/v2/cart/routes.yaml": ROUTES,
}


def checked(**changed: str | Problem | None) -> Checked:
    files = {**GOOD, **{path.replace("__", "/"): content for path, content in changed.items()}}
    return check_repository(
        (path, text.encode() if isinstance(text, str) else text) for path, text in files.items() if text
    )


class TestCheck:
    def test_a_good_group_has_no_problem_and_no_note(self) -> None:
        found = checked()
        assert found.problems == []
        assert found.notes == []

    @pytest.mark.parametrize("version", ["v01", "two", "V2", "v0"])
    def test_a_version_with_an_unreadable_name(self, version: str) -> None:
        found = checked(**{f"groups/shop/store/{version}/cart/target.yaml": CART_TARGET}).problems
        assert [(each.file, bool(each.remedy)) for each in found] == [(f"groups/shop/store/{version}", True)]

    def test_a_service_whose_name_is_too_long_with_its_version(self) -> None:
        long = "c" * 61
        found = checked(**{f"groups/shop/store/v2/{long}/target.yaml": named(long)})
        assert f"groups/shop/store/v2/{long}" in {each.file for each in found.problems}
        assert any("longer than the 63 characters" in each.message for each in found.problems)

    def test_an_app_in_two_places_is_named_with_both(self) -> None:
        apps = {
            "apps/shop/cart-v1/app.yaml": app(),
            "apps/shop/cart-v1/target.yaml": named("cart-v1"),
        }
        found = [each for each in checked(**apps).problems if "is the app shop/cart-v1" in each.message]
        assert [(each.file, "apps/shop/cart-v1" in each.message) for each in found] == [(FOLDER, True)]

    def test_two_groups_with_the_same_member(self) -> None:
        other = {
            "groups/shop/other/group.yaml": GROUP.replace("store", "other"),
            "groups/shop/other/v1/cart/target.yaml": CART_TARGET,
        }
        found = [each for each in checked(**other).problems if "is the app shop/cart-v1" in each.message]
        assert {each.file for each in found} == {FOLDER}

    @pytest.mark.parametrize("path", ["groups/stray.yaml", "groups/shop/stray.yaml"])
    def test_a_manifest_above_every_group_is_read_by_nobody(self, path: str) -> None:
        [found] = checked(**{path: "a: 1"}).problems
        assert (found.file, found.remedy) == (path, "move it to groups/<namespace>/<group>/")

    def test_an_app_may_not_use_the_service_that_a_group_makes(self) -> None:
        apps = {"apps/shop/zoo/app.yaml": app("cart", name="zoo"), "apps/shop/zoo/target.yaml": named("zoo")}
        (found,) = checked(**apps).problems
        assert (found.file, found.line) == ("apps/shop/zoo/app.yaml", 7)
        assert found.message == "the Service cart belongs to the release group shop/store already"

    def test_an_app_with_a_route_may_not_have_the_name_of_a_group_with_one(self) -> None:
        routes = "routes: {parentRefs: [{name: public}]}"
        apps = {
            "apps/shop/store/app.yaml": app("zoo", routes, name="store"),
            "apps/shop/store/target.yaml": named("store"),
            "apps/shop/store/service.yaml": kubernetes("Service", "zoo", "spec: {ports: [{port: 80}]}\n"),
        }
        found = [each for each in checked(**apps).problems if "HTTPRoute" in each.message]
        assert [(each.file, each.message) for each in found] == [
            (
                "apps/shop/store/app.yaml",
                "has an HTTPRoute called store, and so has the release group shop/store",
            )
        ]
        without = GROUP.replace(", gateway: {parentRefs: [{name: public}]}", "")
        found = checked(**apps, **{"groups/shop/store/group.yaml": without}).problems
        assert [each for each in found if "HTTPRoute" in each.message] == []

    def test_routes_without_a_gateway_are_a_note(self) -> None:
        without = GROUP.replace(", gateway: {parentRefs: [{name: public}]}", "")
        found = checked(**{"groups/shop/store/group.yaml": without})
        assert found.problems == []
        assert [str(each) for each in found.notes] == [
            "groups/shop/store/group.yaml: spec: has no gateway: its routes lead nowhere, and no header reaches "
            "a version (add gateway; without one only the Services follow the active version)"
        ]

    def test_hosts_that_nobody_can_judge_from_git_are_a_note(self) -> None:
        routes = ROUTES.replace("{path: ", "{host: shop.example, path: ")
        files = {"groups/shop/store/group.yaml": GROUP, "groups/shop/store/v1/cart/routes.yaml": routes}
        assert [str(each) for each in checked(**files).notes] == [
            "groups/shop/store/group.yaml: spec.hosts: names no hosts, so nobody can tell from Git whether the Gateway "
            "serves shop.example (list the hosts of the Gateway; check --live asks it)"
        ]
        named = GROUP.replace("active: v1", "active: v1, hosts: [shop.example]")
        assert checked(**files | {"groups/shop/store/group.yaml": named}).notes == []


class TestACopiedFolder:
    """A version is made by copying the folder of the one before: nothing in it says that it is not the new one's."""

    SECOND = "groups/shop/store/v2/cart"

    def first_primary(self) -> str:
        """What the agent has committed into the folder of v1."""
        config = load()
        assert config.target is not None
        at = datetime(2026, 11, 28, tzinfo=UTC)
        version = Version(1, config.target.snapshot, Color.BLUE, Stage.ACTIVE, Source("9be1"), 1, at)
        return render_primary(CART, version, folder=FOLDER)

    def test_what_the_agent_committed_for_the_version_before_is_none_of_its_own(self) -> None:
        config = load(self.SECOND, primary=self.first_primary())
        assert (config.problems, config.primary, config.has_primary) == ((), None, False)

    def test_it_is_the_first_versions_own_there(self) -> None:
        config = load(primary=self.first_primary())
        assert config.primary is not None
        assert (config.problems, config.has_primary) == ((), True)

    def test_a_primary_of_another_app_is_a_mistake_as_before(self) -> None:
        other = self.first_primary().replace("name: cart-v1", "name: auth-v1")
        config = load(self.SECOND, primary=other)
        assert config.has_primary
        assert "auth-v1 is not the name of the folder" in str(config.problems[0])

    def test_names_of_the_version_before_mean_its_own(self) -> None:
        preview = CART_SERVICE.replace("name: cart", "name: cart-v1-preview")
        config = load(
            self.SECOND,
            app=app("cart-v1", "previewService: cart-v1-preview"),
            target=named("cart-v1"),
            service=CART_SERVICE.replace("name: cart", "name: cart-v1"),
            preview=preview,
        )
        assert config.problems == ()
        assert config.spec is not None
        assert config.spec.strategy.active_services == ("cart-v2",)
        assert config.body["strategy"]["blueGreen"] == {
            "activeService": "cart-v2",
            "previewService": "cart-v2-preview",
        }
        assert set(config.services) == {"cart-v2", "cart-v2-preview"}
        assert config.target is not None

    def test_a_name_that_only_looks_like_one_is_a_mistake_as_before(self) -> None:
        for name in ("cart-v", "cart-v01", "cart-v1x", "my-cart-v1", "basket-v1"):
            assert f"{name} is not the name of the folder" in str(load(self.SECOND, target=named(name)).problems[0])

    def test_a_folder_below_apps_is_read_as_it_is(self) -> None:
        config = load_app(
            AppKey("shop", "cart-v2"), {"target.yaml": named("cart-v1").encode()}, source_of, folder="apps/shop/cart-v2"
        )
        assert any("cart-v1 is not the name of the folder" in str(each) for each in config.problems)


# --- Jobs ---

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: cart-migrate, namespace: shop}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: cart, command: [migrate]}]}}}
"""


def test_a_member_has_jobs_before_its_pods_and_no_contract() -> None:
    """Whether an older version can come back is the group's to say."""
    before = load(app=f"{app()}  jobs: {{beforePods: [migrate.yaml]}}\n", migrate=JOB)
    assert complaints(before) == []
    assert before.spec is not None
    assert before.spec.before_pods is not None
    after = load(app=f"{app()}  jobs: {{afterSettled: [migrate.yaml]}}\n", migrate=JOB)
    assert complaints(after) == [
        "app.yaml:8: spec.jobs.afterSettled: a service of a release group cannot tell whether an older version of the "
        "group can come back (remove it: run such a Job by other means once nobody goes back to the version before)"
    ]
    assert after.spec is not None
    assert after.spec.after_settled is not None
    assert after.spec.after_settled.unknown
