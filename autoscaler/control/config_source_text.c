/*
 * config_source_text.c - from a RayCluster's JSON to the text its settings are read
 * from.  JSON is YAML, so the dialect for manifests reads it as it is.
 *
 * The annotation davit.io/config may be written by whoever may edit the
 * RayCluster, so it holds what such a person may decide; see note_keys.
 *
 * Left out is what changes without being a setting: status, who wrote what,
 * replicas and workersToDelete.  The same settings give the same text.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../config/file.h"
#include "../config/yaml.h"
#include "config_source.h"

enum { LONGEST_NOTE = 65536 };

static json_t *json_of(const struct ynode *v)
{
    json_t *j;
    json_error_t at;

    switch (v->kind) {
    case YNODE_MAP:
        j = json_object();
        for (uint32_t i = 0; i < v->n; i++)
            json_object_set_new(j, v->pairs[i].key->text,
                                json_of(v->pairs[i].value));
        return j;
    case YNODE_LIST:
        j = json_array();
        for (uint32_t i = 0; i < v->n; i++)
            json_array_append_new(j, json_of(v->items[i]));
        return j;
    case YNODE_NULL: return json_null();
    case YNODE_TEXT: break;
    }
    /* A plain number or word for true stays one. */
    j = v->quoted ? NULL : json_loads(v->text, JSON_DECODE_ANY, &at);
    if (json_is_number(j) || json_is_boolean(j))
        return j;
    json_decref(j);
    return json_string(v->text);
}

/* One YAML mapping as JSON; *ret stays as it is when there is none. */
static enum status mapping_read(const char *title, const char *like,
                                const char *text, size_t n, json_t **ret,
                                struct err *err)
{
    struct arena a = {0};
    struct diag diag = {.arena = &a, .path = title};
    struct yaml_docs docs;
    struct buf mistakes;
    enum status s = ST_OK;

    buf_init(&mistakes, sizeof err->text);
    if (yaml_read(&a, text, n, &diag, &docs) != ST_OK || docs.n > 1 ||
        (docs.n && docs.v[0]->kind != YNODE_MAP)) {
        diag_write(&diag, &mistakes);
        s = err_set(err, ST_INVALID,
                    "%s must hold settings as under davit: in a manifest, "
                    "such as %s; %.250s",
                    title, like, mistakes.s);
    } else if (docs.n) {
        *ret = json_of(docs.v[0]);
    }
    buf_done(&mistakes);
    arena_done(&a);
    return s;
}

/* Who may edit a RayCluster is trusted with the size of the cluster and with
 * who shares it, never with what davit runs, reads, writes or calls, nor with
 * the name by which machines are ours. */
static const char *const note_keys[] = {"limits", "queues"};

static enum status note_check(json_t *note, struct err *err)
{
    const char *key, *shown;
    struct arena a = {0};
    json_t *value;
    bool allowed;

    json_object_foreach(note, key, value) {
        allowed = false;
        for (size_t i = 0; i < sizeof note_keys / sizeof *note_keys; i++)
            allowed = allowed || strcmp(key, note_keys[i]) == 0;
        if (allowed)
            continue;
        shown = diag_quote(&a, key);
        err_set(err, ST_INVALID,
                "the annotation %s may hold limits and queues only, got "
                "%.80s: what names code, files, addresses or providers is "
                "said by who runs davit, with --settings FILE",
                SOURCE_ANNOTATION, shown);
        arena_done(&a);
        return ST_INVALID;
    }
    return ST_OK;
}

/* What the annotation says, into all. */
static enum status note_read(const char *text, json_t *all, struct err *err)
{
    json_t *note = NULL;
    enum status s;

    if (strlen(text) > LONGEST_NOTE)
        return err_set(err, ST_INVALID,
                       "the annotation %s has more than %d bytes",
                       SOURCE_ANNOTATION, LONGEST_NOTE);
    s = mapping_read("the annotation " SOURCE_ANNOTATION,
                     "{limits: {idle_timeout: 5m}}", text, strlen(text), &note,
                     err);
    if (s == ST_OK && note)
        s = note_check(note, err);
    if (s == ST_OK && note)
        json_object_update(all, note);
    json_decref(note);
    return s;
}

enum status config_source_settings(const char *path, json_t **ret,
                                   struct err *err)
{
    char *text;
    size_t n;
    enum status s = file_slurp(path, YAML_MAX_TEXT, &text, &n, err);

    if (s != ST_OK)
        return err_prefix(err, "%.200s", path);
    *ret = NULL;
    s = mapping_read(path, "{api: {token_file: token}}", text, n, ret, err);
    if (s == ST_OK && !*ret)
        *ret = json_object();
    free(text);
    return s;
}

static json_t *group_settings(const json_t *group)
{
    json_t *g = json_copy((json_t *)group);
    json_t *gate = json_object_get(json_object_get(g, "scaleStrategy"),
                                   "scaleGate");

    json_object_del(g, "replicas");
    if (gate) {
        json_object_set_new(g, "scaleStrategy",
                            json_pack("{s:O}", "scaleGate", gate));
    } else {
        json_object_del(g, "scaleStrategy");
    }
    return g;
}

static json_t *settings_of(const json_t *raycluster)
{
    const json_t *meta = json_object_get(raycluster, "metadata");
    json_t *name = json_object_get(meta, "name");
    json_t *space = json_object_get(meta, "namespace");
    json_t *spec = json_copy(json_object_get(raycluster, "spec"));
    json_t *groups = json_object_get(spec, "workerGroupSpecs"), *group;
    json_t *kept = json_array();
    size_t i;

    json_array_foreach(groups, i, group)
        json_array_append_new(kept, json_is_object(group)
                                        ? group_settings(group)
                                        : json_incref(group));
    if (json_is_array(groups))
        json_object_set(spec, "workerGroupSpecs", kept);
    json_decref(kept);
    return json_pack("{s:s, s:s, s:{s:O?, s:O?}, s:o}", "apiVersion",
                     "ray.io/v1", "kind", "RayCluster", "metadata", "name",
                     name, "namespace", space, "spec",
                     spec ? spec : json_object());
}

enum status config_source_text(const json_t *raycluster, const json_t *block,
                               char **ret, struct err *err)
{
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(15);
    const char *note = json_string_value(json_object_get(
        json_object_get(json_object_get(raycluster, "metadata"), "annotations"),
        SOURCE_ANNOTATION));
    json_t *all = json_object(), *manifest = settings_of(raycluster), *outer;
    enum status s = note ? note_read(note, all, err) : ST_OK;
    char *a, *b;
    size_t n;

    *ret = NULL;
    if (block)
        json_object_update_recursive(all, (json_t *)block);
    outer = json_pack("{s:o}", "davit", all);
    if (s == ST_OK) {
        a = mem_must(json_dumps(manifest, flags));
        b = mem_must(json_dumps(outer, flags));
        n = strlen(a) + strlen(b) + 16;
        *ret = mem_alloc(n);
        snprintf(*ret, n, "%s\n---\n%s\n", a, b);
        free(a);
        free(b);
    }
    json_decref(outer);
    json_decref(manifest);
    return s;
}
