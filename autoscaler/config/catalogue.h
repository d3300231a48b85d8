/*
 * catalogue.h - machine names to shapes, accelerators and list prices.
 *
 * configs/catalogue.yaml is embedded in the binary; a file named by the
 * configuration's catalogue: adds to it and replaces what it repeats.
 */
#ifndef CONFIG_CATALOGUE_H
#define CONFIG_CATALOGUE_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../model/snapshot.h"

struct catalogue; /* immutable, lives in the arena it was read into */

struct cat_price { /* in a region, on demand */
    const char *region;
    int64_t micros_hour;
};

struct cat_prices {
    const struct cat_price *v;
    uint32_t n;
};

struct cat_machine {
    const char *name, *cloud, *accelerator, *region, *as_of; /* "" if none */
    const char *arch;    /* "amd64", "arm64", "" not said */
    const char *network; /* "3200 Gigabit EFA", "" */
    /* How it can be had when not on demand and as spot: "reserved, spot"; "" */
    const char *sold;
    int64_t local_ssd;         /* an amount of bytes, 0: none, or not said */
    uint32_t nvlink;           /* GPUs of its NVLink domain, 0: not said */
    struct qtys resources;     /* CPU, memory, GPU or other devices */
    int64_t price_micros_hour; /* in `region`; -1: not listed */
    struct cat_prices prices;  /* in others, as far as they are listed */
    int64_t spot_micros_hour;  /* -1: not listed */
};

/* extra: path of a user's file or "".  Mistakes go to errors as for config. */
enum status catalogue_load(struct arena *arena, const char *extra,
                           struct catalogue **ret, struct buf *errors);
/* "p2.xlarge", "n1-standard-8+t4", "n1-standard-8+nvidia-tesla-t4x2".
 * NOT_FOUND with the nearest name in err. */
enum status catalogue_find(const struct catalogue *c, const char *machine,
                           struct arena *arena, struct cat_machine *ret,
                           struct err *err);
/* What it costs in a region or one of its zones.  *ret_there: that is listed, or
 * place is "", or nothing says of which region its price is; else it is the price of
 * its `region`. */
int64_t catalogue_price(const struct cat_machine *m, const char *place,
                        bool *ret_there);
/* Every machine type by name, then every accelerator that can be attached (its
 * name as "+NAME", what one of them adds). */
void catalogue_each(const struct catalogue *c, struct arena *arena,
                    void (*each)(void *arg, const struct cat_machine *m),
                    void *arg);

#endif
