/* early.c - a plug-in of another ABI with a constructor, which leaves a file:
 * none of its code may run. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "provider.h"

__attribute__((constructor)) static void leave_a_file(void)
{
    const char *path = getenv("DAVIT_EARLY");
    int fd = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        close(fd);
}

DAVIT_EXPORT const void *davit_provider_v2(void);
const void *davit_provider_v2(void)
{
    return "";
}
