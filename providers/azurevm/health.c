/*
 * health.c - machines that Azure finds broken: its Resource Health, of the whole
 * resource group in as many requests as that list has pages, once a minute.
 *
 * learn.microsoft.com/rest/api/resourcehealth/availability-statuses/
 * list-by-resource-group; states and reasons of virtual machines:
 * learn.microsoft.com/azure/service-health/resource-health-overview
 * What somebody did to a machine himself is no fault of Azure's.  Without the right
 * to read it a list is as good as before, and a line in the log says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "azurevm.h"

#define HEALTH_API "2024-02-01"
#define EVERY_MS 60000

/* "Customer Initiated", "UserInitiated": stopped or deallocated, by a person. */
static bool by_somebody(const json_t *p)
{
    static const char *const keys[] = {"reasonType", "context", "category"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = kit_json_text(p, keys[i]);
        if (strcasestr(text, "customer") || strcasestr(text, "user"))
            return true;
    }
    return false;
}

static bool is_broken(const json_t *p)
{
    const char *state = kit_json_text(p, "availabilityState");
    return (strcasecmp(state, "Unavailable") == 0 ||
            strcasecmp(state, "Degraded") == 0) &&
           !by_somebody(p);
}

/* The name in ".../virtualMachines/NAME/providers/Microsoft.ResourceHealth/...", in
 * small letters; for free().  NULL: it is of something else. */
static char *name_in(const char *id)
{
    static const char kind[] = "/Microsoft.Compute/virtualMachines/";
    const char *at = strcasestr(id, kind);
    if (!at)
        return NULL;
    at += strlen(kind);
    char *name = kit_print("%.*s", (int)strcspn(at, "/"), at);
    char *small = name_small(name);
    free(name);
    return small;
}

/* It may be a moment's: twice in a row it is the machine. */
static void status_note(json_t *all, const json_t *before, const json_t *one)
{
    const json_t *p = json_object_get(one, "properties");
    char *name = is_broken(p) ? name_in(kit_json_text(one, "id")) : NULL;
    const char *summary = kit_json_text(p, "summary");
    if (!name)
        return;
    json_object_set_new(
        all, name,
        json_object_get(before, name)
            ? json_sprintf(
                  "Azure finds it %.20s: %.200s",
                  kit_json_text(p, "availabilityState"),
                  *summary != '\0' ? summary : kit_json_text(p, "title"))
            : json_string(""));
    free(name);
}

static int ask(struct op *op, const json_t *before, json_t **ret)
{
    json_t *all = NULL, *one;
    size_t i;
    char *group = kit_encode(op->v->group);
    char *url = kit_print("%s/subscriptions/%s/resourceGroups/%s/providers/"
                          "Microsoft.ResourceHealth/availabilityStatuses"
                          "?api-version=" HEALTH_API,
                          op->v->azure.endpoint, op->subscription, group);
    int st = azure_pages(&op->v->azure, op->call, url, &all, op->e);
    free(url);
    free(group);
    *ret = kit_must(json_object());
    json_array_foreach(all, i, one)
        status_note(*ret, before, one);
    json_decref(all);
    return st;
}

static void untold(struct azurevm *v, const struct davit_error *e)
{
    char line[300];
    snprintf(
        line, sizeof line,
        "Resource Health is not known, so a machine that Azure finds broken "
        "is found out by its silence: %.150s",
        e->text);
    v->azure.host->log(1, line);
}

/* Is it to be asked?  One asks at a time. */
static bool is_due(struct azurevm *v, json_t **ret_before)
{
    int64_t now = v->azure.host->wall_ms();
    pthread_mutex_lock(&v->lock);
    bool due = v->health_ms == 0 || now < v->health_ms ||
               now - v->health_ms >= EVERY_MS;
    if (due)
        v->health_ms = now;
    *ret_before = kit_must(v->health ? json_deep_copy(v->health)
                                     : json_object());
    pthread_mutex_unlock(&v->lock);
    return due;
}

json_t *health_read(struct op *op)
{
    struct azurevm *v = op->v;
    struct davit_error ignored = {.size = sizeof ignored}, *error = op->e;
    json_t *before, *all;
    if (!is_due(v, &before))
        return before;
    op->e = &ignored; /* no right to look is no reason to fail */
    int st = ask(op, before, &all);
    op->e = error;
    pthread_mutex_lock(&v->lock);
    bool told = v->health_untold;
    v->health_untold = st == DAVIT_AUTH;
    if (st == DAVIT_OK) {
        json_decref(v->health);
        v->health = kit_must(json_deep_copy(all));
    }
    pthread_mutex_unlock(&v->lock);
    if (st == DAVIT_AUTH && !told)
        untold(v, &ignored);
    json_decref(st == DAVIT_OK ? before : all);
    return st == DAVIT_OK ? all : before;
}
