"""The story of each row of actions.md, with real Git and a running agent: what `make test` runs of the tests with real
parts.
"""

from collections.abc import Mapping

STORIES: Mapping[tuple[str, str], str] = {
    ("add `apps/<namespace>/<app>/`", "nothing serves yet"): (
        "tests/integration/agent/desired/test_pushes.py::test_first_deployment_waits_for_nobody_and_commits_what_serves"
    ),
    ("push a new tag to `target.yaml`", "–"): (
        "tests/integration/agent/desired/test_pushes.py"
        "::test_push_of_a_tag_brings_a_preview_and_an_offer_and_leaves_traffic_alone"
    ),
    ("push a change of a ConfigMap or Secret that `target.yaml` refers to", "–"): (
        "tests/integration/traffic/test_configuration.py"
        "::test_users_see_other_configuration_when_it_is_promoted_and_what_it_was_after_a_revert"
    ),
    ("merge the promotion branch", "every gate open"): (
        "tests/integration/agent/desired/test_pushes.py"
        "::test_merge_of_the_offer_moves_traffic_removes_the_branch_and_is_told_with_who_merged"
    ),
    ("merge the promotion branch", "a gate is shut"): (
        "tests/integration/cli/test_policies.py::test_freeze_stops_a_promotion_and_unfreeze_lets_it_go_on"
    ),
    ("merge the promotion branch", "a [policy](../features/policies.md) is shut"): (
        "tests/integration/cli/test_policies.py::test_the_glass_is_broken_by_who_may_and_all_can_see_it"
    ),
    ("`gitops-bg freeze --reason …`, `unfreeze`", "–"): (
        "tests/integration/cli/test_policies.py::test_freeze_stops_a_promotion_and_unfreeze_lets_it_go_on"
    ),
    ("`git revert` the promotion", "O is still up"): (
        "tests/integration/agent/desired/test_reverts.py::test_revert_of_the_promotion_moves_traffic_back"
    ),
    ("`git revert` the promotion", "O is at 0, or its ReplicaSet is gone"): (
        "tests/integration/agent/desired/test_reverts.py::test_revert_of_the_promotion_moves_traffic_back"
    ),
    ("`git revert` the promotion", "after any of them"): (
        "tests/integration/agent/test_way_back.py"
        "::test_revert_of_a_push_never_leads_to_a_version_that_was_rolled_back_as_bad"
    ),
    ("`git revert` the promotion", "O itself was rolled back before, failed its analysis, or is on hold"): (
        "tests/integration/agent/test_way_back.py"
        "::test_a_primary_that_names_a_version_that_was_bad_is_a_promotion_through_every_gate"
    ),
    ("`git revert` the promotion", "traffic had not moved yet"): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_revert_of_a_promotion_that_has_not_moved_traffic_yet_holds_it"
    ),
    ("`git revert` the commit that changed `target.yaml` (a push)", "N was not promoted"): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_revert_of_the_target_before_promotion_withdraws_the_candidate"
    ),
    (
        "`git revert` the commit that changed `target.yaml` (a push)",
        "N is live, and the revert says [what it takes back](#what-counts-as-a-revert-of-a-push)",
    ): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_revert_of_the_target_of_the_active_version_switches_now_and_commits_afterwards"
    ),
    (
        "`git revert` the commit that changed `target.yaml` (a push)",
        "N's promotion was merged, traffic had not moved yet",
    ): (
        "tests/integration/agent/desired/test_reverts_as_people_make_them.py"
        "::test_push_reverted_after_its_merge_and_before_traffic_moved_moves_nothing"
    ),
    ("`git revert` the commit that changed `target.yaml` (a push)", "`primary.yaml` was changed after the revert"): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_a_revert_that_somebody_overruled_does_not_count_with_the_next_one"
    ),
    ("`git revert` the commit that changed `target.yaml` (a push)", "a revert of such a revert"): (
        "tests/integration/agent/desired/test_reverts_as_people_make_them.py"
        "::test_revert_of_the_revert_of_a_push_lifts_the_hold_and_of_that_one_goes_back_again"
    ),
    ("`git revert` the commit that changed `target.yaml` (a push)", "O was bad before, or is on hold"): (
        "tests/integration/agent/test_way_back.py"
        "::test_revert_of_a_push_never_leads_to_a_version_that_was_rolled_back_as_bad"
    ),
    ("push an old tag again", "its commit names no revert"): (
        "tests/integration/agent/desired/test_reverts.py::test_old_tag_pushed_again_without_a_marker_is_only_offered"
    ),
    ("revert both", "–"): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_revert_of_both_in_one_push_is_one_switch_and_no_hold_is_left_on_the_target"
    ),
    ("push another version while N is in progress", "`primary.yaml` does not name N yet"): (
        "tests/integration/agent/desired/test_pushes.py"
        "::test_newer_target_supersedes_a_candidate_and_updates_the_offer_in_place"
    ),
    ("push another version while N is in progress", "`primary.yaml` names N"): (
        "tests/integration/agent/desired/test_pushes.py"
        "::test_what_is_promoted_is_what_was_checked_even_if_the_target_moved_on"
    ),
    ("`gitops-bg promote APP`", "–"): (
        "tests/integration/cli/operate/test_promoting.py::test_a_promotion_during_the_countdown_is_honoured_at_once"
    ),
    ("`gitops-bg promote APP`", "an analysis was inconclusive (`Paused`)"): (
        "tests/integration/cli/operate/test_promoting.py"
        "::test_a_promotion_of_a_paused_version_measures_anew_and_moves_traffic_if_that_is_good"
    ),
    ("`gitops-bg promote APP --full`", "–"): (
        "tests/integration/cli/operate/test_promoting.py::test_full_needs_neither_analysis_on_both_clusters"
    ),
    ("`gitops-bg promote APP --full`", "nothing is to be promoted"): (
        "tests/integration/cli/operate/test_promoting.py::test_full_ends_the_analysis_of_what_serves"
    ),
    ("`gitops-bg rollback APP [--to VERSION]`", "–"): (
        "tests/integration/cli/operate/test_deciding.py::test_rollback_commits_the_older_primary_byte_for_byte"
    ),
    ("`gitops-bg rollback APP [--to VERSION]`", "N is on hold, was bad before, or is newer"): (
        "tests/integration/cli/operate/test_deciding.py::test_rollback_to_a_held_version_says_so_and_needs_force"
    ),
    ("`gitops-bg set-image APP CONTAINER=IMAGE`", "IMAGE is no image reference, or `check` refuses the result"): (
        "tests/integration/cli/operate/test_deciding.py::test_set_image_pushes_nothing_that_check_refuses"
    ),
    ("`gitops-bg rollback APP --offline`", "Git is down"): (
        "tests/integration/cli/operate/test_operating.py"
        "::test_an_offline_rollback_without_agent_and_git_moves_traffic_and_loses_nothing"
    ),
    ("`gitops-bg undo APP [--to VERSION]`", "–"): (
        "tests/integration/cli/test_configuration.py"
        "::test_undo_brings_back_configuration_and_template_as_they_were_written_in_one_commit"
    ),
    ("`gitops-bg abort APP...`", "N is in progress"): (
        "tests/integration/cli/operate/test_operating.py::test_abort_puts_the_candidate_on_hold"
    ),
    (
        "`gitops-bg abort APP...`",
        "the live version has not proven itself: it was promoted less than `progressDeadlineSeconds` ago, or its "
        "analysis after promotion is not over",
    ): (
        "tests/integration/cli/operate/test_operating.py"
        "::test_abort_names_what_it_stops_and_goes_back_to_the_last_proven_version"
    ),
    ("`gitops-bg abort APP...`", "nothing is in progress, and the live version has proven itself"): (
        "tests/integration/cli/operate/test_requests_at_once.py::test_an_abort_that_is_repeated_finds_nothing_to_abort"
    ),
    ("`gitops-bg abort APP...`", "somebody pushes, promotes or aborts at the same moment"): (
        "tests/integration/cli/operate/test_requests_at_once.py::test_abort_all_does_what_its_question_said"
    ),
    ("`gitops-bg abort --all [-n NAMESPACE]`", "an emergency"): (
        "tests/integration/cli/operate/test_operating.py"
        "::test_abort_all_shows_what_it_stops_asks_and_leaves_apps_at_rest_in_peace"
    ),
    ("change an autoscaler, a budget or an untracked ConfigMap of the folder", "–"): (
        "tests/integration/agent/cluster/test_auxiliary_objects.py"
        "::test_untracked_configuration_and_budgets_come_and_go_with_their_files"
    ),
    ("remove one", "–"): (
        "tests/integration/agent/cluster/test_auxiliary_objects.py"
        "::test_replicas_count_again_when_the_autoscaler_leaves_the_folder"
    ),
    ("`gitops-bg restart APP... [--in 10m]`", "–"): (
        "tests/integration/agent/workloads/test_restarts.py"
        "::test_every_pod_is_new_one_after_the_other_and_nothing_else_has_changed"
    ),
    ("`gitops-bg retry APP...`", "–"): (
        "tests/integration/cli/test_members.py::test_retry_tries_the_held_version_again"
    ),
    ("`suspend:` in `app.yaml`, or `gitops-bg suspend APP...` (Argo Rollouts says `pause`; so may you)", "–"): (
        "tests/integration/agent/test_suspended.py"
        "::test_suspended_app_does_not_carry_out_a_merged_promotion_until_it_is_resumed"
    ),
    ("`gitops-bg resume APP...`", "–"): (
        "tests/integration/cli/operate/test_deciding.py::test_resume_lifts_the_hold_of_a_rollback"
    ),
    ("push a new tag, with [`jobs.beforePods`](../how-to/database-changes.md) in `app.yaml`", "–"): (
        "tests/integration/agent/test_jobs_before_pods.py"
        "::test_the_first_pod_comes_when_the_job_is_complete_with_the_image_and_configuration_of_its_version"
    ),
    ("push a new tag, with [`jobs.beforePods`](../how-to/database-changes.md) in `app.yaml`", "a Job fails"): (
        "tests/integration/agent/test_jobs_before_pods.py"
        "::test_a_job_that_fails_holds_its_version_with_the_end_of_its_log_and_a_retry_runs_it_anew"
    ),
    (
        "push a new tag, with [`jobs.beforePods`](../how-to/database-changes.md) in `app.yaml`",
        "another version is pushed while a Job of N runs",
    ): ("tests/integration/agent/test_jobs_before_pods.py::test_a_newer_version_waits_for_a_job_that_runs"),
    (
        "serve with a version that has [`jobs.afterSettled`](../how-to/database-changes.md#contract)",
        "it has proven itself, and nothing older has pods",
    ): (
        "tests/integration/cli/operate/test_contracts.py"
        "::test_a_contract_runs_when_nothing_older_is_warm_and_every_lane_back_is_closed"
    ),
    (
        "serve with a version that has [`jobs.afterSettled`](../how-to/database-changes.md#contract)",
        "afterwards: a revert, a push or a `rollback` to an older version",
    ): ("tests/integration/cli/operate/test_contracts.py::test_a_revert_of_the_promotion_says_why_traffic_stays"),
    ("wait", "an analysis before promotion fails"): (
        "tests/integration/agent/test_analysis.py::test_a_failing_analysis_before_promotion_aborts_and_holds"
    ),
    ("wait", "an analysis after promotion fails"): (
        "tests/integration/agent/test_analysis.py::test_a_failing_analysis_after_promotion_rolls_back_commits_and_holds"
    ),
    ("wait", "an analysis is inconclusive"): (
        "tests/integration/agent/test_analysis.py::test_no_data_pauses_and_promote_measures_afresh"
    ),
    ("wait", "`progressDeadlineAbort: true`, and N exceeds `progressDeadlineSeconds` before it is live"): (
        "tests/integration/agent/test_aborts.py::test_candidate_past_its_deadline_is_aborted_held_and_scaled_down"
    ),
    ("wait", "`expireAfterSeconds`, and nobody promotes N"): (
        "tests/integration/agent/test_aborts.py::test_candidate_that_nobody_promotes_expires_and_its_branch_goes"
    ),
    (
        "wait",
        "N is live, and its pods fail for `progressDeadlineSeconds` before it has served that long without "
        "interruption",
    ): (
        "tests/integration/agent/test_aborts.py"
        "::test_pods_that_fail_after_the_switch_bring_traffic_back_with_a_commit_and_a_hold"
    ),
    ("change a delay or a deadline in `app.yaml`", "–"): (
        "tests/integration/agent/workloads/test_replica_sets.py"
        "::test_shorter_delay_holds_for_a_version_that_is_warm_already"
    ),
    ("change `replicas` in `target.yaml`", "–"): (
        "tests/integration/agent/workloads/test_replica_sets.py"
        "::test_replicas_reach_live_traffic_while_a_candidate_waits"
    ),
    ("change `replicas` in `target.yaml`", "`replicas: 0`"): (
        "tests/integration/agent/workloads/test_scaled_to_zero.py"
        "::test_nothing_is_on_offer_and_nothing_goes_live_at_zero"
    ),
    (
        "remove the file of an active Service",
        "what is live has what the file said (a type, a port that the pods do not imply)",
    ): (
        "tests/integration/agent/cluster/test_left_manifests.py"
        "::test_a_live_service_whose_file_leaves_stays_as_it_is_until_somebody_says_what_it_is_to_be"
    ),
    ("remove the file of an active Service", "else"): (
        "tests/integration/agent/cluster/test_left_manifests.py"
        "::test_a_live_service_whose_file_leaves_stays_as_it_is_until_somebody_says_what_it_is_to_be"
    ),
    ("change the ports of a Service", "the live version can serve them"): (
        "tests/integration/agent/cluster/test_service_ports.py"
        "::test_port_that_the_live_version_serves_follows_main_at_once"
    ),
    (
        "change the ports of a Service",
        "only N can: a `targetPort` is the name of a port that only its containers have",
    ): (
        "tests/integration/agent/cluster/test_service_ports.py"
        "::test_renamed_port_moves_with_traffic_in_one_write_and_back_in_one"
    ),
    ("change the ports of a Service", "no container of `target.yaml` can"): (
        "tests/integration/agent/cluster/test_service_ports.py"
        "::test_ports_that_no_pod_of_the_target_has_change_nothing_and_are_said"
    ),
    ("rename `activeService`, or remove one of `activeServices`", "–"): (
        "tests/integration/agent/cluster/test_several_services.py"
        "::test_service_that_app_yaml_renames_is_followed_for_a_whole_delay_and_then_said"
    ),
    ("name a Service that carried live traffic as `previewService`", "–"): (
        "tests/integration/agent/cluster/test_several_services.py"
        "::test_a_service_that_carried_live_traffic_shows_no_candidate_before_it_has_followed"
    ),
    ("rename or remove `previewService`", "–"): (
        "tests/integration/agent/cluster/test_several_services.py"
        "::test_a_preview_service_that_app_yaml_names_no_longer_is_said_until_somebody_deletes_it"
    ),
    ("push a new tag to `target.yaml` of an app with `previewHosts`", "–"): (
        "tests/integration/traffic/test_app_routes.py"
        "::test_the_candidate_has_an_address_of_its_own_which_no_other_version_ever_answers"
    ),
    ("force-push `main`", "the commit seen last is gone"): (
        "tests/integration/agent/desired/test_history.py"
        "::test_a_rewind_that_heals_within_a_few_polls_leaves_no_trace_but_an_event"
    ),
    ("delete `primary.yaml`", "–"): (
        "tests/integration/agent/cluster/test_removal.py"
        "::test_deleted_primary_yaml_changes_nothing_live_and_is_not_written_again"
    ),
    ("push the folder that `gitops-bg adopt NAMESPACE/DEPLOYMENT` wrote", "a Deployment and its Services serve"): (
        "tests/integration/cli/operate/test_adopt.py::test_a_live_app_becomes_a_folder_and_the_agent_takes_it_over"
    ),
    ("`gitops-bg release APP`", "the app was adopted, and the Deployment is there"): (
        "tests/integration/cli/operate/test_adopt.py::test_a_live_app_is_given_back_and_adopted_anew_by_a_revert"
    ),
    ("push what `gitops-bg move shop/web shop/storefront` wrote", "the app serves"): (
        "tests/integration/cli/operate/test_move.py::test_the_folder_gets_another_name_and_the_agent_takes_over"
    ),
    ("rename the app's folder by hand", "–"): (
        "tests/integration/traffic/test_moving.py"
        "::test_a_folder_that_is_renamed_without_a_word_changes_nothing_and_says_so"
    ),
    ("delete the app's folder", "`deletionPolicy: keep`"): (
        "tests/integration/agent/cluster/test_removal.py"
        "::test_folder_that_leaves_main_without_a_policy_keeps_serving_and_says_so"
    ),
    ("delete the app's folder", "`deletionPolicy: delete` in an earlier commit"): (
        "tests/integration/agent/cluster/test_removal.py"
        "::test_folder_that_leaves_with_deletion_policy_delete_takes_everything_along"
    ),
    ("delete the app's folder", "`deletionPolicy: orphan` in an earlier commit"): (
        "tests/integration/agent/cluster/test_removal.py::test_orphans_stay_when_what_the_app_owned_is_collected"
    ),
    ("delete the app's folder", "`deletionPolicy: revertToTarget` in an earlier commit"): (
        "tests/integration/agent/cluster/test_adoption.py"
        "::test_revert_to_target_gives_each_endpoint_back_and_leaves_the_budget"
    ),
    ("`kubectl delete bgd`, with any `--cascade`", "–"): (
        "tests/integration/agent/cluster/test_deleted_object.py"
        "::test_deletion_by_hand_is_no_outage_no_entry_and_no_new_number"
    ),
    ("lose the cluster", "–"): (
        "tests/integration/agent/cluster/test_rebuilt_cluster.py::test_holds_and_numbers_are_restored"
    ),
    ("restore etcd from an earlier backup", "–"): (
        "tests/integration/agent/cluster/test_restored_cluster.py"
        "::test_the_agent_follows_main_again_after_a_restore_and_the_ledger_misses_no_switch"
    ),
    ("break a file", "–"): (
        "tests/integration/agent/desired/test_bad_input.py"
        "::test_target_that_breaks_leaves_the_live_version_and_its_size_alone"
    ),
    ("`git revert COMMIT`, also with `--reference`", "`This reverts commit 9be1….`, in full or abbreviated"): (
        "tests/integration/agent/desired/test_reverts.py"
        "::test_revert_of_the_target_of_the_active_version_switches_now_and_commits_afterwards"
    ),
    ("`git revert -m 1 MERGE`", "the same, of the merge"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    ("`git revert A..B`", "one commit for each"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    ("`git revert --no-commit A B`", "one message with a line for each, or `This reverts commits A and B`"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    ("GitHub's Revert button, merged", "the same, in the commit of the branch"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    (
        "GitHub's Revert button, squash-merged",
        '`Reverts org/repo#12`, or only the title `Revert "web 1.1.0 (#12)" (#13)`',
    ): (
        "tests/integration/agent/desired/test_reverts_as_people_make_them.py"
        "::test_squashed_revert_of_a_request_with_an_old_date_goes_back_at_once"
    ),
    ("GitLab's button", "`This reverts merge request !12` or `This reverts commit …`"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    ("Gitea's button", "`revert 9be1…` as subject, in full"): (
        "tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"
    ),
    (
        "a message of your own",
        "any of these at the start of a line; or the trailer `Bg-Rollback-To:` with the commit of the bad version",
    ): ("tests/integration/agent/desired/test_provenance.py::test_a_target_takes_back"),
}
"""By the first and the second column of the row (the first of the row above, where it is empty): a test's node id."""
