/*
 * json.c - see json.h.
 */
#include "json.h"

static json_t *seconds(int64_t ms)
{
    return json_real((double)ms / 1000);
}

static json_t *dollars(int64_t micros)
{
    return json_real((double)micros / 1e6);
}

static json_t *waits(int64_t p50, int64_t p95, int64_t worst)
{
    return json_pack("{s:o,s:o,s:o}", "p50", seconds(p50), "p95", seconds(p95),
                     "worst", seconds(worst));
}

static const char *market(const struct out_offer *o)
{
    return o->spot ? "spot" : "on-demand";
}

static json_t *offers(const struct outcome *o)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < o->n_offers; i++) {
        const struct out_offer *x = &o->offers[i];

        json_array_append_new(
            list, json_pack("{s:s,s:s,s:s,s:o,s:b,s:o,s:i,s:i,s:o,s:o}", "type",
                            x->type, "zone", x->zone, "market", market(x),
                            "price_per_hour", dollars(x->price_micros_hour),
                            "price_estimated", x->estimated, "boot_s",
                            seconds(x->boot_ms), "launches", (int)x->launched,
                            "ends", (int)x->ended, "machine_hours",
                            json_real((double)x->machine_ms / 3.6e6), "cost",
                            dollars(x->cost_micros)));
    }
    return list;
}

static json_t *machine_list(const struct outcome *o)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < o->launched; i++) {
        const struct out_machine *x = &o->machines[i];

        json_array_append_new(
            list,
            json_pack("{s:i,s:o,s:o}", "offer", (int)x->offer, "launched_s",
                      seconds(x->launched_ms), "ended_s",
                      x->ended_ms < 0 ? json_null() : seconds(x->ended_ms)));
    }
    return list;
}

static json_t *owners(const struct outcome *o)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < o->n_owners; i++) {
        const struct out_owner *x = &o->owners[i];

        json_array_append_new(
            list,
            json_pack("{s:s,s:I,s:I,s:o,s:o}", "owner", x->name, "tasks",
                      (json_int_t)x->tasks, "done", (json_int_t)x->done, "cost",
                      dollars(x->cost_micros), "wait_s",
                      waits(x->wait_p50_ms, x->wait_p95_ms, x->wait_worst_ms)));
    }
    return list;
}

/* Machines by type, all zones and markets together. */
static json_t *machines(const struct outcome *o, const struct out_sample *s)
{
    json_t *v = json_object();

    for (uint32_t i = 0; i < o->n_offers; i++) {
        const char *type = o->offers[i].type;
        json_int_t n = json_integer_value(json_object_get(v, type));

        json_object_set_new(v, type, json_integer(n + s->machines[i]));
    }
    return v;
}

static json_t *samples(const struct outcome *o)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < o->n_samples; i++) {
        const struct out_sample *s = &o->samples[i];

        json_array_append_new(
            list, json_pack("{s:o,s:o,s:i,s:i,s:o}", "at_s", seconds(s->at_ms),
                            "machines", machines(o, s), "waiting",
                            (int)s->waiting, "running", (int)s->running, "cost",
                            dollars(s->cost_micros)));
    }
    return list;
}

static json_t *sets(const struct setting *s)
{
    json_t *v = json_object();

    for (uint32_t i = 0; i < s->n_sets; i++)
        json_object_set_new(v, s->sets[i].path, json_string(s->sets[i].value));
    return v;
}

static json_t *use(double x)
{
    return x < 0 ? json_null() : json_real(x);
}

json_t *outcome_json(const struct setting *s, const struct outcome *o)
{
    json_t *v = json_pack(
        "{s:s,s:s,s:o,s:o,s:o,s:o,s:o}", "config", s->config_path, "label",
        s->label, "set", sets(s), "cost", dollars(o->cost_micros),
        "cost_of_owners", dollars(o->shared_micros), "lasted_s",
        seconds(o->lasted_ms), "wait_s",
        waits(o->wait_p50_ms, o->wait_p95_ms, o->wait_worst_ms));
    json_t *more = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o}", "faults",
        (json_int_t)o->faults, "tasks", (json_int_t)o->tasks, "done",
        (json_int_t)o->done, "never_began", (json_int_t)(o->tasks - o->began),
        "begun_again", (json_int_t)o->again, "launches", (int)o->launched,
        "ends", (int)o->ended, "machines_at_most", (int)o->most, "cpu_use",
        use(o->cpu_use), "gpu_use", use(o->gpu_use), "offers", offers(o),
        "machines", machine_list(o), "owners", owners(o), "samples",
        samples(o));

    json_object_update(v, more);
    json_decref(more);
    return v;
}

json_t *trace_json(const struct trace *t)
{
    return json_pack("{s:s,s:s,s:I,s:I,s:i,s:i}", "file", t->path, "kind",
                     t->kind, "jobs", (json_int_t)t->jobs.n, "tasks",
                     (json_int_t)t->tasks, "never_ran", (int)t->never_ran,
                     "cut", (int)t->cut);
}
