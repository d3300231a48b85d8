/*
 * options.h - reads a plug-in's options and names what is wrong with them.
 *
 * kit/ is compiled into each plug-in: it knows provider.h only and calls no
 * daemon symbol.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_OPTIONS_H
#define KIT_OPTIONS_H

#include "../provider.h"
#include "alloc.h"
#include "keep.h"

/* Fills *e (may be NULL) and returns the status: `return kit_error(...)`.  code
 * is the cloud's own, or the option's key in open().  Both, and what is
 * printed, may be of *e itself. */
int kit_error(struct davit_error *e, enum davit_status s, const char *code,
              const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The value of a key, or NULL. */
const char *kit_find(const struct davit_kv *kv, size_t n, const char *key);

/* A taint's effect as clouds write it (NO_SCHEDULE, NoSchedule) in Kubernetes'
 * own form; NULL when it is none. */
const char *kit_taint_effect(const char *text);

/* "90s", "5m", "2h", "500ms", "1d", or a plain number of seconds; up to ten
 * years.  False when it is none of these. */
bool kit_duration(const char *text, int64_t *ret_ms);

/* 0 to max in decimal digits only. */
bool kit_number(const char *text, uint32_t max, uint32_t *ret);

/* ---- settings as a table: what a setting is called, what it may be, where it
 * is taken from and where it goes.  One table reads a provider's settings, says
 * what is wrong with them, and is what `davit providers` prints. */

enum kit_kind {
    KIT_TEXT,     /* char * (kept); NULL when there is none */
    KIT_NAME,     /* the same, up to max bytes (0: 255), each of `allowed`:
                   * "a-z 0-9 - _" */
    KIT_URL,      /* the same, where a secret may go: see kit_url_safe() */
    KIT_FLAG,     /* bool */
    KIT_NUMBER,   /* uint32_t, from min to max (0: UINT32_MAX) */
    KIT_DURATION, /* int64_t, in milliseconds, likewise (0: ten years) */
    KIT_CHOICE,   /* uint32_t: the place of the value in `allowed`, "a|b|c",
                   * from min on */
    KIT_READ,     /* whatever read() makes of it, may be given often; read NULL:
                   * other code reads it */
};

struct kit_reading { /* what read() is called with */
    void *into;      /* the struct that is filled */
    struct kit_keep *keep;
    const struct davit_node_type *type; /* NULL: the provider's settings */
    struct davit_error *error;
};
/* rest: what follows the key ("gpu" of "quota.gpu", "0" of a list), or "".
 * Need not set error.code: that is the setting's key. */
typedef int kit_option_read(struct kit_reading *r, const char *rest,
                            const char *value);

struct kit_option {
    /* As in davit_provider.options: "key", "key.*" (KIT_READ only),
     * "types.key" for a node type's. */
    const char *key, *help;
    enum kit_kind kind;
    size_t at;            /* offsetof() what it fills: KIT_AT() */
    const char *fallback; /* the default, as one would write it, or NULL */
    const char *env;      /* a variable that is asked before it, or NULL */
    const char *instead;  /* a setting that is asked before both, or NULL */
    const char *allowed;
    int64_t min, max;
    kit_option_read *read;
    bool needed;
    bool none; /* an empty text is a value: none, and not the default */
};

#define KIT_AT(type, field) .at = offsetof(type, field)

/* Fills a struct from a table that ends with {0}: the provider's settings, or,
 * with a type, that type's.  An empty text counts as not given, except for
 * KIT_READ and where it means none.  Else INVALID; error.code is the key ("TYPE.key"), so that the
 * message points at its line. */
int kit_options_read(const struct kit_option *table, const struct davit_kv *kv,
                     size_t n, const struct davit_node_type *type, void *into,
                     struct kit_keep *keep, struct davit_error *e);

/* The table for davit_provider.options, each line with its default and its
 * variable.  Made once, in memory of the plug-in that is never freed; to be
 * called in davit_provider_v1(), which the daemon calls on one thread. */
const struct davit_kv *kit_options_help(const struct kit_option *table);

/* INVALID for a setting of a node type: code "TYPE.key", or "TYPE" for "". */
int kit_type_error(struct davit_error *e, const struct davit_node_type *t,
                   const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Is this host of a URL (IPv6 in brackets) this machine, or one of the
 * link-local addresses of metadata services, which no other wire carries? */
bool kit_host_here(const char *host, size_t n);
/* The latter alone. */
bool kit_host_link_local(const char *host, size_t n);

/* May a secret go there?  https://HOST, and http:// where kit_host_here(). */
bool kit_url_safe(const char *url);

#endif
