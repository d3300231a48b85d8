/*
 * test_played_disk.c - the journal on a disk that loses its power or fails, at
 * each change of a small life (tests/played/disk.h): what was acknowledged is
 * there, whole, and nothing else is but the batch that was under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../played/disk.h"
#include "store/journal.h"

#define PATH "/played/davit.db"
enum { BATCHES = 6, SEEDS = 4 };

/* Batch k: request k comes, request k - 2 goes, machine k comes, an event. */
static void batch_write(struct journal *j, struct fleet *f, int k)
{
    char owner[16], old[16];
    struct journal_request r = {.owner = owner, .body = "{\"num_cpus\":1}"};
    struct journal_event e = {.at_ms = k,
                              .kind = "node.ready",
                              .subject = owner,
                              .reason = "",
                              .text = "",
                              .data = ""};

    snprintf(owner, sizeof owner, "owner-%d", k);
    snprintf(old, sizeof old, "owner-%d", k - 2);
    journal_put_request(j, &r, NULL);
    journal_drop_request(j, old, NULL);
    journal_put_machine(j, fleet_add(f, owner, STATE_INTENDED, k), NULL);
    journal_put_event(j, &e, NULL);
}

/* As much of the life as the disk allows; returns the last batch that was
 * acknowledged. */
static int life(void)
{
    struct journal *j;
    struct fleet f;
    int done = 0;

    fleet_init(&f);
    for (int k = 1; k <= BATCHES; k++) {
        if (k % 3 == 1 && journal_open(PATH, "played", &j, NULL) != ST_OK)
            break;
        batch_write(j, &f, k);
        if (journal_commit(j, NULL) == ST_OK)
            done = k;
        if (k % 3 == 0)
            journal_close(j); /* copies the log into the file */
        if (done < k) {       /* it would write all again: act.c */
            if (k % 3)
                journal_close(j);
            break;
        }
    }
    fleet_done(&f);
    return done;
}

/* Which batch the journal ends with; all of it must fit. */
static int step_found(void)
{
    struct journal *j;
    struct journal_request *r;
    struct fleet f;
    struct arena arena = {0};
    struct err err = {0};
    uint32_t n;
    int step;

    if (journal_open(PATH, "played", &j, &err) != ST_OK)
        fail_msg("%s", err.text);
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    step = (int)f.n; /* one machine a batch */
    assert_int_equal(journal_next_event(j), step + 1);
    assert_int_equal(journal_load_requests(j, &arena, &r, &n, NULL), ST_OK);
    assert_int_equal(n, step < 2 ? step : 2);
    fleet_done(&f);
    arena_done(&arena);
    journal_close(j);
    return step;
}

static void one_fault(uint64_t change, enum disk_fault fault, uint64_t seed)
{
    struct disk *d = disk_new("played");
    int done, found;

    disk_fault_at(d, change, fault);
    done = life();
    if (fault == DISK_DIES)
        assert_true(disk_is_dead(d));
    disk_power_loss(d, seed);
    disk_power_on(d);
    found = step_found();
    if (found < done || found > done + 1)
        fail_msg("change %u, fault %d, seed %u: batch %d was acknowledged, the "
                 "journal ends with %d",
                 (unsigned)change, (int)fault, (unsigned)seed, done, found);
    disk_free(d);
}

static uint64_t life_changes(void)
{
    struct disk *d = disk_new("played");
    uint64_t n;

    assert_int_equal(life(), BATCHES);
    n = disk_changes(d);
    disk_free(d);
    print_message("a life of %u changes\n", (unsigned)n);
    assert_true(n > 20);
    return n;
}

static void test_power_loss(void **state)
{
    uint64_t n = life_changes();

    (void)state;
    for (uint64_t i = 1; i <= n; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            one_fault(i, DISK_DIES, seed * 0x9e3779b97f4a7c15u);
}

static void test_failure(void **state)
{
    uint64_t n = life_changes();

    (void)state;
    for (uint64_t i = 1; i <= n; i++)
        one_fault(i, DISK_FAILS, 0);
}

static void test_full_and_readonly(void **state)
{
    struct disk *d = disk_new("played");
    struct journal *j, *other;
    struct fleet f;
    struct err err;

    (void)state;
    fleet_init(&f);
    assert_int_equal(journal_open(PATH, "played", &j, NULL), ST_OK);
    assert_int_equal(journal_open(PATH, "played", &other, &err), ST_RETRY);
    assert_non_null(strstr(err.text, "another davit uses it already"));
    for (int k = 1; k <= 4; k++) {
        bool full = k == 2, readonly = k == 3;

        disk_full(d, full);
        disk_readonly(d, readonly);
        batch_write(j, &f, k);
        assert_int_equal(journal_commit(j, &err),
                         full || readonly ? ST_RETRY : ST_OK);
        if (full)
            assert_non_null(strstr(err.text, "no space left"));
    }
    journal_close(j);
    fleet_done(&f);
    disk_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_loss),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_full_and_readonly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
