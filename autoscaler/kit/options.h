/*
 * options.h - helpers for reading a plug-in's options, and for saying what is
 * wrong with them.
 *
 * kit/ is compiled into each plug-in: it knows provider.h only and calls no
 * daemon symbol.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_OPTIONS_H
#define KIT_OPTIONS_H

#include "../provider.h"

/* Fills *e (may be NULL) and returns the status: `return kit_error(...)`.  code
 * is the cloud's own, or the option's key in open(). */
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

/* The same for an option: leaves *ret alone when the key is not given; fills
 * the error with the key, what was found and what is allowed. */
int kit_duration_option(const struct davit_kv *kv, size_t n, const char *key,
                        int64_t *ret_ms, struct davit_error *e);
int kit_number_option(const struct davit_kv *kv, size_t n, const char *key,
                      uint32_t max, uint32_t *ret, struct davit_error *e);

#endif
