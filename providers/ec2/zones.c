/*
 * zones.c - which subnet is in which zone and has how many addresses left, asked
 * of EC2 with the offers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ec2.h"

#define SUBNETS_ASKED 200 /* a request's filter takes so many values */

static void note(struct ec2 *e, const struct xml *x)
{
    const char *id = xml_text(x, "subnetId");
    for (size_t i = 0; i < e->n_types; i++)
        for (size_t k = 0; k < e->types[i].n_subnets; k++) {
            struct subnet *s = &e->types[i].subnets[k];
            if (strcmp(s->id, id) != 0)
                continue;
            snprintf(s->zone, sizeof s->zone, "%s",
                     xml_text(x, "availabilityZone"));
            s->free = xml_number(x, "availableIpAddressCount", 0);
        }
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
    int st = DAVIT_OK;
    if (form_fill(e, &form) > 0)
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
    kit_str_done(&form);
    pthread_mutex_lock(&e->lock);
    for (const struct xml *s = xml_at(x, "subnetSet/item"); s; s = xml_again(s))
        note(e, s);
    e->zones_known = e->zones_known || st == DAVIT_OK;
    pthread_mutex_unlock(&e->lock);
    xml_free(doc);
    return st;
}

static bool zone_before(const struct ec2_type *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(t->subnets[i].zone, t->subnets[n].zone) == 0)
            return true;
    return false;
}

void zone_nth(const struct ec2_type *t, size_t nth, char *ret, size_t size)
{
    size_t n = 0;
    ret[0] = '\0';
    pthread_mutex_lock(&t->ec2->lock);
    for (size_t i = 0; i < t->n_subnets && ret[0] == '\0'; i++)
        if (t->subnets[i].zone[0] != '\0' && !zone_before(t, i) && n++ == nth)
            snprintf(ret, size, "%s", t->subnets[i].zone);
    pthread_mutex_unlock(&t->ec2->lock);
}

int zone_subnet(struct op *op, const struct ec2_type *t, const char *zone,
                const char **ret)
{
    *ret = NULL;
    if (t->n_subnets == 0)
        return DAVIT_OK;
    pthread_mutex_lock(&op->e->lock);
    bool known = op->e->zones_known;
    pthread_mutex_unlock(&op->e->lock);
    int st = known ? DAVIT_OK : zones_learn(op);
    if (st != DAVIT_OK)
        return st;
    pthread_mutex_lock(&op->e->lock);
    const struct subnet *best = NULL;
    for (size_t i = 0; i < t->n_subnets; i++)
        if ((zone[0] == '\0' || strcmp(t->subnets[i].zone, zone) == 0) &&
            (!best || t->subnets[i].free > best->free))
            best = &t->subnets[i];
    *ret = best ? best->id : NULL;
    pthread_mutex_unlock(&op->e->lock);
    return *ret ? DAVIT_OK
                : kit_error(op->a.error, DAVIT_INVALID, "NoSubnet",
                            "none of the subnets of node type %.60s is in zone "
                            "%.40s",
                            t->name, zone);
}
