/*
 * queue.c - machines that Google makes all at once or not at all: resize requests
 * of a pool's instance group.
 *
 * Three kinds of pools are made so: those with queued provisioning (container.v1,
 * QueuedProvisioning: their nodes "can be only obtained through queuing"), those of
 * flex start, one request a machine, and slices of several TPU hosts.  GKE's own
 * cluster autoscaler does the same (its resizerequestclient, published by Google).
 *
 * Instances are CREATING from the beginning, and the group's target has grown; a
 * request that failed takes them out again, and the request alone tells why.  So
 * members of the group are read together with its requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define PREFIX "davit" /* GKE's autoscaler cleans up "gke-" and "rr-" */
#define RUN_S 604800   /* seven days: what GKE asks for, and the most */
#define SWEEP_MAX 20
#define PAGES_MAX 100

/* Chips of a topology such as 4x4 or 2x2x4; 0: it is none. */
static int64_t chips_of(const char *topology)
{
    int64_t chips = 1;
    while (*topology != '\0') {
        char *end;
        int64_t side = strtoll(topology, &end, 10);
        if (end == topology || side < 1 || side > 256 || chips > 1 << 20)
            return 0;
        chips *= side;
        topology = *end == 'x' ? end + 1 : end;
        if (*end != 'x' && *end != '\0')
            return 0;
    }
    return chips;
}

/* Of ct5lp-hightpu-4t, tpu7x-standard-4t: the number before the t. */
int64_t machine_chips(const char *machine)
{
    const char *at = strrchr(machine, '-');
    char *end;
    if ((strncmp(machine, "ct", 2) != 0 && strncmp(machine, "tpu", 3) != 0) ||
        !at)
        return 0;
    int64_t chips = strtoll(at + 1, &end, 10);
    return chips > 0 && chips <= 64 && strcmp(end, "t") == 0 ? chips : 0;
}

uint32_t pool_together(const json_t *pool, uint32_t *ret_hosts)
{
    int64_t each = machine_chips(kit_json_text(pool, "config.machineType"));
    int64_t all = chips_of(kit_json_text(pool, "placementPolicy.tpuTopology"));
    bool whole = each > 0 && all > each && all / each <= 4096;
    *ret_hosts = whole ? (uint32_t)(all / each) : 1;
    if (whole)
        return *ret_hosts;
    if (kit_json_true(pool, "queuedProvisioning.enabled"))
        return UINT32_MAX;
    return kit_json_true(pool, "config.flexStart") ? 1 : 0;
}

static void path_of(const struct group *g, const char *name, const char *verb,
                    char *ret, size_t size)
{
    snprintf(ret, size,
             "projects/%s/zones/%s/instanceGroupManagers/%s/resizeRequests%s%s"
             "%s",
             g->project, g->zone, g->name, *name != '\0' ? "/" : "", name,
             verb);
}

/* ---- reading */

static bool ours(const struct op *op, const char *name)
{
    return strncmp(name, PREFIX "-", sizeof PREFIX) == 0 &&
           name_tagged(name, op->g->tag);
}

/* Each page into *ret, an array that is the caller's whatever comes of it. */
static int pages_read(struct op *op, const struct group *of, json_t **ret)
{
    char path[400], query[1200];
    const char *token = "";
    int s = DAVIT_OK;
    *ret = json_array();
    path_of(of, "", "", path, sizeof path);
    for (int page = 0; s == DAVIT_OK; page++) {
        json_t *reply;
        size_t n = (size_t)snprintf(query, sizeof query, "maxResults=500%s",
                                    *token != '\0' ? "&pageToken=" : "");
        if ((*token != '\0' && !kit_url_append(query, sizeof query, token)) ||
            page >= PAGES_MAX || n >= sizeof query)
            return kit_error(op->e, DAVIT_RETRY, "BadReply",
                             "the pages of %.80s's requests do not end",
                             of->name);
        s = api_send(op, &(struct request){"GET", true, path, query, NULL},
                     &reply);
        if (s != DAVIT_OK)
            break;
        json_array_append_new(*ret, reply);
        token = kit_json_text(reply, "nextPageToken");
        if (*token == '\0')
            break;
    }
    return s;
}

/* How one of a request that is not done stands. */
static void stand(struct op *op, const json_t *r, struct member *m)
{
    struct davit_error e = {.size = sizeof e};
    const char *since = kit_json_text(r, "creationTimestamp");
    int64_t began = kit_time_ms(since), wait = 0;
    int s = gcp_error_list(kit_json_at(r, "status.error"), &e);
    m->resize = kit_json_text(r, "name");
    m->over = strcmp(kit_json_text(r, "state"), "FAILED") == 0;
    if (m->over) {
        m->phase = DAVIT_FAILED;
        m->failure = s == DAVIT_OK ? DAVIT_RETRY : (uint32_t)s;
        snprintf(m->detail, sizeof m->detail, "%s: %.110s", e.code, e.text);
        return;
    }
    s = gcp_error_list(kit_json_at(r, "status.lastAttempt.error"), &e);
    snprintf(m->detail, sizeof m->detail,
             "in Google's queue since %.30s%s%.90s", since,
             s == DAVIT_OK ? "" : ": ", s == DAVIT_OK ? "" : e.text);
    m->phase = DAVIT_STARTING;
    wait = m->group->type ? m->group->type->queue_wait_ms : 0;
    if (wait > 0 && began > 0 && op->g->host->wall_ms() - began > wait) {
        m->phase = DAVIT_FAILED;
        m->failure = DAVIT_STOCKOUT;
        snprintf(m->detail, sizeof m->detail,
                 "longer than queue_wait (%lld s) in Google's queue",
                 (long long)wait / 1000);
    }
}

