/*
 * view.c - what a machine is at, by its description and its instance view.
 *
 * States: learn.microsoft.com/azure/virtual-machines/states-billing.  One that
 * is stopped or deallocated is billed, for itself or for its disk, and its Ray
 * is dead: it is ended.  One whose last change failed may run all the same, with
 * work on it: that it runs counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "azurevm.h"

bool vm_ours(const struct azurevm *v, const json_t *vm)
{
    const json_t *tags = json_object_get(vm, "tags");
    return strcmp(kit_json_string(json_object_get(tags, TAG_CLUSTER)),
                  v->cluster) == 0 &&
           kit_json_text(vm, "name")[0] != '\0';
}

static bool state_is(const json_t *vm, const char *state)
{
    return strcasecmp(kit_json_text(vm, "properties.provisioningState"),
                      state) == 0;
}

bool vm_unclear(const json_t *vm)
{
    return state_is(vm, "Failed") || state_is(vm, "Canceled");
}

/* The status whose code begins so: "PowerState/"; NULL: there is none. */
static const json_t *status_of(const json_t *view, const char *prefix)
{
    size_t i;
    const json_t *s;
    json_array_foreach(json_object_get(view, "statuses"), i, s)
        if (strncasecmp(kit_json_text(s, "code"), prefix, strlen(prefix)) == 0)
            return s;
    return NULL;
}

static const char *power_of(const json_t *view)
{
    const json_t *s = status_of(view, "PowerState/");
    return s ? kit_json_text(s, "code") + strlen("PowerState/") : "";
}

static bool is(const char *power, const char *what)
{
    return strcasecmp(power, what) == 0;
}

/* Why it could not be made: "ProvisioningState/failed/AllocationFailed". */
static void failure_read(const json_t *view, struct davit_machine *m,
                         char *detail, size_t size)
{
    const json_t *s = status_of(view, "ProvisioningState/failed");
    const char *code = s ? kit_json_text(s, "code") : "";
    const char *last = strrchr(code, '/');
    struct davit_error e = {.size = sizeof e};
    json_t *error = kit_must(json_pack("{s:s, s:s}", "code",
                                       last ? last + 1 : "", "message",
                                       s ? kit_json_text(s, "message") : ""));
    m->phase = DAVIT_FAILED;
    m->failure = (uint32_t)azure_error(&e, error, 0);
    json_decref(error);
    snprintf(detail, size, "%s: %s", last ? last + 1 : "Failed",
             s && kit_json_text(s, "message")[0] != '\0'
                 ? e.text
                 : "Azure does not say why");
    m->detail = detail;
}

static void phase_read(const json_t *vm, const json_t *view,
                       struct davit_machine *m, char *detail, size_t size)
{
    const char *power = power_of(view);
    m->phase = DAVIT_RUNNING;
    if (state_is(vm, "Deleting")) {
        m->phase = DAVIT_STOPPING;
    } else if (is(power, "stopped") || is(power, "deallocated")) {
        m->phase = DAVIT_FAILED;
        m->failure = DAVIT_RETRY;
        snprintf(detail, size,
                 "it is %s, by somebody or by an eviction: what is left of it "
                 "is billed, so it is ended",
                 power);
        m->detail = detail;
    } else if (is(power, "stopping") || is(power, "deallocating")) {
        m->phase = DAVIT_STOPPING;
    } else if (vm_unclear(vm) && !is(power, "running")) {
        failure_read(view, m, detail, size);
    } else if (vm_unclear(vm)) {
        m->detail = "it runs, but Azure's last change of it failed";
    } else if (state_is(vm, "Creating") || is(power, "starting")) {
        m->phase = DAVIT_STARTING;
    }
}

/* Is the maintenance over?  The status stays when it is. */
static bool is_over(const json_t *r, int64_t now_ms)
{
    int64_t until = kit_time_ms(kit_json_text(r, "maintenanceWindowEndTime"));
    return strcasecmp(kit_json_text(r, "lastOperationResultCode"),
                      "MaintenanceCompleted") == 0 ||
           (until > 0 && until <= now_ms);
}

/* Maintenance that redeploys it (the SDK's MaintenanceRedeployStatus). */
static void leaving_read(const json_t *view, int64_t now_ms,
                         struct davit_machine *m, char *text, size_t size)
{
    const json_t *r = json_object_get(view, "maintenanceRedeployStatus");
    const char *from = kit_json_text(r, "maintenanceWindowStartTime");
    text[0] = '\0';
    if (*from != '\0' && !is_over(r, now_ms)) {
        snprintf(text, size, "Azure's maintenance begins at %.40s", from);
        m->leaves_ms = kit_time_ms(from);
    }
    m->leaving = text;
}

/* A machine that fails has no time left. */
static void broken_read(const json_t *vm, const json_t *health,
                        struct davit_machine *m)
{
    char *key = name_small(kit_json_text(vm, "name"));
    const char *why = kit_json_string(json_object_get(health, key));
    if (*m->leaving == '\0' && *why != '\0')
        m->leaving = why;
    free(key);
}

const char *zone_number(const char *zone)
{
    const char *dash = strrchr(zone, '-');
    const char *n = dash ? dash + 1 : zone;
    bool good = *n != '\0' && strspn(n, "0123456789") == strlen(n);
    return good || *zone == '\0' ? n : NULL;
}

/* As the configuration writes it: "1" or "westeurope-1". */
static const char *zone_shown(const struct vm_type *t, const char *number)
{
    for (size_t i = 0; t && i < t->n_zones; i++)
        if (strcmp(zone_number(t->zones[i]), number) == 0)
            return t->zones[i];
    return number;
}

void vm_put(const struct op *op, const json_t *vm, const json_t *view,
            const json_t *health, struct davit_sink *sink,
            davit_put_machine *put)
{
    const json_t *tags = json_object_get(vm, "tags");
    const char *type = kit_json_string(json_object_get(tags, TAG_TYPE));
    char detail[300], leaving[100];
    struct davit_machine m = {
        .size = sizeof m,
        .id = kit_json_text(vm, "name"),
        .request_id = kit_json_string(json_object_get(tags, TAG_REQUEST)),
        .offer = type,
        .zone = zone_shown(
            type_find(op->v, type),
            kit_json_string(json_array_get(json_object_get(vm, "zones"), 0))),
        .address = "",
        .spot = strcasecmp(kit_json_text(vm, "properties.priority"), "Spot") ==
                0};
    phase_read(vm, view, &m, detail, sizeof detail);
    leaving_read(view, op->v->azure.host->wall_ms(), &m, leaving,
                 sizeof leaving);
    broken_read(vm, health, &m);
    put(sink, &m);
}
