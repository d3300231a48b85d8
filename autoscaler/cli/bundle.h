/*
 * bundle.h - a bundle as people write it on a command line.
 */
#ifndef CLI_BUNDLE_H
#define CLI_BUNDLE_H

#include <jansson.h>

#include "../base/arena.h"

/* JSON as in the API, {"GPU": 1}, or short, "GPU=1,accelerator_type=T4";
 * then perhaps "*COUNT".  Returns a new reference, NULL after a message on
 * standard error. */
json_t *bundle_parse(const char *text, struct arena *a);

#endif
