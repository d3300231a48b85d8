/*
 * drive.c - a provider of a configuration file, driven by lines of JSON.
 *
 *   drive davit.yaml PROVIDER
 *   {"op": "launch", "type": "t4", "zone": "", "count": 2, "request": "r-1"}
 *   {"op": "list"}  {"op": "terminate", "ids": [...]}  {"op": "offers"}
 *   {"op": "reopen"}   "n": 4: that many at once; "ms": the call's time
 *
 * Opened and called as the daemon does it.  Each answer is one line with the
 * status, the machines, and the CPU time of this process meanwhile.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "cloud/cloud.h"
#include "model/amount.h"

static struct mailbox box;
static struct workers *workers;

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static const char *text(const json_t *j, const char *key, const char *other)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : other;
}

static struct call *call_of(struct provider *p, const json_t *want)
{
    static const char *const names[] = {"list", "launch", "terminate", "offers",
                                        "find"};
    int op = 0;
    while (op < 4 && strcmp(names[op], text(want, "op", "")) != 0)
        op++;
    struct call *c = call_new(p, (enum call_op)op, 1);
    json_t *ids = json_object_get(want, "ids");
    c->type = arena_strdup(&c->arena, text(want, "type", "t4"));
    c->zone = arena_strdup(&c->arena, text(want, "zone", ""));
    c->request_id = arena_strdup(&c->arena, text(want, "request", ""));
    c->join_token = arena_strdup(&c->arena, text(want, "token", ""));
    c->count = (uint32_t)json_integer_value(json_object_get(want, "count"));
    c->spot = json_is_true(json_object_get(want, "spot"));
    c->n_ids = (uint32_t)json_array_size(ids);
    const char **v = ARENA_ARRAY(&c->arena, const char *, c->n_ids + 1);
    for (uint32_t i = 0; i < c->n_ids; i++)
        v[i] = arena_strdup(&c->arena,
                            json_string_value(json_array_get(ids, i)));
    c->ids = v;
    c->consoles = ARENA_ARRAY(&c->arena, bool, c->n_ids + 1);
    for (uint32_t i = 0; i < c->n_ids; i++)
        c->consoles[i] = json_is_true(json_object_get(want, "consoles"));
    return c;
}

static json_t *answer(const struct call *c)
{
    static const char *const phases[] = {"STARTING", "RUNNING", "STOPPING",
                                         "FAILED"};
    json_t *machines = json_array(), *offers = json_array();
    json_t *done = json_object(), *consoles = json_object();
    for (uint32_t i = 0; i < c->machines.n; i++) {
        const struct call_machine *m = &c->machines.v[i];
        json_array_append_new(
            machines,
            json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:b, "
                "s:b, s:s}",
                "id", m->id, "request", m->request_id, "type", m->type, "zone",
                m->zone, "address", m->address, "phase", phases[m->phase],
                "failure", status_name(m->failure), "detail", m->detail, "held",
                m->held, "leaving", m->leaving, "leaves_ms",
                (json_int_t)m->leaves_ms, "spot", (int)m->spot, "queued",
                (int)m->queued, "unit", m->unit));
    }
    for (uint32_t i = 0; i < c->offers.n; i++) {
        const struct call_offer *o = &c->offers.v[i];
        json_t *taints = json_object();
        for (uint32_t k = 0; k < o->taints.n; k++)
            json_object_set_new(
                taints, o->taints.v[k].key,
                json_sprintf("%s:%s", o->taints.v[k].value,
                             effect_name(o->taints.v[k].effect)));
        json_t *labels = json_object();
        for (uint32_t k = 0; k < o->labels.n; k++)
            json_object_set_new(labels, o->labels.v[k].key,
                                json_string(o->labels.v[k].value));
        json_t *has = json_object();
        for (uint32_t k = 0; k < o->resources.n; k++)
            json_object_set_new(
                has, o->resources.v[k].name,
                json_real(amount_to_double(o->resources.v[k].amount)));
        json_t *quotas = json_object();
        for (uint32_t k = 0; k < o->quotas.n; k++)
            json_object_set_new(
                quotas, o->quotas.v[k].name,
                json_pack("[I, I]", (json_int_t)o->quotas.v[k].left,
                          (json_int_t)o->quotas.v[k].each));
        json_array_append_new(
            offers,
            json_pack(
                "{s:o, s:o, s:o, s:o, s:I, s:s, s:s, s:s, s:b, s:b, s:I}",
                "labels", labels, "resources", has, "quotas", quotas, "taints",
                taints, "most",
                o->most == UNLIMITED ? (json_int_t)-1 : (json_int_t)o->most,
                "note", o->note, "type", o->type, "zone", o->zone, "spot",
                (int)o->spot, "available", (int)o->available, "price",
                (json_int_t)o->price_micros_hour));
    }
    for (uint32_t i = 0; c->done && i < c->n_ids; i++)
        json_object_set_new(done, c->ids[i],
                            json_string(status_name(c->done[i])));
    for (uint32_t i = 0; c->console && i < c->n_ids; i++)
        json_object_set_new(consoles, c->ids[i], json_string(c->console[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "status",
        status_name(c->status), "code", c->err.code, "text", c->err.text,
        "retry_after_ms", (json_int_t)c->err.retry_after_ms, "took_ms",
        (json_int_t)c->took_ms, "abandoned", (int)c->job.abandoned, "machines",
        machines, "offers", offers, "done", done, "consoles", consoles);
}

static struct call *take(void)
{
    static struct mail *rest;
    while (!rest) {
        rest = mailbox_take(&box);
        workers_check(workers, clock_mono_ms());
        if (!rest) /* wait: for the answer; who drives this has the patience */
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    struct call *c = (struct call *)rest;
    rest = rest->next;
    return c;
}

