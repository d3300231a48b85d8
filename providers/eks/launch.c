/*
 * launch.c - a launch, and the lock that lets one at a time at a group.
 *
 * Look, write down, raise the target, look again.  Each step may fail or its
 * answer be lost; the same request goes through them again and changes nothing
 * that is done already.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

/* Of the process, not of a handle: around a reload there are two.  Stripes by
 * the group's name. */
#define STRIPES 32
static pthread_mutex_t stripes[STRIPES] = {
    [0 ... STRIPES - 1] = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *stripe(const char *group)
{
    uint32_t h = 2166136261u;
    for (; *group != '\0'; group++)
        h = (h ^ (unsigned char)*group) * 16777619u;
    return &stripes[h % STRIPES];
}

bool pool_lock(struct op *op, const char *group)
{
    pthread_mutex_t *m = stripe(group);
    while (pthread_mutex_trylock(m) != 0)
        if (!op->e->aws.host->sleep(op->a.call, 5))
            return false;
    return true;
}

void pool_unlock(const char *group)
{
    pthread_mutex_unlock(stripe(group));
}

int out_of_time(struct op *op)
{
    return kit_error(op->a.error, DAVIT_CANCELLED, "",
                     "it was cancelled, or its time was over");
}

/* ---- what is shown */

/* Nobody ends a failed slot whose machine is out of the ledger. */
#define SLOTS_SHOWN_MS (3600 * INT64_C(1000))

static const char *detail_of(const struct instance *i, char buf[100])
{
    if (i->life == LIFE_STARTING)
        snprintf(buf, 100, "%s%s%s", i->stage, i->state[0] != '\0' ? ", " : "",
                 i->state);
    else if (strncmp(i->stage, "Standby", 7) == 0)
        snprintf(buf, 100, "in standby");
    else if (i->life == LIFE_RETAINED)
        snprintf(buf, 100,
                 "its group retains it (%s): billed until it is ended",
                 i->stage);
    else
        buf[0] = '\0';
    return buf;
}

static void instance_put(struct op *op, const struct group *g,
                         const struct instance *i, bool spot,
                         struct davit_sink *sink, davit_put_machine *put)
{
    char detail[100];
    struct davit_machine m = {
        .size = sizeof m,
        .id = i->id,
        .request_id = i->request,
        .offer = op->e->types[op->e->pools[g->pool].type].name,
        .zone = i->zone,
        .address = i->address,
        .phase = i->life == LIFE_STARTING   ? DAVIT_STARTING
                 : i->life == LIFE_RUNNING  ? DAVIT_RUNNING
                 : i->life == LIFE_RETAINED ? DAVIT_FAILED
                                            : DAVIT_STOPPING,
        .failure = i->life == LIFE_RETAINED ? DAVIT_RETRY : DAVIT_OK,
        .held = i->life <= LIFE_RUNNING ? g->held : "",
        .spot = spot || i->spot,
        .detail = detail_of(i, detail)};
    put(sink, &m);
}

/* Slots of a request that was given up: they are machines that failed, until
 * somebody ends them. */
static void slots_put(struct op *op, const struct group *g,
                      const struct record *r, struct davit_sink *sink,
                      davit_put_machine *put)
{
    const struct eks_pool *p = &op->e->pools[g->pool];
    uint32_t open = record_open(g, r);
    char id[128], detail[128];
    snprintf(detail, sizeof detail, "group of %.60s: %.50s", p->name, r->code);
    for (uint32_t k = 0; k < open; k++) {
        snprintf(id, sizeof id, SLOT_PREFIX "%s:%zu:%u", r->hash, g->pool, k);
        put(sink, &(struct davit_machine){.size = sizeof(struct davit_machine),
                                          .id = id,
                                          .request_id = r->request,
                                          .offer = op->e->types[p->type].name,
                                          .zone = "",
                                          .address = "",
                                          .phase = DAVIT_FAILED,
                                          .spot = op->e->types[p->type].spot,
                                          .failure = (uint32_t)r->status,
                                          .detail = detail});
    }
}

void group_put(struct op *op, const struct group *g, const char *request,
               struct davit_sink *sink, davit_put_machine *put)
{
    struct eks *e = op->e;
    pthread_mutex_lock(&e->lock);
    bool spot = e->pools[g->pool].spot;
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < g->n; i++) {
        const struct instance *m = &g->v[i];
        if (m->described && m->ours && m->life != LIFE_GONE &&
            (!request ||
             (strcmp(m->request, request) == 0 && m->life <= LIFE_RUNNING)))
            instance_put(op, g, m, spot, sink, put);
    }
    for (size_t i = 0; i < g->n_records && !request; i++)
        if (g->records[i].status != DAVIT_OK && !g->records[i].settled &&
            op->a.server_ms - g->records[i].at_ms <
                e->launch_timeout_ms + SLOTS_SHOWN_MS)
            slots_put(op, g, &g->records[i], sink, put);
}

