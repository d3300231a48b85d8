/*
 * kube_drain.c - the step: what is on the node, what may go, what goes.
 *
 * First everything is looked at, and a drain that something is against is
 * refused before the node is touched.  Then the node is cordoned, and from then
 * on each step evicts what may go.  A refusal always takes the cordon back.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kube_node.h"
#include "str.h"

enum {
    EVICTIONS = 50,   /* in one step */
    PODS_MOST = 5000, /* on one node */
    SPACES = 64,      /* namespaces whose budgets are looked at */
};

/* What one step knows. */
struct step {
    const struct kube_io *io;
    struct kube_drain *d;
    struct davit_error *e;
    json_t *node, *pods, *budgets;
    struct kube_pod *v; /* of pods, in their order */
    size_t n;
    uint32_t moving, leaving, holding, blocked;
    const struct kube_pod *first_hold, *first_work;
    int64_t server_ms; /* by the clock that ends a pod's grace; 0: not known */
    int64_t begun_ms;  /* 0: not begun */
};

static enum davit_status refuse(struct step *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A node that was touched is given back; when that fails it is found tainted
 * later, and given back then. */
static enum davit_status refuse(struct step *s, const char *fmt, ...)
{
    struct davit_error ignored = {.size = sizeof ignored};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->d->why, sizeof s->d->why, fmt, ap);
    va_end(ap);
    s->d->got = KUBE_DRAIN_REFUSED;
    if (s->begun_ms != 0)
        kube_drain_undo(s->io, s->d->node, &ignored);
    return DAVIT_OK;
}

static enum davit_status waits(struct step *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static enum davit_status waits(struct step *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->d->why, sizeof s->d->why, fmt, ap);
    va_end(ap);
    s->d->got = KUBE_DRAIN_WAITS;
    return DAVIT_OK;
}

/* ---- looking */

/* The clock that the drain goes by: the API server's, which wrote when its pods are
 * over.  Ours, where the server tells no time, is good for our own intervals. */
static int64_t now_of(const struct step *s)
{
    return s->server_ms > 0 ? s->server_ms : s->d->now_wall_ms;
}

/* Appends the items of a list, page by page. */
static enum davit_status list_all(struct step *s, const char *path, json_t *to)
{
    struct kit_str url = {0};
    char *next = NULL;
    enum davit_status st = DAVIT_OK;

    do {
        struct kube_ask q = {.method = "GET"};
        kit_str_clear(&url);
        kit_str_puts(&url, path);
        if (next) {
            kit_str_puts(&url, "&continue=");
            kit_str_encode(&url, next, strlen(next), "");
        }
        q.path = kit_str_text(&url);
        st = kube_ask(s->io, &q, s->e);
        free(next);
        next = NULL;
        if (st == DAVIT_OK) {
            const char *more = kit_json_text(q.reply, "metadata.continue");
            s->server_ms = q.server_ms;
            json_t *items = json_object_get(q.reply, "items");
            if (json_is_array(items))
                json_array_extend(to, items);
            if (*more != '\0' && json_array_size(to) < PODS_MOST)
                next = kit_copy(more);
        }
        json_decref(q.reply);
    } while (next);
    kit_str_done(&url);
    return st;
}

static enum davit_status pods_read(struct step *s)
{
    struct kit_str path = {0};
    enum davit_status st;

    s->pods = json_array();
    kit_str_puts(&path,
                 "/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3D");
    kit_str_encode(&path, s->d->node, strlen(s->d->node), "");
    st = list_all(s, kit_str_text(&path), s->pods);
    kit_str_done(&path);
    if (st != DAVIT_OK)
        return st;
    s->n = json_array_size(s->pods);
    s->v = kit_zeroed(s->n + 1, sizeof *s->v);
    for (size_t i = 0; i < s->n; i++) {
        struct kube_pod *p = &s->v[i];
        kube_pod_judge(json_array_get(s->pods, i), &s->d->rules, s->server_ms,
                       p);
        s->moving += p->fate == KUBE_POD_MOVES;
        s->leaving += p->fate == KUBE_POD_LEAVES;
        s->holding += p->fate == KUBE_POD_HOLDS;
        if (p->fate == KUBE_POD_HOLDS && !s->first_hold)
            s->first_hold = p;
        if (p->works && !s->first_work)
            s->first_work = p;
    }
    s->d->left = s->moving + s->leaving + s->holding;
    return DAVIT_OK;
}

