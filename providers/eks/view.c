/*
 * view.c - the groups and their instances, as the cloud has them now.
 *
 * The group's own list says what belongs to it and in which stage of life it
 * is; EC2 says address, state and tags.  An instance that EC2 does not describe
 * yet is asked for once more by its id: its index of tags lags behind.
 * Strings point into the replies, which the view keeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

#define FACTS_MS (60 * INT64_C(1000)) /* an update is seen so late */
#define NAMES_MAX 50   /* groups of one DescribeAutoScalingGroups */
#define VALUES_MAX 200 /* of one filter */
#define PAGES_MAX 1000

/* ---- node groups */

static void facts_take(struct eks *e, struct eks_pool *p, const json_t *ng)
{
    const char *status = json_string_value(json_object_get(ng, "status"));
    const char *kind = json_string_value(json_object_get(ng, "capacityType"));
    const char *name = json_string_value(json_object_get(
        json_array_get(json_object_get(json_object_get(ng, "resources"),
                                       "autoScalingGroups"),
                       0),
        "name"));
    const json_t *types = json_object_get(ng, "instanceTypes");
    const json_t *issue = json_array_get(
        json_object_get(json_object_get(ng, "health"), "issues"), 0);
    const char *code = json_string_value(json_object_get(issue, "code"));
    const char *text = json_string_value(json_object_get(issue, "message"));
    pthread_mutex_lock(&e->lock);
    snprintf(p->group, sizeof p->group, "%s", name ? name : "");
    snprintf(p->status, sizeof p->status, "%s", status ? status : "");
    snprintf(p->issue_code, sizeof p->issue_code, "%s", code ? code : "");
    snprintf(p->issue, sizeof p->issue, "%s", text ? text : "");
    p->spot = kind && strcmp(kind, "SPOT") == 0;
    p->block = kind && strcmp(kind, "CAPACITY_BLOCK") == 0;
    p->machines[0] = '\0';
    for (size_t i = 0, n = 0; i < json_array_size(types); i++) {
        const char *t = json_string_value(json_array_get(types, i));
        if (t && n + strlen(t) + 2 < sizeof p->machines)
            n += (size_t)snprintf(p->machines + n, sizeof p->machines - n,
                                  "%s%s", n > 0 ? " " : "", t);
    }
    p->read_ms = e->aws.host->wall_ms();
    pthread_mutex_unlock(&e->lock);
}

/* The group's name, "" when there is no such node group (a sure answer).  That
 * there is no such cluster is an error: a wrong name must not look like a cloud
 * without machines. */
int pool_resolve(struct op *op, size_t pool, bool again, char *ret_group,
                 size_t size)
{
    struct eks *e = op->e;
    struct eks_pool *p = &e->pools[pool];
    json_t *reply;
    pthread_mutex_lock(&e->lock);
    snprintf(ret_group, size, "%s", p->group);
    bool fresh = p->bare || (p->group[0] != '\0' &&
                             e->aws.host->wall_ms() - p->read_ms < FACTS_MS);
    pthread_mutex_unlock(&e->lock);
    if (fresh && (!again || p->bare))
        return DAVIT_OK;
    int st = api_node_group(op, p, &reply);
    if (st == DAVIT_NOT_FOUND) {
        if (op->a.error && strstr(op->a.error->text, "luster") &&
            !strstr(op->a.error->text, "ode group") &&
            !strstr(op->a.error->text, "odegroup"))
            return kit_error(op->a.error, DAVIT_INVALID, "NoCluster",
                             "there is no EKS cluster %.60s in this region and "
                             "account",
                             e->cluster);
        pthread_mutex_lock(&e->lock);
        p->group[0] = '\0';
        pthread_mutex_unlock(&e->lock);
        ret_group[0] = '\0';
        return DAVIT_OK;
    }
    if (st != DAVIT_OK)
        return st;
    facts_take(e, p, json_object_get(reply, "nodegroup"));
    json_decref(reply);
    pthread_mutex_lock(&e->lock);
    snprintf(ret_group, size, "%s", p->group);
    pthread_mutex_unlock(&e->lock);
    return DAVIT_OK;
}

/* ---- groups */

