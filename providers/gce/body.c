/*
 * body.c - one instance as instances.insert takes it
 * (cloud.google.com/compute/docs/reference/rest/v1/instances/insert).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

bool label_make(const char *text, char ret[NAME_SIZE])
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                     c == '-';
        if (n + (plain ? 1 : 3) >= NAME_SIZE)
            return false;
        n += (size_t)snprintf(ret + n, NAME_SIZE - n, plain ? "%c" : "_%02x",
                              c);
    }
    ret[n] = '\0';
    return true;
}

static int hex(char c)
{
    const char *at = strchr("0123456789abcdef", c);
    return c != '\0' && at ? (int)(at - "0123456789abcdef") : -1;
}

void label_read(const char *label, char *ret, size_t size)
{
    size_t n = 0;
    while (*label != '\0' && n + 1 < size) {
        if (*label == '_' && hex(label[1]) >= 0 && hex(label[2]) >= 0) {
            ret[n++] = (char)(hex(label[1]) * 16 + hex(label[2]));
            label += 3;
        } else {
            ret[n++] = *label++;
        }
    }
    ret[n] = '\0';
}

/* The list under a key, with a first object in it. */
static json_t *first_of(json_t *body, const char *key)
{
    json_t *list = json_object_get(body, key);
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(body, key, list);
    }
    if (json_array_size(list) == 0)
        json_array_append_new(list, json_object());
    return json_array_get(list, 0);
}

/* The object under a key; Ray's files have scheduling: as a list of parts. */
static json_t *object_of(json_t *body, const char *key)
{
    json_t *v = json_object_get(body, key), *part;
    size_t i;
    if (json_is_object(v))
        return v;
    json_t *o = json_object();
    if (json_is_array(v))
        json_array_foreach(v, i, part)
            json_object_update(o, part);
    json_object_set_new(body, key, o);
    return o;
}

static void usual(json_t *o, const char *key, json_t *value)
{
    if (json_object_get(o, key))
        json_decref(value);
    else
        json_object_set_new(o, key, value);
}

static const char *last_part(const char *s)
{
    const char *slash = strrchr(s, '/');
    return slash ? slash + 1 : s;
}

/* "n1-standard-8+t4x2": what comes behind the plus, in Google's own names. */
static void accelerators_add(json_t *body, const char *machine)
{
    const char *plus = strchr(machine, '+');
    json_t *list = json_object_get(body, "guestAccelerators");
    if (plus && !list) {
        size_t n = strcspn(plus + 1, "x");
        long count = plus[1 + n] == 'x' ? strtol(plus + 2 + n, NULL, 10) : 1;
        char type[64];
        static const char *const tesla[] = {"k80", "p4", "p100", "t4", "v100"};
        bool old = false;
        for (size_t i = 0; i < sizeof tesla / sizeof *tesla; i++)
            old = old || (strlen(tesla[i]) == n &&
                          strncmp(tesla[i], plus + 1, n) == 0);
        snprintf(type, sizeof type, "nvidia-%s%.*s", old ? "tesla-" : "",
                 (int)(n < 40 ? n : 40), plus + 1);
        json_t *a = first_of(body, "guestAccelerators");
        json_object_set_new(a, "acceleratorType", json_string(type));
        json_object_set_new(a, "acceleratorCount", json_integer(count));
    }
}

void body_accelerator(const struct gce_type *t, char ret[64], int64_t *count)
{
    json_t *body = kit_must(json_object());
    json_t *own = json_object_get(t->node, "guestAccelerators");
    if (own)
        json_object_set(body, "guestAccelerators", own);
    accelerators_add(body, t->machine);
    const json_t *a = json_array_get(json_object_get(body, "guestAccelerators"),
                                     0);
    snprintf(ret, 64, "%s", last_part(kit_json_text(a, "acceleratorType")));
    *count = kit_json_int(a, "acceleratorCount", *ret != '\0');
    json_decref(body);
}

/* People write bare names; the API wants them with their zone, and the zone is
 * the launch's. */
static void zone_set(json_t *o, const char *key, const char *kind,
                     const struct gce *g, const char *zone)
{
    const char *name = last_part(kit_json_text(o, key));
    char *url = kit_print("projects/%s/zones/%s/%s/%s", g->project, zone, kind,
                          name);
    if (*name != '\0')
        json_object_set_new(o, key, json_string(url));
    free(url);
}

static void zones_add(json_t *body, const struct gce *g, const char *zone)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(body, "guestAccelerators"), i, v)
        zone_set(v, "acceleratorType", "acceleratorTypes", g, zone);
    json_array_foreach(json_object_get(body, "disks"), i, v) {
        json_t *made = json_object_get(v, "initializeParams");
        if (made)
            zone_set(made, "diskType", "diskTypes", g, zone);
    }
}

/* Ours runs the user's own script, and takes its place. */
static void metadata_add(json_t *body, const char *script)
{
    json_t *m = object_of(body, "metadata");
    json_t *items = json_object_get(m, "items");
    if (!json_is_array(items)) {
        items = json_array();
        json_object_set_new(m, "items", items);
    }
    if (!script)
        return;
    for (size_t i = json_array_size(items); i-- > 0;)
        if (strcmp(kit_json_text(json_array_get(items, i), "key"),
                   STARTUP_SCRIPT) == 0)
            json_array_remove(items, i);
    json_array_append_new(
        items, json_pack("{s:s, s:s}", "key", STARTUP_SCRIPT, "value", script));
}

