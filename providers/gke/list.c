/*
 * list.c - what is in the instance groups, and how it fares.
 *
 * The group manager lists every instance it has, is making or is ending, also
 * those it cannot make: there is no target size without an instance behind it.
 * One it cannot make for want of stock or quota is FAILED here; the daemon then
 * ends it by name, which lowers the target, so that the group does not buy it
 * hours later.  Any other failed attempt the manager repeats itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define PAGES_MAX 400 /* of 500: a loop in the cloud's tokens ends */

static void append(char *to, size_t size, const char *text)
{
    size_t n = strlen(to);

    snprintf(to + n, size - n, "%s", text);
}

static bool one_of(const char *s, const char *const *set)
{
    while (*set)
        if (strcmp(s, *set++) == 0)
            return true;
    return false;
}

static void attempt_judge(const json_t *m, struct member *ret)
{
    struct davit_error e = {.size = sizeof e};
    int s = gcp_error_list(kit_json_at(m, "lastAttempt.errors"), &e);
    if (s == DAVIT_OK)
        return;
    snprintf(ret->detail, sizeof ret->detail, "%s: %.110s", e.code, e.text);
    if (s == DAVIT_STOCKOUT || s == DAVIT_QUOTA || s == DAVIT_INVALID) {
        ret->phase = DAVIT_FAILED;
        ret->failure = (uint32_t)s;
    }
}

static void judge(const json_t *m, struct member *ret)
{
    static const char *const making[] = {"CREATING", "CREATING_WITHOUT_RETRIES",
                                         "RECREATING", NULL};
    static const char *const ending[] = {"DELETING", "ABANDONING", NULL};
    static const char *const down[] = {
        "STOPPING",  "STOPPED",      "TERMINATED",     "SUSPENDING",
        "SUSPENDED", "PENDING_STOP", "DEPROVISIONING", NULL};
    bool busy = ret->action[0] != '\0' && strcmp(ret->action, "NONE") != 0;
    ret->phase = DAVIT_STARTING;
    snprintf(ret->detail, sizeof ret->detail, "%s%s%s", ret->action,
             *ret->status != '\0' ? " " : "", ret->status);
    if (one_of(ret->action, ending)) {
        ret->phase = DAVIT_STOPPING;
    } else if (one_of(ret->action, making)) {
        if (strcmp(ret->status, "RUNNING") != 0)
            attempt_judge(m, ret);
    } else if (one_of(ret->status, down)) {
        /* A spot machine that was taken away, or one that a person stopped. */
        ret->phase = DAVIT_STOPPING;
    } else if (strcmp(ret->status, "RUNNING") == 0) {
        ret->phase = DAVIT_RUNNING;
        if (!busy)
            ret->detail[0] = '\0';
    }
}

/* GKE moves it, or its group mends it: neither must be disturbed.  What could
 * not be made, and was asked for by us, is nobody else's. */
static void hold(struct op *op, struct member *m)
{
    static const char *const mending[] = {"RECREATING", "RESTARTING",
                                          "REFRESHING", "VERIFYING", NULL};
    bool ours = name_tagged(m->name, op->g->tag);
    if (m->phase == DAVIT_STOPPING || (m->phase == DAVIT_FAILED && ours))
        return;
    if (m->group->held)
        group_work(m->group, m->held, sizeof m->held);
    else if (one_of(m->action, mending))
        snprintf(m->held, sizeof m->held, "its instance group is %s it",
                 m->action);
}

static struct member *member_room(struct members *ms)
{
    if (ms->n == ms->cap) {
        ms->cap = ms->cap != 0 ? ms->cap * 2 : 64;
        ms->v = kit_resize(ms->v, ms->cap, sizeof *ms->v);
    }
    return &ms->v[ms->n];
}

struct member *member_new(struct op *op, const struct group *of,
                          const char *name, struct members *ms)
{
    struct member *m = member_room(ms);
    *m = (struct member){.group = of,
                         .name = name,
                         .number = "",
                         .action = "CREATING",
                         .status = "",
                         .resize = ""};
    hold(op, m);
    ms->n++;
    return m;
}

static int member_add(struct op *op, const struct group *of, const json_t *m,
                      struct members *ms)
{
    struct member *new = member_room(ms);
    *new = (struct member){.group = of,
                           .name = kit_json_text(m, "name"),
                           .number = kit_json_text(m, "id"),
                           .action = kit_json_text(m, "currentAction"),
                           .status = kit_json_text(m, "instanceStatus"),
                           .resize = "",
                           .ends_ms = kit_time_ms(kit_json_text(
                               m, "scheduling.terminationTimestamp"))};
    if (*new->name == '\0') {
        const char *slash = strrchr(kit_json_text(m, "instance"), '/');
        new->name = slash ? slash + 1 : "";
    }
    if (*new->name == '\0' || strlen(new->name) > NAME_MAX_)
        return kit_error(op->e, DAVIT_RETRY, "BadReply",
                         "instance group %.60s lists an instance without a "
                         "usable name",
                         of->name);
    judge(m, new);
    hold(op, new);
    ms->n++;
    return DAVIT_OK;
}

