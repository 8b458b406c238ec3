"""Every scenario that this suite answers for: the one list, in the order of the references.

A test proves a scenario if its name begins with `test_` and the scenario's id (`test_argo_04_…`; several ids may
follow each other: `test_argo_21_22_24_…`). A scenario says what we do otherwise, and one that does not apply here why.
`survey` finds the tests, `document` writes docs/reference/conformance.md, `test_documented` fails where a scenario has
neither.
"""

from __future__ import annotations

from tests.conformance.promotion import KARDINAL, KARGO, PROMOTER
from tests.conformance.scenarios import Scenario, Section

_DAEMON_SETS = "test_a_daemon_set_for_each_version_goes_live_goes_back_and_comes_back_from_no_node"
_TRAFFIC = "test_no_request_fails_and_none_reaches_a_version_that_I3_forbids"
_TRAFFIC_AND_DEATHS = "test_L6_G7_no_request_fails_and_none_goes_astray_whatever_write_the_agent_dies_after"
_DEATHS = "test_L6_G7_crash_after_every_write_ends_in_the_same_state_and_tells_every_switch_once"
_COUNTDOWN = "test_a_promotion_during_the_countdown_is_honoured_at_once"
_ROUTES = "blue-green has no such routing here: traffic is wholly on one version or on another"
_SELECTOR = (
    "one ReplicaSet a version, told apart by the digest: no selector, label or name of the workload is rewritten"
)

ARGO = Section(
    "Argo Rollouts",
    "argoproj/argo-rollouts `9f8d111d`, test/e2e; the numbers are stable names, with gaps (argo-rollouts.md §7)",
    (
        Scenario("argo_01", "TestEphemeralMetadata"),
        Scenario("argo_02", "TestBlueGreenProgressDeadlineExceededWithPause"),
        Scenario("argo_03", "TestBlueGreenProgressDeadlineExceededWithoutPause"),
        Scenario("argo_04", "TestBlueGreenPreviewReplicaCount"),
        Scenario("argo_05", "TestBlueGreenPreviewReplicaCountPromoteFull"),
        Scenario("argo_06", "TestBlueGreenAnalysis"),
        Scenario("argo_07", "TestBlueGreenPrePromotionFail"),
        Scenario("argo_08", "TestBlueGreenPostPromotionFail"),
        Scenario("argo_11", "TestBlueGreenPromoteFull"),
        Scenario("argo_12", "TestBlueGreenUpdate"),
        Scenario("argo_13", "TestBlueGreenToCanary", reason="blue-green is the only strategy"),
        Scenario("argo_16", "TestBlueGreenScaleDownOnAbort"),
        Scenario("argo_17", "TestKubectlWaitForPaused"),
        Scenario("argo_18", "TestKubectlWaitForCompleted"),
        Scenario("argo_19", "TestWorkloadRefTemplate"),
        Scenario("argo_20", "TestWorkloadRef"),
        Scenario("argo_21", "TestScaleDownOnSuccess"),
        Scenario("argo_22", "TestScaleDownProgressively"),
        Scenario("argo_24", "TestNeverScaleDown"),
        Scenario("argo_25", "TestBlueGreenDuration_InitialRollout"),
        Scenario("argo_26", "TestBlueGreenDuration_SpecPaused"),
        Scenario("argo_27", "TestBlueGreenDuration_AutoPromotion"),
        Scenario("argo_28", "TestBlueGreenDuration_ManualPromotion"),
        Scenario("argo_29", "TestBlueGreenDuration_FullyPromoted"),
        Scenario("argo_30", "TestBlueGreenDuration_Abort"),
        Scenario("argo_31", "TestBlueGreenDuration_Retry"),
        Scenario("argo_32", "TestBlueGreenDuration_SupersededRollout"),
        Scenario("argo_37", "TestBlueGreenDuration_ScalingOnly"),
        Scenario("argo_38", "TestALBBlueGreenUpdate", reason="needs AWS; skipped without it there too"),
        Scenario("argo_rollback_window", "rollback_window_test.go"),
    ),
)

