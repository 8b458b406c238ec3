"""Versions are aborted if they miss their deadline, or if nobody promotes them (argo-rollouts.md §1.3)."""

from tests.support.scenario import App


def test_candidate_past_its_deadline_is_aborted_held_and_scaled_down(web: App) -> None:
    web.spec |= {"progressDeadlineSeconds": 60, "progressDeadlineAbort": True}
    web.configure()
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions(), "the candidate is there")
    web.wait_told("candidate")

    web.scenario.advance(61)
    web.wait_phase("Held")
    web.wait_told("aborted")
    web.scenario.advance(31)

    web.wait(lambda: web.versions()["bad"].replicas == 0, "the aborted candidate is at 0")
    assert web.live_tag() == "v1"
    assert "ProgressDeadlineExceeded" in web.ledger()[-1]["Reason"]


def test_candidate_that_nobody_promotes_expires_and_its_branch_goes(web: App) -> None:
    web.strategy |= {"expireAfterSeconds": 3600}
    web.configure()
    web.push_image("v2")
    web.wait_offered("v2")

    web.scenario.advance(3601)

    web.wait(lambda: not web.offered(), "the branch is gone")
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert web.live_tag() == "v1"


def test_pods_that_fail_after_the_switch_bring_traffic_back_with_a_commit_and_a_hold(web: App) -> None:
    web.spec |= {"progressDeadlineSeconds": 60}
    web.strategy["scaleDownDelaySeconds"] = 30
    web.configure()
    web.promote("v2")
    labels = {"gitops-bg.dev/digest": web.versions()["v2"].digest}
    web.scenario.cluster.set_ready(web.scenario.namespace, labels, False)
    web.wait(lambda: web.versions()["v2"].available == 0, "the new pods are unready")
    web.wait(lambda: web.record.versions[1].stabilization.unready, "the agent has seen it")

    web.scenario.advance(61)

    web.wait_live("v1")
    web.wait_primary("v1")
    web.wait_told("rolled-back")
    assert [hold.digest for hold in web.record.holds] == [web.record.versions[1].digest]