int members_read(struct op *op, const struct group *of, struct members *ret)
{
    char path[400], query[1200];
    const char *token = "";
    int s = DAVIT_OK;
    size_t from = ret->n;
    if (!ret->replies)
        ret->replies = json_array();
    snprintf(path, sizeof path,
             "projects/%s/zones/%s/instanceGroupManagers/%s/"
             "listManagedInstances",
             of->project, of->zone, of->name);
    for (int page = 0; s == DAVIT_OK; page++) {
        json_t *reply, *m;
        size_t i;
        snprintf(query, sizeof query, "maxResults=500");
        if (*token != '\0') {
            append(query, sizeof query, "&pageToken=");
            if (!kit_url_append(query, sizeof query, token) ||
                page >= PAGES_MAX)
                return kit_error(op->e, DAVIT_RETRY, "BadReply",
                                 "the pages of %.80s do not end", of->name);
        }
        s = api_send(op, &(struct request){"POST", true, path, query, NULL},
                     &reply);
        if (s != DAVIT_OK)
            break;
        json_array_append_new(ret->replies, reply);
        json_array_foreach(json_object_get(reply, "managedInstances"), i, m)
            if (s == DAVIT_OK)
                s = member_add(op, of, m, ret);
        token = kit_json_text(reply, "nextPageToken");
        if (*token == '\0')
            break;
    }
    return s == DAVIT_OK && of->together > 0 ? queue_read(op, of, ret, from)
                                             : s;
}

void members_done(struct members *ms)
{
    free(ms->v);
    json_decref(ms->replies);
}

bool member_ours(const struct gke *g, const struct member *m)
{
    return m->group->type || name_tagged(m->name, g->tag);
}

/* Its time is over soon: a tenth of it, 45 minutes at most, is for its work to
 * move. */
static bool leaves(const struct op *op, const struct member *m, char *ret,
                   size_t size)
{
    int64_t run = strtoll(
        kit_json_text(m->group->pool, "config.maxRunDuration"), NULL, 10);
    int64_t before = run > 0 && run < 27000 ? run * 100 : 2700000;
    bool soon = m->ends_ms > 0 && op->g->host->wall_ms() > m->ends_ms - before;
    snprintf(ret, size, "%s",
             soon ? "Google deletes it: its run duration is over" : "");
    return soon;
}

/* Machines that are ended together: a slice, and what waits in one request. */
static const char *unit_of(const struct member *m)
{
    return m->group->hosts > 1 ? m->group->name : m->resize;
}

void member_put(const struct op *op, const struct member *m,
                const char *address, struct davit_sink *sink,
                davit_put_machine *put)
{
    char request[64], leaving[80];
    bool soon = leaves(op, m, leaving, sizeof leaving);
    name_request(m->name, request);
    put(sink,
        &(struct davit_machine){
            .size = sizeof(struct davit_machine),
            .id = m->name,
            .request_id = request,
            .offer = m->group->type ? m->group->type->name
                                    : kit_json_text(m->group->pool, "name"),
            .zone = m->group->zone,
            .address = address,
            .phase = m->phase,
            .spot = m->group->spot,
            .failure = m->failure,
            .detail = m->detail,
            .unit = unit_of(m),
            .held = m->held,
            .leaving = leaving,
            .leaves_ms = soon ? m->ends_ms : 0,
            .queued = *m->resize != '\0'});
}

/* ---- addresses: fixed for an instance's life, so asked for once */

static const char *address_of(const json_t *known, const struct member *m)
{
    return *m->number != '\0' ? kit_json_text(known, m->number) : "";
}

static bool address_wanted(const json_t *known, const struct member *m)
{
    return *m->number != '\0' && m->phase <= DAVIT_RUNNING &&
           *address_of(known, m) == '\0';
}

static void addresses_add(const json_t *reply, json_t *known)
{
    size_t i;
    json_t *x;
    json_array_foreach(json_object_get(reply, "items"), i, x) {
        const json_t *nic = json_array_get(
            json_object_get(x, "networkInterfaces"), 0);
        const char *ip = kit_json_text(nic, "networkIP");
        const char *number = kit_json_text(x, "id");
        if (*number != '\0' && *ip != '\0')
            json_object_set_new(known, number, json_string(ip));
    }
}

