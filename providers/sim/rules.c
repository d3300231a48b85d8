/*
 * rules.c - what the simulated cloud is short of, and when it errs.
 *
 * Two sources, one meaning: the provider's options, and the "faults" of the
 * state file, which a person or a test may edit while the daemon runs:
 *   {"stockout": ["t4", "k80@us-b"], "quota": {"machines": 3, "T4": 1},
 *    "down": true, "auth": true, "throttle": true, "lost_reply": 1, "fail": 2,
 *    "kill": ["sim-3f2a-7"], "hidden": ["sim-3f2a-8"], "maintenance": ["t4"]}
 */
#include <stdio.h>
#include <string.h>

#include "kit/options.h"
#include "sim.h"

static json_t *faults(const struct op *op)
{
    return json_object_get(op->root, "faults");
}

/* True or a number above zero; absent, null, false and 0 are no fault. */
static bool fault_on(const struct op *op, const char *key)
{
    const json_t *v = json_object_get(faults(op), key);
    return json_is_true(v) || json_integer_value(v) > 0;
}

/* The same for some operations only: a list of their names. */
static bool fault_of_op(const struct op *op, const char *key)
{
    const json_t *v = json_object_get(faults(op), key), *name;
    size_t i;

    json_array_foreach(v, i, name)
        if (json_is_string(name) &&
            strcmp(json_string_value(name), op->name) == 0)
            return true;
    return fault_on(op, key);
}

/* A fault that holds for the next n times; true: until it is taken out. */
static bool fault_take(struct op *op, const char *key)
{
    int64_t n = field_int(faults(op), key);
    if (json_is_true(json_object_get(faults(op), key)))
        return true;
    if (n <= 0)
        return false;
    json_object_set_new(faults(op), key, json_integer(n - 1));
    op->dirty = true;
    return true;
}

/* ---- before the request is looked at */

static int throttled(struct op *op, int64_t wait_ms)
{
    op->error->retry_after_ms = wait_ms < 1 ? 1 : (uint32_t)wait_ms;
    return kit_error(op->error, DAVIT_THROTTLED, "RateExceeded",
                     "too many calls; again in %u ms (simulated)",
                     op->error->retry_after_ms);
}

static int admit_rate(struct op *op)
{
    struct sim *s = op->sim;
    int64_t wait = 0;
    if (s->throttle_per_minute == 0)
        return DAVIT_OK;
    pthread_mutex_lock(&s->lock);
    if (op->now_ms - s->minute_from_ms >= 60000 ||
        op->now_ms < s->minute_from_ms) {
        s->minute_from_ms = op->now_ms;
        s->minute_calls = 0;
    }
    if (s->minute_calls >= s->throttle_per_minute)
        wait = s->minute_from_ms + 60000 - op->now_ms;
    else
        s->minute_calls++;
    pthread_mutex_unlock(&s->lock);
    return wait > 0 ? throttled(op, wait) : DAVIT_OK;
}

/* A person edits it: what is not understood is an error, never a guess. */
static int faults_check(struct op *op)
{
    static const char *const keys[] = {"stockout", "quota",      "down", "auth",
                                       "throttle", "lost_reply", "fail", "kill",
                                       "hidden",   "maintenance"};
    json_t *f = faults(op), *v;
    const char *key;
    if (!f)
        return DAVIT_OK;
    if (!json_is_object(f))
        return kit_error(op->error, DAVIT_BROKEN, "faults",
                         "%s: faults must be an object", op->sim->path);
    json_object_foreach(f, key, v) {
        size_t i = 0;
        while (i < sizeof keys / sizeof *keys && strcmp(keys[i], key) != 0)
            i++;
        bool list = strcmp(key, "stockout") == 0 || strcmp(key, "kill") == 0 ||
                    strcmp(key, "hidden") == 0 ||
                    strcmp(key, "maintenance") == 0;
        bool map = strcmp(key, "quota") == 0;
        bool ops = strcmp(key, "auth") == 0 || strcmp(key, "down") == 0;
        if (i < sizeof keys / sizeof *keys &&
            (json_is_null(v) || ((list || ops) && json_is_array(v)) ||
             (map && json_is_object(v)) ||
             (!list && !map && (json_is_boolean(v) || json_is_integer(v)))))
            continue;
        return kit_error(
            op->error, DAVIT_BROKEN, "faults",
            "%.80s: faults.%.40s is unknown or of a wrong kind: stockout, kill, "
            "hidden and maintenance are lists, quota is a map, down and auth are true "
            "or lists of operations, throttle, lost_reply, fail are numbers",
            op->sim->path, key);
    }
    return DAVIT_OK;
}

