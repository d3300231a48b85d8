/*
 * events.c - hosts that AWS will stop, restart or retire, and those that it finds
 * broken: DescribeInstanceStatus, once a minute, of such instances alone; and spot
 * machines that it takes back: DescribeSpotInstanceRequests, every ten seconds while
 * there is a spot machine.
 *
 * docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
 * Without the right to read it a list is as good as before, and a line in the
 * log says so.
 */
#include <stdio.h>
#include <string.h>

#include "ec2.h"

#define NOTICE_MS 120000 /* what the market gives from the notice on */
#define PAGES_MAX 50

/* "[Completed]" or "[Canceled]" begins the description of what is over. */
static const struct xml *pending_event(const struct xml *i)
{
    for (const struct xml *v = xml_at(i, "eventsSet/item"); v; v = xml_again(v))
        if (xml_text(v, "description")[0] != '[')
            return v;
    return NULL;
}

static void event_note(json_t *all, const struct xml *i)
{
    const struct xml *v = pending_event(i);
    if (v)
        json_object_set_new(
            all, xml_text(i, "instanceId"),
            kit_must(json_pack(
                "{s:o, s:I}", "why",
                json_sprintf("AWS has scheduled %s at %s", xml_text(v, "code"),
                             xml_text(v, "notBefore")),
                "at", (json_int_t)kit_time_ms(xml_text(v, "notBefore")))));
}

/* It may be a moment's: twice in a row it is the host. */
static void impaired_note(json_t *all, const json_t *before,
                          const struct xml *i)
{
    const char *id = xml_text(i, "instanceId");
    const json_t *was = json_object_get(before, id);
    if (strcmp(xml_text(i, "systemStatus/status"), "impaired") != 0 ||
        json_object_get(all, id))
        return;
    json_object_set_new(
        all, id,
        kit_must(json_pack("{s:s, s:I, s:b}", "why",
                           was ? "AWS's system status check finds its host "
                                 "impaired"
                               : "",
                           "at", (json_int_t)0, "impaired", 1)));
}

static int status_pages(struct op *op, const char *filter,
                        const char *const *values, size_t n, json_t *all,
                        const json_t *before)
{
    struct kit_str form = {0}, next = {0};
    int st, pages = 0;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        aws_form_begin(&form, AWS_EC2, "DescribeInstanceStatus");
        kit_str_param(&form, "Filter.1.Name", filter);
        for (size_t i = 0; i < n; i++)
            aws_form_nth(&form, "Filter.1.Value.", i + 1, values[i]);
        kit_str_param(&form, "MaxResults", "1000");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
        const struct xml *i = st == DAVIT_OK
                                  ? xml_at(x, "instanceStatusSet/item")
                                  : NULL;
        for (; i; i = xml_again(i)) {
            event_note(all, i);
            impaired_note(all, before, i);
        }
        kit_str_clear(&next);
        kit_str_puts(&next, st == DAVIT_OK ? xml_text(x, "nextToken") : "");
        xml_free(doc);
    } while (st == DAVIT_OK && next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

static int events_ask(struct op *op, const json_t *before, json_t **ret)
{
    static const char *const codes[] = {"instance-retirement", "instance-stop",
                                        "instance-reboot", "system-reboot",
                                        "system-maintenance"};
    static const char *const impaired[] = {"impaired"};
    *ret = kit_must(json_object());
    int st = status_pages(op, "event.code", codes, sizeof codes / sizeof *codes,
                          *ret, NULL);
    return st != DAVIT_OK ? st
                          : status_pages(op, "system-status.status", impaired,
                                         1, *ret, before);
}

/* Machines that were bought on the spot market and are taken back: EC2 writes it on
 * their requests two minutes before.
 * docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-request-status.html */
static int notices_ask(struct op *op, const json_t *before, json_t **ret)
{
    struct kit_str form = {0}, next = {0};
    int st, pages = 0;
    (void)before;
    *ret = kit_must(json_object());
    do {
        struct xml_doc *doc;
        const struct xml *x;
        aws_form_begin(&form, AWS_EC2, "DescribeSpotInstanceRequests");
        kit_str_param(&form, "Filter.1.Name", "status-code");
        aws_form_nth(&form, "Filter.1.Value.", 1, "marked-for-termination");
        aws_form_nth(&form, "Filter.1.Value.", 2, "marked-for-stop");
        kit_str_param(&form, "MaxResults", "1000");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
        const struct xml *i = st == DAVIT_OK
                                  ? xml_at(x, "spotInstanceRequestSet/item")
                                  : NULL;
        for (; i; i = xml_again(i))
            json_object_set_new(
                *ret, xml_text(i, "instanceId"),
                kit_must(json_pack(
                    "{s:o, s:I}", "why",
                    json_sprintf("AWS takes the spot instance back (%s)",
                                 xml_text(i, "status/code")),
                    "at",
                    (json_int_t)(kit_time_ms(xml_text(i, "status/updateTime")) +
                                 NOTICE_MS))));
        kit_str_clear(&next);
        kit_str_puts(&next, st == DAVIT_OK ? xml_text(x, "nextToken") : "");
        xml_free(doc);
    } while (st == DAVIT_OK && next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

static const struct watched {
    const char *what;
    int64_t every_ms;
    int (*ask)(struct op *op, const json_t *before, json_t **ret);
} watched[EC2_WATCHED] = {
    {"scheduled events and status checks", 60000, events_ask},
    {"the spot market's notices", 10000, notices_ask},
};

static void untold(struct op *op, const struct watched *w,
                   const struct davit_error *e)
{
    char line[300];
    snprintf(line, sizeof line, "%s are not known: %.200s", w->what, e->text);
    op->e->aws.host->log(1, line);
}

/* What it was when AWS was asked last; the caller's own. */
static json_t *watch_read(struct op *op, const struct watched *w,
                          struct ec2_watch *k)
{
    struct davit_error ignored = {.size = sizeof ignored}, *error = op->a.error;
    int64_t now = op->e->aws.host->wall_ms();
    json_t *before, *all;
    pthread_mutex_lock(&op->e->lock);
    before = kit_must(k->all ? json_deep_copy(k->all) : json_object());
    bool fresh = k->all && now >= k->asked_ms &&
                 now - k->asked_ms < w->every_ms;
    k->asked_ms = fresh ? k->asked_ms : now; /* one asks at a time */
    pthread_mutex_unlock(&op->e->lock);
    if (fresh)
        return before;
    op->a.error = &ignored; /* no right to look is no reason to fail */
    int st = w->ask(op, before, &all);
    op->a.error = error;
    pthread_mutex_lock(&op->e->lock);
    bool told = k->told;
    k->told = st == DAVIT_AUTH;
    if (st == DAVIT_OK || !k->all) {
        json_decref(k->all);
        k->all = kit_must(st == DAVIT_OK ? json_deep_copy(all) : json_object());
    }
    pthread_mutex_unlock(&op->e->lock);
    if (st == DAVIT_AUTH && !told)
        untold(op, w, &ignored);
    json_decref(st == DAVIT_OK ? before : all);
    return st == DAVIT_OK ? all : before;
}

json_t *events_read(struct op *op)
{
    json_t *all = watch_read(op, &watched[0], &op->e->watch[0]);
    pthread_mutex_lock(&op->e->lock);
    bool spot = op->e->has_spot;
    pthread_mutex_unlock(&op->e->lock);
    if (!spot)
        return all;
    json_t *notices = watch_read(op, &watched[1], &op->e->watch[1]);
    json_object_update(all, notices);
    json_decref(notices);
    return all;
}