/* ---- launch */

struct launch {
    struct op op;
    const struct davit_launch *l;
    const struct eks_type *type;
    size_t pool;
    char group[256];
    struct view view;   /* the newest look at the group */
    bool short_of_room; /* the group's MaxSize */
    uint32_t granted;
    bool partly; /* LaunchInstances made so many, and refused the rest */
    uint32_t made;
};

static int launch_check(struct launch *la)
{
    const struct davit_launch *l = la->l;
    struct davit_error *e = la->op.a.error;
    const struct eks_type *t = type_find(la->op.e, l->offer);
    if (!t)
        return kit_error(e, DAVIT_INVALID, "UnknownType",
                         "there is no node type \"%.60s\" here", l->offer);
    if (l->count == 0 || l->count > LAUNCH_MAX || l->request_id[0] == '\0' ||
        strlen(l->request_id) > 127)
        return kit_error(e, DAVIT_INVALID, "BadLaunch",
                         "a launch is of 1 to %d machines and has a request "
                         "id of up to 127 bytes",
                         LAUNCH_MAX);
    la->type = t;
    for (int exact = 1; exact >= 0; exact--)
        for (size_t i = 0; i < t->n_routes; i++)
            if (strcmp(t->routes[i].zone, exact ? l->zone : "") == 0) {
                la->pool = t->routes[i].pool;
                return DAVIT_OK;
            }
    if (l->zone[0] == '\0') { /* any will do: the first */
        la->pool = t->routes[0].pool;
        return DAVIT_OK;
    }
    return kit_error(e, DAVIT_INVALID, "UnknownZone",
                     "node type %.60s has no node group for zone %.40s",
                     t->name, l->zone);
}

static int pool_check(struct launch *la)
{
    struct eks *e = la->op.e;
    const struct eks_pool *p = &e->pools[la->pool];
    char status[24], machines[200];
    const char *machine = la->type->machine;
    pthread_mutex_lock(&e->lock);
    snprintf(status, sizeof status, "%s", p->status);
    snprintf(machines, sizeof machines, "%s", p->machines);
    bool spot = p->spot;
    pthread_mutex_unlock(&e->lock);
    if (p->bare)
        return DAVIT_OK;
    if (strcmp(status, "CREATE_FAILED") == 0 ||
        strcmp(status, "DELETING") == 0 || strcmp(status, "DELETE_FAILED") == 0)
        return kit_error(la->op.a.error, DAVIT_INVALID, status,
                         "node group %.60s is %s", p->name, status);
    if (la->l->spot != spot)
        return kit_error(la->op.a.error, DAVIT_INVALID, "WrongMarket",
                         "node group %.60s is of capacity type %s; node type "
                         "%.40s says spot: %s",
                         p->name, spot ? "SPOT" : "ON_DEMAND", la->type->name,
                         la->l->spot ? "true" : "false");
    const char *at = machine[0] != '\0' ? strstr(machines, machine) : NULL;
    size_t n = strlen(machine);
    if (machine[0] != '\0' && machines[0] != '\0' &&
        (!at || (at[n] != '\0' && at[n] != ' ')))
        return kit_error(la->op.a.error, DAVIT_INVALID, "WrongMachine",
                         "node group %.60s has %.80s; node type %.40s says "
                         "machine: %.40s",
                         p->name, machines, la->type->name, machine);
    return DAVIT_OK;
}

static int look(struct launch *la)
{
    view_free(&la->view);
    return view_read(&la->op, &la->pool, 1, true, &la->view);
}

/* How many more the group may hold. */
static uint32_t room_in(const struct group *g)
{
    struct count c = ledger_count(g);
    uint32_t used = c.owned + (c.loose > c.open ? c.loose : c.open);
    return used < g->max ? g->max - used : 0;
}

static int full(struct launch *la, const struct group *g)
{
    return kit_error(la->op.a.error, DAVIT_QUOTA, "MaxSize",
                     "node group %.60s has a MaxSize of %u; %u of %u machines "
                     "fit",
                     la->op.e->pools[la->pool].name, g->max, la->granted,
                     la->l->count);
}

/* The answer names what was made for this request: nobody else's record that is
 * still open may take it.  RETRY: it could not be marked, and the same token has
 * the same answer. */
