/*
 * sequences.h - what the named bad days are made of (test_sequences.c), and
 * those that another file has.
 */
#ifndef STORM_SEQUENCES_H
#define STORM_SEQUENCES_H

#include "world.h"

#define HEAD "head: {ray: {address: \"played:6379\"}}\n"
#define CLUSTER "cluster: played\nstate: /a/davit.db\n"
#define T4(provider, max) \
    "node_types:\n  t4: {provider: " provider ", resources: {CPU: 8, GPU: 1}," \
    " accelerator_type: T4, price: 1, max: " max "}\n"
#define ONE_CLOUD "providers: {a: {plugin: played, cloud: a}}\n"
#define GPUS(n) \
    "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": " #n "}]}"

extern struct world the_world;

/* What a sequence found; good until the next call. */
const char *wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The world; what it does is printed when one sequence is named. */
struct world *begin(const struct world_opts *o);
/* A calm one, its first list read. */
struct world *calm(const char *settings, bool head, uint32_t clouds);
void weather(struct world *w, uint32_t cloud, struct cloud_weather now);
uint32_t alive(struct world *w);
struct daemon *first(struct world *w);
/* Does its page show a stop of that kind? */
bool is_stopped(struct world *w, const char *kind);

/* test_edits.c: files that are saved, clocks that are set and journals that are
 * restored while something is not known for sure. */
#define EDITED(X) \
    X(27, price_raised) \
    X(27, price_raised_before_a_restart) \
    X(27, price_raised_and_renamed) \
    X(39, cleared_as_it_stops) \
    X(28, limits_lowered_in_doubt) \
    X(28, budget_lowered_in_doubt) \
    X(28, most_of_all_lowered) \
    X(41, request_stays_on_its_machine) \
    X(41, request_stays_after_a_restart) \
    X(29, providers_swap_names) \
    X(30, types_swap_names) \
    X(31, older_journal) \
    X(32, made_then_renamed) \
    X(32, made_then_renamed_at_a_start) \
    X(32, made_then_retyped) \
    X(32, made_then_retyped_at_a_start) \
    X(32, unseen_then_renamed) \
    X(32, all_renamed) \
    X(33, clock_back_a_day) \
    X(34, taken_back_while_end_hangs) \
    X(35, same_file_saved_for_ever) \
    X(35, limits_saved_for_ever) \
    X(35, most_of_a_type_saved_for_ever) \
    X(36, all_renamed_and_dearer) \
    X(36, all_renamed_and_dearer_at_a_start) \
    X(36, renamed_again_and_dearer) \
    X(36, renamed_again_and_dearer_at_a_start) \
    X(38, unneeded_in_doubt) \
    X(40, price_told_rises)

/* test_late.c: answers that come after the next thing. */
#define LATE(X) \
    X(37, drain_answered_for_another_raylet) \
    X(37, drain_answered_late_takes_no_room) \
    X(61, drain_unanswered_takes_no_room) \
    X(37, slept_over_a_read) \
    X(37, slow_read_of_before) \
    X(37, answer_of_before_an_outage) \
    X(43, displaced_in_an_outage)

/* test_ids.c: lists that lack what their cloud knows by its id. */
#define BY_IDS(X) \
    X(52, wave_by_ids) \
    X(52, broken_list_by_ids) \
    X(52, queued_and_not_needed) \
    X(52, queued_and_needed_again)

/* test_led.c: a leader and its journal's copy in the cluster. */
#define LED(X) \
    X(23, led_consolidation) \
    X(42, led_launch_for_two) \
    X(42, led_launch_while_others_ask) \
    X(42, led_copy_is_full) \
    X(46, led_copy_is_pruned) \
    X(44, led_log_stalls)

