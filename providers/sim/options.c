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

struct reading {
    struct sim *sim;
    const struct davit_setup *setup;
    struct davit_error *error;
};

static char *copy(const char *s)
{
    char *c = strdup(s);
    if (c == NULL)
        abort();
    return c;
}

static void *grow(void *v, size_t n, size_t item)
{
    void *more = realloc(v, (n + 1) * item);
    if (more == NULL)
        abort();
    return more;
}

/* ---- node types */

/* "5s" or "20s-40s" (also "20s..40s"). */
static bool boot_parse(const char *text, int64_t *min, int64_t *max)
{
    char from[64];
    const char *dash = strstr(text, "..");
    const char *to = dash != NULL ? dash + 2 : NULL;
    if (dash == NULL && (dash = strchr(text, '-')) != NULL)
        to = dash + 1;
    if (dash == NULL) {
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

static int boot_read(struct reading *r, const struct davit_kv *kv, size_t n,
                     const char *code, int64_t *min, int64_t *max)
{
    const char *v = kit_find(kv, n, "boot");
    if (v == NULL || boot_parse(v, min, max))
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, code,
                     "boot must be a duration such as 5s, or a range such as "
                     "20s-40s, got \"%.60s\"", v);
}

static int dry_add(struct reading *r, const char *code, const char *name,
                   const char *how);

static int type_read(struct reading *r, const struct davit_node_type *t,
                     int64_t boot_min, int64_t boot_max)
{
    struct sim *s = r->sim;
    if (strlen(t->name) > TYPE_NAME_MAX)
        return kit_error(r->error, DAVIT_INVALID, t->name,
                         "the name of a node type has at most %d bytes",
                         TYPE_NAME_MAX);
    s->types = grow(s->types, s->n_types, sizeof *s->types);
    struct sim_type *mine = &s->types[s->n_types++];
    *mine = (struct sim_type){
        .name = copy(t->name), .spot_only = t->spot,
        .boot_min_ms = boot_min, .boot_max_ms = boot_max};
    const char *accel =
        kit_find(t->labels, t->n_labels, "ray.io/accelerator-type");
    mine->accelerator = copy(accel != NULL ? accel : "");
    const char *gpus = kit_find(t->resources, t->n_resources, "GPU");
    if (gpus != NULL)
        mine->gpus = (uint32_t)(strtod(gpus, NULL) + 0.999);
    for (size_t i = 0; i < t->n_zones; i++) {
        mine->zones = grow(mine->zones, i, sizeof *mine->zones);
        mine->zones[mine->n_zones++] = copy(t->zones[i]);
    }
    char code[80];
    snprintf(code, sizeof code, "%s.boot", t->name);
    return boot_read(r, t->options, t->n_options, code, &mine->boot_min_ms,
                     &mine->boot_max_ms);
}

const struct sim_type *rules_type(const struct sim *s, const char *name)
{
    for (size_t i = 0; i < s->n_types; i++)
        if (strcmp(s->types[i].name, name) == 0)
            return &s->types[i];
    return NULL;
}

static int types_read(struct reading *r)
{
    int64_t min = 5000, max = 5000;
    int st = boot_read(r, r->setup->options, r->setup->n_options, "boot", &min,
                       &max);
    for (size_t i = 0; st == DAVIT_OK && i < r->setup->n_types; i++)
        st = type_read(r, r->setup->types[i], min, max);
    for (size_t i = 0; st == DAVIT_OK && i < r->setup->n_types; i++) {
        const struct davit_node_type *t = r->setup->types[i];
        const char *v = kit_find(t->options, t->n_options, "stockout");
        char code[80];
        snprintf(code, sizeof code, "%s.stockout", t->name);
        if (v != NULL)
            st = dry_add(r, code, t->name, v);
    }
    return st;
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
static int dry_add(struct reading *r, const char *code, const char *name,
                   const char *how)
{
    struct sim *s = r->sim;
    struct dry d = {0};
    const char *at = strchr(name, '@');
    size_t len = at != NULL ? (size_t)(at - name) : strlen(name);
    if (strcmp(how, "false") == 0 || strcmp(how, "0") == 0)
        return DAVIT_OK;
    if (len < sizeof d.type)
        memcpy(d.type, name, len);
    if (at != NULL)
        snprintf(d.zone, sizeof d.zone, "%s", at + 1);
    if (rules_type(s, d.type) == NULL)
        return kit_error(r->error, DAVIT_INVALID, code,
                         "stockout names \"%.60s\"; it must be TYPE or "
                         "TYPE@ZONE of a node type of this provider", name);
    if (!dry_how(&d, how))
        return kit_error(r->error, DAVIT_INVALID, code,
                         "a stockout is always, a duration such as 30s, or a "
                         "number of times, got \"%.60s\"", how);
    s->dry = grow(s->dry, s->n_dry, sizeof *s->dry);
    s->dry[s->n_dry++] = d;
    return DAVIT_OK;
}

/* Words between commas and blanks; their number, at most LIST_MAX. */
static size_t words(char *text, char *ret[LIST_MAX])
{
    size_t n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(text, ", \t", &rest); w != NULL && n < LIST_MAX;
         w = strtok_r(NULL, ", \t", &rest))
        ret[n++] = w;
    return n;
}

static bool all_digits(const char *s)
{
    return s[0] != '\0' && strspn(s, "0123456789") == strlen(s);
}

static int dry_list(struct reading *r, const char *code, const char *value)
{
    char *text = copy(value), *names[LIST_MAX];
    size_t n = words(text, names);
    int st = DAVIT_OK;
    for (size_t i = 0; st == DAVIT_OK && i < n; i++)
        st = dry_add(r, code, names[i], "always");
    free(text);
    return st;
}

static int cap_add(struct reading *r, const char *code, const char *what,
                   const char *value)
{
    struct sim *s = r->sim;
    struct cap c;
    bool known = strcmp(what, "machines") == 0 || strcmp(what, "gpus") == 0;
    for (size_t i = 0; i < s->n_types && !known; i++)
        known = strcmp(s->types[i].name, what) == 0 ||
                (s->types[i].accelerator[0] != '\0' &&
                 strcmp(s->types[i].accelerator, what) == 0);
    if (!known || strlen(what) >= sizeof c.what)
        return kit_error(r->error, DAVIT_INVALID, code,
                         "quota names \"%.60s\"; it must be machines, gpus, a "
                         "node type or an accelerator of this provider", what);
    snprintf(c.what, sizeof c.what, "%s", what);
    if (!kit_number(value, 1000000, &c.max))
        return kit_error(r->error, DAVIT_INVALID, code,
                         "a quota is a whole number from 0 to 1000000, got "
                         "\"%.60s\"", value);
    s->caps = grow(s->caps, s->n_caps, sizeof *s->caps);
    s->caps[s->n_caps++] = c;
    return DAVIT_OK;
}

static int shortage_read(struct reading *r, const struct davit_kv *o)
{
    if (strcmp(o->key, "stockout") == 0)
        return dry_list(r, o->key, o->value);
    if (strncmp(o->key, "stockout.", 9) == 0)
        return all_digits(o->key + 9) ? dry_list(r, o->key, o->value)
                                      : dry_add(r, o->key, o->key + 9,
                                                o->value);
    if (strcmp(o->key, "quota") == 0)
        return cap_add(r, o->key, "machines", o->value);
    if (strncmp(o->key, "quota.", 6) == 0)
        return cap_add(r, o->key, o->key + 6, o->value);
    return DAVIT_OK;
}

/* ---- when it errs */

static int nth_read(struct reading *r, const char *key, struct nth *ret)
{
    const struct davit_setup *u = r->setup;
    size_t len = strlen(key);
    for (size_t i = 0; i < u->n_options; i++) {
        const struct davit_kv *o = &u->options[i];
        if (strncmp(o->key, key, len) != 0 ||
            (o->key[len] != '\0' &&
             !(o->key[len] == '.' && all_digits(o->key + len + 1))))
            continue;
        char *text = copy(o->value), *w[LIST_MAX];
        size_t n = words(text, w);
        bool good = true;
        for (size_t k = 0; k < n && good; k++)
            good = ret->n < NTH_MAX &&
                   kit_number(w[k], 1000000000, &ret->v[ret->n++]);
        free(text);
        if (!good)
            return kit_error(r->error, DAVIT_INVALID, o->key,
                             "%s must be up to %d whole numbers such as 1, 3, "
                             "got \"%.60s\"", key, NTH_MAX, o->value);
    }
    return DAVIT_OK;
}

static int status_read(struct reading *r, const char *key, uint32_t *ret)
{
#define NAMED(name, value, text) {#name, value},
    static const struct { const char *name; uint32_t value; } all[] = {
        DAVIT_STATUS_MAP(NAMED)};
#undef NAMED
    const char *v = kit_find(r->setup->options, r->setup->n_options, key);
    if (v == NULL)
        return DAVIT_OK;
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (strcasecmp(all[i].name, v) == 0) {
            *ret = all[i].value;
            return DAVIT_OK;
        }
    return kit_error(r->error, DAVIT_INVALID, key,
                     "%s must be RETRY, THROTTLED, STOCKOUT, QUOTA, AUTH, "
                     "INVALID, BROKEN ..., got \"%.40s\"", key, v);
}

static int flag_read(struct reading *r, const char *key, bool *ret)
{
    const char *v = kit_find(r->setup->options, r->setup->n_options, key);
    if (v == NULL)
        return DAVIT_OK;
    *ret = strcmp(v, "true") == 0;
    if (*ret || strcmp(v, "false") == 0)
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, key,
                     "%s is true or false, got \"%.40s\"", key, v);
}

