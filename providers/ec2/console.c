/*
 * console.c - GetConsoleOutput: what an instance has printed.
 *
 * Latest is for instances on Nitro; others refuse it, and have what was posted
 * some minutes after their start
 * (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html).
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "ec2.h"

static void put_decoded(const char *text, struct davit_sink *sink,
                        davit_put_text *put)
{
    size_t n = strlen(text);
    unsigned char *out = kit_zeroed(1, n + 4);
    EVP_ENCODE_CTX *ctx = kit_must(EVP_ENCODE_CTX_new());
    int part = 0, rest = 0;
    EVP_DecodeInit(ctx); /* lines or not */
    if (EVP_DecodeUpdate(ctx, out, &part, (const unsigned char *)text,
                         (int)n) >= 0 &&
        EVP_DecodeFinal(ctx, out + part, &rest) >= 0)
        put(sink, (const char *)out, (size_t)(part + rest));
    EVP_ENCODE_CTX_free(ctx);
    free(out);
}

static int ask(struct op *op, const char *id, bool latest,
               struct davit_sink *sink, davit_put_text *put)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    aws_form_begin(&form, AWS_EC2, "GetConsoleOutput");
    kit_str_param(&form, "InstanceId", id);
    if (latest)
        kit_str_param(&form, "Latest", "true");
    int st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
    if (st == DAVIT_OK)
        put_decoded(xml_text(x, "output"), sink, put);
    xml_free(doc);
    kit_str_done(&form);
    return st;
}

int ec2_console(void *self, struct davit_call *call, const char *id,
                struct davit_sink *sink, davit_put_text *put,
                struct davit_error *error)
{
    struct op op = op_begin(self, call, error);
    int st = ask(&op, id, true, sink, put);
    return st == DAVIT_INVALID ? ask(&op, id, false, sink, put) : st;
}
