/*
 * ledger.c - who asked this group for what, kept in the group's own tags.
 *
 * A group knows only a target, and to raise it twice for one request is to pay
 * for it twice.  So a request is written down in a tag of the group before the
 * target is touched, each instance that comes is tagged with the request it
 * came for, and the target is always computed, never added to:
 *
 *     owned + max(loose, open)     what lives and is known, and the larger of
 *                                  what came unclaimed and what is still due
 *
 * Whoever repeats a step, after a lost reply or a restart, gets the same sum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"
#include "kit/sigv4.h"

#define RECORDS_MAX 30 /* a group has room for 50 tags */
#define CLOSED_KEPT 8
#define CLOSED_MS (24 * 3600 * INT64_C(1000))
#define FAILED_MS (3600 * INT64_C(1000))
#define TAG_BATCH 200
#define PROTECT_BATCH 50

void ledger_hash(const char *request, char ret[17])
{
    char sum[65];
    sigv4_sha256(request, strlen(request), sum);
    snprintf(ret, 17, "%.16s", sum);
}

static struct record *record_add(struct group *g)
{
    g->records = kit_resize(g->records, g->n_records + 1, sizeof *g->records);
    struct record *r = &g->records[g->n_records++];
    *r = (struct record){0};
    return r;
}

/* "2 1 1795252151000 0 0 - davit-0a1b": wanted, got, when, status, settled,
 * code, request. */
void record_parse(struct group *g, const char *key, const char *value)
{
    unsigned want, got;
    long long at;
    int status, settled, n = 0;
    char code[48];
    if (sscanf(value, "%u %u %lld %d %d %47s %n", &want, &got, &at, &status,
               &settled, code, &n) != 6 ||
        n == 0 || status < 0 || status > DAVIT_BROKEN ||
        strlen(value + n) > 127)
        return; /* somebody else's; it harms nobody */
    struct record *r = record_add(g);
    snprintf(r->hash, sizeof r->hash, "%s", key + strlen(RECORD_PREFIX));
    snprintf(r->request, sizeof r->request, "%s", value + n);
    snprintf(r->code, sizeof r->code, "%s", code);
    r->want = want;
    r->got = got;
    r->at_ms = at;
    r->status = status;
    r->settled = settled != 0;
}

struct record *ledger_find(struct group *g, const char *hash)
{
    for (size_t i = 0; i < g->n_records; i++)
        if (strcmp(g->records[i].hash, hash) == 0)
            return &g->records[i];
    return NULL;
}

static bool instance_lives(const struct instance *i)
{
    return i->in_group && i->life <= LIFE_RUNNING &&
           strncmp(i->stage, "Standby", 7) != 0 &&
           strncmp(i->stage, "EnteringStandby", 15) != 0;
}

static uint32_t tagged(const struct group *g, const char *request)
{
    uint32_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        n += g->v[i].ours && g->v[i].in_group &&
             strcmp(g->v[i].request, request) == 0;
    return n;
}

/* Slots of the request that nothing has come for.  What was written down and
 * what can be seen may each be behind the other. */
uint32_t record_open(const struct group *g, const struct record *r)
{
    uint32_t seen = tagged(g, r->request);
    uint32_t got = r->got > seen ? r->got : seen;
    return got >= r->want ? 0 : r->want - got;
}

struct count ledger_count(const struct group *g)
{
    struct count c = {0};
    for (size_t i = 0; i < g->n; i++) {
        if (!instance_lives(&g->v[i]))
            continue;
        if (g->v[i].ours || g->v[i].foreign)
            c.owned++;
        else
            c.loose++;
    }
    for (size_t i = 0; i < g->n_records; i++)
        if (g->records[i].status == DAVIT_OK)
            c.open += record_open(g, &g->records[i]);
    return c;
}

uint32_t ledger_needed(const struct group *g)
{
    struct count c = ledger_count(g);
    uint32_t need = c.owned + (c.loose > c.open ? c.loose : c.open);
    return need > g->min ? need : g->min;
}

/* ---- what we know of it */

/* Before a daemon repeats a launch no more. */
#define KNOWN_MS (3600 * INT64_C(1000))

static void known_set(struct op *op, const struct group *g)
{
    struct eks_pool *p = &op->e->pools[g->pool];
    struct record *v = kit_zeroed(g->n_records + 1, sizeof *v);
    if (g->n_records > 0)
        memcpy(v, g->records, g->n_records * sizeof *v);
    pthread_mutex_lock(&op->e->lock);
    free(p->known);
    p->known = v;
    p->n_known = g->n_records;
    pthread_mutex_unlock(&op->e->lock);
}

/* Terraform takes away tags that it does not know, and with them the memory of
 * what was bought: the same launch again would buy once more.  What this
 * process still knows is written anew, by the next save. */
