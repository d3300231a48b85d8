/*
 * instances.c - DescribeInstances by ids: which of them are there.
 *
 * One id that EC2 does not know makes it refuse all of a call: those that its text
 * names are gone, and the others are asked for again
 * (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html).
 */
#include <string.h>

#include "aws.h"

#define BATCH 100

struct finding {
    struct aws_op *op;
    struct davit_sink *sink;
    davit_put_done *done;
    const char *ids[BATCH];
    size_t n;
};

/* "The instance IDs 'i-1, i-2' do not exist": true when some were named. */
static bool drop_named(struct finding *f)
{
    const char *text = f->op->error ? f->op->error->text : "";
    size_t before = f->n;
    for (size_t i = f->n; i-- > 0;) {
        const char *at = strstr(text, f->ids[i]);
        if (!at || !strchr("', .", at[strlen(f->ids[i])]))
            continue;
        f->done(f->sink, f->ids[i], DAVIT_NOT_FOUND);
        f->ids[i] = f->ids[--f->n];
    }
    return f->n < before;
}

static void instance_take(struct finding *f, const struct xml *i)
{
    const char *id = xml_text(i, "instanceId");
    bool ended = strcmp(xml_text(i, "instanceState/name"), "terminated") == 0;
    for (size_t k = 0; k < f->n; k++)
        if (strcmp(f->ids[k], id) == 0)
            f->done(f->sink, f->ids[k], ended ? DAVIT_NOT_FOUND : DAVIT_OK);
}

static int ask(struct finding *f)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    aws_form_begin(&form, AWS_EC2, "DescribeInstances");
    for (size_t i = 0; i < f->n; i++)
        aws_form_nth(&form, "InstanceId.", i + 1, f->ids[i]);
    int st = aws_query(f->op, AWS_EC2, &form, &doc, &x);
    const struct xml *r = st == DAVIT_OK ? xml_at(x, "reservationSet/item")
                                         : NULL;
    for (; r; r = xml_again(r))
        for (const struct xml *i = xml_at(r, "instancesSet/item"); i;
             i = xml_again(i))
            instance_take(f, i);
    xml_free(doc);
    kit_str_done(&form);
    return st;
}

static int batch_find(struct finding *f)
{
    int st = ask(f);
    while (st == DAVIT_NOT_FOUND && drop_named(f))
        st = f->n > 0 ? ask(f) : DAVIT_OK;
    return st;
}

int aws_instances_find(struct aws_op *op, const char *const *ids, size_t n_ids,
                       struct davit_sink *sink, davit_put_done *done)
{
    struct finding f = {.op = op, .sink = sink, .done = done};
    int st = DAVIT_OK;
    for (size_t from = 0; from < n_ids && st == DAVIT_OK; from += BATCH) {
        for (f.n = 0; f.n < BATCH && from + f.n < n_ids; f.n++)
            f.ids[f.n] = ids[from + f.n];
        st = batch_find(&f);
    }
    return st;
}
