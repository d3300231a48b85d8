/*
 * body.c - one machine as its PUT takes it (learn.microsoft.com/rest/api/
 * compute/virtual-machines/create-or-update).
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

#define CUSTOM_DATA_MAX 65535

json_t *json_into(json_t *o, const char *key)
{
    json_t *in = json_object_get(o, key);
    if (!json_is_object(in)) {
        in = kit_must(json_object());
        json_object_set_new(o, key, in);
    }
    return in;
}

void json_usual(json_t *o, const char *key, json_t *value)
{
    if (json_object_get(o, key))
        json_decref(value);
    else
        json_object_set_new(o, key, value);
}

/* Disks are made with the machine and end with it. */
static void storage_add(json_t *properties)
{
    json_t *s = json_into(properties, "storageProfile"), *disk;
    json_t *image = json_into(s, "imageReference");
    static const char *const parts[] = {"publisher", "offer", "sku", "version"};
    size_t i;
    disk = json_into(s, "osDisk");
    json_usual(disk, "createOption", json_string("FromImage"));
    json_usual(disk, "deleteOption", json_string("Delete"));
    json_array_foreach(json_object_get(s, "dataDisks"), i, disk)
        json_usual(disk, "deleteOption", json_string("Delete"));
    for (i = 0; json_object_get(image, "id") && i < 4; i++)
        json_object_del(image, parts[i]); /* as in Ray's template */
}

static void market_add(json_t *properties, bool spot)
{
    json_object_del(properties, "priority");
    if (!spot) {
        json_object_del(properties, "evictionPolicy");
        json_object_del(properties, "billingProfile");
        return;
    }
    json_object_set_new(properties, "priority", json_string("Spot"));
    json_usual(properties, "evictionPolicy", json_string("Delete"));
    json_usual(json_into(properties, "billingProfile"), "maxPrice",
               json_integer(-1)); /* up to the price on demand */
}

static int script_add(json_t *os, const char *script, struct davit_error *e)
{
    size_t n = script ? strlen(script) : 0;
    if (!script)
        return DAVIT_OK;
    if ((n + 2) / 3 * 4 > CUSTOM_DATA_MAX)
        return kit_error(e, DAVIT_INVALID, "customData",
                         "the start script has %zu bytes: Azure takes %d as "
                         "base64, which are %d",
                         n, CUSTOM_DATA_MAX, CUSTOM_DATA_MAX / 4 * 3);
    char *text = kit_alloc(n / 3 * 4 + 8);
    EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)script,
                    (int)n);
    json_object_set_new(os, "customData", json_string(text));
    free(text);
    return DAVIT_OK;
}

static int os_add(json_t *properties, const struct vm_type *t, const char *name,
                  const char *script, struct davit_error *e)
{
    json_t *os = json_into(properties, "osProfile");
    const char *given = kit_json_text(os, "adminUsername");
    char *admin = kit_copy(t->admin ? t->admin : *given ? given : "davit");
    char *key = NULL, *path = NULL;
    int st = key_text(t, &key, e);
    json_object_set_new(os, "computerName", json_string(name));
    json_object_set_new(os, "adminUsername", json_string(admin));
    json_t *linux_os = json_into(os, "linuxConfiguration");
    json_usual(linux_os, "disablePasswordAuthentication", json_true());
    if (st == DAVIT_OK && !json_object_get(linux_os, "ssh") &&
        !json_object_get(os, "adminPassword")) {
        path = kit_print("/home/%s/.ssh/authorized_keys", admin);
        json_object_set_new(linux_os, "ssh",
                            kit_must(json_pack("{s:[{s:s, s:s}]}", "publicKeys",
                                               "path", path, "keyData", key)));
    }
    free(admin);
    free(path);
    free(key);
    return st == DAVIT_OK ? script_add(os, script, e) : st;
}

static void tags_add(json_t *body, const struct azurevm *v,
                     const struct vm_type *t, const struct davit_launch *l)
{
    json_t *tags = json_into(body, "tags");
    for (size_t i = 0; i < l->n_tags; i++)
        json_object_set_new(tags, l->tags[i].key,
                            json_string(l->tags[i].value));
    json_object_set_new(tags, TAG_CLUSTER, json_string(v->cluster));
    json_object_set_new(tags, TAG_TYPE, json_string(t->name));
    json_object_set_new(tags, TAG_REQUEST, json_string(l->request_id));
}

int body_make(struct op *op, const struct vm_type *t,
              const struct davit_launch *l, const char *name,
              const char *script, json_t **ret)
{
    json_t *body = kit_must(json_deep_copy(t->node));
    json_t *p = json_into(body, "properties");
    const char *zone = zone_number(l->zone);
    json_object_set_new(body, "location", json_string(op->v->location));
    if (*zone != '\0')
        json_object_set_new(body, "zones", kit_must(json_pack("[s]", zone)));
    json_object_set_new(json_into(p, "hardwareProfile"), "vmSize",
                        json_string(t->machine));
    json_usual(json_into(json_into(p, "diagnosticsProfile"), "bootDiagnostics"),
               "enabled", json_true());
    storage_add(p);
    market_add(p, l->spot);
    network_add(p, op, t, name);
    identity_add(body, op, t);
    tags_add(body, op->v, t, l);
    int st = os_add(p, t, name, script, op->e);
    if (st != DAVIT_OK) {
        json_decref(body);
        body = NULL;
    }
    *ret = body;
    return st;
}