void ledger_recall(struct op *op, struct group *g)
{
    struct eks_pool *p = &op->e->pools[g->pool];
    size_t lost = 0;
    pthread_mutex_lock(&op->e->lock);
    for (size_t i = 0; i < p->n_known; i++) {
        const struct record *r = &p->known[i];
        if (op->a.server_ms - r->at_ms > KNOWN_MS || ledger_find(g, r->hash))
            continue;
        struct record *again = record_add(g);
        *again = *r;
        again->changed = true;
        lost++;
    }
    pthread_mutex_unlock(&op->e->lock);
    if (lost == 0) {
        known_set(op, g);
        return;
    }
    char line[300];
    snprintf(line, sizeof line,
             "%.60s: %zu of our davit-request tags were removed from group "
             "%.80s and are written again: tell Terraform to ignore_changes of "
             "its tags",
             p->name, lost, g->name);
    op->e->aws.host->log(1, line);
}

/* ---- writing */

static void tag_add(struct kit_str *f, size_t n, const char *group,
                    const char *key, const char *value)
{
    char name[48];
    const struct davit_kv fields[] = {{"ResourceId", group},
                                      {"ResourceType", "auto-scaling-group"},
                                      {"Key", key},
                                      {"Value", value},
                                      {"PropagateAtLaunch", "false"}};
    for (size_t i = 0; i < (value ? 5u : 3u); i++) {
        snprintf(name, sizeof name, "Tags.member.%zu.%s", n, fields[i].key);
        kit_str_param(f, name, fields[i].value);
    }
}

int ledger_save(struct op *op, struct group *g)
{
    struct kit_str f = {0};
    size_t n = 0;
    int st = DAVIT_OK;
    aws_form_begin(&f, AWS_AUTOSCALING, "CreateOrUpdateTags");
    for (size_t i = 0; i < g->n_records; i++) {
        const struct record *r = &g->records[i];
        char key[64], value[257];
        if (!r->changed)
            continue;
        snprintf(key, sizeof key, RECORD_PREFIX "%s", r->hash);
        snprintf(value, sizeof value, "%u %u %lld %d %d %s %s", r->want, r->got,
                 (long long)r->at_ms, r->status, (int)r->settled,
                 r->code[0] != '\0' ? r->code : "-", r->request);
        tag_add(&f, ++n, g->name, key, value);
    }
    if (n > 0)
        st = aws_do(&op->a, AWS_AUTOSCALING, &f);
    for (size_t i = 0; i < g->n_records && st == DAVIT_OK; i++)
        g->records[i].changed = false;
    if (st == DAVIT_OK)
        known_set(op, g);
    kit_str_done(&f);
    return st;
}

static int newest_first(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return x->at_ms > y->at_ms ? -1 : x->at_ms < y->at_ms;
}

/* Old requests make room.  Some closed ones stay: a launch whose answer was
 * lost may be repeated after its machines have ended. */
static int ledger_prune(struct op *op, struct group *g)
{
    struct kit_str f = {0};
    size_t n = 0, kept = 0, closed = 0;
    int64_t now = op->a.server_ms;
    aws_form_begin(&f, AWS_AUTOSCALING, "DeleteTags");
    if (g->n_records > 1)
        qsort(g->records, g->n_records, sizeof *g->records, newest_first);
    for (size_t i = 0; i < g->n_records; i++) {
        struct record *r = &g->records[i];
        bool done = record_open(g, r) == 0 || r->settled ||
                    (r->status != DAVIT_OK && now - r->at_ms > FAILED_MS);
        char key[64];
        if (!done || (closed < CLOSED_KEPT && now - r->at_ms < CLOSED_MS)) {
            closed += done;
            g->records[kept++] = *r;
            continue;
        }
        snprintf(key, sizeof key, RECORD_PREFIX "%s", r->hash);
        tag_add(&f, ++n, g->name, key, NULL);
    }
    int st = n > 0 ? aws_do(&op->a, AWS_AUTOSCALING, &f) : DAVIT_OK;
    if (st == DAVIT_OK)
        g->n_records = kept;
    kit_str_done(&f);
    return st;
}

int ledger_open(struct op *op, struct group *g, const char *request,
                uint32_t want, struct record **ret)
{
    int st = ledger_prune(op, g);
    if (st != DAVIT_OK)
        return st;
    if (g->n_records >= RECORDS_MAX || g->n_records + g->tags >= 50)
        return kit_error(op->a.error, DAVIT_RETRY, "TooManyRequests",
                         "group %.80s has %zu requests under way and %u other "
                         "tags; there is room for 50",
                         g->name, g->n_records, g->tags);
    struct record *r = record_add(g);
    ledger_hash(request, r->hash);
    snprintf(r->request, sizeof r->request, "%s", request);
    r->want = want;
    r->at_ms = op->a.server_ms;
    r->changed = true;
    *ret = r;
    return ledger_save(op, g);
}

/* ---- what came */

