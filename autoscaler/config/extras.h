/*
 * extras.h - readers for grammar tables, used by davit*.c only: what one key
 * holds when it is more than one value.  Targets: struct config, and for
 * taints struct raw_type.
 */
#ifndef CONFIG_EXTRAS_H
#define CONFIG_EXTRAS_H

#include "raw.h"

/* extras.c */
void upscaling_read(struct reader *r, const struct ynode *v, const char *where,
                    void *target);
void end_order_read(struct reader *r, const struct ynode *v, const char *where,
                    void *target);
void consolidate_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target);
void spare_read(struct reader *r, const struct ynode *v, const char *where,
                void *target);
void idle_timeouts_read(struct reader *r, const struct ynode *v,
                        const char *where, void *target);
/* "example.com/agent-not-ready", or what keys begin with and a star. */
struct names startup_list_read(struct reader *r, const struct ynode *v,
                               const char *where);
void taints_key_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target);
extern const struct key consolidate_keys[], idle_keys[];

/* davit_types.c */
void davit_types_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target);
extern const struct key type_keys[];

/* queues.c */
void queues_key_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target);
extern const struct key queue_keys[];

/* kubernetes.c */
void kubernetes_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target);
extern const struct key kubernetes_keys[];

/* reserved.c */
void reserved_read(struct reader *r, const struct ynode *v, const char *where,
                   void *target);
/* What it means for the type: before the type is finished. */
void reserved_settle(struct raw *d, struct raw_type *t);
extern const struct key reserved_keys[];

/* shares.c */
void shares_read(struct reader *r, const struct ynode *v, const char *where,
                 void *target);

#endif