GAPS = Section(
    "What the tests of Argo Rollouts leave out",
    "argo-rollouts.md §7",
    (
        Scenario("argo_gap_abort_unready", "abort with unready new pods after the cutover"),
        Scenario("argo_gap_retry_after_post_failure", "retry after a failure after promotion"),
        Scenario("argo_gap_selector_wiped", "selector drift or wipe in the middle of an update"),
        Scenario("argo_gap_promote_in_countdown", "promote during autoPromotionSeconds", test=_COUNTDOWN),
        Scenario("argo_gap_scale_down_delay_0", "scaleDownDelaySeconds: 0"),
        Scenario("argo_gap_replicas_before_promotion", "replicas change during the checks before promotion"),
        Scenario("argo_gap_replicas_during_abort", "replicas change during an abort"),
        Scenario("argo_gap_replicas_after_promotion", "replicas change during the checks after promotion"),
        Scenario("argo_gap_rollback_at_new_size", "fast rollback when replicas changed since"),
        Scenario("argo_gap_suspend_and_abort", "spec.paused and abort"),
        Scenario("argo_gap_crash", "controller crash between every two writes", test=_DEATHS),
        Scenario("argo_gap_name_collision", "hash collision"),
        Scenario("argo_gap_promote_while_pushed", "promote and a change of the template at the same time"),
        Scenario("argo_gap_service_recreated", "Service deleted and recreated in the middle of an update"),
    ),
)

WEAK_POINTS = Section(
    "Weak points of Argo Rollouts",
    "argo-rollouts.md §2.5, found by tracing its code",
    (
        Scenario("W01", "a wiped selector is an instant promotion"),
        Scenario("W02", "an abort does not revert a broken cutover"),
        Scenario("W03", "a retry after a failed post-promotion analysis aborts again"),
        Scenario("W04", "a retry after a failed pre-promotion analysis measures pods that are not up"),
        Scenario("W05", "promote restarts the countdown of autoPromotionSeconds", test=_COUNTDOWN),
        Scenario("W06", "promote is lost while a pod is unready"),
        Scenario("W07", "previewReplicaCount shrinks the warm version and defeats the fast rollback"),
        Scenario("W08", "another version's scale-down delay suppresses the progress deadline"),
        Scenario("W09", "a retry after an aborted rollback skips the analysis that failed"),
        Scenario("W10", "undo leaks what was injected into the template"),
        Scenario("W11", "errors while scaling old versions are swallowed"),
        Scenario("W12", "the preview Service has no endpoints at the start of an update and after an abort"),
    ),
)