static int rate_read(struct reading *r, const char *key, double *ret)
{
    const char *v = kit_find(r->setup->options, r->setup->n_options, key);
    char *end;
    if (v == NULL)
        return DAVIT_OK;
    double d = strtod(v, &end);
    if (!isdigit((unsigned char)v[0]) || *end != '\0' || !(d >= 0 && d <= 1))
        return kit_error(r->error, DAVIT_INVALID, key,
                         "%s is a share from 0 to 1, got \"%.40s\"", key, v);
    *ret = d;
    return DAVIT_OK;
}

static int errors_read(struct reading *r)
{
    struct sim *s = r->sim;
    const struct davit_kv *kv = r->setup->options;
    size_t n = r->setup->n_options;
    struct davit_error *e = r->error;
    int st = kit_number_option(kv, n, "throttle", UINT32_MAX,
                               &s->throttle_every, e);
    if (st == DAVIT_OK)
        st = kit_number_option(kv, n, "throttle.every", UINT32_MAX,
                               &s->throttle_every, e);
    if (st == DAVIT_OK)
        st = kit_number_option(kv, n, "throttle.per_minute", UINT32_MAX,
                               &s->throttle_per_minute, e);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "throttle.retry_after",
                                 &s->throttle_rest_ms, e);
    if (st == DAVIT_OK)
        st = kit_number_option(kv, n, "error.every", UINT32_MAX,
                               &s->error_every, e);
    if (st == DAVIT_OK)
        st = kit_number_option(kv, n, "seed", UINT32_MAX, &s->seed, e);
    if (st == DAVIT_OK)
        st = flag_read(r, "all_or_nothing", &s->all_or_nothing);
    if (st == DAVIT_OK)
        st = rate_read(r, "fail", &s->fail_rate);
    if (st == DAVIT_OK)
        st = rate_read(r, "fail.rate", &s->fail_rate);
    if (st == DAVIT_OK)
        st = nth_read(r, "fail.nth", &s->fail_nth);
    if (st == DAVIT_OK)
        st = nth_read(r, "lost_reply", &s->lost_nth);
    if (st == DAVIT_OK)
        st = status_read(r, "fail.as", &s->fail_as);
    if (st == DAVIT_OK)
        st = status_read(r, "error.as", &s->error_as);
    return st;
}