static int made_take(struct launch *la, struct group *g, const struct xml *x)
{
    struct instance made[100], *v[100];
    size_t n = 0;
    for (const struct xml *i = xml_at(x, "LaunchInstancesResult/Instances/"
                                         "member");
         i; i = xml_again(i))
        for (const struct xml *id = xml_at(i, "InstanceIds/member");
             id && n < 100; id = xml_again(id)) {
            made[n] = (struct instance){.id = id->text};
            v[n] = &made[n];
            n++;
        }
    return n > 0 && tags_put(&la->op, g, la->l->request_id, v, n) != DAVIT_OK
               ? DAVIT_RETRY
               : DAVIT_OK;
}

/* LaunchInstances: synchronous, in the zone that was asked for, and the cloud
 * itself keeps it from happening twice by the token. */
static int by_instances(struct launch *la, struct group *g,
                        const struct record *r)
{
    struct op *op = &la->op;
    struct kit_str f = {0};
    struct xml_doc *doc;
    const struct xml *x;
    char count[16], token[40];
    uint32_t want = r->want < 100 ? r->want : 100;
    snprintf(count, sizeof count, "%u", want);
    snprintf(token, sizeof token, "davit-%s", r->hash);
    aws_form_begin(&f, AWS_AUTOSCALING, "LaunchInstances");
    kit_str_param(&f, "AutoScalingGroupName", g->name);
    kit_str_param(&f, "RequestedCapacity", count);
    kit_str_param(&f, "ClientToken", token);
    if (la->l->zone[0] != '\0')
        aws_form_nth(&f, "AvailabilityZones.member.", 1, la->l->zone);
    kit_str_param(&f, "RetryStrategy", "none");
    int st = aws_query(&op->a, AWS_AUTOSCALING, &f, &doc, &x);
    kit_str_done(&f);
    if (st != DAVIT_OK)
        return st;
    if (made_take(la, g, x) != DAVIT_OK) {
        xml_free(doc);
        return DAVIT_RETRY;
    }
    const struct xml *e = xml_at(x, "LaunchInstancesResult/Errors/member");
    if (e) {
        char code[48], text[208];
        snprintf(code, sizeof code, "%.47s", xml_text(e, "ErrorCode"));
        snprintf(text, sizeof text, "%.200s", xml_text(e, "ErrorMessage"));
        st = aws_status(code, text);
        kit_error(op->a.error, (enum davit_status)st, code, "%s", text);
        for (const struct xml *i = xml_at(x, "LaunchInstancesResult/Instances/"
                                             "member");
             i; i = xml_again(i))
            for (const struct xml *id = xml_at(i, "InstanceIds/member"); id;
                 id = xml_again(id))
                la->made++;
        la->partly = st != DAVIT_RETRY && st != DAVIT_THROTTLED;
        if (st == DAVIT_THROTTLED)
            st = DAVIT_RETRY; /* some may be made */
    }
    xml_free(doc);
    return st;
}

/* What LaunchInstances did not make is refused for sure, and the request closed at
 * what it got, when all of that is known: a refusal is final for what was not
 * shown with it.  Until then the same token has the same answer. */
static int close_at_made(struct launch *la, bool looked, int refused)
{
    struct group *g = &la->view.groups[0];
    char hash[17];
    ledger_hash(la->l->request_id, hash);
    struct record *r = looked ? ledger_find(g, hash) : NULL;
    uint32_t got = r ? r->want - record_open(g, r) : 0;
    if (!r || got < la->made)
        return kit_error(la->op.a.error, DAVIT_RETRY, "NotDescribed",
                         "%u machines were made, and are not all to be seen",
                         la->made);
    struct davit_error said = *la->op.a.error;
    r->want = la->made;
    r->changed = true;
    if (ledger_save(&la->op, g) != DAVIT_OK)
        return DAVIT_RETRY;
    *la->op.a.error = said;
    return refused;
}

/* A look whose failure has no consequence: the next list shows it. */
static bool look_anew(struct launch *la)
{
    struct davit_error dropped = {.size = sizeof dropped};
    struct davit_error *said = la->op.a.error;
    la->op.a.error = &dropped;
    bool good = look(la) == DAVIT_OK && la->view.groups[0].found &&
                ledger_assign(&la->op, &la->view.groups[0]) == DAVIT_OK;
    la->op.a.error = said;
    return good;
}

/* The record of this request, made when it is not there.  NULL with OK: its
 * machines are there, or its time is long past. */
