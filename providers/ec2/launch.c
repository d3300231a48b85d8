/*
 * launch.c - one RunInstances for a launch, with the request id as its
 * ClientToken.
 *
 * EC2 remembers a token for a day or so, and refuses one whose parameters have
 * changed since (docs.aws.amazon.com/ec2/latest/devguide/
 * ec2-api-idempotency.html); Davit may repeat a request later and after an
 * edit.  So what carries the request's tag already is looked for first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

#define MARKET "InstanceMarketOptions."

struct came {
    struct ec2 *ec2;
    struct davit_sink *sink;
    davit_put_machine *put;
    uint32_t n;
};

static void came_one(void *arg, const struct xml *i)
{
    struct came *c = arg;
    instance_put(c->ec2, i, NULL, c->sink, c->put);
    c->n++;
}

struct seen { /* of a request, by its tag */
    uint32_t n;
    int64_t launched_ms; /* the last one */
};

static void seen_one(void *arg, const struct xml *i)
{
    struct seen *s = arg;
    int64_t at = kit_time_ms(xml_text(i, "launchTime"));
    s->n++;
    if (at > s->launched_ms)
        s->launched_ms = at;
}

/* ---- the request */

static void tag_add(struct kit_str *form, const char *spec, size_t *n,
                    const char *key, const char *value)
{
    char name[80];
    snprintf(name, sizeof name, "%s.Tag.%zu.Key", spec, ++*n);
    kit_str_param(form, name, key);
    snprintf(name, sizeof name, "%s.Tag.%zu.Value", spec, *n);
    kit_str_param(form, name, value);
}

/* Tags that the user gives for `kind` already: ours go behind them, since EC2
 * takes one specification for each kind. */
static void spec_find(const struct params *p, const char *kind, char *ret,
                      size_t size, size_t *ret_specs, size_t *ret_tags)
{
    char name[80];
    *ret_specs = *ret_tags = 0;
    ret[0] = '\0';
    for (size_t i = 1; i <= 20; i++) {
        snprintf(name, sizeof name, "TagSpecification.%zu.ResourceType", i);
        const char *is = params_get(p, name);
        if (!is)
            continue;
        *ret_specs = i;
        if (strcmp(is, kind) == 0)
            snprintf(ret, size, "TagSpecification.%zu", i);
    }
    for (size_t k = 1; ret[0] != '\0' && k <= 50; k++) {
        snprintf(name, sizeof name, "%.40s.Tag.%zu.Key", ret, k);
        if (params_get(p, name))
            *ret_tags = k;
    }
}

static void tags_write(struct kit_str *form, const struct ec2 *e,
                       const struct ec2_type *t, const struct davit_launch *l)
{
    static const char *const kinds[] = {"instance", "volume"};
    size_t added = 0;
    for (size_t k = 0; k < 2; k++) {
        char spec[48], name[80];
        size_t specs, n;
        spec_find(&t->params, kinds[k], spec, sizeof spec, &specs, &n);
        if (spec[0] == '\0') {
            snprintf(spec, sizeof spec, "TagSpecification.%zu",
                     specs + ++added);
            snprintf(name, sizeof name, "%s.ResourceType", spec);
            kit_str_param(form, name, kinds[k]);
        }
        tag_add(form, spec, &n, TAG_CLUSTER, e->cluster);
        tag_add(form, spec, &n, TAG_TYPE, t->name);
        tag_add(form, spec, &n, TAG_REQUEST, l->request_id);
        for (size_t i = 0; i < l->n_tags; i++)
            if (strncmp(l->tags[i].key, "davit-", 6) != 0)
                tag_add(form, spec, &n, l->tags[i].key, l->tags[i].value);
    }
}

static void number(struct kit_str *form, const char *name, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    kit_str_param(form, name, text);
}

