/*
 * eks_drive.c - a provider of a configuration file, driven by hand: calls as
 * JSON lines in, their answers as JSON lines out, through the daemon's own call
 * layer and HTTP.
 *
 *   eks_drive CONFIG PROVIDER
 *   {"op": "list" | "offers"}
 *   {"op": "launch", "type": T, "zone": Z, "count": N, "request": R}
 *   {"op": "terminate", "ids": [...]}       all: "ms": the time limit
 *   {"op": "reopen"}                        closes the handle, opens another
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cloud/cloud.h"

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s != NULL ? s : "";
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct call *made(struct provider *p, const json_t *j)
{
    const char *op = text(j, "op");
    struct call *c = call_new(p, strcmp(op, "launch") == 0    ? CALL_LAUNCH
                                 : strcmp(op, "offers") == 0  ? CALL_OFFERS
                                 : strcmp(op, "terminate") == 0
                                     ? CALL_TERMINATE : CALL_LIST, 1);
    if (c->op == CALL_LAUNCH) {
        c->type = arena_strdup(&c->arena, text(j, "type"));
        c->zone = arena_strdup(&c->arena, text(j, "zone"));
        c->request_id = arena_strdup(&c->arena, text(j, "request"));
        c->count = (uint32_t)json_integer_value(json_object_get(j, "count"));
        c->spot = json_is_true(json_object_get(j, "spot"));
    }
    if (c->op == CALL_TERMINATE) {
        const json_t *ids = json_object_get(j, "ids");
        const char **v = ARENA_ARRAY(&c->arena, const char *,
                                     json_array_size(ids) + 1);
        for (size_t i = 0; i < json_array_size(ids); i++)
            v[c->n_ids++] = arena_strdup(
                &c->arena, json_string_value(json_array_get(ids, i)));
        c->ids = v;
    }
    return c;
}

static json_t *told(const struct call *c, double cpu)
{
    static const char *const phases[] = {"starting", "running", "stopping",
                                         "failed"};
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:f, s:I}", "status",
                          status_name(c->status), "code", c->err.code, "text",
                          c->err.text, "retry_after_ms",
                          (json_int_t)c->err.retry_after_ms, "cpu_ms", cpu,
                          "took_ms", (json_int_t)c->took_ms);
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->machines.n; i++) {
        const struct call_machine *m = &c->machines.v[i];
        json_array_append_new(list, json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "id", m->id,
            "request", m->request_id, "type", m->type, "zone", m->zone,
            "address", m->address, "detail", m->detail, "phase",
            phases[m->phase], "failure", status_name(m->failure), "spot",
            (int)m->spot));
    }
    json_object_set_new(o, "machines", list);
    list = json_array();
    for (uint32_t i = 0; i < c->offers.n; i++) {
        json_t *taints = json_object();
        for (uint32_t k = 0; k < c->offers.v[i].n_taints; k++)
            json_object_set_new(taints, c->offers.v[i].taints[k].key,
                                json_string(c->offers.v[i].taints[k].value));
        json_array_append_new(list, json_pack(
            "{s:o, s:s, s:s, s:I, s:b, s:b}", "taints", taints, "type", c->offers.v[i].type, "zone",
            c->offers.v[i].zone, "price",
            (json_int_t)c->offers.v[i].price_micros_hour, "spot",
            (int)c->offers.v[i].spot, "available",
            (int)c->offers.v[i].available));
    }
    json_object_set_new(o, "offers", list);
    json_t *done = json_object();
    for (uint32_t i = 0; c->done != NULL && i < c->n_ids; i++)
        json_object_set_new(done, c->ids[i],
                            json_string(status_name(c->done[i])));
    json_object_set_new(o, "done", done);
    return o;
}

static struct provider *opened(const struct config *conf, const char *name)
{
    struct buf errors;
    struct provider *p = NULL;
    buf_init(&errors, 65536);
    for (uint32_t i = 0; i < conf->n_providers; i++)
        if (strcmp(conf->providers[i].name, name) == 0 &&
            provider_open(conf, &conf->providers[i], &p, &errors) != ST_OK)
            fputs(errors.s, stderr);
    buf_done(&errors);
    return p;
}

static void run(struct workers *w, struct mailbox *box, struct call *c,
                int64_t ms)
{
    double from = cpu_ms();
    struct mail *m = NULL;
    call_submit(w, c, ms);
    while (m == NULL) {
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        workers_check(w, clock_mono_ms());
        m = mailbox_take(box);
    }
    json_t *out = told((struct call *)m, cpu_ms() - from);
    json_dumpf(out, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(out);
    call_free((struct call *)m);
}

int main(int argc, char **argv)
{
    struct config *conf = NULL;
    struct mailbox box;
    struct buf errors;
    buf_init(&errors, 65536);
    if (argc != 3)
        return 2;
    enum status s = config_load(argv[1], &conf, &errors);
    if (s != ST_OK) {
        fputs(errors.s, stderr);
        return 2;
    }
    struct provider *p = opened(conf, argv[2]);
    if (p == NULL)
        return 2;
    mailbox_init(&box, NULL, NULL);
    struct workers *w = workers_new(2, 8, &box);
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, stdin) > 0) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *ms = json_object_get(j, "ms");
        if (strcmp(text(j, "op"), "reopen") == 0) {
            provider_close(p);
            p = opened(conf, argv[2]);
            puts("{}");
            fflush(stdout);
        } else {
            run(w, &box, made(p, j), ms != NULL ? json_integer_value(ms)
                                                : 30000);
        }
        json_decref(j);
    }
    free(line);
    workers_free(w, 5000);
    /* Workers are detached: what libraries keep for a thread is freed as it
     * ends, a moment after it said so; the leak checker is to see it freed. */
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    provider_close(p);
    mailbox_done(&box);
    config_free(conf);
    buf_done(&errors);
    return 0;
}