int rules_admit(struct op *op)
{
    struct sim *s = op->sim;
    uint32_t n = atomic_fetch_add(&s->calls, 1) + 1;
    int st = faults_check(op);
    if (st != DAVIT_OK)
        return st;
    if (fault_of_op(op, "down"))
        return kit_error(op->error, DAVIT_RETRY, "ServiceUnavailable",
                         "the simulated cloud is down");
    if (fault_of_op(op, "auth"))
        return kit_error(op->error, DAVIT_AUTH, "AccessDenied",
                         "the simulated cloud refuses these credentials");
    if (fault_on(op, "throttle") ||
        (s->throttle_every > 0 && n % s->throttle_every == 0))
        return throttled(op, s->throttle_rest_ms);
    if (s->error_every > 0 && n % s->error_every == 0)
        return kit_error(op->error, (enum davit_status)s->error_as, "Simulated",
                         "every %u. call fails (simulated)", s->error_every);
    return admit_rate(op);
}

/* ---- stock */

static bool names_offer(const char *name, const char *type, const char *zone)
{
    const char *at = strchr(name, '@');
    size_t len = at ? (size_t)(at - name) : strlen(name);
    return strncmp(name, type, len) == 0 && type[len] == '\0' &&
           (!at || strcmp(at + 1, zone) == 0);
}

/* Since when, and how often, it was asked for: in the file, so that a restart
 * of the daemon does not refill the shelves. */
static bool dry_now(struct op *op, const struct dry *d)
{
    char key[128];
    json_t *all = json_object_get(op->root, "attempts");
    if (d->kind == DRY_ALWAYS)
        return true;
    snprintf(key, sizeof key, "%s@%s", d->type, d->zone);
    json_t *a = json_object_get(all, key);
    if (!a) {
        a = json_pack("{s:I, s:i}", "since_ms", (json_int_t)op->now_ms, "n", 0);
        json_object_set_new(all, key, a);
    }
    op->dirty = true;
    int64_t n = field_int(a, "n") + 1;
    json_object_set_new(a, "n", json_integer(n));
    return d->kind == DRY_TIMES
               ? n <= d->value
               : op->now_ms - field_int(a, "since_ms") < d->value;
}

int rules_stock(struct op *op, const char *type, const char *zone)
{
    const struct sim *s = op->sim;
    bool dry = false;
    size_t i;
    json_t *v;
    if (rules_maintained(op, type, zone))
        return kit_error(op->error, DAVIT_STOCKOUT, "Maintenance",
                         "%s%s%s is " SIM_MAINTAINED, type,
                         zone[0] != '\0' ? " in " : "", zone);
    for (size_t k = 0; k < s->n_dry; k++) {
        const struct dry *d = &s->dry[k];
        if (strcmp(d->type, type) == 0 &&
            (d->zone[0] == '\0' || strcmp(d->zone, zone) == 0) &&
            dry_now(op, d))
            dry = true;
    }
    json_array_foreach(json_object_get(faults(op), "stockout"), i, v)
        if (json_is_string(v) && names_offer(json_string_value(v), type, zone))
            dry = true;
    if (!dry)
        return DAVIT_OK;
    return kit_error(op->error, DAVIT_STOCKOUT, "ZoneResourcesExhausted",
                     "%s is out of stock%s%s (simulated)", type,
                     zone[0] != '\0' ? " in " : "", zone);
}

bool rules_maintained(const struct op *op, const char *type, const char *zone)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(faults(op), "maintenance"), i, v)
        if (json_is_string(v) && names_offer(json_string_value(v), type, zone))
            return true;
    return false;
}

/* ---- quota */

struct used {
    uint32_t machines, gpus, of_type, gpus_of_accel;
};

