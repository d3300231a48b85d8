/*
 * file.h - a whole file as text, with a ceiling.
 */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include <stddef.h>

#include "../base/err.h"

/* NUL-terminated; the caller frees.  The error's text does not repeat path. */
enum status file_slurp(const char *path, size_t max, char **ret, size_t *ret_n,
                       struct err *err);

#endif
