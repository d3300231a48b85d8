/*
 * expected.h - which sequences of bad days today's ledger does not live through.
 *
 * Each is a named test that fails (test_sequences.c), and is known to.  One that
 * begins to pass says so loudly: then its row goes.  At the end there is none.
 */
#ifndef STORM_EXPECTED_H
#define STORM_EXPECTED_H

/*   number of the sequence, name of the test */
#define EXPECTED_TO_FAIL(X) \
    X(1, lost_reply_then_outage) \
    X(1, provider_renamed) \
    X(2, typo_in_max) \
    X(2, typo_in_max_with_ray) \
    X(3, journal_lost) \
    X(4, second_daemon) \
    X(5, taken_back) \
    X(6, slow_end) \
    X(6, no_right_to_end) \
    X(7, lists_lag) \
    X(8, lost_reply) \
    X(9, without_gpu) \
    X(9, never_joins) \
    X(10, type_renamed) \
    X(10, lists_without_end) \
    X(11, asked_for_less) \
    X(12, provider_removed) \
    X(13, one_auth) \
    X(15, end_hangs) \
    X(15, end_without_effect) \
    X(16, another_place) \
    X(16, another_cluster) \
    X(17, below_least_size) \
    X(21, one_bad_list)

#endif
