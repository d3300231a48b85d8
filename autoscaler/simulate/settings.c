/*
 * settings.c - see settings.h.
 */
#include "settings.h"

#include <string.h>

struct axis { /* one --set */
    const char *path;
    VEC(const char *) values;
};

/* The length of the first value of a list. */
static size_t value_length(const char *s)
{
    size_t n = 0;
    int depth = 0;
    char quote = '\0';

    for (; s[n] && (s[n] != ',' || depth > 0 || quote); n++) {
        if (quote)
            quote = s[n] == quote ? '\0' : quote;
        else if (s[n] == '"' || s[n] == '\'')
            quote = s[n];
        else if (s[n] == '[' || s[n] == '{')
            depth++;
        else if (s[n] == ']' || s[n] == '}')
            depth--;
    }
    return n;
}

static enum status axis_read(const char *text, struct arena *a,
                             struct axis *ret, struct err *err)
{
    const char *at = strchr(text, '=');

    if (!at || at == text || !at[1])
        return err_set(err, ST_INVALID,
                       "--set %.80s: PATH=VALUE is needed, such as "
                       "limits.idle_timeout=2m or, for three columns, "
                       "limits.idle_timeout=2m,10m,30m",
                       text);
    ret->path = arena_strndup(a, text, (size_t)(at - text));
    while (*at) {
        size_t n = value_length(++at);

        VEC_PUSH(a, &ret->values, arena_strndup(a, at, n));
        at += n;
    }
    return ST_OK;
}

static const char *short_name(const char *path)
{
    const char *limits = "limits.";
    size_t n = strlen(limits);

    return strncmp(path, limits, n) == 0 ? path + n : path;
}

/* The number-th combination of the values, of one configuration. */
static struct setting combine(const char *config, bool name_it,
                              const struct axis *axes, uint32_t n,
                              uint32_t number, struct arena *a)
{
    struct conf_set *sets = ARENA_ARRAY(a, struct conf_set, n);
    const char *label = name_it ? config : "";

    for (uint32_t i = n; i-- > 0;) {
        const struct axis *x = &axes[i];

        sets[i] = (struct conf_set){x->path, x->values.v[number % x->values.n]};
        number /= x->values.n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (axes[i].values.n > 1)
            label = arena_printf(a, "%s%s%s=%s", label, *label ? " " : "",
                                 short_name(sets[i].path), sets[i].value);
    return (struct setting){config, label, sets, n};
}

enum status settings_make(const char *const *configs, uint32_t n_configs,
                          const char *const *sets, uint32_t n_sets,
                          struct arena *a, struct setting *ret, uint32_t *ret_n,
                          struct err *err)
{
    struct axis axes[SETS_MOST] = {{0}};
    uint64_t each = 1;
    enum status s;

    for (uint32_t i = 0; i < n_sets; i++) {
        s = axis_read(sets[i], a, &axes[i], err);
        if (s != ST_OK)
            return s;
        each *= axes[i].values.n;
        if (each * n_configs > SETTINGS_MOST)
            return err_set(err, ST_INVALID,
                           "--set: these are more than %d combinations of "
                           "values; simulate some of them at a time",
                           SETTINGS_MOST);
    }
    *ret_n = 0;
    for (uint32_t c = 0; c < n_configs; c++)
        for (uint32_t i = 0; i < each; i++)
            ret[(*ret_n)++] = combine(configs[c], n_configs > 1, axes, n_sets,
                                      i, a);
    return ST_OK;
}