FLAGGER = Section(
    "Flagger",
    "fluxcd/flagger `15bd6ad5`: its scripts, its unit tables, and what its scripts leave out",
    (
        Scenario("flagger_init", "init: the primary is ready, then takes traffic (test-deployment.sh)"),
        Scenario("flagger_adopted_service", "a Service that was there before is adopted"),
        Scenario("flagger_new_revision", "a new revision mid-run starts the run anew"),
        Scenario("flagger_rollback", "a failed run leaves the primary untouched (nginx/test-lifecycle.sh)"),
        Scenario("flagger_revert_to_primary", "the target set back to the promoted spec triggers nothing"),
        Scenario("flagger_fail_again", "after a failure another bad revision fails, too"),
        Scenario("flagger_retry", "the failed revision again"),
        Scenario("flagger_promotion", "promotion: the primary runs the checked spec, the run is Succeeded"),
        Scenario("flagger_primary_not_ready", "promotion while the primary is not ready"),
        Scenario("flagger_failed_after_shift", "failure after traffic was shifted"),
        Scenario("flagger_phases", "the phases of a blue-green run, in order"),
        Scenario("flagger_target_at_0", "the target sits at 0 after init, success and rollback"),
        Scenario("flagger_has_target_changed", "what counts as a change of the target"),
        Scenario("flagger_readiness", "readiness and its deadline"),
        Scenario("flagger_service_update", "Services are reconciled, metadata of others is kept"),
        Scenario("flagger_checksum_stability", "the checksum is the same for the same spec"),
        Scenario("flagger_deletion", "deletion of the Canary"),
        Scenario("flagger_gates_closed", "closed gates"),
        Scenario("flagger_controller_restart", "restart of the controller", test=_DEATHS),
        Scenario("flagger_suspend", "suspend"),
        Scenario("flagger_skip_analysis", "a bad image with skipAnalysis fails, the primary is untouched"),
        Scenario("flagger_traffic", "a probe of zero downtime", test=_TRAFFIC),
        Scenario("flagger_webhooks", "webhook payload, status, retries, TLS"),
        Scenario("flagger_hook_confirm_rollout", "confirm-rollout: before the scale-up, refusal is waiting"),
        Scenario("flagger_hook_pre_rollout", "pre-rollout: once green is ready, refusal counts"),
        Scenario("flagger_hook_rollout", "rollout: each pass of the analysis, refusal counts"),
        Scenario("flagger_hook_confirm_promotion", "confirm-promotion: before the promotion, refusal is waiting"),
        Scenario("flagger_hook_rollback", "rollback: a yes rolls back at once, also while pods are unready"),
        Scenario("flagger_hook_post_rollout", "post-rollout: after success or failure, each hook"),
        Scenario("flagger_hook_event", "event: every event with its message, type and time"),
        Scenario("flagger_alerts", "alerts: each type, severity and event (flagger.md §3.7); what it does not send"),
        Scenario("flagger_hpa", "the HPA of the primary (test-hpa.sh)"),
        Scenario("flagger_keda", "ScaledObject pause, resume and query"),
        Scenario("flagger_config_tracking", "promotion copies ConfigMaps and Secrets; configuration tracking off"),
        Scenario("flagger_daemonset", "test-daemonset.sh", test=_DAEMON_SETS),
        Scenario("flagger_mirroring", "mirroring and session affinity", reason=_ROUTES),
        Scenario("flagger_weights", "weighted canary, A/B, traffic increase", reason=_ROUTES),
        Scenario(
            "flagger_port_discovery",
            "port discovery, names and numbers",
            reason="nothing is discovered by pods: a Service without a manifest takes its ports from the containers",
        ),
        Scenario("flagger_own_pods", "affinity and topology spread of the primary name the primary's pods"),
        Scenario("flagger_label_rewrite", "labels by prefix, selector rewriting", reason=_SELECTOR),
    ),
)

BEATS = Section(
    "What beats Flagger",
    "flagger.md §9",
    (
        Scenario("flagger_beat_a", "true cutover on plain Services with zero failed requests", test=_TRAFFIC),
        Scenario("flagger_beat_b", "promote the analysed snapshot, never the live object"),
        Scenario("flagger_beat_c", "immutable, stored promoted revision: drift repair, one-write rollback"),
        Scenario("flagger_beat_d", "the start of a run is recorded in the write that detects it"),
        Scenario("flagger_beat_e", "a change of configuration restarts green"),
        Scenario("flagger_beat_f", "revert to the promoted version cancels the run and clears Failed"),
        Scenario("flagger_beat_g", "transitions by watches, intervals only for analysis"),
        Scenario("flagger_beat_h", "verdicts pass, fail, inconclusive; consecutive and total limits"),
        Scenario("flagger_beat_i", "deadlines on every wait"),
        Scenario("flagger_beat_j", "status with commit, revision, reason, serving side, observedGeneration, history"),
        Scenario("flagger_beat_k", "safe deletion by default"),
        Scenario("flagger_beat_l", "asynchronous hooks, captured output, 2xx is good"),
        Scenario(
            "flagger_beat_m",
            "continuous traffic through every transition, and a killed controller",
            test=_TRAFFIC_AND_DEATHS,
        ),
    ),
)