static void doc_keep(struct view *v, struct xml_doc *doc)
{
    v->docs = kit_resize(v->docs, v->n_docs + 1, sizeof *v->docs);
    v->docs[v->n_docs++] = doc;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum life life_of(const char *stage)
{
    if (begins(stage, "Pending"))
        return LIFE_STARTING;
    if (strcmp(stage, "Terminating:Retained") == 0)
        return LIFE_RETAINED;
    if (begins(stage, "Terminating"))
        return LIFE_STOPPING;
    if (begins(stage, "Warmed") || begins(stage, "Detach") ||
        strcmp(stage, "Terminated") == 0)
        return LIFE_GONE;
    return LIFE_RUNNING; /* InService, Standby and the ways there */
}

static void instances_take(struct group *g, const struct xml *x)
{
    size_t n = 0;
    for (const struct xml *m = xml_at(x, "Instances/member"); m;
         m = xml_again(m))
        n++;
    g->v = kit_zeroed(n + 1, sizeof *g->v);
    for (const struct xml *m = xml_at(x, "Instances/member"); m;
         m = xml_again(m)) {
        struct instance i = {
            .id = xml_text(m, "InstanceId"),
            .in_group = true,
            .zone = xml_text(m, "AvailabilityZone"),
            .stage = xml_text(m, "LifecycleState"),
            .request = "",
            .cluster = "",
            .address = "",
            .state = "",
            .protected = strcmp(xml_text(m, "ProtectedFromScaleIn"), "true") ==
                         0};
        i.life = life_of(i.stage);
        if (i.id[0] != '\0' && i.life != LIFE_GONE)
            g->v[g->n++] = i;
    }
}

static uint32_t size_at(const struct xml *x, const char *name)
{
    int64_t v = xml_number(x, name, 0);
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* Does it count what we count, and do what it is asked?  With weights, or in
 * vCPUs or GiB, its target is of other units than instances
 * (docs.aws.amazon.com/autoscaling/ec2/APIReference/: LaunchTemplateOverrides,
 * DesiredCapacityType, SuspendedProcess). */
static void processes_take(struct group *g, const struct xml *x)
{
    const char *type = xml_text(x, "DesiredCapacityType");
    g->units = type[0] == '\0' || strcmp(type, "units") == 0;
    for (const struct xml *o = xml_at(x, "MixedInstancesPolicy/LaunchTemplate/"
                                         "Overrides/member");
         o; o = xml_again(o)) {
        const char *weight = xml_text(o, "WeightedCapacity");
        if (weight[0] != '\0' && strcmp(weight, "1") != 0)
            g->units = false;
    }
    for (const struct xml *s = xml_at(x, "SuspendedProcesses/member"); s;
         s = xml_again(s)) {
        const char *name = xml_text(s, "ProcessName");
        g->no_launch = g->no_launch || strcmp(name, "Launch") == 0;
        g->no_end = g->no_end || strcmp(name, "Terminate") == 0;
    }
}

static void group_take(struct view *v, const struct xml *x)
{
    const char *name = xml_text(x, "AutoScalingGroupName");
    struct group *g = NULL;
    for (size_t i = 0; i < v->n_groups && !g; i++)
        if (v->groups[i].name[0] != '\0' &&
            strcmp(v->groups[i].name, name) == 0)
            g = &v->groups[i];
    /* Being deleted: its instances end, and nothing can be asked of it. */
    if (!g || g->found)
        return;
    g->found = true;
    g->min = size_at(x, "MinSize");
    g->max = size_at(x, "MaxSize");
    g->desired = size_at(x, "DesiredCapacity");
    for (const struct xml *z = xml_at(x, "AvailabilityZones/member"); z;
         z = xml_again(z))
        g->n_zones++;
    processes_take(g, x);
    for (const struct xml *t = xml_at(x, "Tags/member"); t; t = xml_again(t)) {
        const char *key = xml_text(t, "Key");
        if (begins(key, RECORD_PREFIX))
            record_parse(g, key, xml_text(t, "Value"));
        else
            g->tags++;
    }
    instances_take(g, x);
}

static int groups_page(struct op *op, struct view *v, size_t from, size_t to)
{
    struct kit_str form = {0}, next = {0};
    int st = DAVIT_OK, pages = 0;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        size_t k = 0;
        aws_form_begin(&form, AWS_AUTOSCALING, "DescribeAutoScalingGroups");
        for (size_t i = from; i < to; i++)
            if (v->groups[i].name[0] != '\0')
                aws_form_nth(&form, "AutoScalingGroupNames.member.", ++k,
                             v->groups[i].name);
        if (k == 0)
            break; /* without names it would list them all */
        kit_str_param(&form, "MaxRecords", "100");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_AUTOSCALING, &form, &doc, &x);
        if (st != DAVIT_OK)
            break;
        doc_keep(v, doc);
        x = xml_at(x, "DescribeAutoScalingGroupsResult");
        if (!xml_child(x, "AutoScalingGroups")) {
            st = kit_error(op->a.error, DAVIT_RETRY, "BadReply",
                           "DescribeAutoScalingGroups answered without groups");
            break;
        }
        for (const struct xml *m = xml_at(x, "AutoScalingGroups/member"); m;
             m = xml_again(m))
            group_take(v, m);
        kit_str_clear(&next);
        kit_str_puts(&next, xml_text(x, "NextToken"));
    } while (next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

/* ---- EC2 */

static struct group *group_named(struct view *v, const char *name)
{
    for (size_t i = 0; i < v->n_groups; i++)
        if (v->groups[i].found && strcmp(v->groups[i].name, name) == 0)
            return &v->groups[i];
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct instance *)a)->id,
                  ((const struct instance *)b)->id);
}