int tags_put(struct op *op, struct group *g, const char *request,
             struct instance **v, size_t n)
{
    struct kit_str f = {0};
    const char *type = op->e->types[op->e->pools[g->pool].type].name;
    const struct davit_kv tags[] = {
        {TAG_CLUSTER, op->e->tag}, {TAG_TYPE, type}, {TAG_REQUEST, request}};
    int st = DAVIT_OK;
    for (size_t from = 0; from < n && st == DAVIT_OK; from += TAG_BATCH) {
        aws_form_begin(&f, AWS_EC2, "CreateTags");
        for (size_t i = from; i < n && i < from + TAG_BATCH; i++)
            aws_form_nth(&f, "ResourceId.", i - from + 1, v[i]->id);
        for (size_t i = 0; i < (request[0] != '\0' ? 3u : 2u); i++) {
            char name[32];
            snprintf(name, sizeof name, "Tag.%zu.Key", i + 1);
            kit_str_param(&f, name, tags[i].key);
            snprintf(name, sizeof name, "Tag.%zu.Value", i + 1);
            kit_str_param(&f, name, tags[i].value);
        }
        st = aws_do(&op->a, AWS_EC2, &f);
    }
    kit_str_done(&f);
    if (st == DAVIT_OK)
        request = kit_keep_text(&g->keep, request);
    for (size_t i = 0; i < n && st == DAVIT_OK; i++) {
        v[i]->ours = true;
        v[i]->request = request;
    }
    return st;
}

static struct record *oldest_open(struct group *g)
{
    struct record *best = NULL;
    for (size_t i = 0; i < g->n_records; i++) {
        struct record *r = &g->records[i];
        if (r->status == DAVIT_OK && record_open(g, r) > 0 &&
            (!best || r->at_ms < best->at_ms))
            best = r;
    }
    return best;
}

/* Loose instances go to the oldest request that waits; what nobody waits for
 * is adopted: ours, of no request.  Those EC2 does not describe yet stay loose,
 * for they may have a tag already.  An id that was just made may be unknown to
 * CreateTags: that is an error, for a list must not show it as a stranger. */
int ledger_assign(struct op *op, struct group *g)
{
    struct instance **v = kit_zeroed(g->n + 1, sizeof *v);
    int st = DAVIT_OK;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < g->n; i++)
        if (instance_lives(&g->v[i]) && g->v[i].described && !g->v[i].ours &&
            !g->v[i].foreign)
            v[n++] = &g->v[i];
    while (at < n && st == DAVIT_OK) {
        struct record *r = oldest_open(g);
        size_t room = r ? record_open(g, r) : n - at;
        size_t take = room < n - at ? room : n - at;
        st = tags_put(op, g, r ? r->request : "", v + at, take);
        if (st == DAVIT_NOT_FOUND)
            st = kit_error(op->a.error, DAVIT_RETRY, "NotTaggable",
                           "an instance just made cannot be tagged yet");
        at += take;
    }
    for (size_t i = 0; i < g->n_records; i++) {
        struct record *r = &g->records[i];
        uint32_t seen = tagged(g, r->request);
        if (seen > r->got) {
            r->got = seen;
            r->changed = true;
        }
    }
    free(v);
    return st == DAVIT_OK ? ledger_save(op, g) : st;
}

int group_target(struct op *op, struct group *g, uint32_t target)
{
    struct kit_str f = {0};
    char text[16];
    snprintf(text, sizeof text, "%u", target);
    aws_form_begin(&f, AWS_AUTOSCALING, "SetDesiredCapacity");
    kit_str_param(&f, "AutoScalingGroupName", g->name);
    kit_str_param(&f, "DesiredCapacity", text);
    kit_str_param(&f, "HonorCooldown", "false");
    int st = aws_do(&op->a, AWS_AUTOSCALING, &f);
    if (st == DAVIT_OK)
        g->desired = target;
    kit_str_done(&f);
    return st;
}

/* From being chosen by the group itself: when it levels its zones, or when a
 * target is lowered at the moment in which a late machine comes. */
int group_protect(struct op *op, struct group *g)
{
    struct kit_str f = {0};
    int st = DAVIT_OK;
    size_t i = 0;
    while (st == DAVIT_OK && i < g->n) {
        size_t n = 0;
        aws_form_begin(&f, AWS_AUTOSCALING, "SetInstanceProtection");
        for (; i < g->n && n < PROTECT_BATCH; i++)
            if (g->v[i].ours && g->v[i].in_group && !g->v[i].protected &&
                strcmp(g->v[i].stage, "InService") == 0)
                aws_form_nth(&f, "InstanceIds.member.", ++n, g->v[i].id);
        if (n == 0)
            break;
        kit_str_param(&f, "AutoScalingGroupName", g->name);
        kit_str_param(&f, "ProtectedFromScaleIn", "true");
        st = aws_do(&op->a, AWS_AUTOSCALING, &f);
    }
    kit_str_done(&f);
    return st;
}