static int addresses_read(struct op *op, const struct group *of, json_t *known)
{
    char path[200], query[1500], filter[160];
    const char *token = "";
    json_t *reply = NULL;
    int s = DAVIT_OK;
    snprintf(path, sizeof path, "projects/%s/zones/%s/instances", of->project,
             of->zone);
    snprintf(filter, sizeof filter, "labels.goog-k8s-node-pool-name=\"%s\"",
             kit_json_text(of->pool, "name"));
    for (int page = 0; s == DAVIT_OK && page < PAGES_MAX; page++) {
        snprintf(query, sizeof query, "maxResults=500&filter=");
        kit_url_append(query, sizeof query, filter);
        append(query, sizeof query, "&fields=");
        kit_url_append(query, sizeof query,
                       "items(id,networkInterfaces/networkIP),nextPageToken");
        if (*token != '\0') {
            append(query, sizeof query, "&pageToken=");
            if (!kit_url_append(query, sizeof query, token))
                break;
        }
        json_decref(reply);
        s = api_send(op, &(struct request){"GET", true, path, query, NULL},
                     &reply);
        addresses_add(reply, known);
        token = kit_json_text(reply, "nextPageToken");
        if (*token == '\0')
            break;
    }
    json_decref(reply);
    return s;
}

/* A new map of what is listed now: what is gone is forgotten. */
static int addresses_get(struct op *op, const struct groups *gs,
                         const struct members *ms, json_t **ret)
{
    struct gke *g = op->g;
    json_t *old = shared_take(g, &g->addresses), *now = json_object();
    int s = DAVIT_OK;
    for (size_t i = 0; i < ms->n; i++)
        if (*address_of(old, &ms->v[i]) != '\0')
            json_object_set_new(now, ms->v[i].number,
                                json_string(address_of(old, &ms->v[i])));
    shared_drop(g, old);
    for (size_t k = 0; k < gs->n && s == DAVIT_OK; k++) {
        bool wanted = false;
        for (size_t i = 0; i < ms->n && !wanted; i++)
            wanted = ms->v[i].group == &gs->v[k] && member_ours(g, &ms->v[i]) &&
                     address_wanted(now, &ms->v[i]);
        if (wanted)
            s = addresses_read(op, &gs->v[k], now);
    }
    *ret = now;
    if (s == DAVIT_OK)
        shared_set(g, &g->addresses, now);
    return s;
}

/* ---- machines of ours in pools that no node type has any more: removing a
 * type from the configuration must not leave its machines to nobody.  Such
 * groups are looked for by a handle's first list, and kept until empty. */

static const char *left_key(const struct group *gr, char *key, size_t size)
{
    snprintf(key, size, "%s/%s", gr->zone, gr->name);
    return key;
}

static bool group_wanted(const struct group *gr, const json_t *left)
{
    char key[128];
    return gr->type || !left ||
           json_object_get(left, left_key(gr, key, sizeof key));
}

static void left_keep(struct gke *g, const struct members *ms)
{
    char key[128];
    json_t *left = json_object();
    for (size_t i = 0; i < ms->n; i++)
        if (!ms->v[i].group->type && member_ours(g, &ms->v[i]))
            json_object_set_new(left, left_key(ms->v[i].group, key, sizeof key),
                                json_true());
    shared_set(g, &g->left, left);
    shared_drop(g, left);
}

int gke_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e)
{
    struct op op = {self, call, e};
    struct groups gs;
    struct members ms = {.n = 0};
    json_t *addresses = NULL, *left = shared_take(op.g, &op.g->left);
    int s = pools_get(&op, POOLS_HOLD_MS, &gs);
    for (size_t i = 0; i < gs.n && s == DAVIT_OK; i++)
        if (group_wanted(&gs.v[i], left)) {
            s = members_read(&op, &gs.v[i], &ms);
            if (s == DAVIT_NOT_FOUND && !gs.v[i].type)
                s = DAVIT_OK;
        }
    /* The pool changed meanwhile.  This list is no truth; the next one is. */
    if (s == DAVIT_NOT_FOUND) {
        pools_forget(op.g);
        s = DAVIT_RETRY;
    }
    if (s == DAVIT_OK) {
        left_keep(op.g, &ms);
        s = addresses_get(&op, &gs, &ms, &addresses);
    }
    for (size_t i = 0; i < ms.n && s == DAVIT_OK; i++)
        if (member_ours(op.g, &ms.v[i]))
            member_put(&op, &ms.v[i], address_of(addresses, &ms.v[i]), sink,
                       put);
    shared_drop(op.g, left);
    shared_drop(op.g, addresses);
    members_done(&ms);
    pools_done(&gs);
    return s;
}
