/*
 * api.c - where the machines of our resource group are in Azure Resource
 * Manager.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

#define COMPUTE_API "2026-04-01"
#define LISTS_LOW 90 /* a tenth of what Azure allows at once */

bool name_plain(const char *name)
{
    return *name != '\0' && strlen(name) <= NAME_SIZE &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.") == strlen(name);
}

int op_begin(struct op *op, void *self, struct davit_call *call,
             struct davit_error *e)
{
    struct azurevm *v = self;
    *op = (struct op){.v = v, .call = call, .e = e};
    pthread_mutex_lock(&v->lock);
    snprintf(op->subscription, sizeof op->subscription, "%s",
             v->subscription ? v->subscription : v->learnt);
    pthread_mutex_unlock(&v->lock);
    if (op->subscription[0] != '\0')
        return DAVIT_OK;
    if (!azure_metadata(&v->azure, call, "instance/compute/subscriptionId",
                        op->subscription, sizeof op->subscription))
        return kit_error(e, DAVIT_RETRY, "subscription",
                         "which subscription? set subscription at the provider "
                         "azurevm, or AZURE_SUBSCRIPTION_ID: no instance "
                         "metadata tells it here");
    pthread_mutex_lock(&v->lock);
    snprintf(v->learnt, sizeof v->learnt, "%s", op->subscription);
    pthread_mutex_unlock(&v->lock);
    return DAVIT_OK;
}

int list_pace(void *arg, struct davit_call *call, const char *method,
              const char *url, struct davit_error *e)
{
    struct azurevm *v = arg;
    bool lists = strcmp(method, "GET") == 0 && strstr(url, "/virtualMachines?");
    return lists ? azure_turn(&v->azure, &v->lists, call, e) : DAVIT_OK;
}

/* "Microsoft.Compute/HighCostGetSubscriptionMaximum;12,...": the least of what
 * is left to all who read lists there. */
static long lists_left(const char *text)
{
    long least = LISTS_LOW;
    for (const char *semi; text && (semi = strchr(text, ';'));) {
        const char *kind = strstr(text, "HighCostGet");
        long n = strtol(semi + 1, NULL, 10);
        if (kind && kind < semi && n < least)
            least = n;
        text = strchr(semi, ',');
        text = text ? text + 1 : NULL;
    }
    return least;
}

void list_limit_seen(void *arg, const struct davit_http *x)
{
    struct azurevm *v = arg;
    if (lists_left(kit_reply_header(x, "x-ms-ratelimit-remaining-resource")) >=
        LISTS_LOW)
        return;
    pthread_mutex_lock(&v->azure.lock);
    if (v->lists.left > 0)
        v->lists.left = 0;
    pthread_mutex_unlock(&v->azure.lock);
}

char *vm_url(const struct op *op, const char *name, const char *query)
{
    char *group = kit_encode(op->v->group);
    char *url = kit_print("%s/subscriptions/%s/resourceGroups/%s/providers/"
                          "Microsoft.Compute/virtualMachines%s"
                          "?api-version=" COMPUTE_API "%s",
                          op->v->azure.endpoint, op->subscription, group, name,
                          query);
    free(group);
    return url;
}