/* Budgets of the namespaces whose pods are to move.  They only spare a drain
 * that would fail: an eviction asks them again, so where they cannot be read
 * (no right to) they are left out. */
static void budgets_read(struct step *s)
{
    const char *spaces[SPACES];
    size_t n = 0;

    s->budgets = json_array();
    for (size_t i = 0; i < s->n && n < SPACES; i++) {
        bool known = s->v[i].fate != KUBE_POD_MOVES;
        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(spaces[k], s->v[i].space) == 0;
        if (!known)
            spaces[n++] = s->v[i].space;
    }
    for (size_t k = 0; k < n; k++) {
        struct davit_error ignored = {.size = sizeof ignored};
        struct davit_error *kept = s->e;
        struct kit_str path = {0};
        kit_str_puts(&path, "/apis/policy/v1/namespaces/");
        kit_str_encode(&path, spaces[k], strlen(spaces[k]), "");
        kit_str_puts(&path, "/poddisruptionbudgets?limit=500");
        s->e = &ignored;
        list_all(s, kit_str_text(&path), s->budgets);
        s->e = kept;
        kit_str_done(&path);
    }
}

/* Why budgets forbid a pod to go; false: they do not. */
static bool budget_against(const struct step *s, size_t i, char *why, size_t n)
{
    const json_t *pod = json_array_get(s->pods, i), *b, *first = NULL;
    size_t k;

    json_array_foreach(s->budgets, k, b) {
        const char *name = kit_json_text(b, "metadata.name");
        if (!kube_budget_covers(b, pod))
            continue;
        if (first) {
            snprintf(why, n,
                     "is under two disruption budgets (%.60s, %.60s), so that "
                     "Kubernetes refuses to evict it",
                     kit_json_text(first, "metadata.name"), name);
            return true;
        }
        first = b;
    }
    if (!first || !kube_budget_forbids(first, &s->v[i]))
        return false;
    snprintf(why, n,
             "disruption budget \"%.60s\" allows none now (%lld healthy, %lld "
             "needed)",
             kit_json_text(first, "metadata.name"),
             (long long)kit_json_int(first, "status.currentHealthy", 0),
             (long long)kit_json_int(first, "status.desiredHealthy", 0));
    return true;
}

/* Before anything is touched: may all of it go? */
static bool objection(struct step *s)
{
    char why[200];

    if (*kube_node_holds(s->node) != '\0') {
        refuse(s, "the node %s", kube_node_holds(s->node));
        return true;
    }
    if (s->d->idle && s->first_work) {
        refuse(s, "it is not idle: pod %.60s/%.60s has come to it",
               s->first_work->space, s->first_work->name);
        return true;
    }
    if (s->d->wait)
        return false;
    if (s->first_hold) {
        refuse(s, "pod %.60s/%.60s %s", s->first_hold->space,
               s->first_hold->name, s->first_hold->why);
        return true;
    }
    if (s->begun_ms != 0 || s->moving == 0)
        return false;
    budgets_read(s);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].fate == KUBE_POD_MOVES &&
            budget_against(s, i, why, sizeof why)) {
            refuse(s, "pod %.50s/%.50s: %s", s->v[i].space, s->v[i].name, why);
            return true;
        }
    return false;
}

/* ---- evicting */

/* What the API server says of a refused eviction: the budget's sentence. */
static const char *budget_words(const json_t *reply)
{
    const json_t *causes = kit_json_at(reply, "details.causes"), *c;
    size_t i;

    json_array_foreach(causes, i, c)
        if (strcmp(kit_json_text(c, "reason"), "DisruptionBudget") == 0)
            return kit_json_text(c, "message");
    return NULL;
}