/* Of what the user wrote nothing is changed but the older word for spot, which
 * says the same.  FLEX_START and RESERVATION_BOUND machines end by themselves, as
 * spot ones do, and are deleted then
 * (cloud.google.com/compute/docs/instances/provisioning-models). */
static void scheduling_add(json_t *body, bool spot, bool own_gpus)
{
    json_t *s = object_of(body, "scheduling");
    json_object_del(s, "preemptible");
    if (!spot && strcmp(kit_json_text(s, "provisioningModel"), "SPOT") == 0) {
        /* of a type for both markets, and this is the other one */
        json_object_del(s, "provisioningModel");
        json_object_del(s, "instanceTerminationAction");
    }
    if (spot)
        usual(s, "provisioningModel", json_string("SPOT"));
    const char *model = kit_json_text(s, "provisioningModel");
    bool flex = strcmp(model, "FLEX_START") == 0;
    bool standard = *model == '\0' || strcmp(model, "STANDARD") == 0;
    /* Not for all: E2 refuses it. */
    if (!standard || own_gpus || json_object_get(body, "guestAccelerators"))
        usual(s, "onHostMaintenance", json_string("TERMINATE"));
    usual(s, "automaticRestart", json_boolean(!spot && !flex));
    if (!standard)
        usual(s, "instanceTerminationAction", json_string("DELETE"));
    if (flex && !json_object_get(body, "reservationAffinity"))
        json_object_set_new(object_of(body, "reservationAffinity"),
                            "consumeReservationType",
                            json_string("NO_RESERVATION"));
}

static void labels_add(json_t *body, const struct gce *g,
                       const struct gce_type *t, const struct davit_launch *l)
{
    json_t *labels = object_of(body, "labels");
    char v[NAME_SIZE];
    for (size_t i = 0; i < l->n_tags; i++)
        if (label_make(l->tags[i].value, v))
            json_object_set_new(labels, l->tags[i].key, json_string(v));
    label_make(g->cluster, v);
    json_object_set_new(labels, LABEL_CLUSTER, json_string(v));
    label_make(t->name, v);
    json_object_set_new(labels, LABEL_TYPE, json_string(v));
    label_make(l->request_id, v);
    json_object_set_new(labels, LABEL_REQUEST, json_string(v));
}

/* Google's default is pd-standard, which newer series refuse: N4, C4 and the
 * accelerators from A3 on have Hyperdisk alone or beside pd-balanced, C3 and G2
 * pd-balanced (cloud.google.com/compute/docs/disks/persistent-disks,
 * .../hyperdisks; gcp-compute-persistent-disk-csi-driver#1391). */
static const char *disk_type(const char *machine)
{
    static const struct {
        const char *begins, *type;
    } of[] = {{"a4", "hyperdisk-balanced"}, {"a3-ultra", "hyperdisk-balanced"},
              {"c4", "hyperdisk-balanced"}, {"n4", "hyperdisk-balanced"},
              {"g4", "hyperdisk-balanced"}, {"x4", "hyperdisk-balanced"},
              {"m4", "hyperdisk-balanced"}, {"h4", "hyperdisk-balanced"},
              {"a3-", "pd-balanced"},       {"a2-", "pd-balanced"},
              {"g2-", "pd-balanced"},       {"c3", "pd-balanced"},
              {"h3-", "pd-balanced"},       {"m3-", "pd-balanced"},
              {"z3-", "pd-balanced"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strncmp(machine, of[i].begins, strlen(of[i].begins)) == 0)
            return of[i].type;
    return NULL;
}

/* A template has its own. */
static void disk_add(json_t *body, const struct gce_type *t)
{
    const char *type = disk_type(t->machine);
    if (t->template && !json_object_get(body, "disks"))
        return;
    json_t *disk = first_of(body, "disks");
    usual(disk, "boot", json_true());
    usual(disk, "autoDelete", json_true());
    json_t *made = json_object_get(disk, "initializeParams");
    if (type && made)
        usual(made, "diskType", json_string(type));
}

static void network_add(json_t *body, const struct gce_type *t)
{
    if (t->template && !json_object_get(body, "networkInterfaces"))
        return;
    json_t *nic = first_of(body, "networkInterfaces");
    if (!json_object_get(nic, "subnetwork"))
        usual(nic, "network", json_string("global/networks/default"));
}

json_t *body_make(const struct gce *g, const struct gce_type *t,
                  const struct davit_launch *l, const char *name,
                  const char *script)
{
    json_t *body = json_deep_copy(t->node);
    char *type = kit_print("projects/%s/zones/%s/machineTypes/%.*s", g->project,
                           l->zone, (int)strcspn(t->machine, "+"), t->machine);
    json_object_set_new(body, "name", json_string(name));
    json_object_set_new(body, "machineType", json_string(type));
    free(type);
    accelerators_add(body, t->machine);
    disk_add(body, t);
    zones_add(body, g, l->zone);
    network_add(body, t);
    scheduling_add(body, l->spot, t->own_gpus == OWN_SOME);
    metadata_add(body, script);
    labels_add(body, g, t, l);
    return body;
}