static void left_add(struct eks *e, const char *group)
{
    size_t n = e->n_pools;
    bool known = group[0] == '\0' || n == e->n_typed + LEFT_MAX;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < n && !known; i++)
        known = strcmp(e->pools[i].group, group) == 0;
    if (!known) {
        struct eks_pool *p = &e->pools[n];
        p->name = kit_keep_print(&e->keep, "asg/%.255s", group);
        snprintf(p->group, sizeof p->group, "%s", group);
        p->bare = true;
        p->type = e->n_types;
        e->n_pools++;
    }
    pthread_mutex_unlock(&e->lock);
}

static void describe(struct op *op, struct view *v, const struct xml *x)
{
    struct instance key = {.id = xml_text(x, "instanceId")};
    struct instance d = {.request = "", .cluster = ""};
    const char *group = "";
    for (const struct xml *t = xml_at(x, "tagSet/item"); t; t = xml_again(t)) {
        const char *k = xml_text(t, "key");
        if (strcmp(k, TAG_REQUEST) == 0)
            d.request = xml_text(t, "value");
        else if (strcmp(k, TAG_CLUSTER) == 0)
            d.cluster = xml_text(t, "value");
        else if (strcmp(k, "aws:autoscaling:groupName") == 0)
            group = xml_text(t, "value");
    }
    struct group *g = group_named(v, group);
    if (v->seeks && strcmp(d.cluster, op->e->tag) == 0)
        left_add(op->e, group);
    if (!g || key.id[0] == '\0')
        return;
    d.state = xml_text(x, "instanceState/name");
    struct instance *i = bsearch(&key, g->v, g->n, sizeof *g->v, by_id);
    bool ending = strcmp(d.state, "shutting-down") == 0 ||
                  strcmp(d.state, "stopping") == 0;
    if (!i && !ending)
        return; /* detached, or not in the group yet */
    if (!i) {
        /* Out of the group, but not at its end: still there to be seen. */
        g->v = kit_resize(g->v, g->n + 2, sizeof *g->v);
        g->v[g->n] = (struct instance){
            .id = key.id,
            .stage = "",
            .zone = xml_text(x, "placement/availabilityZone")};
        i = &g->v[g->n++];
        qsort(g->v, g->n, sizeof *g->v, by_id);
        i = bsearch(&key, g->v, g->n, sizeof *g->v, by_id);
    }
    i->described = true;
    i->state = d.state;
    i->request = d.request;
    i->cluster = d.cluster;
    i->address = xml_text(x, "privateIpAddress");
    i->spot = strcmp(xml_text(x, "instanceLifecycle"), "spot") == 0;
    i->ours = strcmp(d.cluster, op->e->tag) == 0;
    i->foreign = d.cluster[0] != '\0' && !i->ours;
    if (strcmp(d.state, "terminated") == 0)
        i->life = LIFE_GONE; /* the group has not noticed yet */
    else if (ending || strcmp(d.state, "stopped") == 0)
        i->life = LIFE_STOPPING;
    else if (i->life == LIFE_RUNNING && strcmp(d.state, "pending") == 0)
        i->life = LIFE_STARTING;
}

/* Every page of instances that fit one filter, without what has ended if
 * only those that live are asked for. */
static int ec2_pages(struct op *op, struct view *v, const char *filter,
                     const char *const *values, size_t n, bool living)
{
    static const char *const states[] = {"pending", "running", "shutting-down",
                                         "stopping", "stopped"};
    struct kit_str form = {0}, next = {0};
    int st = DAVIT_OK, pages = 0;
    do {
        struct xml_doc *doc;
        const struct xml *x;
        aws_form_begin(&form, AWS_EC2, "DescribeInstances");
        kit_str_param(&form, "Filter.1.Name", filter);
        for (size_t i = 0; i < n; i++)
            aws_form_nth(&form, "Filter.1.Value.", i + 1, values[i]);
        if (living)
            kit_str_param(&form, "Filter.2.Name", "instance-state-name");
        for (size_t i = 0; living && i < sizeof states / sizeof *states; i++)
            aws_form_nth(&form, "Filter.2.Value.", i + 1, states[i]);
        kit_str_param(&form, "MaxResults", "1000");
        if (next.n > 0)
            kit_str_param(&form, "NextToken", next.p);
        st = aws_query(&op->a, AWS_EC2, &form, &doc, &x);
        if (st != DAVIT_OK)
            break;
        doc_keep(v, doc);
        if (!xml_child(x, "reservationSet")) {
            st = kit_error(op->a.error, DAVIT_RETRY, "BadReply",
                           "DescribeInstances answered without instances");
            break;
        }
        for (const struct xml *r = xml_at(x, "reservationSet/item"); r;
             r = xml_again(r))
            for (const struct xml *i = xml_at(r, "instancesSet/item"); i;
                 i = xml_again(i))
                describe(op, v, i);
        kit_str_clear(&next);
        kit_str_puts(&next, xml_text(x, "nextToken"));
    } while (next.n > 0 && ++pages < PAGES_MAX);
    kit_str_done(&form);
    kit_str_done(&next);
    return st;
}

