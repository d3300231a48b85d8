/*
 * quota.c - how many vCPUs an account may have of each family of EC2's machine
 * types, by Service Quotas, and what of it runs.
 *
 * The limits are by family and market, in vCPUs of what runs
 * (docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html).
 * DescribeInstances shows all of the account's instances in the region, not
 * ours alone.  What cannot be read sets no limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "quota.h"

#define PAGES_MAX 50
#define TYPES_ASKED 100 /* DescribeInstanceTypes takes so many */

static const struct family {
    const char *letters; /* what the types begin with, before a number */
    const char *code[2]; /* on-demand, spot */
} families[] = {{" a c d h i im is m r t z ", {"L-1216C47A", "L-34B43A08"}},
                {" g gr vt ", {"L-DB2E81BA", "L-3819A6DF"}},
                {" p ", {"L-417A185B", "L-7212CCBC"}}};

/* NULL: none that we know.  Spot P5 and later have quotas of their own. */
static const char *code_of(const char *machine, bool spot)
{
    char word[16];
    size_t n = strcspn(machine, "0123456789-.");
    snprintf(word, sizeof word, " %.*s ", (int)(n < 10 ? n : 10), machine);
    if (spot && strcmp(word, " p ") == 0 && machine[n] > '4')
        return NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(families[i].letters, word))
            return families[i].code[spot];
    return NULL;
}

static int limit_read(struct aws_op *op, const char *code, json_t *ret)
{
    json_t *reply = NULL;
    json_t *ask = json_pack("{s:s, s:s}", "ServiceCode", "ec2", "QuotaCode",
                            code);
    int st = aws_json_call(
        op, AWS_QUOTAS, "ServiceQuotasV20190624.GetServiceQuota", ask, &reply);
    const json_t *q = json_object_get(reply, "Quota");
    const json_t *v = json_object_get(q, "Value");
    if (st == DAVIT_OK && json_is_number(v))
        json_object_set_new(
            ret, code,
            json_pack("{s:f, s:s, s:i}", "limit", json_number_value(v), "name",
                      kit_json_text(q, "QuotaName"), "used", 0));
    json_decref(reply);
    json_decref(ask);
    return st == DAVIT_NOT_FOUND ? DAVIT_OK : st; /* there is no such limit */
}

static int limits_read(struct aws_op *op, const json_t *machines, json_t *ret)
{
    const char *machine;
    json_t *spot;
    int st = DAVIT_OK;
    json_object_foreach((json_t *)machines, machine, spot)
        for (int k = 0; k <= json_is_true(spot) && st == DAVIT_OK; k++) {
            const char *code = code_of(machine, k == 1);
            if (code && !json_object_get(ret, code))
                st = limit_read(op, code, ret);
        }
    return st;
}

/* ---- what runs, by type: {"g4dn.xlarge": {"L-DB2E81BA": 3}} */

static void instance_count(const struct xml *i, const json_t *limits,
                           json_t *ret)
{
    const char *machine = xml_text(i, "instanceType");
    bool spot = strcmp(xml_text(i, "instanceLifecycle"), "spot") == 0;
    const char *code = code_of(machine, spot);
    json_t *of = json_object_get(ret, machine);
    if (!code || !json_object_get(limits, code))
        return;
    if (!of)
        json_object_set_new(ret, machine, of = kit_must(json_object()));
    json_object_set_new(of, code, json_integer(kit_json_int(of, code, 0) + 1));
}