static struct used count_used(const struct op *op, const struct sim_type *t)
{
    struct used u = {0};
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(op->root, "machines"), i, m) {
        enum life life = machine_life(m, op->now_ms);
        if (life == LIFE_GONE || life == LIFE_FAILED)
            continue;
        uint32_t gpus = (uint32_t)field_int(m, "gpus");
        u.machines++;
        u.gpus += gpus;
        if (strcmp(field_text(m, "type"), t->name) == 0)
            u.of_type++;
        if (t->accelerator[0] != '\0' &&
            strcmp(field_text(m, "accelerator"), t->accelerator) == 0)
            u.gpus_of_accel += gpus;
    }
    return u;
}

static uint32_t fits(uint32_t max, uint32_t used, uint32_t each)
{
    if (each == 0)
        return UINT32_MAX;
    return max > used ? (max - used) / each : 0;
}

static uint32_t cap_room(const char *what, uint32_t max,
                         const struct sim_type *t, const struct used *u)
{
    if (strcmp(what, "machines") == 0)
        return fits(max, u->machines, 1);
    if (strcmp(what, "gpus") == 0)
        return fits(max, u->gpus, t->gpus);
    if (strcmp(what, t->name) == 0)
        return fits(max, u->of_type, 1);
    if (t->accelerator[0] != '\0' && strcmp(what, t->accelerator) == 0)
        return fits(max, u->gpus_of_accel, t->gpus);
    return UINT32_MAX;
}

static void cap_apply(uint32_t *room, const char *what, uint32_t max,
                      const struct sim_type *t, const struct used *u, char *why,
                      size_t size)
{
    uint32_t r = cap_room(what, max, t, u);
    if (r >= *room)
        return;
    *room = r;
    snprintf(why, size, "the quota of %u %s is used up", max, what);
}

uint32_t rules_room(struct op *op, const struct sim_type *t, uint32_t want,
                    char *ret_why, size_t size)
{
    const struct sim *s = op->sim;
    const struct used u = count_used(op, t);
    const char *what;
    json_t *v;
    uint32_t room = want;
    ret_why[0] = '\0';
    for (size_t i = 0; i < s->n_caps; i++)
        cap_apply(&room, s->caps[i].what, s->caps[i].max, t, &u, ret_why, size);
    json_object_foreach(json_object_get(faults(op), "quota"), what, v)
        if (json_is_integer(v) && json_integer_value(v) >= 0 &&
            json_integer_value(v) <= UINT32_MAX)
            cap_apply(&room, what, (uint32_t)json_integer_value(v), t, &u,
                      ret_why, size);
    return room;
}

/* ---- chance, the same on every run: splitmix64 of seed and number */

static uint64_t chance(const struct sim *s, uint32_t nth, uint64_t salt)
{
    uint64_t z = ((uint64_t)s->seed << 32 | nth) + salt +
                 UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool nth_has(const struct nth *list, uint32_t nth)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == nth)
            return true;
    return false;
}

bool rules_boot_fails(struct op *op, uint32_t nth)
{
    const struct sim *s = op->sim;
    return nth_has(&s->fail_nth, nth) || fault_take(op, "fail") ||
           (double)(chance(s, nth, 7) >> 11) < s->fail_rate * 0x1p53;
}

bool rules_reply_lost(struct op *op, uint32_t nth_launch)
{
    return nth_has(&op->sim->lost_nth, nth_launch) ||
           fault_take(op, "lost_reply");
}

int64_t rules_boot_ms(const struct sim *s, const struct sim_type *t,
                      uint32_t nth)
{
    uint64_t span = (uint64_t)(t->boot_max_ms - t->boot_min_ms) + 1;
    return t->boot_min_ms + (int64_t)(chance(s, nth, 3) % span);
}

bool rules_hidden(const struct op *op, const char *id)
{
    const json_t *hidden = json_object_get(faults(op), "hidden"), *v;
    size_t i;

    json_array_foreach(hidden, i, v)
        if (json_is_string(v) && strcmp(json_string_value(v), id) == 0)
            return true;
    return false;
}

void rules_kill(struct op *op)
{
    json_t *kill = json_object_get(faults(op), "kill"), *id, *m;
    size_t i, k;
    if (json_array_size(kill) == 0)
        return;
    json_array_foreach(kill, i, id)
        json_array_foreach(json_object_get(op->root, "machines"), k, m)
            if (json_is_string(id) &&
                strcmp(field_text(m, "id"), json_string_value(id)) == 0)
                json_object_set_new(m, "gone_ms", json_integer(1));
    json_array_clear(kill);
    op->dirty = true;
}