static void request_take(struct op *op, const struct group *of, const json_t *r,
                         const json_t *index, struct members *ms)
{
    const char *state = kit_json_text(r, "state");
    size_t i;
    json_t *v;
    if (!ours(op, kit_json_text(r, "name")) ||
        strcmp(state, "SUCCEEDED") == 0 || strcmp(state, "CANCELLED") == 0)
        return;
    json_array_foreach(json_object_get(r, "instances"), i, v) {
        const char *name = kit_json_text(v, "name");
        const json_t *at = json_object_get(index, name);
        if (*name == '\0' || strlen(name) > NAME_MAX_)
            continue;
        stand(
            op, r,
            at ? &ms->v[json_integer_value(at)] : member_new(op, of, name, ms));
    }
}

int queue_read(struct op *op, const struct group *of, struct members *ms,
               size_t from)
{
    json_t *pages, *page, *r, *index = json_object();
    size_t i, k;
    int s = pages_read(op, of, &pages);
    for (i = from; i < ms->n; i++)
        json_object_set_new(index, ms->v[i].name, json_integer((json_int_t)i));
    json_array_foreach(pages, i, page) {
        json_array_foreach(json_object_get(page, "items"), k, r)
            if (s == DAVIT_OK)
                request_take(op, of, r, index, ms);
    }
    /* Its strings are in them now. */
    if (!ms->replies)
        ms->replies = json_array();
    json_array_append_new(ms->replies, pages);
    json_decref(index);
    return s;
}

/* ---- changing */

/* Its operation is waited for; a request id of its own each time. */
static int act(struct op *op, const struct group *g, const char *method,
               const char *path)
{
    char query[60] = "requestId=";
    json_t *reply;
    bool told;
    char *salted = kit_print("%s %s %lld", method, path,
                             (long long)op->g->host->wall_ms());
    gcp_request_id(query + strlen(query), salted, strlen(salted));
    free(salted);
    int s = api_send(op, &(struct request){method, true, path, query, NULL},
                     &reply);
    if (s == DAVIT_OK)
        s = api_wait_zone(op, g, reply, &told);
    json_decref(reply);
    return s;
}

int queue_end(struct op *op, const struct member *m)
{
    char path[400];
    int s = DAVIT_OK;
    path_of(m->group, m->resize, "/cancel", path, sizeof path);
    if (!m->over)
        s = act(op, m->group, "POST", path);
    if (s != DAVIT_OK)
        return s; /* too late, say: its machines are coming */
    path_of(m->group, m->resize, "", path, sizeof path);
    s = act(op, m->group, "DELETE", path);
    /* One that was cancelled makes nothing, deleted or not. */
    return !m->over || s == DAVIT_NOT_FOUND ? DAVIT_OK : s;
}

void queue_sweep(struct op *op, const struct group *in)
{
    struct davit_error e = {.size = sizeof e};
    struct op mine = {op->g, op->call, &e};
    json_t *pages, *page, *r;
    size_t i, k, n = 0;
    bool good = pages_read(&mine, in, &pages) == DAVIT_OK;
    json_array_foreach(pages, i, page) {
        json_array_foreach(json_object_get(page, "items"), k, r) {
            const char *state = kit_json_text(r, "state");
            const char *name = kit_json_text(r, "name");
            char path[400];
            if (!good || !ours(op, name) || n >= SWEEP_MAX ||
                (strcmp(state, "SUCCEEDED") != 0 &&
                 strcmp(state, "CANCELLED") != 0))
                continue;
            path_of(in, name, "", path, sizeof path);
            good = act(&mine, in, "DELETE", path) == DAVIT_OK;
            n++;
        }
    }
    json_decref(pages);
}

/* ---- asking */

/* "604800s" of the pool; a slice that is bought for good has none. */
static int64_t run_of(const struct group *g)
{
    int64_t s = strtoll(kit_json_text(g->pool, "config.maxRunDuration"), NULL,
                        10);
    if (s > 0)
        return s;
    return kit_json_true(g->pool, "queuedProvisioning.enabled") ||
                   kit_json_true(g->pool, "config.flexStart")
               ? RUN_S
               : 0;
}

int queue_ask(struct op *op, const struct group *in, const char *name,
              json_t *instances, int64_t salt)
{
    char seconds[24];
    json_t *reply, *body = kit_must(json_pack("{s:s, s:O}", "name", name,
                                              "instances", instances));
    bool told;
    int64_t run = run_of(in);
    snprintf(seconds, sizeof seconds, "%lld", (long long)run);
    if (run > 0)
        json_object_set_new(body, "requestedRunDuration",
                            json_pack("{s:s}", "seconds", seconds));
    int s = api_post_group(op, in, "resizeRequests", body, salt, &reply);
    if (s == DAVIT_OK)
        s = api_wait_zone(op, in, reply, &told);
    json_decref(reply);
    return s;
}
