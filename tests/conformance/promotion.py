"""The scenarios of those who bring a release from one environment to the next: Kargo, GitOps Promoter, kardinal."""

from __future__ import annotations

from tests.conformance.scenarios import Scenario, Section

_TRAVEL = "test_one_push_travels_to_production_and_what_comes_in_is_the_same_everywhere"
_ROLLBACK = "test_a_rollback_in_production_stays_there_and_keeps_its_release_out"
_HOTFIX = "test_a_hotfix_passes_by_an_environment_and_says_so"
_STOPPED = "test_a_release_on_hold_everywhere_comes_into_no_further_environment"
_MERGED = "test_a_release_that_people_are_to_merge_is_offered_once_and_comes_in_by_the_merge"
_DEAD = "test_an_agent_that_is_dead_lets_nothing_through"
_OWN_FILES = "test_a_release_that_enters_is_promoted_on_the_branch_of_the_environment_and_goes_back_by_a_revert"
_POLICY = "test_a_commit_that_drops_its_own_policy_waits_also_where_a_pull_swapped_the_parents"
_BACK_BY_ANALYSIS = "test_argo_08_W03_argo_gap_retry_after_post_failure_measures_anew_and_traffic_waits_for_it"
_WAVES = "test_the_second_wave_follows_once_the_first_has_proven_the_version_and_both_go_back_at_once"
_BY_SKIP = "`gitops-bg enter` names by `--skip` each environment that has not proven it, and the commit says so"

KARGO = Section(
    "Kargo",
    "akuity/kargo `1c764767`: api/v1alpha1/stage_types_test.go, pkg/controller/stages, pkg/api, and its how-tos; a "
    "Stage is an environment here, freight is a release of one app",
    (
        Scenario(
            "kargo_direct",
            "freight directly from its origin",
            test=_TRAVEL,
            differs="the first environment of an app follows `target.yaml` on main: there is no Warehouse to poll, "
            "and CI or a person pushes the image",
        ),
        Scenario("kargo_verified", "freight is available once it is verified upstream"),
        Scenario(
            "kargo_one_of",
            "availabilityStrategy: OneOf",
            differs="between clusters of one environment, not between environments: those are asked for all, "
            "since they differ on purpose",
        ),
        Scenario("kargo_all", "availabilityStrategy: All"),
        Scenario("kargo_soak_required", "requiredSoakTime, the rows of its table"),
        Scenario(
            "kargo_soak_longest",
            "the longest soak of freight that has left the Stage",
            differs="only what reached a time that a later environment asks for is kept: a ledger has no ticking clock",
        ),
        Scenario(
            "kargo_soak_elapsed",
            "soak while the Stage is unhealthy",
            differs="an alarm sets the soak to nothing: time that passes beside a fault proves nothing",
        ),
        Scenario("kargo_5342", "soak never ends under frequent releases (kargo#5342)"),
        Scenario("kargo_verification_failed", "failed verification"),
        Scenario(
            "kargo_verification_running",
            "no promotion while the current freight is verified",
            differs="only with `newer: wait`; by default the newer release takes the place of the one on its way",
        ),
        Scenario(
            "kargo_newest_freight",
            "autoPromotionOptions: NewestFreight",
            differs="the newest by main's own line of commits, not by the time at which an object was made",
        ),
        Scenario(
            "kargo_match_upstream",
            "autoPromotionOptions: MatchUpstream",
            differs="there is one way to choose, the newest proven release: with a soak upstream and frequent "
            "releases, what upstream uses is never the one that has soaked",
        ),
        Scenario("kargo_hold", "a hold after an older version was promoted by hand"),
        Scenario(
            "kargo_hold_is_of",
            "what a hold keeps out",
            differs="a hold is of the release that was left, not of the Stage: what was wrong with it is not wrong "
            "with the next one, which passes all gates",
        ),
        Scenario(
            "kargo_hold_lifted",
            "a hold is lifted",
            test=_STOPPED,
            differs="by saying so, in Git, with who did it; not by promoting what automation would have chosen",
        ),
        Scenario(
            "kargo_approval",
            "freight is approved for a Stage by hand: the hotfix",
            test=_HOTFIX,
            differs=f"{_BY_SKIP}; live traffic still follows through the gates of the environment",
        ),
        Scenario(
            "kargo_rollback",
            "rollback in one Stage",
            test=_ROLLBACK,
            differs="by `git revert` of the promotion: traffic goes back at once, and the release is on hold there",
        ),
        Scenario(
            "kargo_pull_request",
            "promotion by a pull request (git-open-pr, git-wait-for-pr)",
            test=_MERGED,
        ),
        Scenario(
            "kargo_steps",
            "promotion templates: the steps of a promotion",
            reason="one step, and no language for it: `release.yaml` comes in, byte for byte",
        ),
        Scenario(
            "kargo_origins",
            "a Stage with freight of several Warehouses",
            reason="each app has a way of its own; several as one are a release group",
        ),
        Scenario(
            "kargo_control_flow",
            "Stages without a promotion, which only join others",
            reason="`from: [a, b]` joins without one",
        ),
    ),
)

