/*
 * list.c - the instances that carry our tag.
 *
 * Who has ended is listed by EC2 for another hour: those that AWS ended itself
 * before they ran are failures, with AWS's reason; the others are gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

#define PAGES_MAX 200
#define FAILED_MS (INT64_C(15) * 60000) /* so long a failed launch is told */
#define HELD_MS (INT64_C(10) * 60000)   /* after it EC2 is asked again */

static const char *tag(const struct xml *i, const char *key)
{
    for (const struct xml *t = xml_at(i, "tagSet/item"); t; t = xml_again(t))
        if (strcmp(xml_text(t, "key"), key) == 0)
            return xml_text(t, "value");
    return "";
}

/* "Server.InsufficientInstanceCapacity": the class of a failure, for those
 * that AWS ended; false: somebody wanted it ended. */
static bool failed(const struct xml *i, int *ret_status)
{
    const char *code = xml_text(i, "stateReason/code");
    const char *bare = strchr(code, '.');
    static const char *const meant[] = {
        "Client.UserInitiatedShutdown", "Client.InstanceInitiatedShutdown",
        "Server.SpotInstanceTermination", "Server.SpotInstanceShutdown",
        "Server.ScheduledStop"};
    for (size_t k = 0; k < sizeof meant / sizeof *meant; k++)
        if (strcmp(code, meant[k]) == 0)
            return false;
    if (!bare)
        return false;
    *ret_status = aws_status(bare + 1, xml_text(i, "stateReason/message"));
    return true;
}

static enum davit_phase phase(const char *state)
{
    if (strcmp(state, "pending") == 0)
        return DAVIT_STARTING;
    return strcmp(state, "running") == 0 ? DAVIT_RUNNING : DAVIT_STOPPING;
}

/* ---- what EC2 would not end */

void held_note(struct ec2 *e, const char *id, const char *why)
{
    struct kept *k = NULL;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < HELD_MAX && !k; i++)
        if (strcmp(e->held[i].id, id) == 0)
            k = &e->held[i];
    k = k ? k : &e->held[e->n_held++ % HELD_MAX];
    snprintf(k->id, sizeof k->id, "%s", id);
    snprintf(k->why, sizeof k->why, "%s", why);
    k->until_ms = e->aws.host->wall_ms() + HELD_MS;
    pthread_mutex_unlock(&e->lock);
}

static void held_read(struct ec2 *e, const char *id, char *ret, size_t size)
{
    int64_t now = e->aws.host->wall_ms();
    ret[0] = '\0';
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < HELD_MAX; i++)
        if (strcmp(e->held[i].id, id) == 0 && now < e->held[i].until_ms)
            snprintf(ret, size, "%s", e->held[i].why);
    pthread_mutex_unlock(&e->lock);
}

void instance_put(struct ec2 *e, const struct xml *i, const json_t *events,
                  struct davit_sink *sink, davit_put_machine *put)
{
    char held[200];
    const char *state = xml_text(i, "instanceState/name");
    const char *why = xml_text(i, "stateReason/message");
    struct davit_machine m = {
        .size = sizeof m,
        .id = xml_text(i, "instanceId"),
        .request_id = tag(i, TAG_REQUEST),
        .offer = tag(i, TAG_TYPE),
        .zone = xml_text(i, "placement/availabilityZone"),
        .address = xml_text(i, "privateIpAddress"),
        .phase = phase(state),
        .spot = strcmp(xml_text(i, "instanceLifecycle"), "spot") == 0,
        .detail = why[0] != '\0' ? why : NULL};
    if (strcmp(state, "terminated") == 0 ||
        strcmp(state, "shutting-down") == 0) {
        int status = DAVIT_OK;
        bool fault = failed(i, &status);
        if (!fault && strcmp(state, "terminated") == 0)
            return;
        m.phase = fault ? DAVIT_FAILED : DAVIT_STOPPING;
        m.failure = (uint32_t)status;
    } else if (strcmp(state, "stopped") == 0 ||
               strcmp(state, "stopping") == 0) {
        m.phase = strcmp(state, "stopped") == 0 ? DAVIT_FAILED : m.phase;
        m.failure = DAVIT_RETRY;
        m.detail = "somebody stopped it: its disks are billed, so it is ended";
    }
    held_read(e, m.id, held, sizeof held);
    m.held = held;
    m.leaving = kit_json_text(json_object_get(events, m.id), "why");
    m.leaves_ms = kit_json_int(json_object_get(events, m.id), "at", 0);
    if (m.id[0] != '\0')
        put(sink, &m);
}

