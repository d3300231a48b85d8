/*
 * power.c - do the machines run?
 *
 * A list of a resource group does not say: it takes $expand=instanceView only
 * for the machines of one scale set.  The list of the whole subscription says
 * it with statusOnly=true, in as many requests as that list has pages.  Who may
 * read the resource group alone is refused there; then instance views are read
 * one by one, a few at each list, and remembered (learn.microsoft.com/rest/api/
 * compute/virtual-machines/list-all, .../instance-view).
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "azurevm.h"

#define VIEWS_A_LIST 25
#define COMPUTE_API "2026-04-01"

char *name_small(const char *name)
{
    char *s = kit_copy(name);
    for (char *c = s; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return s;
}

static void view_note(json_t *into, const char *name, json_t *view)
{
    char *key = name_small(name);
    json_object_set(into, key, view);
    free(key);
}

/* ---- all at once */

/* Is this id of our resource group?  Azure is free in the case of letters. */
static bool of_group(const struct op *op, const char *id)
{
    const char *at = strcasestr(id, "/resourceGroups/");
    size_t n = strlen(op->v->group);
    at = at ? at + strlen("/resourceGroups/") : "";
    return strncasecmp(at, op->v->group, n) == 0 && at[n] == '/';
}

static int read_all(struct op *op, json_t *into)
{
    json_t *all, *vm;
    size_t i;
    char *url = kit_print("%s/subscriptions/%s/providers/Microsoft.Compute/"
                          "virtualMachines?api-version=" COMPUTE_API
                          "&statusOnly=true",
                          op->v->azure.endpoint, op->subscription);
    int st = azure_pages(&op->v->azure, op->call, url, &all, op->e);
    free(url);
    json_array_foreach(all, i, vm)
        if (of_group(op, kit_json_text(vm, "id")))
            view_note(into, kit_json_text(vm, "name"),
                      (json_t *)kit_json_at(vm, "properties.instanceView"));
    json_decref(all);
    return st;
}

/* ---- one by one */

int view_get(struct op *op, const char *name, json_t **ret)
{
    char *path = kit_print("/%s/instanceView", name);
    char *url = vm_url(op, path, "");
    struct azure_reply r;
    int st = azure_send(&op->v->azure, op->call,
                        &(struct azure_request){.method = "GET", .url = url},
                        &r, op->e);
    if (st != DAVIT_OK) {
        json_decref(r.json);
        r.json = NULL;
    }
    *ret = r.json;
    free(path);
    free(url);
    return st != DAVIT_OK && r.status == 404 ? DAVIT_NOT_FOUND : st;
}

/* What was seen of those that are still there. */
static json_t *remembered(struct azurevm *v, const json_t *vms,
                          size_t *ret_turn)
{
    json_t *mine = kit_must(json_object()), *vm;
    size_t i;
    pthread_mutex_lock(&v->lock);
    json_array_foreach(vms, i, vm) {
        char *key = name_small(kit_json_text(vm, "name"));
        json_t *view = json_object_get(v->powers, key);
        if (view)
            json_object_set_new(mine, key, json_deep_copy(view));
        free(key);
    }
    *ret_turn = v->turn;
    v->turn += VIEWS_A_LIST;
    pthread_mutex_unlock(&v->lock);
    return mine;
}

static int read_some(struct op *op, const json_t *vms, json_t **ret)
{
    struct azurevm *v = op->v;
    size_t n = json_array_size(vms), turn;
    int st = DAVIT_OK;
    *ret = remembered(v, vms, &turn);
    for (size_t i = 0; i < n && i < VIEWS_A_LIST && st == DAVIT_OK; i++) {
        json_t *vm = json_array_get(vms, (turn + i) % n), *view;
        const char *name = kit_json_text(vm, "name");
        st = view_get(op, name, &view);
        if (st == DAVIT_OK)
            view_note(*ret, name, view);
        if (st == DAVIT_NOT_FOUND)
            st = DAVIT_OK; /* gone meanwhile */
        json_decref(view);
    }
    pthread_mutex_lock(&v->lock);
    json_decref(v->powers);
    v->powers = kit_must(json_deep_copy(*ret));
    pthread_mutex_unlock(&v->lock);
    return st;
}

int power_read(struct op *op, const json_t *vms, json_t **ret)
{
    struct azurevm *v = op->v;
    pthread_mutex_lock(&v->lock);
    bool single = v->one_by_one;
    pthread_mutex_unlock(&v->lock);
    *ret = NULL;
    if (!single) {
        *ret = kit_must(json_object());
        int st = read_all(op, *ret);
        if (st != DAVIT_AUTH)
            return st;
        json_decref(*ret);
        op->e->code[0] = op->e->text[0] = '\0';
        v->azure.host->log(
            1, "Microsoft.Compute/virtualMachines/read is not granted on the "
               "subscription: whether machines run is asked for one by one, a "
               "few at each list, so that a stopped one is seen later");
        pthread_mutex_lock(&v->lock);
        v->one_by_one = true;
        pthread_mutex_unlock(&v->lock);
    }
    return read_some(op, vms, ret);
}
