/*
 * config_source.c - see config_source.h.
 */
#include "config_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../wire/kube/files.h"

struct config_source {
    struct kube_access *access;
    struct kube *kube;
    char path[700], name[400];
    struct arena arena; /* what files names */
    struct kube_files files;
    json_t *block;
    char *text; /* of the last read; NULL: none yet */
};

static bool name_fits(const char *s)
{
    size_t n = strlen(s);

    return n && n <= 253 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n;
}

/* Where KubeRay's operator speaks an older version, it says so in the pod. */
static const char *version(void)
{
    const char *v = getenv("KUBERAY_CRD_VER");

    return v && strcmp(v, "v1alpha1") == 0 ? v : "v1";
}

/* The plug-in writes to what we read, by the same way. */
static enum status plugin_block(struct config_source *s, const char *space,
                                const char *name, struct err *err)
{
    json_t *k8s = json_pack("{s:s, s:s}", "namespace", space, "cluster", name);
    const struct kube_files *f = &s->files;
    enum status st;

    s->block = json_pack("{s:{s:o}}", "providers", "k8s", k8s);
    if (kube_access_is_pod(s->access))
        return ST_OK;
    st = kube_files_make(s->access, &s->arena, &s->files, err);
    if (st != ST_OK)
        return st;
    const char *const v[][2] = {{"endpoint", f->server},
                                {"ca_file", f->ca},
                                {"cert_file", f->cert},
                                {"key_file", f->key},
                                {"token_file", f->token}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (*v[i][1])
            json_object_set_new(k8s, v[i][0], json_string(v[i][1]));
    return ST_OK;
}

enum status config_source_new(const struct config_source_opts *o,
                              struct config_source **ret, struct err *err)
{
    struct kube_access_opts access = {o->kubeconfig, o->context, NULL};
    struct config_source *s;
    const char *space;
    enum status st;

    *ret = NULL;
    if (!name_fits(o->name) || (*o->space && !name_fits(o->space)))
        return err_set(err, ST_INVALID,
                       "a RayCluster is named NAMESPACE/NAME (a-z, 0-9, - and "
                       ".), got \"%.60s/%.60s\"",
                       o->space, o->name);
    s = MEM_NEW(struct config_source);
    st = kube_access_find(&access, &s->access, err);
    if (st != ST_OK) {
        free(s);
        return st;
    }
    s->kube = kube_new(s->access);
    space = *o->space ? o->space : kube_access_namespace(s->access);
    snprintf(s->path, sizeof s->path,
             "/apis/ray.io/%s/namespaces/%.253s/rayclusters/%.253s", version(),
             space, o->name);
    snprintf(s->name, sizeof s->name, "RayCluster %.253s (%.100s)", o->name,
             space);
    st = plugin_block(s, space, o->name, err);
    if (st == ST_OK && o->block)
        json_object_update_recursive(s->block, (json_t *)o->block);
    if (st != ST_OK) {
        config_source_free(s);
        return st;
    }
    *ret = s;
    return ST_OK;
}

void config_source_free(struct config_source *s)
{
    if (!s)
        return;
    kube_files_close(&s->files);
    arena_done(&s->arena);
    kube_free(s->kube);
    kube_access_free(s->access);
    json_decref(s->block);
    free(s->text);
    free(s);
}

const char *config_source_title(const struct config_source *s)
{
    return s->name;
}

enum status config_source_read(struct config_source *s,
                               int64_t deadline_mono_ms, bool *ret_new,
                               struct err *err)
{
    struct kube_call call = {.path = s->path,
                             .deadline_mono_ms = deadline_mono_ms};
    char *text = NULL;
    enum status st = kube_do(s->kube, &call, err);

    *ret_new = false;
    if (st == ST_OK)
        st = config_source_text(call.reply, s->block, &text, err);
    json_decref(call.reply);
    if (st != ST_OK)
        return st;
    *ret_new = !s->text || strcmp(s->text, text) != 0;
    free(s->text);
    s->text = text;
    return ST_OK;
}

enum status config_source_parse(const struct config_source *s,
                                struct config **ret, struct buf *errors)
{
    *ret = NULL;
    if (!s->text) {
        buf_printf(errors, "%s: not read yet\n", s->name);
        return ST_RETRY;
    }
    return config_parse(s->name, s->text, strlen(s->text), ret, errors);
}
