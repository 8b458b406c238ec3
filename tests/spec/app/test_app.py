"""app.yaml: what is valid, what it means to the core, and the problems with what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_bg.core.model.spec import (
    AntiAffinity,
    AppSpec,
    DeletionPolicy,
    OnExpire,
    PreviewSwitch,
    PromoteVia,
    Retry,
    Revision,
    Strategy,
    Suspension,
)
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import app_config_from_live, load_app
from gitops_bg.spec.app.to_core import spec_from_live
from tests.spec.texts import APP, TARGET, WEB, app_with, source_of

DIGEST = "v1:" + "3f" * 32


def load(text: str, target: str = TARGET) -> AppSpec:
    config = load_app(WEB, {"app.yaml": text.encode(), "target.yaml": target.encode()}, source_of)
    assert config.problems == ()
    assert config.spec is not None
    return config.spec


def complaints(text: str, target: str = TARGET) -> list[str]:
    config = load_app(WEB, {"app.yaml": text.encode(), "target.yaml": target.encode()}, source_of)
    assert all(problem.line for problem in config.problems)
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def test_where_nothing_is_said_nothing_goes_live_by_itself_and_the_old_version_stays_warm_for_ten_minutes() -> None:
    said = Strategy(active_service="web", auto_promotion_enabled=False, scale_down_delay_seconds=600)
    assert load(APP) == AppSpec(app=WEB, strategy=said, promote_via=PromoteVia.PULL_REQUEST)


def test_everything_that_can_be_written() -> None:
    text = app_with(
        "target: target.yaml",
        "minReadySeconds: 5",
        "progressDeadlineSeconds: 60",
        "progressDeadlineAbort: true",
        "revisionHistoryLimit: 3",
        "rollbackWindow: {revisions: 2}",
        "promotion: {via: pullRequest}",
        "deletionPolicy: delete",
        'suspend: {reason: incident, by: ann, until: "2026-03-01T13:00:00+01:00"}',
        f'retry: {{digest: "{DIGEST}", number: 2, by: ann}}',
        blue_green="previewService: web-preview\n      previewReplicaCount: 1\n      previewSwitch: immediate\n"
        "      autoPromotionEnabled: false\n      autoPromotionSeconds: 9\n      scaleDownDelaySeconds: never\n"
        "      scaleDownDelayRevisionLimit: 3\n      abortScaleDownDelaySeconds: 0\n"
        "      expireAfterSeconds: 3600\n      onExpire: promote\n      drainSeconds: 15\n"
        "      antiAffinity: {preferred: {weight: 7}}",
    )
    assert load(text) == AppSpec(
        app=WEB,
        strategy=Strategy(
            active_service="web",
            preview_service="web-preview",
            preview_replica_count=1,
            preview_switch=PreviewSwitch.IMMEDIATE,
            auto_promotion_enabled=False,
            auto_promotion_seconds=9,
            scale_down_delay_seconds=None,
            scale_down_delay_revision_limit=3,
            abort_scale_down_delay_seconds=0,
            expire_after_seconds=3600,
            on_expire=OnExpire.PROMOTE,
            drain_seconds=15,
            anti_affinity=AntiAffinity(7),
        ),
        promote_via=PromoteVia.PULL_REQUEST,
        min_ready_seconds=5,
        progress_deadline_seconds=60,
        progress_deadline_abort=True,
        revision_history_limit=3,
        rollback_window_revisions=2,
        deletion_policy=DeletionPolicy.DELETE,
        suspend=Suspension("incident", "ann", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        retry=Retry(DIGEST, 2, "ann"),
    )


# revision, as written: what it names
REVISION = {
    "3": Revision(number=3),
    "v12": Revision(number=12),
    f'"{DIGEST}"': Revision(digest=DIGEST),
    f'"{DIGEST[:13]}"': Revision(digest=DIGEST[:13]),
    f'"{40 * "a"}"': Revision(commit=40 * "a"),
    f'"{64 * "b"}"': Revision(commit=64 * "b"),
}


@pytest.mark.parametrize("written", REVISION)
def test_a_revision_is_a_number_a_digest_or_a_commit(written: str) -> None:
    assert load(app_with(f"revision: {written}")).revision == REVISION[written]


# (autoPromotionEnabled, promotion) as written: (promotes itself, via)
PROMOTION = {
    ("", ""): (False, PromoteVia.PULL_REQUEST),
    ("", "promotion: {via: commit}"): (False, PromoteVia.COMMIT),
    ("autoPromotionEnabled: true", ""): (True, PromoteVia.COMMIT),
    ("autoPromotionEnabled: false", ""): (False, PromoteVia.PULL_REQUEST),
    ("autoPromotionEnabled: false", "promotion: {via: commit}"): (False, PromoteVia.COMMIT),
    ("autoPromotionEnabled: false", "promotion: {}"): (False, PromoteVia.PULL_REQUEST),
    ("autoPromotionEnabled: true", "promotion: {via: commit}"): (True, PromoteVia.COMMIT),
    ("", "promotion: {via: pullRequest}"): (False, PromoteVia.PULL_REQUEST),
}


@pytest.mark.parametrize("written", PROMOTION)
def test_how_a_promotion_gets_into_main(written: tuple[str, str]) -> None:
    spec = load(app_with(*filter(None, written[1:]), blue_green=written[0]))
    assert (spec.strategy.auto_promotion_enabled, spec.promote_via) == PROMOTION[written]


def test_who_merges_a_person_unless_app_yaml_says_otherwise() -> None:
    assert not load(APP).merge_when_green
    assert load(app_with("promotion: {merge: whenGreen}")).merge_when_green


def test_the_targets_min_ready_seconds_hold_where_the_app_has_none() -> None:
    target = TARGET.replace("replicas: 3", "replicas: 3\n  minReadySeconds: 7")
    assert load(APP, target).min_ready_seconds == 7
    assert load(app_with("minReadySeconds: 0"), target).min_ready_seconds == 0


ROUTED = "previewService: web-preview\n      routes: {parentRefs: [{name: public}], hosts: [p.example, '*.eu.example']}"
# more lines in spec, one in blueGreen: the complaint
WRONG = {
    ("promotion: {via: commit, merge: whenGreen}", ""): "app.yaml:8: spec.promotion.merge: whenGreen merges a pull "
    "request, but via is commit (set via: pullRequest, or drop it)",
    ("strateg: {}", ""): "app.yaml:8: spec.strateg: there is no such field (did you mean strategy?)",
    (
        "zzz: 1",
        "",
    ): "app.yaml:8: spec.zzz: there is no such field (known here: adopt, analysis, autoscalerRef, "
    "deletionPolicy, heldReleases, jobs, minReadySeconds, progressDeadlineAbort, progressDeadlineSeconds, "
    "promotion, release, render, restartAt, retry, revision, revisionHistoryLimit, rollbackWindow, "
    "strategy, suspend, target)",
    ("promotion: {vai: commit}", ""): "app.yaml:8: spec.promotion.vai: there is no such field (did you mean via?)",
    ("", "previewservice: x"): "app.yaml:8: spec.strategy.blueGreen.previewservice: there is no such field "
    "(did you mean previewService?)",
    ("", "previewService: web"): "app.yaml:8: spec.strategy.blueGreen.previewService: "
    "must be another Service than activeService (name a second Service)",
    ("", "antiAffinity: {}"): "app.yaml:8: spec.strategy.blueGreen.antiAffinity: must have exactly one of required and "
    "preferred (write required: {}, or preferred: {weight: 100})",
    ("", "antiAffinity: {preferred: {weight: 101}}"): "app.yaml:8: spec.strategy.blueGreen.antiAffinity.preferred."
    "weight: 101 is too large (write 100 or less)",
    ("", "onExpire: abort"): "app.yaml:8: spec.strategy.blueGreen.onExpire: means nothing without expireAfterSeconds "
    "(add it, or remove onExpire)",
    ("", "previewHosts: [p.example]"): "app.yaml:8: spec.strategy.blueGreen.previewHosts: lead to the preview Service, "
    "and there is none (add previewService)",
    ("", "previewHosts: [p.example]\n      previewService: web-preview"): "app.yaml:8: spec.strategy.blueGreen."
    "previewHosts: are behind the Gateways of routes, and there are none (add routes: {parentRefs: [{name: public}]}, "
    "with the name of the Gateway)",
    (
        "",
        f"previewHosts: [p.example]\n      {ROUTED}",
    ): "app.yaml:8: spec.strategy.blueGreen.previewHosts[0]: "
    "p.example leads to the live version, too, by p.example of routes.hosts (write a host that routes.hosts does not "
    "have)",
    ("", f"previewHosts: [x.eu.example]\n      {ROUTED}"): "app.yaml:8: spec.strategy.blueGreen.previewHosts[0]: "
    "x.eu.example leads to the live version, too, by *.eu.example of routes.hosts (write a host that routes.hosts does "
    "not have)",
    (
        "",
        "previewHosts: [p.example]\n      previewService: web-preview\n      routes: {parentRefs: [{name: public}]}",
    ): (
        "app.yaml:8: spec.strategy.blueGreen.previewHosts: lead to the live version once their candidate is gone: "
        "without routes.hosts every host does (add the hosts of the live version: routes: {hosts: […]})"
    ),
    ("", f'previewHosts: ["{{digest}}.x", "{{digest}}.x"]\n      {ROUTED}'): "app.yaml:8: spec.strategy.blueGreen."
    "previewHosts[1]: {digest}.x is there twice (remove one of the two)",
    ("", f'previewHosts: ["*.example.com"]\n      {ROUTED}'): "app.yaml:8: spec.strategy.blueGreen.previewHosts[0]: "
    "'*.example.com' is not allowed (write one such as preview.example.com, or {digest}.preview.example.com)",
    ("", f"previewHosts: [10.0.0.1]\n      {ROUTED}"): "app.yaml:8: spec.strategy.blueGreen.previewHosts[0]: "
    "'10.0.0.1' is no host name (write one such as preview.example.com, or {digest}.preview.example.com)",
    ("", f'previewHosts: ["{"a" * 54}{{digest}}.x"]\n      {ROUTED}'): "app.yaml:8: spec.strategy.blueGreen."
    f"previewHosts[0]: {'a' * 54}{{digest}}.x is longer than a host may be (write at most 63 letters between dots, "
    "253 in all)",
    ("", "previewWithoutCandidate: live"): "app.yaml:8: spec.strategy.blueGreen.previewWithoutCandidate: means nothing "
    "without previewHosts (add them, or remove it)",
    ("", "autoPromotionEnabled: true\n      autoPromotionSeconds: 60\n      expireAfterSeconds: 60"): "app.yaml:10: "
    "spec.strategy.blueGreen.expireAfterSeconds: 60 is not more than autoPromotionSeconds, so nothing would be "
    "promoted (set it above 60)",
    ("", "previewService: Web_1"): "app.yaml:8: spec.strategy.blueGreen.previewService: 'Web_1' is not allowed "
    "(use a DNS name: at most 63 small letters, digits and -)",
    ("", 'autoPromotionEnabled: "true"'): "app.yaml:8: spec.strategy.blueGreen.autoPromotionEnabled: "
    "expected true or false, found text (remove the quotes)",
    ("", "scaleDownDelaySeconds: -1"): "app.yaml:8: spec.strategy.blueGreen.scaleDownDelaySeconds: "
    'must be a whole number of seconds, 0 or more, or "never"',
    ("", "scaleDownDelaySeconds: true"): "app.yaml:8: spec.strategy.blueGreen.scaleDownDelaySeconds: "
    'must be a whole number of seconds, 0 or more, or "never"',
    ("", "previewReplicaCount: -1"): "app.yaml:8: spec.strategy.blueGreen.previewReplicaCount: -1 is too small "
    "(write 0 or more)",
    ("minReadySeconds: 3000000000", ""): "app.yaml:8: spec.minReadySeconds: 3000000000 is too large "
    "(write 2147483647 or less)",
    ("minReadySeconds: 1.5", ""): "app.yaml:8: spec.minReadySeconds: expected a whole number, found 1.5",
    ('minReadySeconds: "5"', ""): "app.yaml:8: spec.minReadySeconds: expected a whole number, found text "
    "(remove the quotes)",
    ("minReadySeconds: soon", ""): "app.yaml:8: spec.minReadySeconds: expected a whole number, found text",
    ("minReadySeconds: 600", ""): "app.yaml:4: spec.progressDeadlineSeconds: 600 is not more than minReadySeconds, "
    "so no rollout could succeed (set it above 600)",
    ("revisionHistoryLimit: 1", "scaleDownDelayRevisionLimit: 2"): "app.yaml:8: "
    "spec.strategy.blueGreen.scaleDownDelayRevisionLimit: 2 is more than revisionHistoryLimit (1) "
    "(lower it, or raise revisionHistoryLimit)",
    ("promotion: {via: pullRequest}", "autoPromotionEnabled: true"): "app.yaml:9: spec.promotion.via: pullRequest "
    "waits for a merge, but autoPromotionEnabled is true "
    "(set strategy.blueGreen.autoPromotionEnabled: false, or via: commit)",
    ("promotion: {via: email}", ""): "app.yaml:8: spec.promotion.via: 'email' is not allowed "
    "(write pullRequest or commit)",
    ("deletionPolicy: Delete", ""): "app.yaml:8: spec.deletionPolicy: 'Delete' is not allowed (write keep, delete, "
    "orphan or revertToTarget)",
    ("deletionPolicy: revertToTarget", ""): "app.yaml:8: spec.deletionPolicy: revertToTarget gives live traffic back "
    "to what the app was adopted from, and nothing says from what (write adopt: {deployment: NAME}, or another "
    "policy)",
    ("suspend: {}", ""): "app.yaml:8: spec.suspend.reason: is required (add reason)",
    ('suspend: {reason: ""}', ""): "app.yaml:8: spec.suspend.reason: must not be empty (write at least one character)",
    ("suspend: {reason: 5}", ""): 'app.yaml:8: spec.suspend.reason: expected text, found a number (quote it: "5")',
    ("suspend: {reason: true}", ""): "app.yaml:8: spec.suspend.reason: expected text, found a truth value "
    '(quote it: "true")',
    ("suspend: {reason: [a]}", ""): "app.yaml:8: spec.suspend.reason: expected text, found a list",
    ("suspend: {reason: x, until: tomorrow}", ""): "app.yaml:8: spec.suspend.until: must be a time with its zone, "
    "such as 2026-03-01T12:00:00Z",
    ('suspend: {reason: x, until: "2026-03-01T12:00:00"}', ""): "app.yaml:8: spec.suspend.until: "
    "must be a time with its zone, such as 2026-03-01T12:00:00Z",
    ("suspend: {reason: x, until: 5}", ""): "app.yaml:8: spec.suspend.until: expected a time with its zone, "
    "such as 2026-03-01T12:00:00Z, found a number",
    ("retry: {digest: abc, number: 1}", ""): "app.yaml:8: spec.retry.digest: 'abc' is not allowed (use a full digest)",
    **{
        (f"revision: {wrong}", ""): "app.yaml:8: spec.revision: must be the number of a version (3 or v3), a digest "
        "(v1:3f9c…) or a full commit id"
        for wrong in ("0", "-1", "true", "v0", "c0ffee", "latest", '"v1:3f"', "[3]")
    },
    ("adopt: {deployment: Web}", ""): "app.yaml:8: spec.adopt.deployment: 'Web' is not allowed (use a DNS name: "
    "at most 63 small letters, digits and -)",
    ("adopt: {}", ""): "app.yaml:8: spec.adopt: is from a Deployment or from an app (write one of deployment and app)",
    ("adopt: {deployment: web, scaleDown: onsuccess}", ""): "app.yaml:8: spec.adopt.scaleDown: 'onsuccess' is not "
    "allowed (write never, onSuccess or progressively)",
    ("rollbackWindow: 3", ""): "app.yaml:8: spec.rollbackWindow: expected a mapping, found a number "
    "(such as {revisions: 3})",
    ("target: primary.yaml", ""): "app.yaml:8: spec.target: must name a YAML file in the app's own folder, "
    "such as target.yaml",
    ("target: ../api/target.yaml", ""): "app.yaml:8: spec.target: must name a YAML file in the app's own folder, "
    "such as target.yaml",
}


@pytest.mark.parametrize("written", WRONG, ids=" ".join)
def test_what_is_wrong_is_said_with_line_field_and_remedy(written: tuple[str, str]) -> None:
    assert complaints(app_with(*filter(None, written[:1]), blue_green=written[1])) == [WRONG[written]]


# what is replaced in app.yaml, and by what: the complaint
WRONG_HEAD = {
    ("name: web, ", "name: api, "): "app.yaml:3: metadata.name: api is not the name of the folder apps/shop/web "
    "(write web, or rename the folder)",
    ("namespace: shop", "namespace: pay"): "app.yaml:3: metadata.namespace: pay is not the namespace of the folder "
    "apps/shop/web (write shop, or move the file to apps/pay/)",
    (", namespace: shop", ""): "app.yaml:3: metadata.namespace: is required (add namespace)",
    ("v1alpha1", "v1"): "app.yaml:1: apiVersion: 'gitops-bg.dev/v1' is not allowed (write gitops-bg.dev/v1alpha1)",
    ("kind: BlueGreenDeployment\n", ""): "app.yaml:1: kind: is required (add kind)",
    ("      activeService: web", "      {}"): "app.yaml:6: spec.strategy.blueGreen.activeService: is required: "
    "it says which version is live (add activeService; a worker without traffic needs a Service, too, which may be "
    "headless)",
    ("activeService: web", "activeService: yes"): "app.yaml:7: spec.strategy.blueGreen.activeService: unquoted yes is "
    'a truth value to some YAML parsers and text to others (write true, or quote it: "yes")',
}


@pytest.mark.parametrize("change", WRONG_HEAD, ids=" -> ".join)
def test_the_object_itself_is_checked(change: tuple[str, str]) -> None:
    assert complaints(APP.replace(*change)) == [WRONG_HEAD[change]]


def test_the_targets_min_ready_seconds_must_be_less_than_the_deadline() -> None:
    target = TARGET.replace("replicas: 3", "replicas: 3\n  minReadySeconds: 700")
    assert complaints(APP, target) == [
        "target.yaml:8: spec.minReadySeconds: 700 is not less than progressDeadlineSeconds of app.yaml "
        "(lower it below 600, or set minReadySeconds in app.yaml)"
    ]


def live(**spec: object) -> dict[str, object]:
    return {"spec": {"strategy": {"blueGreen": {"activeService": "web"}}, **spec}}


def test_the_live_object_alone_says_how_to_run_the_app() -> None:
    target = TARGET.replace("replicas: 3", "replicas: 3\n  minReadySeconds: 7")
    config = load_app(WEB, {"app.yaml": APP.encode(), "target.yaml": target.encode()}, source_of)
    assert config.body == live(minReadySeconds=7)["spec"]
    from_live = app_config_from_live(WEB, {"spec": config.body})
    assert (from_live.spec, from_live.body, from_live.problems) == (config.spec, config.body, ())


def test_fields_of_a_newer_release_in_the_live_object_are_ignored() -> None:
    newer = live(canary={"steps": []}, promotion={"via": "pullRequest", "train": "friday"})
    spec, problems = spec_from_live(WEB, newer)
    assert problems == ()
    assert spec == load(APP)


def test_a_live_object_that_cannot_be_used_says_so_without_a_place() -> None:
    config = app_config_from_live(AppKey("shop", "web"), {"metadata": {}})
    assert config.spec is None
    assert config.body == {}
    assert [str(problem) for problem in config.problems] == [
        "live BlueGreenDeployment shop/web: strategy: is required (add strategy)"
    ]


def test_nulls_are_as_if_not_written() -> None:
    config = load_app(
        WEB,
        {"app.yaml": app_with("suspend: null", "retry:").encode(), "target.yaml": TARGET.encode()},
        source_of,
    )
    assert (config.spec, config.body) == (load(APP), live()["spec"])
