/*
 * options.c - the sim's configuration, read once by open().
 *
 * Every mistake names its option, so that the daemon can point at the line.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/options.h"
#include "sim.h"

#define LIST_MAX 256
#define TYPE_NAME_MAX 63

/* ---- node types */

/* "5s" or "20s-40s" (also "20s..40s"). */
static bool boot_parse(const char *text, int64_t *min, int64_t *max)
{
    char from[64];
    const char *dash = strstr(text, "..");
    const char *to = dash ? dash + 2 : NULL;
    if (!dash && (dash = strchr(text, '-')))
        to = dash + 1;
    if (!dash) {
        if (!kit_duration(text, min))
            return false;
        *max = *min;
        return true;
    }
    if ((size_t)(dash - text) >= sizeof from)
        return false;
    snprintf(from, sizeof from, "%.*s", (int)(dash - text), text);
    return kit_duration(from, min) && kit_duration(to, max) && *min <= *max;
}

static int boot_take(struct kit_reading *r, const char *rest, const char *v)
{
    struct sim *s = r->into;
    struct sim_type *t = r->into;
    (void)rest;
    if (r->type ? boot_parse(v, &t->boot_min_ms, &t->boot_max_ms)
                : boot_parse(v, &s->boot_min_ms, &s->boot_max_ms))
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, "",
                     "boot must be a duration such as 5s, or a range such as "
                     "20s-40s, got \"%.60s\"",
                     v);
}

/* "key=value:Effect", as in the configuration's own taints: */
static int taint_take(struct kit_reading *r, const char *rest, const char *v)
{
    struct sim_type *t = r->into;
    char *key = kit_keep_text(r->keep, v), *value = strchr(key, '=');
    (void)rest;
    if (!value || !strchr(value, ':'))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a taint is KEY=VALUE:EFFECT, got \"%.60s\"", v);
    *value = '\0';
    t->taints = kit_keep_more(r->keep, t->taints, t->n_taints,
                              sizeof *t->taints);
    t->taints[t->n_taints++] = (struct davit_kv){key, value + 1};
    return DAVIT_OK;
}

static void told_take(struct kit_reading *r, struct davit_kv **all, size_t *n,
                      const char *key, const char *value)
{
    *all = kit_keep_more(r->keep, *all, *n, sizeof **all);
    (*all)[(*n)++] = (struct davit_kv){kit_keep_text(r->keep, key),
                                       kit_keep_text(r->keep, value)};
}

static int gives_take(struct kit_reading *r, const char *rest, const char *v)
{
    struct sim_type *t = r->into;
    told_take(r, &t->gives, &t->n_gives, rest, v);
    return DAVIT_OK;
}

static int labels_take(struct kit_reading *r, const char *rest, const char *v)
{
    struct sim_type *t = r->into;
    told_take(r, &t->labels, &t->n_labels, rest, v);
    return DAVIT_OK;
}

static int type_read(struct sim *s, const struct davit_node_type *t,
                     struct davit_error *e)
{
    struct sim_type *mine = &s->types[s->n_types++];
    const char *accel = kit_find(t->labels, t->n_labels,
                                 "ray.io/accelerator-type");
    const char *gpus = kit_find(t->resources, t->n_resources, "GPU");
    if (strlen(t->name) > TYPE_NAME_MAX)
        return kit_error(e, DAVIT_INVALID, t->name,
                         "the name of a node type has at most %d bytes",
                         TYPE_NAME_MAX);
    *mine = (struct sim_type){
        .sim = s,
        .name = kit_keep_text(&s->keep, t->name),
        .spot_only = t->spot,
        .boot_min_ms = -1,
        .gpus = gpus ? (uint32_t)(strtod(gpus, NULL) + 0.999) : 0,
        .accelerator = kit_keep_text(&s->keep, accel ? accel : ""),
        .zones = kit_keep(&s->keep, (t->n_zones + 1) * sizeof *mine->zones)};
    for (size_t i = 0; i < t->n_zones; i++)
        mine->zones[mine->n_zones++] = kit_keep_text(&s->keep, t->zones[i]);
    return kit_options_read(sim_options, t->options, t->n_options, t, mine,
                            &s->keep, e);
}

const struct sim_type *rules_type(const struct sim *s, const char *name)
{
    for (size_t i = 0; i < s->n_types; i++)
        if (strcmp(s->types[i].name, name) == 0)
            return &s->types[i];
    return NULL;
}

/* ---- what is short */

static bool dry_how(struct dry *d, const char *how)
{
    uint32_t times;
    if (how[0] == '\0' || strcmp(how, "always") == 0 ||
        strcmp(how, "true") == 0) {
        d->kind = DRY_ALWAYS;
        return true;
    }
    if (kit_number(how, 1000000, &times)) {
        d->kind = DRY_TIMES;
        d->value = times;
        return true;
    }
    d->kind = DRY_FOR_MS;
    return kit_duration(how, &d->value);
}

