/*
 * yaml.c - a YAML text of Kubernetes' kind as JSON.  See kube.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "../../base/alloc.h"
#include "kube.h"

enum { DEPTH_MAX = 64, VALUES_MAX = 100000 };

struct tree {
    yaml_document_t doc;
    uint32_t left; /* values: an alias may stand for many */
};

static json_t *scalar(const yaml_node_t *n)
{
    const char *s = (const char *)n->data.scalar.value;
    char *end;
    long long v;

    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_string(s);
    if (!*s || strcmp(s, "null") == 0 || strcmp(s, "~") == 0)
        return json_null();
    if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
        return json_boolean(*s == 't');
    errno = 0;
    v = strtoll(s, &end, 10);
    return *end || errno ? json_string(s) : json_integer(v);
}

/* NULL: it is too deep or too large, or a key is no text. */
static json_t *value(struct tree *t, int at, int depth)
{
    yaml_node_t *n = yaml_document_get_node(&t->doc, at);
    json_t *all;
    bool ok = true;

    if (!n || depth > DEPTH_MAX || !t->left)
        return NULL;
    t->left--;
    if (n->type == YAML_SCALAR_NODE)
        return scalar(n);
    all = n->type == YAML_SEQUENCE_NODE ? json_array() : json_object();
    for (yaml_node_item_t *i = n->data.sequence.items.start;
         ok && n->type == YAML_SEQUENCE_NODE && i < n->data.sequence.items.top;
         i++)
        ok = !json_array_append_new(all, value(t, *i, depth + 1));
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
         ok && n->type == YAML_MAPPING_NODE && p < n->data.mapping.pairs.top;
         p++) {
        yaml_node_t *k = yaml_document_get_node(&t->doc, p->key);

        ok = k && k->type == YAML_SCALAR_NODE &&
             !json_object_set_new(all, (const char *)k->data.scalar.value,
                                  value(t, p->value, depth + 1));
    }
    if (ok)
        return all;
    json_decref(all);
    return NULL;
}

json_t *kube_yaml(const char *text, size_t n, struct err *err)
{
    struct tree t = {.left = VALUES_MAX};
    yaml_parser_t parser;
    json_t *ret = NULL;

    if (!yaml_parser_initialize(&parser))
        mem_out();
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &t.doc)) {
        err_set(err, ST_INVALID, "line %zu, column %zu: %s",
                parser.problem_mark.line + 1, parser.problem_mark.column + 1,
                parser.problem ? parser.problem : "not YAML");
    } else {
        ret = value(&t, 1, 0);
        if (!ret)
            err_set(err, ST_INVALID,
                    "it is empty, nested too deeply, larger than %d values, or "
                    "a key is no text",
                    VALUES_MAX);
        yaml_document_delete(&t.doc);
    }
    yaml_parser_delete(&parser);
    return ret;
}