int view_seek(struct op *op)
{
    struct view v = {.seeks = true};
    const char *tag = op->e->tag;
    int st = ec2_pages(op, &v, "tag:" TAG_CLUSTER, &tag, 1, true);
    view_free(&v);
    return st;
}

static int ec2_by_group(struct op *op, struct view *v)
{
    const char *names[VALUES_MAX];
    size_t n = 0;
    int st = DAVIT_OK;
    for (size_t i = 0; i < v->n_groups && st == DAVIT_OK; i++) {
        if (v->groups[i].found)
            names[n++] = v->groups[i].name;
        if (n > 0 && (n == VALUES_MAX || i + 1 == v->n_groups)) {
            st = ec2_pages(op, v, "tag:aws:autoscaling:groupName", names, n,
                           true);
            n = 0;
        }
    }
    return st;
}

static int ec2_by_id(struct op *op, struct view *v)
{
    const char *ids[VALUES_MAX];
    int st = DAVIT_OK;
    for (size_t k = 0; k < v->n_groups && st == DAVIT_OK; k++) {
        struct group *g = &v->groups[k];
        size_t n = 0, all = g->n;
        for (size_t i = 0; i < all && st == DAVIT_OK; i++) {
            if (!g->v[i].described)
                ids[n++] = g->v[i].id;
            if (n > 0 && (n == VALUES_MAX || i + 1 == all)) {
                st = ec2_pages(op, v, "instance-id", ids, n, false);
                n = 0;
            }
        }
    }
    return st;
}

/* Absence from a list is death, so a machine that runs by the group's word and
 * is unknown to EC2 makes it no list.  One that is only just made may lack. */
int group_sure(struct op *op, const struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->v[i].in_group && !g->v[i].described &&
            g->v[i].life == LIFE_RUNNING)
            return kit_error(op->a.error, DAVIT_RETRY, "NotDescribed",
                             "EC2 does not describe %.40s, which its group has "
                             "in service",
                             g->v[i].id);
    return DAVIT_OK;
}

int view_read(struct op *op, const size_t *pools, size_t n, bool with_ec2,
              struct view *v)
{
    int st = DAVIT_OK;
    *v = (struct view){0};
    v->groups = kit_zeroed(n + 1, sizeof *v->groups);
    v->n_groups = n;
    for (size_t i = 0; i < n && st == DAVIT_OK; i++) {
        v->groups[i].pool = pools[i];
        st = pool_resolve(op, pools[i], false, v->groups[i].name,
                          sizeof v->groups[i].name);
    }
    for (size_t i = 0; i < n && st == DAVIT_OK; i += NAMES_MAX)
        st = groups_page(op, v, i, i + NAMES_MAX < n ? i + NAMES_MAX : n);
    for (size_t i = 0; i < n && st == DAVIT_OK; i++) {
        struct group *g = &v->groups[i];
        if (g->found) {
            qsort(g->v, g->n, sizeof *g->v, by_id);
            if (g->pool < op->e->n_typed)
                ledger_recall(op, g);
            group_state(op, g);
            continue;
        }
        /* The node group may have been made anew, with another group. */
        char now[sizeof g->name];
        st = g->name[0] != '\0'
                 ? pool_resolve(op, g->pool, true, now, sizeof now)
                 : DAVIT_OK;
        if (st == DAVIT_OK && g->name[0] != '\0' && now[0] != '\0' &&
            strcmp(now, g->name) != 0)
            st = kit_error(op->a.error, DAVIT_RETRY, "GroupChanged",
                           "node group %.60s has another group now",
                           op->e->pools[g->pool].name);
    }
    if (st == DAVIT_OK && with_ec2)
        st = ec2_by_group(op, v);
    if (st == DAVIT_OK && with_ec2)
        st = ec2_by_id(op, v);
    return st;
}

void view_free(struct view *v)
{
    for (size_t i = 0; i < v->n_groups; i++) {
        free(v->groups[i].records);
        free(v->groups[i].v);
        kit_keep_done(&v->groups[i].keep);
    }
    for (size_t i = 0; i < v->n_docs; i++)
        xml_free(v->docs[i]);
    free(v->docs);
    free(v->groups);
    *v = (struct view){0};
}
