/*
 * taint.c - taints and tolerations, in Kubernetes' form (an object with
 * key, value, effect; a toleration also operator) or kubectl's short one
 * ("key=value:NoSchedule", "key:NoExecute").
 */
#include <string.h>

#include "codec.h"
#include "inside.h"

enum { TAINTS_MAX = 64 };

static bool effect_read(struct reader *in, const struct path *at,
                        const char *name, bool any, enum taint_effect *ret)
{
    if (effect_from_name(name, ret) && (any || *ret != EFFECT_ANY))
        return true;
    return reader_bad(in, at,
                      "must be NoSchedule, PreferNoSchedule or NoExecute%s",
                      any ? " (left out: any)" : "");
}

/* key[=value][:effect] */
static bool short_read(struct reader *in, const struct path *at,
                       const json_t *v, bool any, struct taint *ret,
                       bool *ret_valued)
{
    const char *text, *colon, *equal;

    if (!reader_text(in, at, v, false, &text))
        return false;
    colon = strrchr(text, ':');
    equal = strchr(text, '=');
    *ret = (struct taint){.value = "", .effect = EFFECT_ANY};
    if (!colon && !any)
        return reader_bad(in, at, "needs its effect: \"key=value:NoSchedule\"");
    if (colon) {
        if (!effect_read(in, at, colon + 1, false, &ret->effect))
            return false;
        text = arena_strndup(in->arena, text, (size_t)(colon - text));
        equal = strchr(text, '=');
    }
    *ret_valued = equal;
    if (equal) {
        ret->value = equal + 1;
        text = arena_strndup(in->arena, text, (size_t)(equal - text));
    }
    ret->key = text;
    return text[0] ||
           reader_bad(in, at, "needs a key: \"key=value:NoSchedule\"");
}

static bool taint_read(struct reader *in, const struct path *at,
                       const json_t *v, struct taint *ret)
{
    static const char *const keys[] = {"key", "value", "effect", "timeAdded"};
    const char *effect = "";
    bool valued;

    if (json_is_string(v))
        return short_read(in, at, v, false, ret, &valued);
    *ret = (struct taint){.key = "", .value = ""};
    if (!reader_object(in, at, v, keys, COUNT(keys)) ||
        !reader_get_text(in, at, v, "key", &ret->key) ||
        !reader_get_text(in, at, v, "value", &ret->value) ||
        !reader_get_text(in, at, v, "effect", &effect))
        return false;
    if (!ret->key[0])
        return reader_bad(in, at, "needs a \"key\"");
    return effect_read(in, PATH_KEY(at, "effect"), effect, false, &ret->effect);
}

static bool list_read(struct reader *in, const struct path *at, const json_t *v,
                      struct taints *ret)
{
    struct taint *taints;
    size_t i;
    json_t *e;

    if (!reader_list(in, at, v, TAINTS_MAX))
        return false;
    taints = ARENA_ARRAY(in->arena, struct taint, json_array_size(v));
    json_array_foreach(v, i, e) {
        if (!taint_read(in, PATH_AT(at, i), e, &taints[i]))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(taints[j].key, taints[i].key) == 0 &&
                taints[j].effect == taints[i].effect)
                return reader_bad(in, PATH_AT(at, i),
                                  "is the second with this key and effect");
    }
    *ret = (struct taints){taints, (uint32_t)json_array_size(v)};
    return true;
}

bool taints_read(struct reader *in, const struct path *at, const json_t *o,
                 struct taints *ret)
{
    const json_t *v = reader_value(o, "taints");

    return !v || list_read(in, PATH_KEY(at, "taints"), v, ret);
}

enum status codec_taints_read(const json_t *list, const char *where,
                              struct arena *arena, struct taints *ret,
                              struct err *err)
{
    struct err unused;
    struct reader in = {arena, err ? err : &unused};

    return list_read(&in, PATH_KEY(NULL, where ? where : ""), list, ret)
               ? ST_OK
               : ST_INVALID;
}

static bool toleration_read(struct reader *in, const struct path *at,
                            const json_t *v, struct toleration *ret)
{
    static const char *const keys[] = {"key", "operator", "value", "effect",
                                       "tolerationSeconds"};
    const char *effect = "", *op = "Equal";
    struct taint t;
    bool valued;

    if (json_is_string(v)) {
        if (!short_read(in, at, v, true, &t, &valued))
            return false;
        *ret = (struct toleration){t.key,
                                   valued ? TOLERATE_EQUAL : TOLERATE_EXISTS,
                                   t.value, t.effect};
        return true;
    }
    *ret = (struct toleration){.key = "", .value = ""};
    if (!reader_object(in, at, v, keys, COUNT(keys)) ||
        !reader_get_text(in, at, v, "key", &ret->key) ||
        !reader_get_text(in, at, v, "value", &ret->value) ||
        !reader_get_text(in, at, v, "operator", &op) ||
        !reader_get_text(in, at, v, "effect", &effect) ||
        !effect_read(in, PATH_KEY(at, "effect"), effect, true, &ret->effect))
        return false;
    if (strcmp(op, "Exists") == 0)
        ret->op = TOLERATE_EXISTS;
    else if (strcmp(op, "Equal") != 0)
        return reader_bad(in, PATH_KEY(at, "operator"),
                          "must be Exists or Equal");
    if (!ret->key[0] && ret->op == TOLERATE_EQUAL)
        return reader_bad(in, at,
                          "without a \"key\" the operator must be Exists "
                          "(every taint is tolerated)");
    if (ret->op == TOLERATE_EXISTS && ret->value[0])
        return reader_bad(in, PATH_KEY(at, "value"),
                          "must be left out when the operator is Exists");
    return true;
}

bool tolerations_read(struct reader *in, const struct path *at, const json_t *o,
                      struct toleration_vec *to)
{
    const json_t *v = reader_value(o, "tolerations");
    struct toleration t;
    size_t i;
    json_t *e;

    at = PATH_KEY(at, "tolerations");
    if (!v)
        return true;
    if (!reader_list(in, at, v, TAINTS_MAX))
        return false;
    json_array_foreach(v, i, e) {
        if (!toleration_read(in, PATH_AT(at, i), e, &t))
            return false;
        VEC_PUSH(in->arena, &to->all, t);
    }
    return true;
}

/* ---- writing */

void taints_write(json_t *o, const struct taints *t)
{
    json_t *list;

    if (t->n == 0)
        return;
    list = json_array();
    for (uint32_t i = 0; i < t->n; i++) {
        json_t *x = json_object();

        json_object_set_new(x, "key", codec_text(t->v[i].key));
        if (t->v[i].value[0])
            json_object_set_new(x, "value", codec_text(t->v[i].value));
        json_object_set_new(x, "effect",
                            json_string(effect_name(t->v[i].effect)));
        json_array_append_new(list, x);
    }
    json_object_set_new(o, "taints", list);
}

void tolerations_write(json_t *o, const struct tolerations *t)
{
    json_t *list;

    if (t->n == 0)
        return;
    list = json_array();
    for (uint32_t i = 0; i < t->n; i++) {
        const struct toleration *r = &t->v[i];
        json_t *x = json_object();

        if (r->key[0])
            json_object_set_new(x, "key", codec_text(r->key));
        if (r->op == TOLERATE_EXISTS)
            json_object_set_new(x, "operator", json_string("Exists"));
        else
            json_object_set_new(x, "value", codec_text(r->value));
        if (r->effect != EFFECT_ANY)
            json_object_set_new(x, "effect",
                                json_string(effect_name(r->effect)));
        json_array_append_new(list, x);
    }
    json_object_set_new(o, "tolerations", list);
}
