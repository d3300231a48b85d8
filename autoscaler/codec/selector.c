/*
 * selector.c - conditions on labels: "accelerator_type", "labels" with
 * Ray's operators in their values, and "selector", which can express every condition.
 */
#include "inside.h"

#include <stdio.h>
#include <string.h>

#include "../model/accel.h"

enum { TERMS_MAX = 128, VALUES_MAX = 1024 };

struct name_vec {
    VEC(const char *) all;
};

static void term_add(struct reader *in, struct term_vec *to, const char *key,
                     enum term_op op, const struct name_vec *values)
{
    struct term t = {.key = arena_strdup(in->arena, key),
                     .op = op,
                     .values = {values->all.v, values->all.n}};

    VEC_PUSH(in->arena, &to->all, t);
}

static bool value_add(struct reader *in, const struct path *at, const char *key,
                      const char *s, size_t n, struct name_vec *to)
{
    char *v;

    if (n > READER_NAME_MAX)
        return reader_bad(in, at,
                          "a value has %zu bytes, at most %d are allowed", n,
                          READER_NAME_MAX);
    if (to->all.n >= VALUES_MAX)
        return reader_bad(in, at, "more than %d values", VALUES_MAX);
    v = arena_strndup(in->arena, s, n);
    if (strcmp(key, ACCEL_LABEL) == 0)
        VEC_PUSH(in->arena, &to->all, accel_type_canonical(v));
    else
        VEC_PUSH(in->arena, &to->all, v);
    return true;
}

bool selector_add(struct reader *in, const struct path *at, const char *key,
                  const char *text, struct term_vec *to)
{
    struct name_vec values = {{0}};
    const char *s = text[0] == '!' ? text + 1 : text;
    enum term_op op = text[0] == '!' ? TERM_NOT_IN : TERM_IN;
    size_t n = strlen(s);

    if (to->all.n >= TERMS_MAX)
        return reader_bad(in, at, "more than %d conditions", TERMS_MAX);
    if (strncmp(s, "in(", 3) != 0) {
        if (op == TERM_NOT_IN && n == 0)
            return reader_bad(in, at, "needs a value after '!'");
        if (!value_add(in, at, key, s, n, &values))
            return false;
        term_add(in, to, key, op, &values);
        return true;
    }
    if (s[n - 1] != ')')
        return reader_bad(in, at, "in( needs its closing bracket: \"in(a,b)\"");
    for (const char *p = s + 3, *end = s + n - 1; p <= end;) {
        const char *stop = memchr(p, ',', (size_t)(end - p)), *q;

        stop = stop ? stop : end;
        q = stop;
        while (p < q && *p == ' ')
            p++;
        while (q > p && q[-1] == ' ')
            q--;
        if (p == q)
            return reader_bad(in, at, "in(...) has an empty value");
        if (!value_add(in, at, key, p, (size_t)(q - p), &values))
            return false;
        p = stop + 1;
    }
    term_add(in, to, key, op, &values);
    return true;
}

/* Text with an operator, or an array of values of which one must be so. */
static bool condition_read(struct reader *in, const struct path *at,
                           const char *key, const json_t *v,
                           struct term_vec *to)
{
    struct name_vec values = {{0}};
    const char *s;
    char buf[64];
    size_t i;
    json_t *e;

    if (!key[0] || strlen(key) > READER_NAME_MAX)
        return reader_bad(in, at, "a label's key has 1 to %d bytes",
                          READER_NAME_MAX);
    if (json_is_string(v))
        return reader_text(in, at, v, true, &s) &&
               selector_add(in, at, key, s, to);
    if (!json_is_array(v))
        return reader_bad(in, at, "must be text or an array of texts, got %s",
                          reader_found(v, buf, sizeof buf));
    if (json_array_size(v) == 0)
        return reader_bad(in, at, "must have at least one value");
    if (to->all.n >= TERMS_MAX)
        return reader_bad(in, at, "more than %d conditions", TERMS_MAX);
    json_array_foreach(v, i, e) {
        if (!reader_text(in, PATH_AT(at, i), e, true, &s) ||
            !value_add(in, PATH_AT(at, i), key, s, strlen(s), &values))
            return false;
    }
    term_add(in, to, key, TERM_IN, &values);
    return true;
}

static bool conditions_read(struct reader *in, const struct path *at,
                            const json_t *v, struct term_vec *to)
{
    const char *key;
    json_t *value;

    if (!reader_map(in, at, v, "{\"zone\": \"a\"}"))
        return false;
    json_object_foreach((json_t *)v, key, value) {
        if (!condition_read(in, PATH_KEY(at, key), key, value, to))
            return false;
    }
    return true;
}

static bool term_read(struct reader *in, const struct path *at, const json_t *v,
                      struct term_vec *to)
{
    static const char *const keys[] = {"key", "op", "values"};
    const char *key = NULL, *op = "in", *s;
    struct name_vec values = {{0}};
    const json_t *list;
    size_t i;
    json_t *e;