enum evicted {
    EVICTED,
    EVICTED_GONE,
    EVICTED_BLOCKED,
    EVICTED_NEVER,
    EVICTED_LATER,
    EVICTED_FAILED
};

static enum evicted evict(struct step *s, const struct kube_pod *p,
                          enum davit_status *st)
{
    struct kube_ask q = {.method = "POST", .content_type = "application/json"};
    struct kit_str path = {0};
    json_t *body = kit_must(json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}}", "apiVersion", "policy/v1",
        "kind", "Eviction", "metadata", "name", p->name, "namespace", p->space,
        "deleteOptions", "preconditions", "uid", p->uid));
    enum evicted got;
    const char *budget;

    if (s->d->most_grace_s > 0 && p->grace_s > s->d->most_grace_s)
        json_object_set_new(json_object_get(body, "deleteOptions"),
                            "gracePeriodSeconds",
                            json_integer(s->d->most_grace_s));
    kit_str_puts(&path, "/api/v1/namespaces/");
    kit_str_encode(&path, p->space, strlen(p->space), "");
    kit_str_puts(&path, "/pods/");
    kit_str_encode(&path, p->name, strlen(p->name), "");
    kit_str_puts(&path, "/eviction");
    q.path = kit_str_text(&path);
    q.body = body;
    *st = kube_ask(s->io, &q, s->e);
    budget = budget_words(q.reply);
    if (*st == DAVIT_OK) {
        got = EVICTED;
    } else if (q.code == 404) {
        got = EVICTED_GONE;
    } else if (q.code == 409) {
        got = EVICTED_LATER; /* another pod has its name by now */
    } else if (q.code == 429 && budget) {
        snprintf(s->d->why, sizeof s->d->why, "pod %.50s/%.50s: %s", p->space,
                 p->name,
                 *budget ? budget : "its disruption budget forbids it");
        got = EVICTED_BLOCKED;
    } else if (q.code == 500 && strstr(kit_json_text(q.reply, "message"),
                                       "more than one PodDisruptionBudget")) {
        got = EVICTED_NEVER;
    } else if (q.code == 403 &&
               strstr(kit_json_text(q.reply, "message"), "being terminated")) {
        got = EVICTED_GONE; /* its namespace goes, and it with it */
    } else {
        got = EVICTED_FAILED;
    }
    json_decref(q.reply);
    json_decref(body);
    kit_str_done(&path);
    return got;
}

/* Those of the system leave last, when nobody else needs them. */
static bool its_turn(const struct step *s, const struct kube_pod *p, bool last)
{
    (void)s;
    return p->fate == KUBE_POD_MOVES && p->critical == last;
}

static enum davit_status evict_all(struct step *s)
{
    uint32_t ordinary = s->leaving + s->holding, sent = 0;
    enum davit_status st = DAVIT_OK;
    bool last;

    for (size_t i = 0; i < s->n; i++)
        ordinary += its_turn(s, &s->v[i], false);
    last = ordinary == 0;
    for (size_t i = 0; i < s->n && sent < EVICTIONS; i++) {
        const struct kube_pod *p = &s->v[i];
        if (!its_turn(s, p, last))
            continue;
        sent++;
        switch (evict(s, p, &st)) {
        case EVICTED:
            s->d->moved = true;
            s->moving--;
            s->leaving++;
            break;
        case EVICTED_GONE:
            s->moving--;
            s->d->left--;
            break;
        case EVICTED_BLOCKED: s->blocked++; break;
        case EVICTED_LATER: break;
        case EVICTED_NEVER:
            return refuse(s,
                          "pod %.60s/%.60s is under more than one disruption "
                          "budget, so that Kubernetes refuses to evict it",
                          p->space, p->name);
        case EVICTED_FAILED:
            if (st == DAVIT_AUTH)
                return refuse(s, "%s", s->e->text);
            return st;
        }
    }
    return DAVIT_OK;
}

/* ---- the step */

/* What will not go by itself, at the end of its time; the words are there. */
static enum davit_status overdue(struct step *s)
{
    char why[sizeof s->d->why];
    long long limit = (long long)(s->d->limit_ms / 1000);

