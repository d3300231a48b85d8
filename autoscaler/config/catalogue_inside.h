/*
 * catalogue_inside.h - what the catalogue is made of; for catalogue.c (looking
 * up) and catalogue_read.c (loading).
 */
#ifndef CONFIG_CATALOGUE_INSIDE_H
#define CONFIG_CATALOGUE_INSIDE_H

#include "catalogue.h"

enum { MOST_COUNTS = 16 };

struct machine {
    struct cat_machine m;
    bool attach; /* accelerators can be attached to it */
};

struct attachment { /* one separate accelerator */
    const char *name, *cloud, *accelerator, *region, *as_of;
    struct names aliases;
    int64_t price, spot; /* micros an hour; -1 */
    struct cat_prices prices;
    uint32_t counts[MOST_COUNTS], n_counts;
};

struct catalogue {
    const struct machine **machines; /* sorted by name, each once */
    uint32_t n_machines;
    const struct attachment **attachments;
    uint32_t n_attachments;
};

/* For qsort() and bsearch() of machines: by name. */
int machine_order(const void *a, const void *b);

#endif
