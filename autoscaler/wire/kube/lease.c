/*
 * lease.c - taking, renewing and giving up a Lease.
 *
 * Other clocks are never compared with ours: a lease is expired when *we* have
 * not seen it change for its duration.  So a first look at somebody's lease
 * waits for the whole duration, however old its renewTime says it is.
 */
#include "lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/"
enum { LONGEST_CALL_MS = 10000 };

struct kube_lease {
    struct arena arena; /* owns the strings of o, path and folder */
    struct kube_lease_opts o;
    struct kube *kube;
    const char *path, *folder;
    char version[64]; /* resourceVersion as last seen; "" none */
    char holder[256];
    char renewed[64];     /* renewTime as last seen */
    int64_t seen_boot_ms; /* when that changed last */
    int64_t other_ms;     /* duration that the holder promised */
    int64_t transitions, until_boot_ms;
    bool ours;
};

struct kube_lease *kube_lease_new(const struct kube_lease_opts *o,
                                  struct kube *k)
{
    struct kube_lease *l = MEM_NEW(struct kube_lease);
    l->o = (struct kube_lease_opts){
        arena_strdup(&l->arena, o->space), arena_strdup(&l->arena, o->name),
        arena_strdup(&l->arena, o->identity), o->duration_ms};
    l->kube = k;
    l->folder = arena_printf(&l->arena, LEASES "%s/leases", o->space);
    l->path = arena_printf(&l->arena, "%s/%s", l->folder, o->name);
    return l;
}

void kube_lease_free(struct kube_lease *l)
{
    if (!l)
        return;
    arena_done(&l->arena);
    free(l);
}

int64_t kube_lease_until(const struct kube_lease *l)
{
    return l->ours ? l->until_boot_ms : 0;
}

int64_t kube_lease_token(const struct kube_lease *l)
{
    return l->transitions;
}

const char *kube_lease_holder(const struct kube_lease *l)
{
    return l->holder;
}

/* ---- what the server has */

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static int64_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void lease_seen(struct kube_lease *l, const json_t *lease,
                       int64_t now_boot_ms)
{
    const json_t *spec = json_object_get(lease, "spec");
    const char *renewed = text_of(spec, "renewTime");
    const char *holder = text_of(spec, "holderIdentity");

    if (strcmp(holder, l->holder) != 0 || strcmp(renewed, l->renewed) != 0 ||
        !*l->version)
        l->seen_boot_ms = now_boot_ms;
    snprintf(l->version, sizeof l->version, "%s",
             text_of(json_object_get(lease, "metadata"), "resourceVersion"));
    snprintf(l->holder, sizeof l->holder, "%s", holder);
    snprintf(l->renewed, sizeof l->renewed, "%s", renewed);
    l->other_ms = number_of(spec, "leaseDurationSeconds") * 1000;
    l->transitions = number_of(spec, "leaseTransitions");
}

static enum status ask(struct kube_lease *l, const char *method,
                       const char *path, const char *body, json_t **ret,
                       struct err *err)
{
    int64_t longest = l->o.duration_ms / 3;
    struct kube_call call = {
        .method = method,
        .path = path,
        .body = body,
        .deadline_mono_ms = clock_mono_ms() + (longest < LONGEST_CALL_MS
                                                   ? longest
                                                   : LONGEST_CALL_MS),
    };
    enum status s = kube_do(l->kube, &call, err);

    *ret = call.reply;
    return s;
}

static enum status look(struct kube_lease *l, int64_t now, struct err *err)
{
    json_t *reply = NULL;
    enum status s = ask(l, "GET", l->path, NULL, &reply, err);

    if (s == ST_OK)
        lease_seen(l, reply, now);
    else if (s == ST_NOT_FOUND)
        l->version[0] = l->holder[0] = l->renewed[0] = '\0';
    json_decref(reply);
    return s;
}

/* ---- what we write */

/* Of Kubernetes' MicroTime: six digits behind the point. */
static void time_write(char *s, size_t n)
{
    char ms[32];

    clock_iso(clock_wall_ms(), ms, sizeof ms);
    snprintf(s, n, "%.*s000Z", (int)strcspn(ms, "Z"), ms);
}