    snprintf(why, sizeof why, "%s", s->d->why);
    if (s->first_hold)
        return refuse(s, "after %lld s: pod %.50s/%.50s %s", limit,
                      s->first_hold->space, s->first_hold->name,
                      s->first_hold->why);
    return refuse(s, "after %lld s, %u pods left: %.150s", limit, s->d->left,
                  s->blocked ? why : "they could not be evicted in time");
}

static enum davit_status drained(struct step *s)
{
    int64_t settles = s->begun_ms + s->d->settle_ms - now_of(s);

    if (settles > 0)
        return waits(s,
                     "empty; the scheduler may have bound something to it yet "
                     "(%lld ms)",
                     (long long)settles);
    s->d->got = KUBE_DRAIN_DONE;
    return DAVIT_OK;
}

static enum davit_status go_on(struct step *s)
{
    int64_t left_ms = s->begun_ms + s->d->limit_ms - now_of(s);
    uint32_t stuck = s->server_ms > 0 ? 0 : s->leaving;
    char blocked[sizeof s->d->why];
    enum davit_status st;

    if (s->d->left == 0)
        return drained(s);
    st = evict_all(s);
    if (st != DAVIT_OK || s->d->got == KUBE_DRAIN_REFUSED)
        return st;
    /* Pods on their way out are waited for: their own time ends, or 30 s
     * after it they count as lost; where no clock tells, up to the limit. */
    if (left_ms <= 0 && s->moving + s->holding + stuck > 0)
        return overdue(s);
    if (s->d->left == 0)
        return drained(s);
    snprintf(blocked, sizeof blocked, "%s", s->d->why);
    if (s->blocked > 0)
        return waits(s, "%u pods left; %.180s", s->d->left, blocked);
    if (s->first_hold)
        return waits(s, "%u pods left; %.40s/%.40s %.80s", s->d->left,
                     s->first_hold->space, s->first_hold->name,
                     s->first_hold->why);
    return waits(s, "%u pods left, %u of them leaving", s->d->left, s->leaving);
}

static bool is_another(const struct step *s)
{
    const char *uid = kit_json_text(s->node, "metadata.uid");

    return s->d->uid && *s->d->uid && *uid && strcmp(uid, s->d->uid) != 0;
}

static enum davit_status step_run(struct step *s)
{
    enum davit_status st;
    bool there;

    s->d->got = KUBE_DRAIN_WAITS;
    st = kube_node_get(s->io, s->d->node, &s->node, &there, s->e);
    if (st != DAVIT_OK)
        return st;
    if (!there) {
        s->d->got = KUBE_DRAIN_ABSENT;
        return DAVIT_OK;
    }
    if (is_another(s))
        return waits(s, "another node has its name by now, or another cluster "
                        "answers");
    st = pods_read(s);
    if (st != DAVIT_OK)
        return st;
    s->begun_ms = kube_node_drained_since(s->node, now_of(s));
    s->d->begun = s->begun_ms != 0;
    s->d->moved = s->begun_ms != 0 && s->leaving > 0 && !s->d->idle;
    if (objection(s))
        return st;
    if (s->begun_ms == 0) {
        st = kube_node_cordon(s->io, s->node, now_of(s), s->e);
        if (st != DAVIT_OK)
            return st;
        s->d->begun = true;
        return waits(s, "cordoned; %u pods to go", s->d->left);
    }
    return go_on(s);
}

enum davit_status kube_drain_step(const struct kube_io *io,
                                  struct kube_drain *d, struct davit_error *e)
{
    struct step s = {.io = io, .d = d, .e = e};
    enum davit_status st;

    d->begun = d->moved = false;
    d->left = 0;
    d->why[0] = '\0';
    st = step_run(&s);
    if (st == DAVIT_OK && d->got == KUBE_DRAIN_REFUSED)
        d->begun = false;
    json_decref(s.node);
    json_decref(s.pods);
    json_decref(s.budgets);
    free(s.v);
    return st;
}
