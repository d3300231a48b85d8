/* undefined.c - wants a symbol of the daemon, which no plug-in gets. */
#include "misfit.h"

void log_line(int level, const char *fmt, ...);

const struct davit_provider *davit_provider_v1(void)
{
    log_line(0, "hello");
    return NULL;
}
