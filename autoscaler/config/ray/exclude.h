/*
 * exclude.h - rsync's patterns of what is not copied (man rsync, "PATTERN
 * MATCHING RULES").
 */
#ifndef CONFIG_RAY_EXCLUDE_H
#define CONFIG_RAY_EXCLUDE_H

#include <stdbool.h>

/* path: relative to what is copied, "src/.git"; folder: it is one. */
bool exclude_fits(const char *pattern, const char *path, bool folder);

#endif
