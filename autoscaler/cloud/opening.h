/*
 * opening.h - what provider_open() works on, for provider.c and options.c.
 */
#ifndef CLOUD_OPENING_H
#define CLOUD_OPENING_H

#include "../base/buf.h"
#include "cloud.h"

struct opening {
    const struct config *config;
    const struct conf_provider *conf;
    const struct davit_provider *table;
    struct arena arena; /* until open() returned */
    struct buf *errors;
    uint32_t mistakes;
    VEC(const char *) refused; /* "KEY", "TYPE" or "TYPE.KEY": not handed on */
};

/* options.c */
/* Counts a mistake and begins its line in errors with "path:line:column: ". */
void opening_error(struct opening *o, uint32_t line, uint32_t column);
bool opening_has_type(const struct opening *o, uint32_t type);
/* Every option of the provider and its node types against the table. */
void options_check(struct opening *o);
/* p->ca_file, from the host's own option or the environment. */
void options_ca_file(struct opening *o, struct provider *p);
/* Those for the plug-in, without the refused ones. */
const struct conf_pair *options_own(struct opening *o, uint32_t *ret_n);
/* Those of a type, or of the provider (t NULL), without the refused ones. */
const struct conf_pair *options_kept(struct opening *o,
                                     const struct conf_type *t,
                                     const struct conf_pair *v,
                                     uint32_t *inout_n);
/* Was this option refused (key NULL: the type as a whole)? */
bool options_refused(const struct opening *o, const struct conf_type *t,
                     const char *key);
/* Where the setting is that open() named, "KEY", "TYPE" or "TYPE.KEY".  Returns
 * what to leave out so that the next mistake shows: that setting, or the whole
 * type when it is not given; NULL: neither, and the place is the provider's. */
const char *options_place(const struct opening *o, const char *code,
                          uint32_t *line, uint32_t *column);

#endif