_BGD = """
G1 the first version | G2 a change of the image | G3 revert to the version before | G4 a third version
G5 no change, no write | G6 deletion | G7 a restart at any moment | L1 a ReplicaSet deleted
L2 restart with objects there | L3 the Service is owned | L4 the old version at full size | L5 an image that never runs
L6 a crash after any write | L7 the Service is repaired | L8 replicas | L9 whole pod specs | L10 the spec is left alone
L11 a bad pod spec | L12 conflicts | L13 errors are tried again | L14 two apps in a namespace
L15 owners | L16 names | L17 nothing blocks | L18 labels and Service | L19 manual gate, pause, abort, history
L20 a newer spec midway
"""

BGD = Section(
    "Google's bgd-controller",
    "what it promises (G) and where it stops short (L)",
    tuple(Scenario(*each.strip().split(" ", 1)) for line in _BGD.strip().splitlines() for each in line.split("|")),
)

OAM = Section(
    "The OAM rollout trait",
    "the design of the trait, and what its scheduler does (versions-and-routes.md §11)",
    (
        Scenario("O1", "the provider selects the router", reason="one kind of Service leads to every app"),
        Scenario("O2", "the target is found by itself", reason="`target.yaml` of the folder is the target"),
        Scenario("O3", "the target is the newest revision unless one is named"),
        Scenario("O4", "first deployment: no rollout", test="test_flagger_init_pods_first_then_the_service_then_git"),
        Scenario(
            "O5",
            "the new workload is the candidate, and starts at 0",
            test="test_flagger_hook_confirm_rollout_flagger_hook_confirm_promotion_gate_the_start_the_commit_and_traffic",
        ),
        Scenario("O6", "no primary object, no renames"),
        Scenario(
            "O7",
            "one controller sets the sizes of source and target",
            test="test_L8_argo_37_change_of_replicas_scales_without_a_rollout_and_manual_scaling_is_reverted",
        ),
        Scenario("O8", "promotion: source to 0, target at full size, UID and template unchanged"),
        Scenario("O9", "the target of one rollout is the source of the next"),
        Scenario("O10", "no workload is called primary", reason="`primary.yaml` says what is live; no workload has it"),
        Scenario("O11", "three kinds of targets"),
        Scenario("O12", "the revision in the configuration is the live one after success"),
        Scenario(
            "O13", "autoscalers do not fight", test="test_flagger_hpa_scales_what_serves_through_promotion_and_rollback"
        ),
        Scenario("O14", "the status of the rollout on the parent", test="test_flagger_phases_of_a_run_in_their_order"),
        Scenario(
            "O15",
            "metrics with thresholds gate each stage",
            test="test_flagger_beat_h_verdicts_are_good_bad_or_none_by_limits_in_a_row_and_in_all",
        ),
        Scenario("O16", "another controller that applies the target undoes no size"),
        Scenario("O17", "no metric data blocks", test="test_no_data_pauses_and_promote_measures_afresh"),
        Scenario(
            "O18",
            "threshold N allows N-1 failures",
            test="test_flagger_hook_rollout_is_called_for_each_iteration_and_refusals_reach_the_threshold",
        ),
        Scenario(
            "O19",
            "without analysis readiness still counts",
            test="test_flagger_skip_analysis_bad_image_that_is_promoted_by_force_gets_no_traffic",
        ),
        Scenario(
            "O20",
            "deletion midway",
            test="test_flagger_deletion_flagger_beat_k_keeps_serving_and_takes_up_again",
        ),
        Scenario("O21", "restart of the controller midway", test=_DEATHS),
        Scenario("O22", "a pinned revision that is missing: a condition, and nothing is scaled"),
    ),
)

SECTIONS = (ARGO, GAPS, WEAK_POINTS, FLAGGER, BEATS, BGD, OAM, KARGO, PROMOTER, KARDINAL)

EVERY = {scenario.id: scenario for section in SECTIONS for scenario in section.scenarios}
