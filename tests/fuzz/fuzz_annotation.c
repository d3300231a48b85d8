/*
 * fuzz_annotation.c - the annotation davit.io/config, by whoever may edit a
 * RayCluster.  Held: nothing but limits and queues comes of it.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/control/config_source.h"

static json_t *cluster(const char *note)
{
    return json_pack("{s:{s:s, s:s, s:{s:s}}, s:{s:[{s:s, s:i, s:{s:s}}]}}",
                     "metadata", "name", "c", "namespace", "n", "annotations",
                     SOURCE_ANNOTATION, note, "spec", "workerGroupSpecs",
                     "groupName", "g", "maxReplicas", 4, "rayStartParams",
                     "num-cpus", "2");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *note = strndup((const char *)data, n), *text = NULL;
    json_t *c = note ? cluster(note) : NULL;
    struct config *conf = NULL;
    struct err err = {0};
    struct buf errors;

    buf_init(&errors, 1 << 20);
    if (c && config_source_text(c, NULL, &text, &err) == ST_OK &&
        config_parse("fuzz", text, strlen(text), &conf, &errors) == ST_OK) {
        assert(!*conf->plugin_dir && !conf->kube && !*conf->ray_address);
        assert(!*conf->api_token_file && !*conf->metrics_host && !conf->ha);
        assert(strcmp(conf->cluster, "c") == 0 && conf->n_types == 1);
        assert(strcmp(conf->state, "davit.db") == 0);
        for (uint32_t i = 0; i < conf->n_providers; i++)
            assert(strcmp(conf->providers[i].name, "k8s") == 0 &&
                   !*conf->providers[i].plugin);
    } else if (c && !text) {
        assert(err.text[0]);
    }
    config_free(conf);
    buf_done(&errors);
    free(text);
    json_decref(c);
    free(note);
    return 0;
}
