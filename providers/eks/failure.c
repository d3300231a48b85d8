/*
 * failure.c - why machines that were asked for do not come.
 *
 * SetDesiredCapacity always succeeds; the truth is in the group's scaling
 * activities, newest first, of which only those since the request count.  A
 * group over several zones tries them one after another by itself, so it is
 * out of stock when each zone said so, or when a minute has passed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

#define PATIENCE_MS (60 * INT64_C(1000))
#define PAGES_MAX 5
#define ZONES_MAX 8

/* How long a group may try on by itself, in other zones or in silence. */
static int64_t patience(const struct eks *e)
{
    int64_t some = e->launch_timeout_ms / 4;
    return some < PATIENCE_MS ? some : PATIENCE_MS;
}

struct failures {
    int status; /* of the newest one */
    char code[48], text[208];
    int64_t newest_ms, oldest_ms;
    char zones[ZONES_MAX][48];
    size_t n_zones;
    bool any;
};

static void zone_note(struct failures *f, const char *details)
{
    json_t *j = json_loads(details, 0, NULL);
    const char *zone = json_string_value(
        json_object_get(j, "Availability Zone"));
    bool known = !zone || f->n_zones == ZONES_MAX;
    for (size_t i = 0; i < f->n_zones && !known; i++)
        known = strcmp(f->zones[i], zone) == 0;
    if (!known)
        snprintf(f->zones[f->n_zones++], sizeof f->zones[0], "%s", zone);
    json_decref(j);
}

static void activity_take(struct failures *f, const struct xml *a, int64_t at)
{
    const char *status = xml_text(a, "StatusCode");
    const char *text = xml_text(a, "StatusMessage");
    if (strcmp(status, "Failed") != 0 && strcmp(status, "Cancelled") != 0)
        return;
    if (strncmp(xml_text(a, "Description"), "Launching", 9) != 0)
        return; /* an end that failed is not ours to judge */
    if (!f->any) {
        f->status = aws_sentence(text, f->code, sizeof f->code);
        snprintf(f->text, sizeof f->text, "%.200s",
                 text[0] != '\0' ? text : "the launch was cancelled");
        f->newest_ms = at;
        f->any = true;
    }
    f->oldest_ms = at;
    zone_note(f, xml_text(a, "Details"));
}

/* Failed launches since then.  An answer whose last entry is older ends it. */
static int failures_read(struct op *op, const struct group *g, int64_t since,
                         struct failures *f)
{
    struct kit_str form = {0}, next = {0};
    int st = DAVIT_OK, pages = 0;
    bool more;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        more = false;
        aws_form_begin(&form, AWS_AUTOSCALING, "DescribeScalingActivities");
        kit_str_param(&form, "AutoScalingGroupName", g->name);
        kit_str_param(&form, "MaxRecords", "20");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_AUTOSCALING, &form, &doc, &x);
        if (st != DAVIT_OK)
            break;
        x = xml_at(x, "DescribeScalingActivitiesResult");
        for (const struct xml *a = xml_at(x, "Activities/member"); a;
             a = xml_again(a)) {
            int64_t at = kit_time_ms(xml_text(a, "StartTime"));
            more = at >= since;
            if (more)
                activity_take(f, a, at);
        }
        kit_str_clear(&next);
        kit_str_puts(&next, xml_text(x, "NextToken"));
        xml_free(doc);
    } while (more && next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

/* A code that stops the provider in an answer to us only stops this type when
 * it is the group that was refused. */
static int as_machine(int status)
{
    return status == DAVIT_AUTH || status == DAVIT_NOT_FOUND ? DAVIT_INVALID
           : status == DAVIT_THROTTLED                       ? DAVIT_RETRY
                                                             : status;
}

/* The reaction when it is time for one, OK while it may still come. */
static int verdict(const struct eks *e, const struct group *g,
                   const struct failures *f, int64_t now)
{
    if (!f->any)
        return DAVIT_OK;
    int status = as_machine(f->status);
    bool patient = now - f->oldest_ms < patience(e);
    if (status == DAVIT_RETRY && patient)
        return DAVIT_OK;
    if (status == DAVIT_STOCKOUT && patient && f->n_zones < g->n_zones)
        return DAVIT_OK;
    return status;
}

static void record_fail(struct record *r, int status, const char *code)
{
    size_t n = 0;
    /* As a tag may have it, and without a space: it is one field. */
    for (; *code != '\0' && n + 1 < sizeof r->code; code++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                   "0123456789.-_",
                   *code))
            r->code[n++] = *code;
    r->code[n] = '\0';
    r->status = status;
    r->changed = true;
}

