/*
 * child_env.c - see child_env.h.
 */
#include "child_env.h"

#include <string.h>

static const char *const plain[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
};

/* Is this the name before '='? */
static bool fits(const char *variable, const char *pattern)
{
    size_t name = strcspn(variable, "="), n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return name >= n - 1 && strncmp(variable, pattern, n - 1) == 0;
    return name == n && strncmp(variable, pattern, n) == 0;
}

bool kit_child_env_ok(const char *variable, const struct kit_list *more)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (fits(variable, plain[i]))
            return true;
    for (size_t i = 0; i < more->n; i++)
        if (fits(variable, more->v[i]))
            return true;
    return false;
}

int kit_pass_env_read(struct kit_reading *r, struct kit_list *into,
                      const char *rest, const char *value)
{
    if (rest[strspn(rest, "0123456789")] != '\0' || value[0] == '\0' ||
        strchr(value, '='))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "pass_env is a list of variables' names, such as "
                         "[HTTPS_PROXY, AWS_*], got \"%.60s\"",
                         value);
    kit_list_add(r->keep, into, value);
    return DAVIT_OK;
}
