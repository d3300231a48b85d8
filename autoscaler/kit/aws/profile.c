/*
 * profile.c - one profile of ~/.aws/credentials and ~/.aws/config.
 *
 * AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name other files.  In the
 * config file a profile's section is "[profile NAME]", but "[default]".  What
 * the credentials file says goes first.  No interpretation: keys and values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inside.h"

struct profile {
    struct davit_kv *kv;
    size_t n;
};

static char *trimmed(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1]))
        s[--n] = '\0';
    return s;
}

/* kind: "profile", "sso-session" or "services" of the config file; NULL: the other file,
 * whose sections are bare names. */
static bool section_is(char *line, const char *name, const char *kind)
{
    char *end = strchr(line, ']');
    if (!end)
        return false;
    *end = '\0';
    char *at = trimmed(line + 1);
    size_t k = kind ? strlen(kind) : 0;
    if (kind && strncmp(at, kind, k) == 0 && (at[k] == ' ' || at[k] == '\t'))
        at = trimmed(at + k);
    else if (kind && (*kind != 'p' || strcmp(at, "default") != 0))
        return false;
    size_t n = strlen(at);
    if (n > 1 && (at[0] == '"' || at[0] == '\'') && at[n - 1] == at[0]) {
        at[n - 1] = '\0';
        at++;
    }
    return strcmp(at, name) == 0;
}

static void put(struct profile *p, const char *key, const char *value)
{
    if (profile_get(p, key))
        return;
    p->kv = kit_resize(p->kv, p->n + 1, sizeof *p->kv);
    char *k = kit_copy(key), *v = kit_copy(value);
    for (char *c = k; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
    p->kv[p->n++] = (struct davit_kv){k, v};
}

/* "key = value" of a section; indented, it is of the key above without a value:
 * "ec2.endpoint_url". */
static void pair_read(struct profile *p, char *line, bool nested,
                      struct kit_str *above)
{
    char *eq = strchr(line, '=');
    struct kit_str full = {0};
    if (!eq)
        return;
    *eq = '\0';
    char *key = trimmed(line), *value = trimmed(eq + 1);
    char *note = strstr(value, " #");
    if (note)
        *note = '\0';
    if (!nested) {
        kit_str_clear(above);
        if (value[0] == '\0')
            kit_str_puts(above, key);
        put(p, key, value);
    } else if (above->n > 0) {
        kit_str_printf(&full, "%s.%s", above->p, key);
        put(p, full.p, value);
        kit_str_done(&full);
    }
}

/* True when the file has the section. */
static bool file_scan(struct profile *p, const char *path, const char *name,
                      const char *kind)
{
    char *text, *rest = NULL;
    struct kit_str above = {0};
    bool inside = false, found = false;
    if (kit_file_read(path, "the profiles", &text, NULL) != DAVIT_OK)
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        bool nested = line[0] == ' ' || line[0] == '\t';
        line = trimmed(line);
        if (line[0] == '\0' || line[0] == '#' || line[0] == ';')
            continue;
        if (line[0] == '[') {
            inside = section_is(line, name, kind);
            kit_str_clear(&above);
            found = found || inside;
            continue;
        }
        if (inside)
            pair_read(p, line, nested, &above);
    }
    kit_str_done(&above);
    kit_wipe(text);
    return found;
}

static void file_path(const char *variable, const char *name,
                      struct kit_str *ret)
{
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given && strncmp(given, "~/", 2) == 0 && home)
        kit_str_printf(ret, "%s%s", home, given + 1);
    else if (given && given[0] != '\0')
        kit_str_puts(ret, given);
    else
        kit_str_printf(ret, "%s/.aws/%s", home ? home : "", name);
}

struct profile *profile_read(const char *name)
{
    struct profile *p = kit_zeroed(1, sizeof *p);
    struct kit_str path = {0};
    file_path("AWS_SHARED_CREDENTIALS_FILE", "credentials", &path);
    bool found = file_scan(p, path.p, name, NULL);
    kit_str_clear(&path);
    file_path("AWS_CONFIG_FILE", "config", &path);
    found = file_scan(p, path.p, name, "profile") || found;
    kit_str_done(&path);
    if (found)
        return p;
    profile_free(p);
    return NULL;
}

/* A section that only the config file has. */
static struct profile *config_section(const char *kind, const char *name)
{
    struct profile *p = kit_zeroed(1, sizeof *p);
    struct kit_str path = {0};
    file_path("AWS_CONFIG_FILE", "config", &path);
    bool found = file_scan(p, path.p, name, kind);
    kit_str_done(&path);
    if (found)
        return p;
    profile_free(p);
    return NULL;
}

struct profile *profile_session(const char *name)
{
    return config_section("sso-session", name);
}

struct profile *profile_services(const char *name)
{
    return config_section("services", name);
}

const char *profile_get(const struct profile *p, const char *key)
{
    for (size_t i = 0; p && i < p->n; i++)
        if (strcasecmp(p->kv[i].key, key) == 0)
            return p->kv[i].value;
    return NULL;
}

void profile_free(struct profile *p)
{
    for (size_t i = 0; p && i < p->n; i++) {
        kit_wipe((char *)p->kv[i].value);
        free((char *)p->kv[i].key);
    }
    free(p ? p->kv : NULL);
    free(p);
}
