/*
 * end.c - TerminateInstances, for many at once.
 *
 * One id that EC2 does not know makes it refuse all of a call: those it names
 * are gone, and the others are asked for again.  One that is protected keeps all
 * others of its zone alive (docs.aws.amazon.com/AWSEC2/latest/APIReference/
 * API_TerminateInstances.html), so they are asked for one by one then, and it is
 * held.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

#define BATCH 200

struct ending {
    struct op op;
    struct davit_sink *sink;
    davit_put_done *done;
    const char *ids[BATCH];
    size_t n;
};

static void drop(struct ending *x, size_t i, int status)
{
    x->done(x->sink, x->ids[i], status);
    x->ids[i] = x->ids[--x->n];
}

/* "The instance IDs 'i-1, i-2' do not exist": true when some were named. */
static bool drop_named(struct ending *x)
{
    const char *text = x->op.a.error ? x->op.a.error->text : "";
    size_t before = x->n;
    for (size_t i = x->n; i-- > 0;) {
        const char *at = strstr(text, x->ids[i]);
        size_t n = strlen(x->ids[i]);
        if (at && strchr("', .", at[n]))
            drop(x, i, DAVIT_NOT_FOUND);
    }
    return x->n < before;
}

static int ask(struct ending *x)
{
    struct kit_str form = {0};
    aws_form_begin(&form, AWS_EC2, "TerminateInstances");
    for (size_t i = 0; i < x->n; i++)
        aws_form_nth(&form, "InstanceId.", i + 1, x->ids[i]);
    int st = aws_do(&x->op.a, AWS_EC2, &form);
    kit_str_done(&form);
    return st;
}

static bool protects(const struct ending *x, int status)
{
    return status == DAVIT_INVALID && x->op.a.error &&
           strcmp(x->op.a.error->code, "OperationNotPermitted") == 0;
}

/* Which of them is it?  One by one, then. */
static int ask_each(struct ending *x)
{
    int worst = DAVIT_OK;
    while (x->n > 0) {
        struct ending one = {.op = x->op, .ids = {x->ids[0]}, .n = 1};
        int st = ask(&one);
        if (st == DAVIT_OK)
            ended_note(x->op.e, x->ids[0]);
        else if (st != DAVIT_NOT_FOUND)
            worst = st;
        if (protects(x, st))
            held_note(x->op.e, x->ids[0], x->op.a.error->text);
        drop(x, 0, st);
    }
    return worst;
}

static int batch_end(struct ending *x)
{
    int st = x->n > 0 ? ask(x) : DAVIT_OK;
    while (st == DAVIT_NOT_FOUND && drop_named(x))
        st = x->n > 0 ? ask(x) : DAVIT_OK;
    if (st == DAVIT_NOT_FOUND || (st == DAVIT_INVALID && x->n > 1))
        return ask_each(x);
    if (protects(x, st))
        held_note(x->op.e, x->ids[0], x->op.a.error->text);
    for (size_t i = x->n; st == DAVIT_OK && i-- > 0;) {
        ended_note(x->op.e, x->ids[i]);
        drop(x, i, DAVIT_OK);
    }
    return st;
}

int ec2_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *error)
{
    struct ending x = {
        .op = op_begin(self, call, error), .sink = sink, .done = done};
    int st = DAVIT_OK;
    for (size_t from = 0; from < n_ids && st == DAVIT_OK; from += BATCH) {
        for (x.n = 0; x.n < BATCH && from + x.n < n_ids; x.n++)
            x.ids[x.n] = ids[from + x.n];
        st = batch_end(&x);
    }
    return st;
}