static int running_read(struct aws_op *op, const json_t *limits, json_t *ret)
{
    struct kit_str form = {0}, next = {0};
    int st, pages = 0;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        aws_form_begin(&form, AWS_EC2, "DescribeInstances");
        kit_str_param(&form, "Filter.1.Name", "instance-state-name");
        kit_str_param(&form, "Filter.1.Value.1", "pending");
        kit_str_param(&form, "Filter.1.Value.2", "running");
        kit_str_param(&form, "MaxResults", "1000");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(op, AWS_EC2, &form, &doc, &x);
        for (const struct xml *r = xml_at(x, "reservationSet/item"); r;
             r = xml_again(r))
            for (const struct xml *i = xml_at(r, "instancesSet/item"); i;
                 i = xml_again(i))
                instance_count(i, limits, ret);
        kit_str_clear(&next);
        kit_str_puts(&next, st == DAVIT_OK ? xml_text(x, "nextToken") : "");
        xml_free(doc);
    } while (st == DAVIT_OK && next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

static void used_add(json_t *limits, const json_t *counts, int64_t vcpus)
{
    const char *code;
    json_t *n;
    json_object_foreach((json_t *)counts, code, n) {
        json_t *l = json_object_get(limits, code);
        json_object_set_new(l, "used",
                            json_integer(kit_json_int(l, "used", 0) +
                                         json_integer_value(n) * vcpus));
    }
}

static int running_add(struct aws_op *op, const json_t *running, json_t *limits)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    const char *machine;
    json_t *counts;
    size_t n = 0;
    if (json_object_size(running) == 0)
        return DAVIT_OK;
    aws_form_begin(&form, AWS_EC2, "DescribeInstanceTypes");
    json_object_foreach((json_t *)running, machine, counts)
        if (n < TYPES_ASKED)
            aws_form_nth(&form, "InstanceType.", ++n, machine);
    int st = aws_query(op, AWS_EC2, &form, &doc, &x);
    for (const struct xml *t = xml_at(x, "instanceTypeSet/item"); t;
         t = xml_again(t))
        used_add(limits, json_object_get(running, xml_text(t, "instanceType")),
                 xml_number(t, "vCpuInfo/defaultVCpus", 0));
    xml_free(doc);
    kit_str_done(&form);
    return st;
}

int aws_quotas(struct aws_op *op, const json_t *machines, json_t *ret)
{
    char line[400];
    json_t *running = kit_must(json_object());
    int st = limits_read(op, machines, ret);
    if (st == DAVIT_OK && json_object_size(ret) > 0)
        st = running_read(op, ret, running);
    if (st == DAVIT_OK)
        st = running_add(op, running, ret);
    json_decref(running);
    if (st == DAVIT_OK || st == DAVIT_CANCELLED || st == DAVIT_THROTTLED)
        return st;
    json_object_clear(ret);
    snprintf(line, sizeof line, "offers are made without quotas: %.40s: %.200s",
             op->error ? op->error->code : "",
             op->error ? op->error->text : "");
    if (!atomic_exchange(&op->aws->quotas_told, true))
        op->aws->host->log(2, line);
    if (op->error)
        op->error->code[0] = op->error->text[0] = '\0';
    return DAVIT_OK;
}

static int64_t cpus(const struct kit_offer *f)
{
    for (size_t i = 0; i < f->resources.n; i++)
        if (strcmp(f->resources.v[i].key, "CPU") == 0)
            return strtoll(f->resources.v[i].value, NULL, 10);
    return 0;
}

void aws_room(const json_t *quotas, const char *machine,
              const struct kit_offer *facts, bool spot, struct kit_quotas *ret,
              char *note, size_t size)
{
    int64_t vcpus = cpus(facts);
    const char *code = code_of(machine, spot);
    const json_t *q = code ? json_object_get(quotas, code) : NULL;
    double limit = json_number_value(json_object_get(q, "limit"));
    double used = (double)kit_json_int(q, "used", 0);
    note[0] = '\0';
    if (!q || vcpus <= 0)
        return;
    if (kit_quota_add(ret, limit - used, vcpus, "%s (%.80s)", code,
                      kit_json_text(q, "name")) == 0)
        snprintf(note, size,
                 "quota %s (%.80s): %.0f of %.0f vCPUs used, a machine takes "
                 "%lld",
                 code, kit_json_text(q, "name"), used, limit, (long long)vcpus);
}
