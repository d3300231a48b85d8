/*
 * probe_json.h - the parts of a head's view as JSON, for ray_probe.c and
 * kube_probe.c.
 */
#ifndef DAVIT_TEST_PROBE_JSON_H
#define DAVIT_TEST_PROBE_JSON_H

#include <jansson.h>

#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/model/snapshot.h"

static json_t *qtys_json(struct qtys q)
{
    json_t *o = json_object();

    for (uint32_t i = 0; i < q.n; i++)
        json_object_set_new(o, q.v[i].name,
                            json_real(amount_to_double(q.v[i].amount)));
    return o;
}

static json_t *terms_json(struct terms t)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < t.n; i++) {
        json_t *values = json_array();
        for (uint32_t k = 0; k < t.v[i].values.n; k++)
            json_array_append_new(values, json_string(t.v[i].values.v[k]));
        json_array_append_new(
            list, json_pack("{ssssso}", "key", t.v[i].key, "op",
                            t.v[i].op == TERM_IN ? "in" : "not in", "values",
                            values));
    }
    return list;
}

#endif
