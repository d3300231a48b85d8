/*
 * copy.c - the journal's copy in the cluster: what is written to it, and when.
 *
 * Writes run one at a time on a worker; the control thread holds back what is
 * not in the copy yet (send.c).
 */
#include "ha.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/digest.h"
#include "../../base/ending.h"
#include "../../base/log.h"
#include "../rare.h"

enum {
    ROWS_AT_ONCE = 4000,
    CHECK_MS = 50000,
    RETRY_MS = 500, /* between failed writes */
    GOODBYE_MS = 2000,
};

struct ha_job {
    struct job job; /* first */
    struct ha *ha;
    struct arena arena;
    struct mirror_row *rows;
    uint32_t n;
    bool check, lacks; /* is it to be looked at the copy; it is not as it was */
    enum status status;
    struct err err;
};

enum status ha_restore(struct ha *h, struct journal *j, struct mailbox *answers,
                       struct err *err)
{
    struct arena arena = {0};
    struct mirror_row *rows;
    uint32_t n = 0;
    enum status s;

    while ((s = h->ops->read(h, &arena, &rows, &n, err)) == ST_RETRY) {
        log_warn("what the last leader knew cannot be read yet: %s", err->text);
        clock_sleep_ms(RETRY_MS); /* the keeper ends us when the lease does */
    }
    if (s == ST_OK)
        s = mirror_restore(j, rows, n, err);
    if (s == ST_OK)
        s = mirror_begin(j, err);
    h->percent = h->ops->percent(h);
    if (s == ST_OK) {
        log_info("%u rows from %s/%s", n, h->space, h->name);
        h->worker = h->ops->workers(h, answers);
    }
    arena_done(&arena);
    return s;
}

static void job_run(struct job *job)
{
    struct ha_job *j = (struct ha_job *)job;

    j->status = j->n ? j->ha->ops->write(j->ha, j->rows, j->n, &j->err) : ST_OK;
    if (j->status == ST_OK && j->check)
        j->status = j->ha->ops->check(j->ha, &j->lacks, &j->err);
}

/* Before somebody is promised something, and now and then. */
static bool check_due(struct ha *h, const struct ha_job *job)
{
    bool due = clock_mono_ms() >= h->check_mono_ms;

    for (uint32_t i = 0; i < job->n && !due; i++)
        due = strcmp(job->rows[i].kind, "request") == 0;
    if (due)
        h->check_mono_ms = clock_mono_ms() + CHECK_MS;
    return due;
}

bool ha_stop(struct ha *h)
{
    ending_waits("the journal's copy in %s/%s", h->space, h->name);
    if (!workers_free(h->worker, GOODBYE_MS))
        return false;
    h->worker = NULL;
    return true;
}

void ha_copy_rest(struct ha *h, struct journal *j)
{
    struct arena arena = {0};
    struct mirror_row *rows;
    uint32_t n = 0;

    ending_waits("the last rows of the journal's copy in %s/%s", h->space,
                 h->name);
    if (mirror_take(j, ROWS_AT_ONCE, &arena, &rows, &n, NULL) == ST_OK && n &&
        h->ops->write(h, rows, n, NULL) == ST_OK)
        mirror_written(j, rows, n, NULL);
    arena_done(&arena);
}

int64_t ha_push(struct ha *h, struct journal *j)
{
    struct ha_job *job;
    struct err err;

    if (h->writing)
        return INT64_MAX;
    if (clock_mono_ms() < h->due_mono_ms)
        return h->due_mono_ms;
    job = MEM_NEW(struct ha_job);
    if (mirror_take(j, RARE(COPY_SMALL) ? 1 : ROWS_AT_ONCE, &job->arena,
                    &job->rows, &job->n, &err) != ST_OK) {
        log_error("%s", err.text);
        job->n = 0;
    }
    job->check = check_due(h, job);
    if (job->n == 0 && !job->check) {
        arena_done(&job->arena);
        free(job);
        return INT64_MAX;
    }
    job->job.run = job_run;
    job->job.mail.kind = HA_MAIL;
    job->ha = h;
    h->writing = true;
    workers_submit(h->worker, &job->job);
    return INT64_MAX;
}

unsigned ha_percent(const struct ha *h)
{
    return h->percent;
}

void ha_pulse(struct ha *h)
{
    atomic_fetch_add(&h->pulse, 1);
}

bool ha_leads(struct ha *h)
{
    return h->ops->leads(h);
}

/* Where somebody changed the copy, nothing is known of what is in it. */
static void good_fold(struct ha *h, struct journal *j, const struct ha_job *job)
{
    mirror_written(j, job->rows, job->n, NULL);
    if (!job->lacks)
        return;
    mirror_all(j, NULL);
    h->lacked = true;
}

bool ha_fold(struct ha *h, struct journal *j, struct mail *mail,
             struct err *err)
{
    struct ha_job *job = (struct ha_job *)mail;
    bool good = !job->job.abandoned && job->status == ST_OK;

    h->writing = false;
    h->percent = h->ops->percent(h);
    if (job->status == ST_CANCELLED)
        h->ops->deposed(h, job->err.text);
    if (good)
        good_fold(h, j, job);
    else
        *err = job->err;
    h->due_mono_ms = good ? 0 : clock_mono_ms() + RETRY_MS;
    arena_done(&job->arena);
    free(job);
    return good;
}

void ha_digest(const struct ha *h, unsigned char *ret, size_t n)
{
    uint64_t x = digest_text(digest_text(DIGEST_SEED, h->space), h->name);

    for (size_t i = 0; i < n; i++)
        ret[i] = (unsigned char)(x >> (8 * i));
}
