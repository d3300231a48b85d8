/*
 * ec2.c - the table of the EC2 plug-in.
 */
#include <stdlib.h>

#include "ec2.h"

struct op op_begin(struct ec2 *e, struct davit_call *call,
                   struct davit_error *error)
{
    return (struct op){.a = aws_op_begin(&e->aws, call, error), .e = e};
}

static void ec2_close(void *self)
{
    struct ec2 *e = self;
    for (int i = 0; i < EC2_WATCHED; i++)
        json_decref(e->watch[i].all);
    kit_keep_done(&e->keep);
    aws_done(&e->aws);
    pthread_mutex_destroy(&e->lock);
    kit_head_done(&e->head);
    free(e);
}

static int ec2_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret,
                    struct davit_error *error)
{
    struct ec2 *e = kit_zeroed(1, sizeof *e);
    aws_init(&e->aws, host);
    pthread_mutex_init(&e->lock, NULL);
    kit_head_init(&e->head);
    int st = options_read(e, setup, error);
    if (st == DAVIT_OK)
        *ret = e;
    else
        ec2_close(e);
    return st;
}

/* DescribeInstances lags behind RunInstances by seconds, now and then minutes
 * (docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html). */
static uint32_t ec2_settle_ms(void *self)
{
    (void)self;
    return SETTLE_MS;
}

static int ec2_find(void *self, struct davit_call *call, const char *const *ids,
                    size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                    struct davit_error *error)
{
    struct op op = op_begin(self, call, error);
    return aws_instances_find(&op.a, ids, n_ids, sink, done);
}

static const char *const places[] = {"region", NULL};

static struct davit_provider table = {
    .size = sizeof table,
    .name = "ec2",
    .version = "1",
    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT | DAVIT_CAP_JOIN,
    .open = ec2_open,
    .close = ec2_close,
    .list = ec2_list,
    .launch = ec2_launch,
    .terminate = ec2_terminate,
    .offers = ec2_offers,
    .settle_ms = ec2_settle_ms,
    .places = places,
    .console = ec2_console,
    .find = ec2_find};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(ec2_options);
    return &table;
}
