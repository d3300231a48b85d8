/*
 * offers.c - what could be launched: node types, their groups and zones.
 *
 * A node group says labels, taints and machine types; EC2 says what such a
 * machine has; the group's tags say the rest (the template tags that the
 * cluster autoscaler reads, too), so that a group at zero is known as well.
 * Prices: EC2 has those of the spot market only.  How many more the account may
 * have is Service Quotas' word (kit/aws/quota.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"
#include "kit/aws/machine.h"
#include "kit/aws/quota.h"

int api_node_group(struct op *op, const struct eks_pool *p, json_t **ret)
{
    char *cluster = kit_encode(op->e->cluster), *name = kit_encode(p->name);
    char *path = kit_print("/clusters/%s/node-groups/%s", cluster, name);
    int st = aws_json(&op->a, AWS_EKS, path, ret);
    free(cluster);
    free(name);
    free(path);
    return st;
}

/* Of the disk (GiB; none is said where a launch template does) the kubelet keeps
 * a tenth free, and 1 GiB (github.com/awslabs/amazon-eks-ami). */
static void disk_take(const json_t *ng, struct kit_offer *f)
{
    int64_t gib = kit_json_int(ng, "diskSize", 0);
    if (gib > 1 && gib < 1 << 20)
        kit_fact_number(f, &f->resources, "ephemeral-storage",
                        (gib << 30) / 10 * 9 - (INT64_C(1) << 30));
}

static void label_put(struct kit_offer *f, const char *key, const char *value)
{
    if (value[0] != '\0')
        kit_fact_set(f, &f->labels, key, value);
}

/* A group with an AMI of its own has the AMI's id in the place of a release
 * (docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html). */
static void image_put(const json_t *ng, struct kit_offer *f)
{
    const json_t *template = json_object_get(ng, "launchTemplate");
    const char *release = kit_json_text(ng, "releaseVersion");
    if (strncmp(release, "ami-", 4) == 0)
        label_put(f, "eks.amazonaws.com/nodegroup-image", release);
    label_put(f, "eks.amazonaws.com/sourceLaunchTemplateId",
              kit_json_text(template, "id"));
    label_put(f, "eks.amazonaws.com/sourceLaunchTemplateVersion",
              kit_json_text(template, "version"));
}

/* What EKS and AWS' cloud provider write on each node of a managed group; its AMI's
 * type tells the operating system and the architecture. */
static int labels_of_eks(struct op *op, const struct eks_pool *p,
                         const json_t *ng, struct kit_offer *f)
{
    const json_t *machines = json_object_get(ng, "instanceTypes");
    const char *ami = kit_json_text(ng, "amiType");
    char region[48];
    int st = aws_region(&op->a, region, sizeof region);
    if (st != DAVIT_OK)
        return st;
    label_put(f, "eks.amazonaws.com/nodegroup", p->name);
    label_put(f, "eks.amazonaws.com/capacityType",
              kit_json_text(ng, "capacityType"));
    image_put(ng, f);
    label_put(f, "topology.kubernetes.io/region", region);
    if (json_array_size(machines) == 1)
        label_put(f, "node.kubernetes.io/instance-type",
                  kit_json_string(json_array_get(machines, 0)));
    if (strncmp(ami, "WINDOWS", 7) == 0)
        label_put(f, "kubernetes.io/os", "windows");
    if (strstr(ami, "ARM_64"))
        label_put(f, "kubernetes.io/arch", "arm64");
    return DAVIT_OK;
}

/* Labels, taints and disk of the node group. */
static int from_node_group(struct op *op, const struct eks_pool *p,
                           struct kit_offer *f, struct kit_str *machines)
{
    json_t *reply, *ng, *v;
    const char *key;
    size_t i;
    if (p->bare)
        return DAVIT_OK;
    int st = api_node_group(op, p, &reply);
    if (st != DAVIT_OK)
        return st;
    ng = json_object_get(reply, "nodegroup");
    st = labels_of_eks(op, p, ng, f);
    if (st != DAVIT_OK) {
        json_decref(reply);
        return st;
    }
    json_object_foreach(json_object_get(ng, "labels"), key, v)
        if (json_is_string(v))
            kit_fact_set(f, &f->labels, key, json_string_value(v));
    json_array_foreach(json_object_get(ng, "taints"), i, v) {
        const char *value = kit_json_text(v, "value");
        kit_fact_taint(f, kit_json_text(v, "key"), value, strlen(value),
                       kit_json_text(v, "effect"));
    }
    disk_take(ng, f);
    json_array_foreach(json_object_get(ng, "instanceTypes"), i, v)
        if (json_is_string(v))
            kit_str_printf(machines, "%s%s", machines->n > 0 ? " " : "",
                           json_string_value(v));
    json_decref(reply);
    return DAVIT_OK;
}