/* The whole object: PUT is guarded by the resourceVersion in it. */
static char *lease_write(const struct kube_lease *l, const char *holder,
                         int64_t transitions, bool acquires)
{
    int64_t seconds = (l->o.duration_ms + 999) / 1000;
    json_t *root, *spec, *meta;
    char now[64], *text;

    time_write(now, sizeof now);
    meta = json_pack("{s:s,s:s}", "name", l->o.name, "namespace", l->o.space);
    if (*l->version)
        json_object_set_new(meta, "resourceVersion", json_string(l->version));
    spec = json_pack("{s:s,s:I,s:s,s:I}", "holderIdentity", holder,
                     "leaseDurationSeconds",
                     (json_int_t)(*holder ? seconds : 1), "renewTime", now,
                     "leaseTransitions", (json_int_t)transitions);
    if (acquires)
        json_object_set_new(spec, "acquireTime", json_string(now));
    root = json_pack("{s:s,s:s,s:o,s:o}", "apiVersion",
                     "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                     meta, "spec", spec);
    text = mem_must(json_dumps(root, JSON_COMPACT));
    json_decref(root);
    return text;
}

static enum status put(struct kube_lease *l, const char *holder,
                       int64_t transitions, bool acquires, struct err *err)
{
    char *body = lease_write(l, holder, transitions, acquires);
    int64_t now = clock_mono_ms();
    json_t *reply = NULL;
    enum status s = *l->version ? ask(l, "PUT", l->path, body, &reply, err)
                                : ask(l, "POST", l->folder, body, &reply, err);

    if (s == ST_OK) {
        lease_seen(l, reply, now);
        l->ours = *holder != '\0';
        l->until_boot_ms = now + l->o.duration_ms;
    }
    json_decref(reply);
    free(body);
    return s;
}

static enum status held(const struct kube_lease *l, int64_t now,
                        struct err *err)
{
    int64_t left = l->seen_boot_ms + l->other_ms - now;

    err_set(err, ST_RETRY,
            "%s/%s is held by \"%s\", for %lld ms more unless it is renewed",
            l->o.space, l->o.name, l->holder, (long long)(left > 0 ? left : 0));
    snprintf(err->code, sizeof err->code, "Held");
    return ST_RETRY;
}

enum status kube_lease_try(struct kube_lease *l, int64_t now_boot_ms,
                           struct err *err)
{
    enum status s;

    /* Ours, and nobody has touched it: one request renews it. */
    if (l->ours && now_boot_ms < l->until_boot_ms) {
        s = put(l, l->o.identity, l->transitions, false, err);
        if (s == ST_OK || strcmp(err->code, "Conflict") != 0)
            return s;
    }
    s = look(l, now_boot_ms, err);
    if (s != ST_OK && s != ST_NOT_FOUND)
        return s;
    if (l->ours && strcmp(l->holder, l->o.identity) != 0)
        l->ours = false; /* taken from us */
    if (*l->holder && strcmp(l->holder, l->o.identity) != 0 &&
        now_boot_ms < l->seen_boot_ms + l->other_ms)
        return held(l, now_boot_ms, err);
    /* A lease of our own name that we do not know of is of an earlier life of
     * this process: a new tenure all the same, so that its writes are fenced. */
    s = put(l, l->o.identity, l->ours ? l->transitions : l->transitions + 1,
            !l->ours, err);
    if (s != ST_OK && (strcmp(err->code, "Conflict") == 0 ||
                       strcmp(err->code, "AlreadyExists") == 0))
        return held(l, now_boot_ms, err);
    return s;
}

enum status kube_lease_raise(struct kube_lease *l, int64_t token,
                             struct err *err)
{
    return put(l, l->o.identity, token, false, err);
}

enum status kube_lease_release(struct kube_lease *l, struct err *err)
{
    enum status s;

    if (!l->ours)
        return ST_OK;
    s = put(l, "", l->transitions, false, err);
    l->ours = false;
    return s;
}
