/*
 * answer.c - the child's JSON, read into the contract's structs.
 *
 * What is wrong is described in terms of the line that the author of the program
 * wrote.  What the contract says about ids, zones and so on is not repeated
 * here: the sink behind put() judges that for every plug-in alike.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec.h"

int status_of(const char *name)
{
#define NAME(word, value, text) \
    if (strcmp(name, #word) == 0) \
        return value;
    DAVIT_STATUS_MAP(NAME)
#undef NAME
    return -1;
}

/* A member that may be missing or null, but not of another kind. */
static const char *text_of(const json_t *o, const char *key, bool *good)
{
    const json_t *v = json_object_get(o, key);

    if (!v || json_is_null(v))
        return "";
    if (!json_is_string(v))
        *good = false;
    return json_is_string(v) ? json_string_value(v) : "";
}

static bool flag_of(const json_t *o, const char *key, bool otherwise,
                    bool *good)
{
    const json_t *v = json_object_get(o, key);

    if (!v || json_is_null(v))
        return otherwise;
    if (!json_is_boolean(v))
        *good = false;
    return json_is_true(v);
}

/* Cut before a character, not in it. */
static void text_cut(char *to, size_t n, const char *from)
{
    size_t len = strlen(from);

    if (len >= n) {
        len = n - 1;
        while (len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(to, from, len);
    to[len] = '\0';
}

bool verdict_read(const json_t *line, struct verdict *v)
{
    const json_t *wait = json_object_get(line, "retry_after_ms");
    const char *name = json_string_value(json_object_get(line, "status"));
    bool good = true;
    const char *code = text_of(line, "code", &good);
    const char *text = text_of(line, "text", &good);
    int status = name ? status_of(name) : -1;

    if (status < 0) {
        verdict_set(v, DAVIT_BROKEN, "BAD_STATUS",
                    "the program answered with the status %s%.40s%s; there are "
                    "OK, RETRY, THROTTLED, STOCKOUT, QUOTA, AUTH, INVALID, "
                    "NOT_FOUND, CANCELLED, UNSUPPORTED and BROKEN",
                    name ? "\"" : "", name ? name : "(none)", name ? "\"" : "");
        return false;
    }
    if (!good || (wait && !json_is_null(wait) &&
                  (!json_is_integer(wait) || json_integer_value(wait) < 0))) {
        verdict_set(v, DAVIT_BROKEN, "BAD_ANSWER",
                    "the program's last line of an answer: code and text must "
                    "be strings, retry_after_ms a whole number");
        return false;
    }
    *v = (struct verdict){.status = status};
    text_cut(v->code, sizeof v->code, code);
    text_cut(v->text, sizeof v->text, text);
    if (wait)
        v->retry_after_ms = json_integer_value(wait) > UINT32_MAX
                                ? UINT32_MAX
                                : (uint32_t)json_integer_value(wait);
    return true;
}

const char *machine_read(const json_t *o, struct davit_machine *m, char *room,
                         size_t n)
{
    static const char *const phases[] = {
        [DAVIT_STARTING] = "starting",
        [DAVIT_RUNNING] = "running",
        [DAVIT_STOPPING] = "stopping",
        [DAVIT_FAILED] = "failed",
    };
    bool good = true;
    const char *phase, *failure, *detail;
    int status;

    *m = (struct davit_machine){.size = sizeof *m};
    m->id = text_of(o, "id", &good);
    m->request_id = text_of(o, "request_id", &good);
    m->offer = text_of(o, "type", &good);
    m->zone = text_of(o, "zone", &good);
    m->address = text_of(o, "address", &good);
    m->spot = flag_of(o, "spot", false, &good);
    m->queued = flag_of(o, "queued", false, &good);
    phase = text_of(o, "phase", &good);
    failure = text_of(o, "failure", &good);
    detail = text_of(o, "detail", &good);
    m->detail = detail[0] != '\0' ? detail : NULL;
    m->held = text_of(o, "held", &good);
    if (!json_is_object(o) || !good)
        return "\"machine\" must be an object with the strings id, request_id, "
               "type, zone, address, phase, failure, detail, held and the "
               "booleans spot and queued";
    while (m->phase <= DAVIT_FAILED && strcmp(phase, phases[m->phase]) != 0)
        m->phase++;
    if (m->phase > DAVIT_FAILED) {
        snprintf(room, n,
                 "machine %.60s is in phase \"%.30s\"; there are starting, "
                 "running, stopping and failed",
                 m->id, phase);
        return room;
    }
    if (m->phase != DAVIT_FAILED)
        return NULL;
    status = failure[0] != '\0' ? status_of(failure) : DAVIT_RETRY;
    if (status <= 0) {
        snprintf(room, n,
                 "machine %.60s failed with \"%.30s\", which is no status such "
                 "as STOCKOUT or RETRY",
                 m->id, failure);
        return room;
    }
    m->failure = (uint32_t)status;
    return NULL;
}

/* A map of texts or numbers. */
static const struct davit_kv *pairs_of(const json_t *o, const char *key,
                                       struct kit_keep *keep, size_t *ret_n,
                                       bool *good)
{
    json_t *map = json_object_get(o, key), *v;
    struct davit_kv *kv = NULL;
    const char *name;

    *ret_n = 0;
    *good = *good && (!map || json_is_null(map) || json_is_object(map));
    json_object_foreach(map, name, v) {
        const char *text = json_string_value(v);

        *good = *good && (text || json_is_number(v));
        if (!text)
            text = kit_keep_print(keep, "%.12g", json_number_value(v));
        kv = kit_keep_more(keep, kv, *ret_n, sizeof *kv);
        kv[(*ret_n)++] = (struct davit_kv){name, text};
    }
    return kv;
}

/* A list of "KEY=VALUE:EFFECT", the value may lack. */
static const struct davit_kv *taints_of(const json_t *o, struct kit_keep *keep,
                                        size_t *ret_n, bool *good)
{
    json_t *list = json_object_get(o, "taints"), *v;
    struct davit_kv *kv = NULL;
    size_t i;

    *ret_n = 0;
    *good = *good && (!list || json_is_null(list) || json_is_array(list));
    json_array_foreach(list, i, v) {
        char *text = kit_keep_text(
            keep, json_is_string(v) ? json_string_value(v) : "");
        char *rest = text + strcspn(text, "=:");

        *good = *good && rest[0] != '\0';
        kv = kit_keep_more(keep, kv, *ret_n, sizeof *kv);
        kv[*ret_n].value = rest[0] == '=' ? rest + 1
                                          : kit_keep_text(keep, rest);
        rest[0] = '\0';
        kv[(*ret_n)++].key = text;
    }
    return kv;
}

/* A count from 0 on; -1: it says none. */
static int64_t count_of(const json_t *o, const char *name, bool *good)
{
    const json_t *v = json_object_get(o, name);
    int64_t n = json_is_integer(v) ? json_integer_value(v) : -1;

    *good = *good && (!v || json_is_null(v) || n >= 0);
    return n < UINT32_MAX ? n : -1;
}

static const struct davit_quota *quotas_of(const json_t *o,
                                           struct kit_keep *keep, size_t *ret_n,
                                           bool *good)
{
    json_t *list = json_object_get(o, "quotas"), *v;
    struct davit_quota *q = NULL;
    size_t i;

    *ret_n = 0;
    *good = *good && (!list || json_is_null(list) || json_is_array(list));
    json_array_foreach(list, i, v) {
        const char *name = json_string_value(json_object_get(v, "name"));
        int64_t left = count_of(v, "left", good);
        int64_t each = count_of(v, "each", good);

        *good = *good && name && left >= 0 && each != 0;
        q = kit_keep_more(keep, q, *ret_n, sizeof *q);
        q[(*ret_n)++] = (struct davit_quota){name, (uint32_t)left,
                                             each < 0 ? 1 : (uint32_t)each};
    }
    return q;
}

const char *offer_read(const json_t *o, struct davit_offer *ret,
                       struct kit_keep *keep, char *room, size_t n)
{
    const json_t *price = json_object_get(o, "price");
    bool good = true, priced = price && !json_is_null(price);
    double dollars = priced ? json_number_value(price) : 0;
    int64_t most;

    *ret = (struct davit_offer){.size = sizeof *ret};
    ret->name = text_of(o, "type", &good);
    ret->zone = text_of(o, "zone", &good);
    ret->spot = flag_of(o, "spot", false, &good);
    ret->available = flag_of(o, "available", true, &good);
    ret->note = text_of(o, "note", &good);
    most = count_of(o, "most", &good);
    ret->most = most > 0 ? (uint32_t)most : 0;
    ret->available = ret->available && most != 0;
    ret->price_micros_hour = -1;
    ret->resources = pairs_of(o, "resources", keep, &ret->n_resources, &good);
    ret->labels = pairs_of(o, "labels", keep, &ret->n_labels, &good);
    ret->taints = taints_of(o, keep, &ret->n_taints, &good);
    ret->quotas = quotas_of(o, keep, &ret->n_quotas, &good);
    if (!json_is_object(o) || !good)
        return "\"offer\" must be an object with the strings type, zone and note, "
               "the number price, most (a whole number from 0 on), the booleans "
               "spot and available, the maps "
               "resources and labels, taints, a list of KEY=VALUE:EFFECT, and "
               "quotas, a list of {name, left, each}";
    if (priced &&
        (!json_is_number(price) || !(dollars >= 0) || dollars > 1e6)) {
        snprintf(room, n,
                 "the offer of %.60s has a price that is not from 0 to 1000000 "
                 "dollars an hour",
                 ret->name);
        return room;
    }
    if (priced)
        ret->price_micros_hour = (int64_t)(dollars * 1e6 + 0.5);
    return NULL;
}
