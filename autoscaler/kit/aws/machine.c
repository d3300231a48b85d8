/*
 * machine.c - what EC2 says of its machine types: see machine.h.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One address of each interface is the node's own; two pods of EKS' share it
 * (github.com/awslabs/amazon-eks-ami: eni-max-pods.txt).  Interfaces are those of
 * the default network card.  0: EC2 does not say. */
static int64_t most_pods(const struct xml *type)
{
    int64_t card = xml_number(type, "networkInfo/defaultNetworkCardIndex", 0);
    int64_t each = xml_number(type, "networkInfo/ipv4AddressesPerInterface", 0);
    int64_t n = xml_number(type, "networkInfo/maximumNetworkInterfaces", 0);
    for (const struct xml *c = xml_at(type, "networkInfo/networkCards/item"); c;
         c = xml_again(c))
        if (xml_number(c, "networkCardIndex", -1) == card)
            n = xml_number(c, "maximumNetworkInterfaces", n);
    return n > 0 && each > 1 ? n * (each - 1) + 2 : 0;
}

int aws_machine_facts(struct aws_op *op, const char *machines, bool eks,
                      struct kit_offer *f)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    aws_form_begin(&form, AWS_EC2, "DescribeInstanceTypes");
    size_t n = 0, first = strcspn(machines, " ");
    for (const char *at = machines; *at != '\0';) {
        char one[64];
        size_t len = strcspn(at, " ");
        snprintf(one, sizeof one, "%.*s", (int)(len < 63 ? len : 63), at);
        aws_form_nth(&form, "InstanceType.", ++n, one);
        at += len + (at[len] == ' ');
    }
    int st = aws_query(op, AWS_EC2, &form, &doc, &x);
    kit_str_done(&form);
    if (st != DAVIT_OK)
        return st;
    const struct xml *t = xml_at(x, "instanceTypeSet/item");
    while (t && (strlen(xml_text(t, "instanceType")) != first ||
                 strncmp(xml_text(t, "instanceType"), machines, first) != 0))
        t = xml_again(t);
    int64_t cpus = xml_number(t, "vCpuInfo/defaultVCpus", 0), gpus = 0;
    int64_t mib = xml_number(t, "memoryInfo/sizeInMiB", 0);
    for (const struct xml *g = xml_at(t, "gpuInfo/gpus/item"); g;
         g = xml_again(g)) {
        /* G6f has fractions of a card: Count 0, LogicalGpuCount 1 */
        int64_t whole = xml_number(g, "count", 0);
        gpus += whole > 0 ? whole : xml_number(g, "logicalGpuCount", 0);
        const char *name = xml_text(g, "name");
        kit_fact_set(f, &f->labels, "ray.io/accelerator-type", name);
    }
    kit_fact_number(f, &f->resources, "CPU", cpus);
    kit_fact_number(f, &f->resources, "memory", mib * 1048576);
    if (gpus > 0)
        kit_fact_number(f, &f->resources, "GPU", gpus);
    if (eks && most_pods(t) > 0)
        kit_fact_number(f, &f->resources, "pods", most_pods(t));
    xml_free(doc);
    return DAVIT_OK;
}

int64_t aws_spot_price(struct aws_op *op, const char *machine, const char *zone)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    char now[KIT_TIME_SIZE];
    kit_time_text(op->aws->host->wall_ms(), now);
    aws_form_begin(&form, AWS_EC2, "DescribeSpotPriceHistory");
    aws_form_nth(&form, "InstanceType.", 1, machine);
    aws_form_nth(&form, "ProductDescription.", 1, "Linux/UNIX");
    kit_str_param(&form, "StartTime", now);
    if (zone[0] != '\0')
        kit_str_param(&form, "AvailabilityZone", zone);
    kit_str_param(&form, "MaxResults", "100");
    int st = aws_query(op, AWS_EC2, &form, &doc, &x);
    kit_str_done(&form);
    int64_t worst = -1; /* of the zones it may come from */
    for (const struct xml *p = xml_at(x, "spotPriceHistorySet/item");
         st == DAVIT_OK && p; p = xml_again(p)) {
        double v = strtod(xml_text(p, "spotPrice"), NULL);
        if (v > 0 && v < 1e6 && (int64_t)(v * 1e6 + 0.5) > worst)
            worst = (int64_t)(v * 1e6 + 0.5);
    }
    xml_free(doc);
    return worst;
}