int instances_read(struct op *op, const char *request, each_instance *each,
                   void *arg)
{
    struct kit_str form = {0}, next = {0};
    int st, pages = 0;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        aws_form_begin(&form, AWS_EC2, "DescribeInstances");
        kit_str_param(&form, "Filter.1.Name", "tag:" TAG_CLUSTER);
        kit_str_param(&form, "Filter.1.Value.1", op->e->cluster);
        if (request) {
            kit_str_param(&form, "Filter.2.Name", "tag:" TAG_REQUEST);
            kit_str_param(&form, "Filter.2.Value.1", request);
        }
        kit_str_param(&form, "MaxResults", "1000");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
        if (st == DAVIT_OK && !xml_child(x, "reservationSet"))
            st = kit_error(op->a.error, DAVIT_RETRY, "BadReply",
                           "DescribeInstances answered without instances");
        const struct xml *r = st == DAVIT_OK ? xml_at(x, "reservationSet/item")
                                             : NULL;
        for (; r; r = xml_again(r))
            for (const struct xml *i = xml_at(r, "instancesSet/item"); i;
                 i = xml_again(i))
                each(arg, i);
        kit_str_clear(&next);
        kit_str_puts(&next, st == DAVIT_OK ? xml_text(x, "nextToken") : "");
        xml_free(doc);
        if (++pages == PAGES_MAX && next.n > 0)
            st = kit_error(op->a.error, DAVIT_RETRY, "TooManyPages",
                           "DescribeInstances has more than %d pages",
                           PAGES_MAX);
    } while (st == DAVIT_OK && next.n > 0);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

/* A failed launch that was ended as asked is no news any more. */
void ended_note(struct ec2 *e, const char *id)
{
    pthread_mutex_lock(&e->lock);
    snprintf(e->ended[e->n_ended++ % ENDED_MAX], sizeof e->ended[0], "%s", id);
    pthread_mutex_unlock(&e->lock);
}

static bool ended(struct ec2 *e, const char *id)
{
    bool found = false;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < ENDED_MAX && !found; i++)
        found = strcmp(e->ended[i], id) == 0;
    pthread_mutex_unlock(&e->lock);
    return found;
}

struct listing {
    struct ec2 *e;
    struct davit_sink *sink;
    davit_put_machine *put;
    int64_t now_ms;
    json_t *events;
    bool spot; /* there is one */
};

static void list_one(void *arg, const struct xml *i)
{
    struct listing *l = arg;
    int64_t at = kit_time_ms(xml_text(i, "launchTime"));
    if (strcmp(xml_text(i, "instanceState/name"), "terminated") == 0 &&
        (l->now_ms - at > FAILED_MS || ended(l->e, xml_text(i, "instanceId"))))
        return;
    l->spot |= strcmp(xml_text(i, "instanceLifecycle"), "spot") == 0;
    instance_put(l->e, i, l->events, l->sink, l->put);
}

int ec2_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *error)
{
    struct ec2 *e = self;
    struct op op = op_begin(e, call, error);
    struct listing l = {e, sink, put, op.a.server_ms, events_read(&op), false};
    int st = instances_read(&op, NULL, list_one, &l);
    json_decref(l.events);
    pthread_mutex_lock(&e->lock);
    e->has_spot = st == DAVIT_OK ? l.spot : e->has_spot || l.spot;
    pthread_mutex_unlock(&e->lock);
    return st;
}
