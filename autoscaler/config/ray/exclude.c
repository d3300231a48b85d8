/*
 * exclude.c - see exclude.h.
 *
 * A pattern that ends with a slash is for folders only; one that begins with a
 * slash is for the whole path.  Without a slash or a "**" in it, it is for the
 * last name; else for the end of the path.  "*" and "?" stop at slashes, "**"
 * does not, and at the beginning "**" and a slash are for the first name too.
 */
#include "exclude.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 1024, STEPS = 200000 };

/* The class "[a-z]" that *p begins with, on one character; *p goes behind it. */
static bool class_fits(const char **p, char c)
{
    char class[66], one[2] = {c, '\0'};
    const char *end = strchr(*p + 2, ']');
    size_t n = end ? (size_t)(end - *p) + 1 : 1;

    if (!end || n >= sizeof class) {
        ++*p;
        return c == '[';
    }
    snprintf(class, sizeof class, "%.*s", (int)n, *p);
    *p += n;
    return c != '/' && fnmatch(class, one, 0) == 0;
}

/* Goes behind what stands for one character at *p. */
static bool one_fits(const char **p, char c)
{
    if (**p == '[')
        return class_fits(p, c);
    if (**p == '?')
        return (++*p, c != '/');
    if (**p == '\\' && (*p)[1])
        ++*p;
    return *(*p)++ == c;
}

/* steps: what is left, so that a pattern of many stars comes to an end. */
static bool glob(const char *p, const char *s, int *steps)
{
    for (; *p && *p != '*'; s++)
        if (!*s || !one_fits(&p, *s))
            return false;
    if (!*p)
        return !*s;
    bool deep = p[1] == '*';
    p += strspn(p, "*");
    for (; --*steps > 0; s++) {
        if (glob(p, s, steps))
            return true;
        if (!*s || (*s == '/' && !deep))
            return false;
    }
    return false;
}

/* At the beginning, or behind any slash. */
static bool ends_with(const char *pattern, const char *path, int *steps)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (glob(pattern, at, steps))
            return true;
    }
    return false;
}

bool exclude_fits(const char *pattern, const char *path, bool folder)
{
    char p[LONGEST], rooted[LONGEST];
    const char *last = strrchr(path, '/');
    int steps = STEPS;
    size_t n = strlen(pattern);

    if (!n || n >= sizeof p || strlen(path) + 2 > sizeof rooted)
        return false;
    memcpy(p, pattern, n + 1);
    if (n > 1 && p[n - 1] == '/') {
        if (!folder)
            return false;
        p[n - 1] = '\0';
    }
    if (*p == '/')
        return glob(p + 1, path, &steps);
    if (!strchr(p, '/') && !strstr(p, "**"))
        return glob(p, last ? last + 1 : path, &steps);
    snprintf(rooted, sizeof rooted, "/%s", path);
    return (strncmp(p, "**", 2) == 0 && glob(p, rooted, &steps)) ||
           ends_with(p, path, &steps);
}