/* k8s.io/cluster-autoscaler/node-template/{label,taint,resources}/KEY */
static void from_tags(const struct xml *group, struct kit_offer *f)
{
    static const char prefix[] = "k8s.io/cluster-autoscaler/node-template/";
    for (const struct xml *t = xml_at(group, "Tags/member"); t;
         t = xml_again(t)) {
        const char *key = xml_text(t, "Key"), *value = xml_text(t, "Value");
        if (strncmp(key, prefix, sizeof prefix - 1) != 0)
            continue;
        key += sizeof prefix - 1;
        if (strncmp(key, "label/", 6) == 0)
            kit_fact_set(f, &f->labels, key + 6, value);
        else if (strncmp(key, "resources/", 10) == 0)
            kit_fact_set(f, &f->resources, key + 10, value);
        else if (strncmp(key, "taint/", 6) == 0) {
            const char *colon = strrchr(value, ':');
            if (colon)
                kit_fact_taint(f, key + 6, value, (size_t)(colon - value),
                               colon + 1);
        }
    }
}

static const struct xml *group_xml(const struct view *v, const char *name)
{
    for (size_t i = 0; i < v->n_docs; i++)
        for (const struct xml *g =
                 v->docs[i]
                     ? xml_at(
                           xml_root(v->docs[i]),
                           "DescribeAutoScalingGroupsResult/AutoScalingGroups/"
                           "member")
                     : NULL;
             g; g = xml_again(g))
            if (strcmp(xml_text(g, "AutoScalingGroupName"), name) == 0)
                return g;
    return NULL;
}

static bool has_zone(const struct xml *group, const char *zone)
{
    for (const struct xml *z = xml_at(group, "AvailabilityZones/member"); z;
         z = xml_again(z))
        if (strcmp(z->text, zone) == 0)
            return true;
    return false;
}

struct offering {
    struct op *op;
    const struct eks_type *type;
    const json_t *quotas;
    struct davit_sink *sink;
    davit_put_offer *put;
};

static void offer_put(const struct offering *o, const struct kit_offer *f,
                      const char *machine, const char *zone, bool spot,
                      bool block, const char *note, bool available)
{
    int64_t price = spot && machine[0] != '\0'
                        ? aws_spot_price(&o->op->a, machine, zone)
                        : -1;
    char used_up[250];
    struct kit_quotas room = KIT_QUOTAS_NONE;
    /* What a Capacity Block is paid for counts in no quota that we know of: EC2's
     * own refusal tells. */
    used_up[0] = '\0';
    if (!block)
        aws_room(o->quotas, machine, f, spot, &room, used_up, sizeof used_up);
    if (available && room.most == 0)
        note = used_up;
    struct davit_offer offer = {.name = o->type->name,
                                .zone = zone,
                                .spot = spot,
                                .note = note,
                                .available = available,
                                .price_micros_hour = price};
    kit_quotas_set(&room, &offer);
    kit_offer_put(f, &offer, o->sink, o->put);
}

/* True: it can be had.  The note says why not, or what to know of it. */
static bool closed_why(const struct eks_pool *p, const struct group *g,
                       const struct xml *x, char *note, size_t size)
{
    static const char *const dead[] = {"CREATE_FAILED", "DELETING",
                                       "DELETE_FAILED"};
    if (!x) {
        snprintf(note, size, "there is no node group %.60s", p->name);
        return false;
    }
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++)
        if (strcmp(p->status, dead[i]) == 0) {
            snprintf(note, size, "node group %.60s is %s", p->name, dead[i]);
            return false;
        }
    snprintf(note, size, "%s", g->closed[0] != '\0' ? g->closed : g->held);
    if (g->max == 0)
        snprintf(note, size, "node group %.60s has a MaxSize of 0", p->name);
    return g->max > 0 && g->closed_as == DAVIT_OK;
}