int rules_read(struct sim *s, const struct davit_setup *setup,
               struct davit_error *e)
{
    struct reading r = {s, setup, e};
    const struct davit_kv *kv = setup->options;
    size_t n = setup->n_options;
    s->terminate_ms = 1000;
    s->throttle_rest_ms = 1000;
    s->seed = 1;
    s->fail_as = s->error_as = DAVIT_RETRY;
    int st = kit_duration_option(kv, n, "terminate", &s->terminate_ms, e);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "latency", &s->latency_ms, e);
    if (st == DAVIT_OK && s->latency_ms > 600000)
        st = kit_error(e, DAVIT_INVALID, "latency",
                       "latency must be at most 10m");
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "list_lag", &s->list_lag_ms, e);
    if (st == DAVIT_OK)
        st = types_read(&r);
    for (size_t i = 0; st == DAVIT_OK && i < n; i++)
        st = shortage_read(&r, &kv[i]);
    if (st == DAVIT_OK)
        st = errors_read(&r);
    return st;
}

void rules_free(struct sim *s)
{
    for (size_t i = 0; i < s->n_types; i++) {
        for (size_t z = 0; z < s->types[i].n_zones; z++)
            free(s->types[i].zones[z]);
        free(s->types[i].zones);
        free(s->types[i].name);
        free(s->types[i].accelerator);
    }
    free(s->types);
    free(s->dry);
    free(s->caps);
}