static void run(struct provider *p, const json_t *want)
{
    json_int_t n = json_integer_value(json_object_get(want, "n"));
    json_int_t ms = json_integer_value(json_object_get(want, "ms"));
    json_int_t cancel = json_integer_value(json_object_get(want, "cancel_ms"));
    json_t *all = json_array();
    double before = cpu_ms();
    n = n > 0 ? n : 1;
    for (json_int_t i = 0; i < n; i++) {
        struct call *c = call_of(p, want);
        call_submit(workers, c, ms > 0 ? ms : 30000);
        if (cancel > 0) {
            /* wait: the moment is the test's */
            nanosleep(&(struct timespec){.tv_nsec = cancel * 1000000}, NULL);
            atomic_store(&c->cancel, true);
        }
    }
    for (json_int_t i = 0; i < n; i++) {
        struct call *c = take();
        json_t *a = answer(c);
        json_object_set_new(a, "cpu_ms", json_real(cpu_ms() - before));
        json_array_append_new(all, a);
        call_free(c);
    }
    json_dumpf(json_object_get(want, "n") ? all : json_array_get(all, 0),
               stdout, JSON_COMPACT);
    puts("");
    fflush(stdout);
    json_decref(all);
}

static struct provider *open_one(const struct config *c, const char *name)
{
    struct provider *p = NULL;
    struct buf errors;
    buf_init(&errors, 65536);
    for (uint32_t i = 0; i < c->n_providers; i++)
        if (strcmp(c->providers[i].name, name) == 0)
            provider_open(c, &c->providers[i], &p, &errors);
    if (!p)
        fprintf(stderr, "%s", errors.s);
    buf_done(&errors);
    return p;
}

int main(int argc, char **argv)
{
    struct config *c = NULL;
    struct buf errors;
    char *line = NULL;
    size_t size = 0;
    if (argc != 3)
        return 2;
    buf_init(&errors, 65536);
    if (config_load(argv[1], &c, &errors) != ST_OK) {
        fprintf(stderr, "%s", errors.s);
        return 2;
    }
    buf_done(&errors);
    struct provider *p = open_one(c, argv[2]);
    if (!p) {
        config_free(c);
        return 3;
    }
    mailbox_init(&box, NULL, NULL);
    workers = workers_new(4, 8, &box);
    while (getline(&line, &size, stdin) > 0) {
        json_t *want = json_loads(line, 0, NULL);
        if (strcmp(text(want, "op", ""), "reopen") == 0) {
            provider_close(p);
            p = open_one(c, argv[2]);
            puts("{}");
            fflush(stdout);
        } else {
            run(p, want);
        }
        json_decref(want);
    }
    free(line);
    workers_free(workers, 5000); /* what hangs is left */
    provider_close(p);
    mailbox_done(&box);
    config_free(c);
    return 0;
}