    if (!reader_object(in, at, v, keys, COUNT(keys)) ||
        !reader_get_text(in, at, v, "key", &key) ||
        !reader_get_text(in, at, v, "op", &op))
        return false;
    if (!key || !key[0])
        return reader_bad(in, at, "needs a \"key\"");
    if (strcmp(op, "in") != 0 && strcmp(op, "not_in") != 0)
        return reader_bad(in, PATH_KEY(at, "op"),
                          "must be \"in\" or \"not_in\"");
    list = json_object_get(v, "values");
    if (!list)
        return reader_bad(in, at, "needs \"values\"");
    if (!reader_list(in, PATH_KEY(at, "values"), list, VALUES_MAX))
        return false;
    json_array_foreach(list, i, e) {
        const struct path *here = PATH_AT(PATH_KEY(at, "values"), i);

        if (!reader_text(in, here, e, true, &s) ||
            !value_add(in, here, key, s, strlen(s), &values))
            return false;
    }
    term_add(in, to, key, op[0] == 'i' ? TERM_IN : TERM_NOT_IN, &values);
    return true;
}

bool selector_read(struct reader *in, const struct path *at, const json_t *v,
                   struct term_vec *to)
{
    static const char *const accelerator[] = {"accelerator_type",
                                              "accelerator_types"};
    static const char *const labels[] = {"labels", "label_selector"};
    const json_t *x;
    size_t i;
    json_t *e;

    for (i = 0; i < COUNT(accelerator); i++) {
        x = reader_value(v, accelerator[i]);
        if (x && !condition_read(in, PATH_KEY(at, accelerator[i]), ACCEL_LABEL,
                                 x, to))
            return false;
    }
    for (i = 0; i < COUNT(labels); i++) {
        x = reader_value(v, labels[i]);
        if (x && !conditions_read(in, PATH_KEY(at, labels[i]), x, to))
            return false;
    }
    x = reader_value(v, "selector");
    if (x) {
        if (!reader_list(in, PATH_KEY(at, "selector"), x, TERMS_MAX))
            return false;
        json_array_foreach(x, i, e) {
            if (!term_read(in, PATH_AT(PATH_KEY(at, "selector"), i), e, to))
                return false;
        }
    }
    return true;
}

/* ---- writing */

/* May this value be written in the short form, with Ray's operators? */
static bool is_plain(const char *s)
{
    size_t n = strlen(s);

    return n > 0 && s[0] != '!' && s[0] != ' ' && s[n - 1] != ' ' &&
           strncmp(s, "in(", 3) != 0 && !strpbrk(s, ",()");
}

static json_t *values_write(const struct names *v)
{
    json_t *a = json_array();

    for (uint32_t i = 0; i < v->n; i++)
        json_array_append_new(a, json_string(v->v[i]));
    return a;
}

static void term_write(json_t *o, const struct term *t)
{
    bool accelerator = strcmp(t->key, ACCEL_LABEL) == 0 && t->op == TERM_IN;
    json_t *labels = json_object_get(o, "labels"), *selector;
    char shorter[READER_NAME_MAX + 2];
    const char *v = t->values.n == 1 ? t->values.v[0] : NULL;

    if (v && is_plain(v) && strlen(v) <= READER_NAME_MAX &&
        !(accelerator ? json_object_get(o, "accelerator_type")
                      : json_object_get(labels, t->key))) {
        snprintf(shorter, sizeof shorter, "%s%s", t->op == TERM_IN ? "" : "!",
                 v);
        if (accelerator) {
            json_object_set_new(o, "accelerator_type", json_string(shorter));
            return;
        }
        if (!labels) {
            labels = json_object();
            json_object_set_new(o, "labels", labels);
        }
        json_object_set_new(labels, t->key, json_string(shorter));
        return;
    }
    if (accelerator && t->values.n > 0 &&
        !json_object_get(o, "accelerator_type")) {
        json_object_set_new(o, "accelerator_type", values_write(&t->values));
        return;
    }
    selector = json_object_get(o, "selector");
    if (!selector) {
        selector = json_array();
        json_object_set_new(o, "selector", selector);
    }
    json_array_append_new(
        selector, json_pack("{s:s,s:s,s:o}", "key", t->key, "op",
                            t->op == TERM_IN ? "in" : "not_in", "values",
                            values_write(&t->values)));
}

/* In the order in which they are read: what is read again and written is the
 * same text. */
void selector_write(json_t *o, const struct terms *t)
{
    static const char *const keys[] = {"accelerator_type", "labels",
                                       "selector"};

    for (uint32_t i = 0; i < t->n; i++)
        term_write(o, &t->v[i]);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *v = json_incref(json_object_get(o, keys[i]));

        if (!v)
            continue;
        json_object_del(o, keys[i]);
        json_object_set_new(o, keys[i], v);
    }
}