PROMOTER = Section(
    "GitOps Promoter",
    "argoproj-labs/gitops-promoter `7456cfed`: internal/controller/*_test.go, and its manual",
    (
        Scenario(
            "promoter_order",
            "each environment waits for the active commit statuses of the one before",
            test=_TRAVEL,
            differs="what travels is the release as the former environment had it, byte for byte; not a new rendering "
            "of the same commit",
        ),
        Scenario("promoter_no_op", "environments in which a commit changes nothing"),
        Scenario("promoter_dag", "a DAG with two sources (DependentsSuccessfulCommitStatus)"),
        Scenario("promoter_older", "production promotes an older commit though staging has moved ahead"),
        Scenario(
            "promoter_timer_begins",
            "TimedCommitStatus: pending, met, and anew with each commit",
            differs="the soak counts from the settled switch of traffic, not from the time of a commit",
        ),
        Scenario(
            "promoter_timer_runs",
            "TimedCommitStatus while a promotion is pending in the environment",
            differs="pending there; here only what serves is proven, and a candidate says nothing about it",
        ),
        Scenario(
            "promoter_timer_compares",
            "TimedCommitStatus: whose clock",
            differs="a cluster says itself that its time is over; the controller there subtracts the time of a commit",
        ),
        Scenario("promoter_newest", "release latest: a newer commit replaces the one on its way"),
        Scenario(
            "promoter_churn",
            "delays in high-churn applications (named as a drawback there)",
            differs="a newer push takes nothing from what is proven",
        ),
        Scenario("promoter_1109", "a status that nobody sets any more (gitops-promoter#1109)"),
        Scenario("promoter_dead", "the controller of the former environment is dead", test=_DEAD),
        Scenario(
            "promoter_shared_branch",
            "two strategies that share a branch wipe each other's folder",
            test=_OWN_FILES,
            differs="no branch is an environment: one commit changes one file of one app",
        ),
        Scenario("promoter_pull_request", "a pull request for each environment, updated in place", test=_MERGED),
        Scenario(
            "promoter_statuses",
            "CommitStatuses of one's own, WebRequestCommitStatus",
            reason="what judges a release is asked where it serves, by analyses and hooks, before it is proven",
        ),
    ),
)

KARDINAL = Section(
    "kardinal-promoter",
    "pnz1990/kardinal-promoter `035c5aa`: its manual of pipelines and of policy gates, and its tests of gates",
    (
        Scenario("kardinal_bake_is", "bake.minutes: contiguous, reset-on-alarm"),
        Scenario(
            "kardinal_bake_counts",
            "bake while the controller is down",
            differs="a time in which nobody looked does not count; it resets nothing",
        ),
        Scenario("kardinal_upstream_soak", "the gate bundle.upstreamSoakMinutes"),
        Scenario("kardinal_depends_on", "dependsOn: fan-out and join"),
        Scenario(
            "kardinal_health_rollback",
            "onHealthFailure: rollback",
            test=_BACK_BY_ANALYSIS,
            differs="traffic goes back in one write to pods that are warm; there a bundle of the former image is made",
        ),
        Scenario("kardinal_abort", "onHealthFailure: abort, which needs a person"),
        Scenario("kardinal_health_failure", "onHealthFailure: none"),
        Scenario("kardinal_pause", "pause and resume of a pipeline"),
        Scenario(
            "kardinal_org_gates",
            "gates of the organisation that teams cannot remove",
            test=_POLICY,
            differs="policies are files of the repository: who may change them is a matter of CODEOWNERS, and a commit "
            "that drops a policy and promotes at once is judged by what held before it",
        ),
        Scenario(
            "kardinal_skip",
            "intent.skip, by SkipPermission",
            test=_HOTFIX,
            differs=f"{_BY_SKIP}; who may push to main may do it, and no policy is asked yet",
        ),
        Scenario(
            "kardinal_wave",
            "wave: environments in numbered waves",
            test=_WAVES,
            differs="waves are of the clusters of one environment, which share one release and one commit; a way back "
            "moves all of them at once, whatever their wave",
        ),
        Scenario("kardinal_supersede", "a newer bundle supersedes the one that is promoting"),
    ),
)
