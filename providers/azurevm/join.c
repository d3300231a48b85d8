/*
 * join.c - the start script: how a new machine joins.
 *
 * It goes as customData, which Azure Resource Manager takes and never shows
 * again, and cloud-init runs once (learn.microsoft.com/azure/virtual-machines/
 * custom-data).
 */
#include <stdlib.h>

#include "azurevm.h"

static const char identify[] =
    "id=$(metadata -H 'Metadata: true' 'http://169.254.169.254/metadata/"
    "instance/compute/name?api-version=2021-02-01&format=text')\n";

/* One object an event; one that names another machine of a set is not ours
 * (learn.microsoft.com/azure/virtual-machines/linux/scheduled-events). */
static const char taken[] =
    "notice -H 'Metadata: true' 'http://169.254.169.254/metadata/"
    "scheduledevents?api-version=2020-07-01' | tr -d '\\n' | tr '{' '\\n' | "
    "grep '\"EventType\": *\"Preempt\"' | grep -qiF \"\\\"$id\\\"\"";

/* What we run on says its own address, if it is an instance. */
static int own_address(void *arg, char *ret, size_t size)
{
    struct op *op = arg;
    return azure_metadata(&op->v->azure, op->call,
                          "instance/network/interface/0/ipv4/ipAddress/0/"
                          "privateIpAddress",
                          ret, size)
               ? DAVIT_OK
               : DAVIT_NOT_FOUND;
}

int join_script(struct op *op, const struct vm_type *t,
                const struct davit_launch *l, char **ret)
{
    struct kit_str s = {0};
    char head[64];
    *ret = NULL;
    if (!t->join)
        return DAVIT_OK;
    int st = kit_head_find(&op->v->head, "azurevm", own_address, op, head,
                           sizeof head, op->e);
    if (st != DAVIT_OK)
        return st;
    kit_join_script(&s, &(struct kit_join){.identify = identify,
                                           .type = t->name,
                                           .machine = t->machine,
                                           .head_ip = head,
                                           .resources = t->resources,
                                           .user = t->user,
                                           .commands = t->join,
                                           .token = kit_join_token(l),
                                           .taken = l->spot ? taken : NULL});
    *ret = s.p;
    return DAVIT_OK;
}