static int record_of(struct launch *la, struct group *g, struct record **ret)
{
    char hash[17];
    ledger_hash(la->l->request_id, hash);
    struct record *r = *ret = ledger_find(g, hash);
    if (r && strcmp(r->request, la->l->request_id) != 0)
        return kit_error(la->op.a.error, DAVIT_INVALID, "RequestIdClash",
                         "two request ids look alike; use another");
    if (r && r->want > la->l->count)
        return kit_error(la->op.a.error, DAVIT_INVALID, "RequestIdReused",
                         "request %.60s was for %u machines: an id cannot be "
                         "used for another launch",
                         r->request, r->want);
    if (r) {
        la->granted = r->want;
        la->short_of_room = r->status == DAVIT_OK && r->want < la->l->count;
        return DAVIT_OK;
    }
    for (size_t i = 0; i < g->n; i++)
        if (g->v[i].ours && strcmp(g->v[i].request, la->l->request_id) == 0)
            return DAVIT_OK; /* its record was pruned: it is closed */
    int st = group_closed(&la->op, g);
    if (st != DAVIT_OK)
        return st;
    uint32_t room = room_in(g);
    la->granted = room < la->l->count ? room : la->l->count;
    la->short_of_room = la->granted < la->l->count;
    if (la->granted == 0)
        return full(la, g);
    return ledger_open(&la->op, g, la->l->request_id, la->granted, ret);
}

static int launch_locked(struct launch *la, struct davit_sink *sink,
                         davit_put_machine *put)
{
    struct record *r = NULL;
    struct group *g;
    int st = look(la);
    if (st != DAVIT_OK)
        return st;
    g = &la->view.groups[0];
    if (!g->found)
        return kit_error(la->op.a.error, DAVIT_INVALID, "NoNodeGroup",
                         "there is no node group %.60s in cluster %.60s, or "
                         "its Auto Scaling group is gone",
                         la->op.e->pools[la->pool].name, la->op.e->cluster);
    st = pool_check(la);
    if (st == DAVIT_OK)
        st = ledger_assign(&la->op, g);
    if (st == DAVIT_OK)
        st = record_of(la, g, &r);
    if (st != DAVIT_OK)
        return st;
    bool raised = false;
    if (r && r->status != DAVIT_OK) {
        st = kit_error(la->op.a.error, (enum davit_status)r->status, r->code,
                       "node group %.60s could not start %u of %u machines: %s",
                       la->op.e->pools[la->pool].name, record_open(g, r),
                       r->want, r->code);
    } else if (r && record_open(g, r) > 0 && g->closed_as != DAVIT_OK) {
        /* It was begun before: what it raised may come, or fail afterwards. */
        st = group_closed(&la->op, g);
        st = g->desired < ledger_needed(g) ? DAVIT_RETRY : DAVIT_OK;
    } else if (r && record_open(g, r) > 0 && la->type->how == BY_INSTANCES) {
        st = by_instances(la, g, r);
        raised = true;
    } else if (r && g->desired < ledger_needed(g)) {
        st = group_target(&la->op, g, ledger_needed(g));
        raised = true;
    }
    /* What the cloud made at once can be shown at once. */
    bool looked = raised && (st == DAVIT_OK || la->type->how == BY_INSTANCES) &&
                  look_anew(la);
    if (la->partly)
        st = close_at_made(la, looked, st);
    g = &la->view.groups[0];
    group_put(&la->op, g, la->l->request_id, sink, put);
    if (st != DAVIT_OK)
        return st;
    char hash[17];
    ledger_hash(la->l->request_id, hash);
    r = ledger_find(g, hash);
    /* A refusal is final for what was not shown with it, and what is granted
     * would be bought elsewhere as well: it is reported when all of it is there. */
    if (la->short_of_room && r && record_open(g, r) > 0)
        return kit_error(la->op.a.error, DAVIT_RETRY, "MaxSize",
                         "node group %.60s has room for %u of %u machines; "
                         "they have not come yet",
                         la->op.e->pools[la->pool].name, la->granted,
                         la->l->count);
    if (la->short_of_room)
        return full(la, g);
    if (r && record_open(g, r) == 0) {
        bool some = false;
        for (size_t i = 0; i < g->n; i++)
            some = some || strcmp(g->v[i].request, r->request) == 0;
        if (!some)
            return kit_error(la->op.a.error, DAVIT_NOT_FOUND, "RequestClosed",
                             "the machines of request %.60s have ended",
                             r->request);
    }
    return DAVIT_OK;
}

int eks_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *error)
{
    struct eks *e = self;
    struct launch la = {.op = op_begin(e, call, error), .l = l};
    int st = launch_check(&la);
    if (st == DAVIT_OK)
        st = pool_resolve(&la.op, la.pool, true, la.group, sizeof la.group);
    if (st == DAVIT_OK && !pool_lock(&la.op, la.group))
        return out_of_time(&la.op);
    if (st == DAVIT_OK) {
        st = launch_locked(&la, sink, put);
        pool_unlock(la.group);
    }
    view_free(&la.view);
    return st;
}
