/*
 * machine.c - what the name of a cloud's machine type or zone tells.  See inside.h.
 */
#include "inside.h"

#include <ctype.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* EC2: a family is letters, a digit, letters that say what is special; "g" among
 * these is Graviton: c7g.xlarge, m7gd.large, im4gn.large, and not g5.xlarge. */
static bool is_graviton(const char *s)
{
    const char *p = s;

    if (begins(s, "a1.") || begins(s, "p6e-gb"))
        return true;
    while (islower((unsigned char)*p))
        p++;
    if (p == s || !isdigit((unsigned char)*p))
        return false;
    while (isdigit((unsigned char)*p))
        p++;
    for (; islower((unsigned char)*p); p++)
        if (*p == 'g')
            return strpbrk(p, ".-");
    return false;
}

/* Azure: Standard_D4ps_v5: "p" among the letters behind the number is Arm. */
static bool is_azure_arm(const char *s)
{
    const char *p = s + strlen("Standard_");

    if (!begins(s, "Standard_"))
        return false;
    if (strstr(s, "_GB200") || strstr(s, "_GB300"))
        return true;
    while (isupper((unsigned char)*p))
        p++;
    while (isdigit((unsigned char)*p) || *p == '-')
        p++;
    for (; islower((unsigned char)*p); p++)
        if (*p == 'p')
            return true;
    return false;
}

const char *machine_arch(const char *machine)
{
    static const char *const gce[] = {"t2a-", "c4a-", "n4a-", "a4x-"};

    for (size_t i = 0; i < sizeof gce / sizeof *gce; i++)
        if (begins(machine, gce[i]))
            return "arm64";
    return is_graviton(machine) || is_azure_arm(machine) ? "arm64" : "";
}

/* "us-east-1a", "us-west1-b", "westeurope-2"; "" when it looks like none. */
const char *machine_region(struct arena *a, const char *zone)
{
    size_t n = zone ? strlen(zone) : 0;
    const char *dash = n ? strrchr(zone, '-') : NULL;

    if (n < 4 || !dash || !islower((unsigned char)zone[0]))
        return "";
    /* EC2: two dashes at least, a digit and a letter at the end */
    if (isdigit((unsigned char)zone[n - 2]) &&
        islower((unsigned char)zone[n - 1]) && strchr(zone, '-') != dash)
        return arena_strndup(a, zone, n - 1);
    /* Google: a digit before the last dash, a letter behind it */
    if (dash == zone + n - 2 && islower((unsigned char)zone[n - 1]) &&
        isdigit((unsigned char)dash[-1]) && strchr(zone, '-') != dash)
        return arena_strndup(a, zone, n - 2);
    /* Azure: one dash, a digit behind it */
    if (dash == zone + n - 2 && isdigit((unsigned char)zone[n - 1]) &&
        strchr(zone, '-') == dash && n > 6)
        return arena_strndup(a, zone, n - 2);
    return "";
}
