/*
 * zones.c - which subnet is in which zone, asked of EC2 once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

#define SUBNETS_ASKED 200 /* a request's filter takes so many values */

static void note(struct ec2 *e, const char *id, const char *zone)
{
    for (size_t i = 0; i < e->n_types; i++)
        for (size_t k = 0; k < e->types[i].n_subnets; k++)
            if (strcmp(e->types[i].subnets[k].id, id) == 0)
                snprintf(e->types[i].subnets[k].zone,
                         sizeof e->types[i].subnets[k].zone, "%s", zone);
}

static size_t form_fill(const struct ec2 *e, struct kit_str *form)
{
    size_t n = 0;
    aws_form_begin(form, AWS_EC2, "DescribeSubnets");
    kit_str_param(form, "Filter.1.Name", "subnet-id");
    for (size_t i = 0; i < e->n_types; i++)
        for (size_t k = 0; k < e->types[i].n_subnets && n < SUBNETS_ASKED; k++)
            aws_form_nth(form, "Filter.1.Value.", ++n,
                         e->types[i].subnets[k].id);
    return n;
}

int zones_learn(struct op *op)
{
    struct ec2 *e = op->e;
    struct kit_str form = {0};
    struct xml_doc *doc = NULL;
    const struct xml *x = NULL;
    pthread_mutex_lock(&e->lock);
    bool known = e->zones_known;
    pthread_mutex_unlock(&e->lock);
    if (known)
        return DAVIT_OK;
    int st = DAVIT_OK;
    if (form_fill(e, &form) > 0)
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
    kit_str_done(&form);
    pthread_mutex_lock(&e->lock);
    for (const struct xml *s = xml_at(x, "subnetSet/item"); s; s = xml_again(s))
        note(e, xml_text(s, "subnetId"), xml_text(s, "availabilityZone"));
    e->zones_known = st == DAVIT_OK;
    pthread_mutex_unlock(&e->lock);
    xml_free(doc);
    return st;
}

int zone_subnet(struct op *op, const struct ec2_type *t, const char *zone,
                const char **ret)
{
    *ret = NULL;
    if (t->n_subnets == 0)
        return DAVIT_OK;
    if (zone[0] == '\0') {
        *ret = t->subnets[0].id;
        return DAVIT_OK;
    }
    int st = zones_learn(op);
    if (st != DAVIT_OK)
        return st;
    pthread_mutex_lock(&op->e->lock);
    for (size_t i = 0; i < t->n_subnets && !*ret; i++)
        if (strcmp(t->subnets[i].zone, zone) == 0)
            *ret = t->subnets[i].id;
    pthread_mutex_unlock(&op->e->lock);
    return *ret ? DAVIT_OK
                : kit_error(op->a.error, DAVIT_INVALID, "NoSubnet",
                            "none of the subnets of node type %.60s is in zone "
                            "%.40s",
                            t->name, zone);
}