/* test_time.c: what takes its time, and the world goes on. */
#define TIMED(X) \
    X(44, sync_stalls_as_it_is_late) \
    X(44, log_stalls_as_it_is_late) \
    X(44, log_stalls_for_long) \
    X(44, sync_stalls_for_long) \
    X(44, answer_after_a_sync_tells_its_plan) \
    X(44, leaves_when_it_is_on_disk) \
    X(44, every_sync_is_slow) \
    X(44, taken_back_as_the_disk_is_slow) \
    X(45, closing_takes_long) \
    X(46, journal_deleted) \
    X(46, journal_deleted_and_nobody_asks) \
    X(46, journal_deleted_and_nothing_runs) \
    X(59, journal_copied) \
    X(59, journal_copied_and_the_copy_buys) \
    X(59, journal_restored_is_no_copy) \
    X(60, clock_back_under_a_ttl) \
    X(60, price_zero_once) \
    X(60, phase_that_there_is_not) \
    X(60, restarts_more_often_than_idle) \
    X(60, boot_that_nobody_saw)
/* test_asked.c: what was known once, and is to be asked again. */
#define ASKED(X) \
    X(54, name_of_two_nodes) \
    X(54, name_of_no_node) \
    X(54, name_of_a_dead_node_alone) \
    X(54, address_vanishes) \
    X(54, another_head) \
    X(54, another_head_at_a_start) \
    X(54, head_begins_anew) \
    X(54, raylets_die_at_once) \
    X(54, raylet_dies) \
    X(63, held_at_a_start) \
    X(63, held_at_a_start_and_a_slip) \
    X(63, head_approved_and_a_slip) \
    X(55, host_given_again) \
    X(55, host_given_again_with_ray) \
    X(55, host_given_again_after_a_death) \
    X(55, host_given_again_while_a_launch_hangs) \
    X(55, host_given_again_before_a_first_end) \
    X(62, ends_among_launches) \
    X(56, head_forgets_idle_drain) \
    X(56, head_forgets_drain) \
    X(56, head_forgets_at_the_last_moment) \
    X(56, head_forgets_and_the_name_vanishes) \
    X(57, failed_once) \
    X(57, failed_once_with_ray) \
    X(57, stopping_once) \
    X(57, stopping_once_with_ray) \
    X(57, failed_and_back) \
    X(57, drops_off_a_list) \
    X(57, drops_off_two_lists) \
    X(57, drops_off_as_it_ends) \
    X(58, other_ids) \
    X(58, other_ids_before_a_list)

/* test_vain.c: what is waited for, or bought, in vain. */
#define VAIN(X) \
    X(50, progress_for_ever) \
    X(50, died_after_join) \
    X(51, touch_file) \
    X(51, limits_touched) \
    X(51, type_mended) \
    X(52, failed_on_a_quiet_cluster) \
    X(53, many_flips) \
    X(53, slow_flips) \
    X(53, flips_of_patient_work) \
    X(53, one_rise)

/* test_kube.c: a Kubernetes cluster. */
#define IN_CLUSTER(X) \
    X(64, dup_provider_id) \
    X(64, node_without_address) \
    X(64, node_object_goes) \
    X(64, another_cluster_answers) \
    X(64, taint_is_taken_off) \
    X(64, drain_goes_on_as_nothing_changes)

/* test_kept.c: what is kept whatever happens. */
#define KEPT(X) \
    X(65, refused_and_kept) \
    X(65, clock_forward_under_a_ttl) \
    X(65, found_machine_costs) \
    X(65, found_machine_is_of_its_type) \
    X(65, estimated_price_counts) \
    X(65, renamed_as_it_ends) \
    X(65, anothers_that_fails) \
    X(65, anothers_that_is_drained) \
    X(65, unanswered_and_not_listed_yet)

#define SEQUENCE_OF_(n, f) const char *f(void);
EDITED(SEQUENCE_OF_)
LATE(SEQUENCE_OF_)
BY_IDS(SEQUENCE_OF_)
LED(SEQUENCE_OF_)
TIMED(SEQUENCE_OF_)
VAIN(SEQUENCE_OF_)
ASKED(SEQUENCE_OF_)
IN_CLUSTER(SEQUENCE_OF_)
KEPT(SEQUENCE_OF_)
#undef SEQUENCE_OF_

#endif