/* What EKS itself says of the node group: without a time, so it is only heard
 * when the activities are silent for a while. */
static int health_verdict(struct op *op, const struct group *g,
                          struct failures *f)
{
    struct eks *e = op->e;
    struct eks_pool *p = &e->pools[g->pool];
    char name[256], code[48], text[200];
    int st = p->bare ? DAVIT_OK
                     : pool_resolve(op, g->pool, true, name, sizeof name);
    if (st != DAVIT_OK)
        return DAVIT_OK;
    pthread_mutex_lock(&e->lock);
    snprintf(code, sizeof code, "%s", p->issue_code);
    snprintf(text, sizeof text, "%s", p->issue);
    pthread_mutex_unlock(&e->lock);
    if (code[0] == '\0')
        return DAVIT_OK;
    int status = aws_sentence(text, f->code, sizeof f->code);
    if (strcmp(f->code, "LaunchFailed") == 0) {
        status = aws_status(code, text);
        snprintf(f->code, sizeof f->code, "%s", code);
    }
    snprintf(f->text, sizeof f->text, "%s: %.150s", code, text);
    return as_machine(status);
}

/* Every record that waits is looked at with what happened since it began.  The
 * target comes down in the same pass, or the group would go on trying, and buy
 * the machine hours later. */
int failure_judge(struct op *op, struct group *g)
{
    struct count c = ledger_count(g);
    int64_t now = op->a.server_ms, since = now;
    bool failed = false;
    if (c.open == 0 && g->desired <= ledger_needed(g))
        return DAVIT_OK;
    for (size_t i = 0; i < g->n_records; i++)
        if (g->records[i].status == DAVIT_OK &&
            record_open(g, &g->records[i]) > 0 && g->records[i].at_ms < since)
            since = g->records[i].at_ms;
    struct failures f = {0};
    /* Nobody waits, yet the target is above: has the group just tried? */
    int st = failures_read(
        op, g, c.open > 0 ? since - since % 1000 : now - PATIENCE_MS, &f);
    int why = verdict(op->e, g, &f, now);
    for (size_t i = 0; i < g->n_records && st == DAVIT_OK; i++) {
        struct record *r = &g->records[i];
        if (r->status != DAVIT_OK || record_open(g, r) == 0)
            continue;
        int its = f.any && f.newest_ms >= r->at_ms - r->at_ms % 1000 ? why
                                                                     : DAVIT_OK;
        if (its == DAVIT_OK && !f.any && now - r->at_ms > patience(op->e))
            its = health_verdict(op, g, &f);
        if (its == DAVIT_OK && now - r->at_ms > op->e->launch_timeout_ms) {
            its = f.any ? as_machine(f.status) : DAVIT_RETRY;
            if (!f.any)
                snprintf(f.code, sizeof f.code, "LaunchTimeout");
        }
        if (its == DAVIT_OK)
            continue;
        record_fail(r, its, f.code);
        failed = true;
        char line[300];
        snprintf(line, sizeof line, "%s: %.250s", op->e->pools[g->pool].name,
                 f.text[0] != '\0' ? f.text : "no instance came in time");
        op->e->aws.host->log(1, line);
    }
    uint32_t need = ledger_needed(g);
    if (st == DAVIT_OK && g->desired > need && (failed || why != DAVIT_OK))
        st = group_target(op, g, need);
    /* Written after the target is down: should this be lost, it is judged and
     * lowered once more. */
    return st == DAVIT_OK ? ledger_save(op, g) : st;
}
