/*
 * elf_file.h - a shared object looked at as a file, before any of its code runs.
 *
 * Format: System V ABI, chapters 4 and 5; DT_GNU_HASH as glibc and lld write it
 * (sourceware.org/legacy-ml/binutils/2006-10/msg00377.html).  Thread: any.
 */
#ifndef CLOUD_ELF_FILE_H
#define CLOUD_ELF_FILE_H

#include <stdbool.h>

#include "../base/err.h"

/* Is it a whole shared object for this machine?  path is for messages. */
enum status elf_check(int fd, const char *path, struct err *err);
/* Does its dynamic symbol table define this name?  Whatever is in the file, the
 * answer comes after at most so many steps as it has symbols. */
bool elf_exports(int fd, const char *symbol);

#endif
