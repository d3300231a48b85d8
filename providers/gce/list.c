/*
 * list.c - the instances of all zones that carry our label.
 *
 * A zone that cannot be reached is a warning inside a good answer; here it is a
 * failed list, for its machines would look gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

#define PAGES_MAX 200

static const char *last_part(const char *s)
{
    const char *slash = strrchr(s, '/');
    return slash ? slash + 1 : s;
}

/* PENDING: a flex start that waits for its capacity. */
static enum davit_phase phase(const char *status)
{
    static const char *const starting[] = {"PENDING", "PROVISIONING",
                                           "STAGING"};
    static const char *const running[] = {"RUNNING", "REPAIRING"};
    for (size_t i = 0; i < sizeof starting / sizeof *starting; i++)
        if (strcmp(status, starting[i]) == 0)
            return DAVIT_STARTING;
    for (size_t i = 0; i < sizeof running / sizeof *running; i++)
        if (strcmp(status, running[i]) == 0)
            return DAVIT_RUNNING;
    /* Stopped for good, its disk billed: the daemon ends it. */
    if (strcmp(status, "TERMINATED") == 0 || strcmp(status, "SUSPENDED") == 0 ||
        strcmp(status, "STOPPED") == 0)
        return DAVIT_FAILED;
    return DAVIT_STOPPING;
}

/* Maintenance that ends it: what has GPUs, and spot, is not moved (the discovery
 * document's UpcomingMaintenance; onHostMaintenance).  One in repair is down. */
static void leaving_read(const json_t *i, struct davit_machine *m, char *text,
                         size_t size)
{
    const json_t *u = kit_json_at(i, "resourceStatus.upcomingMaintenance");
    const json_t *why = json_array_get(json_object_get(u, "maintenanceReasons"),
                                       0);
    const char *status = kit_json_text(u, "maintenanceStatus");
    bool moves = strcmp(kit_json_text(i, "scheduling.onHostMaintenance"),
                        "MIGRATE") == 0;
    text[0] = '\0';
    if (strcmp(kit_json_text(i, "status"), "REPAIRING") == 0) {
        snprintf(text, size, "Compute Engine repairs it");
    } else if (!moves && (strcmp(status, "PENDING") == 0 ||
                          strcmp(status, "ONGOING") == 0)) {
        const char *from = kit_json_text(u, "windowStartTime");
        snprintf(text, size, "Compute Engine's maintenance %s%.40s%s%.40s",
                 *from != '\0' ? "at " : "", from, why ? ": " : "",
                 kit_json_string(why));
        m->leaves_ms = strcmp(status, "PENDING") == 0 ? kit_time_ms(from) : 0;
    }
    m->leaving = text;
}

static void instance_put(const json_t *i, struct davit_sink *sink,
                         davit_put_machine *put)
{
    const json_t *labels = json_object_get(i, "labels");
    const json_t *nic = json_array_get(json_object_get(i, "networkInterfaces"),
                                       0);
    const char *status = kit_json_text(i, "status");
    const char *zone = last_part(kit_json_text(i, "zone"));
    char id[128], type[64], request[64], detail[80], leaving[160];
    snprintf(id, sizeof id, "%.60s/%.63s", zone, kit_json_text(i, "name"));
    label_read(kit_json_string(json_object_get(labels, LABEL_TYPE)), type,
               sizeof type);
    label_read(kit_json_string(json_object_get(labels, LABEL_REQUEST)), request,
               sizeof request);
    snprintf(detail, sizeof detail, "the instance is %.30s", status);
    struct davit_machine m = {
        .size = sizeof m,
        .id = id,
        .request_id = request,
        .offer = type,
        .zone = zone,
        .address = kit_json_text(nic, "networkIP"),
        .phase = phase(status),
        .spot = strcmp(kit_json_text(i, "scheduling.provisioningModel"),
                       "SPOT") == 0,
        .failure = DAVIT_RETRY,
        .queued = strcmp(status, "PENDING") == 0,
        .detail = phase(status) == DAVIT_FAILED ? detail : NULL};
    leaving_read(i, &m, leaving, sizeof leaving);
    if (kit_json_text(i, "name")[0] != '\0')
        put(sink, &m);
}

static int scope_read(struct op *op, const json_t *scope,
                      struct davit_sink *sink, davit_put_machine *put)
{
    const char *warned = kit_json_text(scope, "warning.code");
    size_t i;
    json_t *v;
    if (*warned != '\0' && strcmp(warned, "NO_RESULTS_ON_PAGE") != 0)
        return kit_error(op->e, DAVIT_RETRY, warned,
                         "a zone was not read: %.120s",
                         kit_json_text(scope, "warning.message"));
    json_array_foreach(json_object_get(scope, "instances"), i, v)
        instance_put(v, sink, put);
    return DAVIT_OK;
}

static int page_read(struct op *op, const json_t *reply,
                     struct davit_sink *sink, davit_put_machine *put)
{
    const char *warned = kit_json_text(reply, "warning.code");
    const char *key;
    json_t *scope;
    int s = DAVIT_OK;
    if (*warned != '\0' && strcmp(warned, "NO_RESULTS_ON_PAGE") != 0)
        return kit_error(op->e, DAVIT_RETRY, warned,
                         "the list is not whole: %.120s",
                         kit_json_text(reply, "warning.message"));
    json_object_foreach(json_object_get(reply, "items"), key, scope)
        if (s == DAVIT_OK)
            s = scope_read(op, scope, sink, put);
    return s;
}

int gce_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e)
{
    static const char fields[] =
        "items(instances(name,zone,status,labels,networkInterfaces/networkIP,"
        "scheduling(provisioningModel,onHostMaintenance),"
        "resourceStatus/upcomingMaintenance),warning),nextPageToken,warning";
    struct op op = {self, call, e};
    char label[NAME_SIZE];
    char next[512] = "";
    int s, pages = 0;
    label_make(op.g->cluster, label);
    do {
        struct kit_str path = {0};
        json_t *reply;
        kit_str_puts(&path, "aggregated/instances?filter=");
        kit_str_puts(&path, "labels." LABEL_CLUSTER "%3D%22");
        kit_str_puts(&path, label);
        kit_str_puts(&path, "%22&maxResults=500&fields=");
        kit_str_encode(&path, fields, strlen(fields), "");
        if (next[0] != '\0') {
            kit_str_puts(&path, "&pageToken=");
            kit_str_encode(&path, next, strlen(next), "");
        }
        s = api_send(&op, "GET", path.p, NULL, &reply);
        kit_str_done(&path);
        if (s == DAVIT_OK)
            s = page_read(&op, reply, sink, put);
        snprintf(next, sizeof next, "%s",
                 kit_json_text(reply, "nextPageToken"));
        json_decref(reply);
        if (++pages == PAGES_MAX && next[0] != '\0')
            s = kit_error(e, DAVIT_RETRY, "TooManyPages",
                          "the list has more than %d pages", PAGES_MAX);
    } while (s == DAVIT_OK && next[0] != '\0');
    return s;
}
