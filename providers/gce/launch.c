/*
 * launch.c - one instances.insert for each machine, all sent before the first
 * is waited for.
 *
 * A name is made of the request id and a number, so a repeated launch is told
 * alreadyExists of what is there and makes the rest.  requestId, made of the
 * name, covers a repetition while the first is still under way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

struct making { /* one machine of a launch */
    char name[NAME_SIZE];
    char operation[128]; /* "": it is there already */
    int status;
};

/* What a zone lacks (an accelerator, a disk type, a reservation) may be in
 * another: the offer alone.  An image, a network, a template or an account that
 * is not there is missing everywhere. */
static int not_found(const struct op *op)
{
    return op->e && strstr(op->e->text, "/zones/") ? DAVIT_NOT_FOUND
                                                   : DAVIT_INVALID;
}

static int insert(struct op *op, const struct gce_type *t,
                  const struct davit_launch *l, const char *script,
                  struct making *m)
{
    char id[37];
    json_t *reply;
    char *salted = kit_print("%s/%u", m->name, op->g->salt);
    gcp_request_id(id, salted, strlen(salted));
    free(salted);
    struct kit_str path = {0};
    kit_str_printf(&path, "zones/%s/instances?requestId=%s", l->zone, id);
    if (t->template) {
        kit_str_puts(&path, "&sourceInstanceTemplate=");
        kit_str_encode(&path, t->template, strlen(t->template), "/");
    }
    json_t *body = body_make(op->g, t, l, m->name, script);
    int s = api_send(op, "POST", path.p, body, &reply);
    json_decref(body);
    kit_str_done(&path);
    snprintf(m->operation, sizeof m->operation, "%s",
             kit_json_text(reply, "name"));
    json_decref(reply);
    if (s == DAVIT_NOT_FOUND)
        s = not_found(op);
    if (s == DAVIT_RETRY && op->e && strstr(op->e->code, "alreadyExists"))
        return DAVIT_OK; /* an earlier try made it */
    if (s == DAVIT_OK && m->operation[0] == '\0')
        return kit_error(op->e, DAVIT_RETRY, "BadReply",
                         "the reply is not an operation");
    return s;
}

static void put_starting(const struct gce_type *t, const struct davit_launch *l,
                         const char *name, struct davit_sink *sink,
                         davit_put_machine *put)
{
    char id[128];
    snprintf(id, sizeof id, "%.60s/%s", l->zone, name);
    put(sink, &(struct davit_machine){.size = sizeof(struct davit_machine),
                                      .id = id,
                                      .request_id = l->request_id,
                                      .offer = t->name,
                                      .zone = l->zone,
                                      .address = "",
                                      .phase = DAVIT_STARTING,
                                      .spot = l->spot});
}

static int waited(struct op *op, const char *zone, const char *operation,
                  bool *ret_told)
{
    int s = api_wait(op, zone, operation, ret_told);
    return s == DAVIT_NOT_FOUND ? not_found(op) : s;
}

/* Sends all until one is refused; then waits for what was sent.  One that may be
 * made outweighs what was refused: a refusal is for all that is not shown. */
static int make_all(struct op *op, const struct gce_type *t,
                    const struct davit_launch *l, const char *script,
                    struct making *v, struct davit_sink *sink,
                    davit_put_machine *put)
{
    struct davit_error first = {.size = sizeof first};
    int worst = DAVIT_OK;
    uint32_t sent = 0;
    for (; sent < l->count && worst == DAVIT_OK; sent++) {
        kit_join_name(t->name, l->request_id, sent, v[sent].name);
        v[sent].status = worst = insert(op, t, l, script, &v[sent]);
    }
    if (worst != DAVIT_OK && op->e)
        first = *op->e;
    for (uint32_t i = 0; i < sent; i++) {
        bool accepted = v[i].status == DAVIT_OK && v[i].operation[0] != '\0';
        bool told = false;
        if (accepted)
            v[i].status = waited(op, l->zone, v[i].operation, &told);
        if (v[i].status != DAVIT_OK && told)
            op->g->salt++;
        if (v[i].status == DAVIT_OK)
            put_starting(t, l, v[i].name, sink, put);
        else if (worst == DAVIT_OK || (accepted && !told)) {
            worst = v[i].status;
            if (op->e)
                first = *op->e;
        }
    }
    if (worst != DAVIT_OK && op->e)
        *op->e = first;
    return worst;
}

/* Once: what is terminated at maintenance and what migrates depends on it. */
static int own_gpus_learn(struct op *op, const struct gce_type *t,
                          const char *zone)
{
    json_t *m;
    if (t->own_gpus != OWN_UNKNOWN)
        return DAVIT_OK;
    int s = machine_ask(op, t, zone, &m);
    json_decref(m);
    return s;
}

int gce_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e)
{
    struct op op = {self, call, e};
    const struct gce_type *t = type_find(op.g, l->offer);
    char *script;
    if (!t)
        return kit_error(e, DAVIT_INVALID, "UnknownType",
                         "there is no node type %.60s", l->offer);
    if (!name_plain(l->zone))
        return kit_error(e, DAVIT_INVALID, "NoZone",
                         "an instance is made in a zone: node type %.60s "
                         "needs zones",
                         t->name);
    int s = own_gpus_learn(&op, t, l->zone);
    if (s == DAVIT_OK)
        s = join_script(&op, t, l, &script);
    if (s != DAVIT_OK)
        return s;
    struct making *v = kit_zeroed(l->count, sizeof *v);
    s = make_all(&op, t, l, script, v, sink, put);
    free(v);
    free(script);
    return s;
}