/* name is TYPE or TYPE@ZONE. */
static int dry_add(struct sim *s, const char *name, const char *how,
                   struct davit_error *e)
{
    struct dry d = {0};
    const char *at = strchr(name, '@');
    size_t len = at ? (size_t)(at - name) : strlen(name);
    if (strcmp(how, "false") == 0 || strcmp(how, "0") == 0)
        return DAVIT_OK;
    if (len < sizeof d.type)
        memcpy(d.type, name, len);
    if (at)
        snprintf(d.zone, sizeof d.zone, "%s", at + 1);
    if (!rules_type(s, d.type))
        return kit_error(e, DAVIT_INVALID, "",
                         "stockout names \"%.60s\"; it must be TYPE or "
                         "TYPE@ZONE of a node type of this provider",
                         name);
    if (!dry_how(&d, how))
        return kit_error(e, DAVIT_INVALID, "",
                         "a stockout is always, a duration such as 30s, or a "
                         "number of times, got \"%.60s\"",
                         how);
    s->dry = kit_keep_more(&s->keep, s->dry, s->n_dry, sizeof *s->dry);
    s->dry[s->n_dry++] = d;
    return DAVIT_OK;
}

/* Words between commas and blanks; their number, at most LIST_MAX. */
static size_t words(char *text, char *ret[LIST_MAX])
{
    size_t n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(text, ", \t", &rest); w && n < LIST_MAX;
         w = strtok_r(NULL, ", \t", &rest))
        ret[n++] = w;
    return n;
}

static bool all_digits(const char *s)
{
    return s[0] != '\0' && strspn(s, "0123456789") == strlen(s);
}

static int stockout_map_take(struct kit_reading *r, const char *rest,
                             const char *value)
{
    return all_digits(rest) ? DAVIT_OK /* of a list */
                            : dry_add(r->into, rest, value, r->error);
}

/* A list of names; of a type: how that one is short. */
static int stockout_take(struct kit_reading *r, const char *rest,
                         const char *value)
{
    struct sim *s = r->into;
    char *names[LIST_MAX];
    if (r->type)
        return dry_add(((struct sim_type *)r->into)->sim, r->type->name, value,
                       r->error);
    (void)rest;
    size_t n = words(kit_keep_text(r->keep, value), names);
    int st = DAVIT_OK;
    for (size_t i = 0; st == DAVIT_OK && i < n; i++)
        st = dry_add(s, names[i], "always", r->error);
    return st;
}

/* Of the machines, or of a map one: of what. */
static int quota_take(struct kit_reading *r, const char *rest,
                      const char *value)
{
    struct sim *s = r->into;
    const char *what = rest[0] != '\0' ? rest : "machines";
    struct cap c;
    bool known = strcmp(what, "machines") == 0 || strcmp(what, "gpus") == 0;
    for (size_t i = 0; i < s->n_types && !known; i++)
        known = strcmp(s->types[i].name, what) == 0 ||
                (s->types[i].accelerator[0] != '\0' &&
                 strcmp(s->types[i].accelerator, what) == 0);
    if (!known || strlen(what) >= sizeof c.what)
        return kit_error(r->error, DAVIT_INVALID, "",
                         "quota names \"%.60s\"; it must be machines, gpus, a "
                         "node type or an accelerator of this provider",
                         what);
    snprintf(c.what, sizeof c.what, "%s", what);
    if (!kit_number(value, 1000000, &c.max))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "a quota is a whole number from 0 to 1000000, got "
                         "\"%.60s\"",
                         value);
    s->caps = kit_keep_more(&s->keep, s->caps, s->n_caps, sizeof *s->caps);
    s->caps[s->n_caps++] = c;
    return DAVIT_OK;
}

/* ---- when it errs */

static int nth_take(struct kit_reading *r, struct nth *ret, const char *key,
                    const char *value)
{
    char *w[LIST_MAX];
    size_t n = words(kit_keep_text(r->keep, value), w);
    bool good = true;
    for (size_t k = 0; k < n && good; k++)
        good = ret->n < NTH_MAX &&
               kit_number(w[k], 1000000000, &ret->v[ret->n++]);
    return good ? DAVIT_OK
                : kit_error(r->error, DAVIT_INVALID, "",
                            "%s must be up to %d whole numbers such as 1, 3, "
                            "got \"%.60s\"",
                            key, NTH_MAX, value);
}

static int fail_nth_take(struct kit_reading *r, const char *rest,
                         const char *value)
{
    (void)rest;
    return nth_take(r, &((struct sim *)r->into)->fail_nth, "fail.nth", value);
}

static int lost_nth_take(struct kit_reading *r, const char *rest,
                         const char *value)
{
    (void)rest;
    return nth_take(r, &((struct sim *)r->into)->lost_nth, "lost_reply", value);
}