static int route_offer(const struct offering *o, const struct eks_route *r,
                       const struct view *v)
{
    struct eks *e = o->op->e;
    const struct eks_pool *p = &e->pools[r->pool];
    const struct group *g = NULL;
    struct kit_str machine = {0};
    struct kit_offer f = {0};
    char note[200] = "";
    for (size_t i = 0; i < v->n_groups; i++)
        if (v->groups[i].pool == r->pool)
            g = &v->groups[i];
    const struct xml *x = g && g->found ? group_xml(v, g->name) : NULL;
    int st = x ? from_node_group(o->op, p, &f, &machine) : DAVIT_OK;
    if (machine.n == 0)
        kit_str_puts(&machine, o->type->machine);
    if (st == DAVIT_OK && x && machine.n > 0)
        st = aws_machine_facts(&o->op->a, machine.p, true, &f);
    if (machine.n > 0)
        machine.p[strcspn(machine.p, " ")] = '\0';
    if (st == DAVIT_INVALID)
        st = DAVIT_OK; /* a machine type EC2 does not know */
    if (st == DAVIT_OK) {
        from_tags(x, &f);
        pthread_mutex_lock(&e->lock);
        bool spot = p->bare ? o->type->spot : p->spot;
        bool block = p->block;
        bool good = closed_why(p, g, x, note, sizeof note);
        pthread_mutex_unlock(&e->lock);
        if (r->zone[0] != '\0') {
            offer_put(o, &f, machine.p, r->zone, spot, block, note,
                      good && has_zone(x, r->zone));
        } else if (o->type->n_zones == 0) {
            /* The group chooses among its zones; with one it is that one. */
            const char *only = x && g->n_zones == 1
                                   ? xml_text(x, "AvailabilityZones/member")
                                   : "";
            offer_put(o, &f, machine.p, only, spot, block, note, good);
        }
        for (size_t i = 0; r->zone[0] == '\0' && i < o->type->n_zones; i++) {
            bool own = false;
            for (size_t k = 0; k < o->type->n_routes; k++)
                own = own ||
                      strcmp(o->type->routes[k].zone, o->type->zones[i]) == 0;
            if (!own)
                offer_put(o, &f, machine.p, o->type->zones[i], spot, block,
                          note, good && has_zone(x, o->type->zones[i]));
        }
    }
    kit_keep_done(&f.keep);
    kit_str_done(&machine);
    return st;
}

/* Of the types whose machine the configuration says: a pool's market is not
 * known yet, so both are asked for. */
static int quotas_read(struct op *op, json_t *ret)
{
    json_t *machines = kit_must(json_object());
    for (size_t i = 0; i < op->e->n_types; i++)
        if (op->e->types[i].machine && op->e->types[i].machine[0] != '\0')
            json_object_set_new(machines, op->e->types[i].machine, json_true());
    int st = aws_quotas(&op->a, machines, ret);
    json_decref(machines);
    return st;
}

int eks_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *error)
{
    struct eks *e = self;
    struct op op = op_begin(e, call, error);
    size_t *pools = kit_zeroed(e->n_pools + 1, sizeof *pools);
    struct view v;
    for (size_t i = 0; i < e->n_typed; i++)
        pools[i] = i;
    json_t *quotas = kit_must(json_object());
    int st = view_read(&op, pools, e->n_typed, false, &v);
    if (st == DAVIT_OK)
        st = quotas_read(&op, quotas);
    for (size_t t = 0; t < e->n_types && st == DAVIT_OK; t++) {
        struct offering o = {&op, &e->types[t], quotas, sink, put};
        for (size_t i = 0; i < o.type->n_routes && st == DAVIT_OK; i++)
            st = route_offer(&o, &o.type->routes[i], &v);
    }
    view_free(&v);
    json_decref(quotas);
    free(pools);
    return st;
}
