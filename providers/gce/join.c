/*
 * join.c - the startup script: how a new instance joins.
 *
 * The head's address is what the machines must reach: a head on loopback is the
 * instance that Davit runs on, whose own address its metadata tell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

/* Runs at every start of the machine, and so does Ray. */
static const char identify[] =
    "m=http://169.254.169.254/computeMetadata/v1/instance\n"
    "name=$(metadata -H 'Metadata-Flavor: Google' $m/name)\n"
    "zone=$(metadata -H 'Metadata-Flavor: Google' $m/zone)\n"
    "[ -n \"$name\" ] && id=\"${zone##*/}/$name\"\n";

/* cloud.google.com/compute/docs/instances/create-use-spot#detect-preemption */
static const char taken[] =
    "[ \"$(notice -H 'Metadata-Flavor: Google' $m/preempted)\" = TRUE ]";

/* What we run on says its own address, if it is an instance. */
static int own_address(void *arg, char *ret, size_t size)
{
    struct op *op = arg;
    struct davit_kv flavor = {"Metadata-Flavor", "Google"};
    char *url = kit_print("%s/computeMetadata/v1/instance/network-interfaces/0/"
                          "ip",
                          op->g->gcp.metadata_url);
    struct davit_http x = {.size = sizeof x,
                           .method = "GET",
                           .url = url,
                           .headers = &flavor,
                           .n_headers = 1};
    int s = op->g->gcp.host->http(op->call, &x, op->e);
    free(url);
    if (s != DAVIT_OK || x.reply_status != 200)
        return DAVIT_NOT_FOUND;
    snprintf(ret, size, "%.*s", (int)strcspn(x.reply_body, "\r\n"),
             x.reply_body);
    return ret[0] != '\0' ? DAVIT_OK : DAVIT_NOT_FOUND;
}

/* The user's own startup script, then who we are. */
static void before_write(const struct gce_type *t, struct kit_str *s)
{
    size_t i;
    json_t *item;
    json_array_foreach(kit_json_at(t->node, "metadata.items"), i, item)
        if (strcmp(kit_json_text(item, "key"), STARTUP_SCRIPT) == 0)
            kit_str_printf(s,
                           "own=$(mktemp) && cat > \"$own\" "
                           "<<'DAVIT_OWN_END'\n%s\nDAVIT_OWN_END\n"
                           "chmod 700 \"$own\" && \"$own\"\n",
                           kit_json_text(item, "value"));
    kit_str_puts(s, identify);
}

int join_script(struct op *op, const struct gce_type *t,
                const struct davit_launch *l, char **ret)
{
    struct kit_str s = {0}, before = {0};
    char head[64];
    *ret = NULL;
    if (!t->join)
        return DAVIT_OK;
    int st = kit_head_find(&op->g->head, "gce", own_address, op, head,
                           sizeof head, op->e);
    if (st != DAVIT_OK)
        return st;
    before_write(t, &before);
    kit_join_script(&s, &(struct kit_join){.identify = before.p,
                                           .type = t->name,
                                           .machine = t->machine,
                                           .head_ip = head,
                                           .resources = t->resources,
                                           .user = t->user,
                                           .commands = t->join,
                                           .token = kit_join_token(l),
                                           .taken = l->spot ? taken : NULL});
    kit_str_done(&before);
    *ret = s.p;
    return DAVIT_OK;
}
