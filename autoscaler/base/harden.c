/*
 * harden.c - see harden.h.  What a kernel does not know is left out.
 */
#include "harden.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void harden(void)
{
    const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
