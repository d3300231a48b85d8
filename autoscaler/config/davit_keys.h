/*
 * davit_keys.h - every key of our dialect, for the test that holds
 * docs/config.md against the tables.
 */
#ifndef CONFIG_DAVIT_KEYS_H
#define CONFIG_DAVIT_KEYS_H

#include "grammar.h"

void davit_keys_walk(void (*each)(void *arg, const char *where,
                                  const struct key *k),
                     void *arg);

#endif