static int rate_take(struct kit_reading *r, const char *rest, const char *v)
{
    char *end;
    double d = strtod(v, &end);
    (void)rest;
    if (!isdigit((unsigned char)v[0]) || *end != '\0' || !(d >= 0 && d <= 1))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "fail is a share from 0 to 1, got \"%.40s\"", v);
    ((struct sim *)r->into)->fail_rate = d;
    return DAVIT_OK;
}

/* ---- the table */

#define NAMED(name, value, text) "|" #name
#define AT(field) KIT_AT(struct sim, field)
#define STATUS(field) \
    KIT_CHOICE, AT(field), .min = DAVIT_RETRY, .fallback = "RETRY", \
                           .allowed = &(DAVIT_STATUS_MAP(NAMED))[1]
const struct kit_option sim_options[] = {
    {"state", "the file that is the cloud", KIT_TEXT, AT(path),
     .fallback = "davit-sim.json"},
    {"boot", "how long a machine boots: 5s, or a range 20s-40s", KIT_READ,
     .read = boot_take, .fallback = "5s"},
    {"terminate", "how long a machine takes to end", KIT_DURATION,
     AT(terminate_ms), .fallback = "1s"},
    {"latency", "how long each API call takes", KIT_DURATION, AT(latency_ms),
     .fallback = "0", .max = 600000},
    {"list_lag", "how long before a new machine is listed", KIT_DURATION,
     AT(list_lag_ms), .fallback = "0"},
    {"stockout", "types that cannot be had: a list of TYPE or TYPE@ZONE",
     KIT_READ, .read = stockout_take},
    {"stockout.*",
     "the same as a map: to 30s (since first asked), 2 (times) or always",
     KIT_READ, .read = stockout_map_take},
    {"quota", "at most so many machines", KIT_READ, .read = quota_take},
    {"quota.*", "the same for machines, gpus, a node type or an accelerator",
     KIT_READ, .read = quota_take},
    {"all_or_nothing", "true: a launch over quota gives none; false: some",
     KIT_FLAG, AT(all_or_nothing), .fallback = "false"},
    {"throttle", "every n-th call is turned away", KIT_NUMBER,
     AT(throttle_every)},
    {"throttle.every", "the same", KIT_NUMBER, AT(throttle_every)},
    {"throttle.per_minute", "at most so many calls a minute", KIT_NUMBER,
     AT(throttle_per_minute)},
    {"throttle.retry_after", "the wait it tells", KIT_DURATION,
     AT(throttle_rest_ms), .fallback = "1s"},
    {"fail", "the share of machines that die while booting: 0 to 1", KIT_READ,
     .read = rate_take},
    {"fail.rate", "the same", KIT_READ, .read = rate_take},
    {"fail.nth", "which machines die while booting, counted from 1: 2, 5",
     KIT_READ, .read = fail_nth_take},
    {"fail.as", "what they die of: RETRY, STOCKOUT, INVALID ...",
     STATUS(fail_as)},
    {"lost_reply", "which launches are done but their answer lost: 1, 3",
     KIT_READ, .read = lost_nth_take},
    {"error.every", "every n-th call fails", KIT_NUMBER, AT(error_every)},
    {"error.as", "with what: RETRY, AUTH, BROKEN ...", STATUS(error_as)},
    {"seed", "of whatever is random: boot times, failures", KIT_NUMBER,
     AT(seed), .fallback = "1"},
    {"types.boot", "how long machines of this type boot", KIT_READ,
     .read = boot_take},
    {"types.taints",
     "taints of its machines, as offers tell: a list of KEY=VALUE:EFFECT",
     KIT_READ, .read = taint_take},
    {"types.labels.*",
     "labels of its machines, as offers tell: labels: {team: ml}", KIT_READ,
     .read = labels_take},
    {"types.gives.*",
     "what its machines have, as offers tell: gives: {CPU: 3.92}", KIT_READ,
     .read = gives_take},
    {"types.stockout", "this type cannot be had: always, 30s or 2 (times)",
     KIT_READ, .read = stockout_take},
    {0}};

/* Types first: options name them. */
int rules_read(struct sim *s, const struct davit_setup *setup,
               struct davit_error *e)
{
    int st = DAVIT_OK;
    s->types = kit_keep(&s->keep, (setup->n_types + 1) * sizeof *s->types);
    for (size_t i = 0; st == DAVIT_OK && i < setup->n_types; i++)
        st = type_read(s, setup->types[i], e);
    if (st == DAVIT_OK)
        st = kit_options_read(sim_options, setup->options, setup->n_options,
                              NULL, s, &s->keep, e);
    for (size_t i = 0; i < s->n_types; i++)
        if (s->types[i].boot_min_ms < 0) {
            s->types[i].boot_min_ms = s->boot_min_ms;
            s->types[i].boot_max_ms = s->boot_max_ms;
        }
    return st;
}
