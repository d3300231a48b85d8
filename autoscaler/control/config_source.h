/*
 * config_source.h - settings that are no file: a RayCluster as it stands in the
 * cluster, read with GET (KubeRay's Role allows its autoscaler no more).
 *
 * A source belongs to one thread at a time: to whoever starts the daemon, then
 * to the control thread, which lends it to the worker that reads.
 */
#ifndef CONTROL_CONFIG_SOURCE_H
#define CONTROL_CONFIG_SOURCE_H

#include <jansson.h>

#include "../config/config.h"

struct config_source;

struct config_source_opts {
    const char *space, *name; /* of the RayCluster; space "" : the pod's */
    const char *kubeconfig, *context; /* "" : as found */
    /* What a davit: block would say (head, api, state ...), as JSON; borrowed,
     * may be NULL.  It is the word of who runs davit, so it goes over the
     * annotation davit.io/config. */
    const json_t *block;
};

/* Finds the API server; asks nobody yet. */
enum status config_source_new(const struct config_source_opts *o,
                              struct config_source **ret, struct err *err);
void config_source_free(struct config_source *s);
const char *config_source_title(
    const struct config_source *s); /* "RayCluster x (ns)" */

/* Reads it; *ret_new: its settings (not its replicas) are others than those of
 * the last read.  Blocks. */
enum status config_source_read(struct config_source *s,
                               int64_t deadline_mono_ms, bool *ret_new,
                               struct err *err);
/* What was read last, as a generation; like config_load(). */
enum status config_source_parse(const struct config_source *s,
                                struct config **ret, struct buf *errors);

/* config_source_text.c: the pure part.  The manifest and the davit: block as YAML
 * documents, without what says nothing about settings; heap. */
enum status config_source_text(const json_t *raycluster, const json_t *block,
                               char **ret, struct err *err);

/* The same block from a file of who runs davit; a new reference. */
enum status config_source_settings(const char *path, json_t **ret,
                                   struct err *err);

/* Holds limits and queues, nothing else. */
#define SOURCE_ANNOTATION "davit.io/config"

#endif