static int form_write(struct op *op, const struct ec2_type *t,
                      const struct davit_launch *l, struct kit_str *form)
{
    const char *subnet = NULL;
    char *user_data = NULL;
    int st = zone_subnet(op, t, l->zone, &subnet);
    if (st == DAVIT_OK)
        st = join_user_data(op, t, l, &user_data);
    if (st != DAVIT_OK)
        return st;
    aws_form_begin(form, AWS_EC2, "RunInstances");
    kit_str_param(form, "ClientToken", l->request_id);
    kit_str_param(form, "InstanceType", t->machine);
    kit_str_param(form, "MinCount", "1"); /* what there is, is taken */
    number(form, "MaxCount", l->count);
    if (subnet)
        kit_str_param(form, "SubnetId", subnet);
    else if (l->zone[0] != '\0')
        kit_str_param(form, "Placement.AvailabilityZone", l->zone);
    if (l->spot)
        kit_str_param(form, MARKET "MarketType", "spot");
    if (!params_has(&t->params, "InstanceInitiatedShutdownBehavior"))
        kit_str_param(form, "InstanceInitiatedShutdownBehavior", "terminate");
    if (user_data && !params_has(&t->params, "UserData"))
        kit_str_param(form, "UserData", user_data);
    for (size_t i = 0; i < t->params.n; i++)
        if (l->spot || strncmp(t->params.v[i].name, MARKET "SpotOptions.",
                               strlen(MARKET "SpotOptions.")) != 0)
            kit_str_param(form, t->params.v[i].name, t->params.v[i].value);
    tags_write(form, op->e, t, l);
    free(user_data);
    return DAVIT_OK;
}

/* ---- the operation */

static int short_of(struct op *op, const struct davit_launch *l, uint32_t n)
{
    if (n >= l->count)
        return DAVIT_OK;
    return kit_error(op->a.error, DAVIT_STOCKOUT,
                     "InsufficientInstanceCapacity",
                     "EC2 started %u of %u instances%s%s", n, l->count,
                     l->zone[0] != '\0' ? " in " : "", l->zone);
}

static int run(struct op *op, const struct ec2_type *t,
               const struct davit_launch *l, struct came *c)
{
    struct kit_str form = {0};
    struct xml_doc *doc = NULL;
    const struct xml *x = NULL;
    int st = form_write(op, t, l, &form);
    if (st == DAVIT_OK)
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
    if (st == DAVIT_OK && !xml_child(x, "instancesSet"))
        st = kit_error(op->a.error, DAVIT_RETRY, "BadReply",
                       "RunInstances answered without instances");
    for (const struct xml *i = st == DAVIT_OK ? xml_at(x, "instancesSet/item")
                                              : NULL;
         i; i = xml_again(i))
        came_one(c, i);
    kit_str_done(&form);
    xml_free(doc);
    /* The token was used with other parameters: its instances exist, or did,
     * and a list will show which. */
    if (st == DAVIT_INVALID && op->a.error &&
        strcmp(op->a.error->code, "IdempotentParameterMismatch") == 0)
        st = DAVIT_RETRY;
    return st == DAVIT_OK ? short_of(op, l, c->n) : st;
}

int ec2_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *error)
{
    struct ec2 *e = self;
    struct op op = op_begin(e, call, error);
    struct came c = {e, sink, put, 0};
    struct seen seen = {0};
    const struct ec2_type *t = type_find(e, l->offer);
    if (!t)
        return kit_error(error, DAVIT_INVALID, "UnknownType",
                         "there is no node type %.60s", l->offer);
    int st = instances_read(&op, l->request_id, seen_one, &seen);
    if (st != DAVIT_OK)
        return st;
    /* A list may show some of them before the others: EC2 answers the token with
     * all, for as long as it is sure to know it. */
    if (seen.n == 0 ||
        (seen.n < l->count && op.a.server_ms - seen.launched_ms < SETTLE_MS))
        return run(&op, t, l, &c);
    st = instances_read(&op, l->request_id, came_one, &c);
    return st == DAVIT_OK ? short_of(&op, l, c.n) : st;
}
