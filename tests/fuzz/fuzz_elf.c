/*
 * fuzz_elf.c - a plug-in that is looked at before it is loaded.  Held: an answer,
 * soon, whatever the file says of itself.
 */
#include <assert.h>

#include "../../autoscaler/cloud/elf_file.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err err = {0};
    enum status s;
    int fd;

    memory_file(data, n, &fd);
    s = elf_check(fd, "fuzz.so", &err);
    assert(s == ST_OK || err.text[0]);
    elf_exports(fd, "davit_provider_v1");
    elf_exports(fd, "davit_provider_v2");
    return 0;
}
