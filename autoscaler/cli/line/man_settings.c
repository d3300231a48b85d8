/*
 * man_settings.c - davit.yaml(5), from the tables that read the file.
 */
#include "../../config/davit_keys.h"
#include "roff.h"

/* What stands behind a key's colon. */
static const char *value_shown(const struct key *k)
{
    switch (k->type) {
    case KEY_BOOL: return "true|false";
    case KEY_COUNT:
    case KEY_INT: return "N";
    case KEY_TIME: return "TIME";
    case KEY_MONEY: return "DOLLARS";
    case KEY_FACTOR: return "FACTOR";
    case KEY_PATH: return "FILE";
    case KEY_POLICY: return "POLICY";
    case KEY_KEYS: return "{...}";
    default: return "";
    }
}

static void key(void *arg, const char *where, const struct key *k)
{
    const char *value = value_shown(k);
    FILE *out = arg;

    fputs(".TP\n", out);
    roff_bold(out, where);
    roff_bold(out, *where ? "." : "");
    roff_bold(out, k->name);
    if (*value || k->word)
        fputs(": ", out);
    roff_italic(out, value);
    if (k->word) {
        fputs(*value ? "|" : "", out);
        roff_bold(out, k->word);
    }
    fputc('\n', out);
    roff_prose(out, k->help);
}

void man_settings(FILE *out, const struct man_issue *issue)
{
    roff_heading(out, "davit.yaml", "settings of davit", 5, issue);
    fputs(".SH DESCRIPTION\n", out);
    roff_prose(out, "What `davit run` reads: YAML, one document. A time is "
                    "written as 90s, 15m or 2h, an amount of memory as 50Gi. "
                    "A key that is not known is an error, and the nearest is "
                    "named: `davit validate FILE` says all of them at once. A "
                    "Ray cluster YAML, a podTypes list and a RayCluster "
                    "manifest are read as well; what they have no key for "
                    "stands under davit: in them.");
    fputs(".SH KEYS\n", out);
    davit_keys_walk(key, out);
    fputs(".SH \"SEE ALSO\"\n\\fBdavit\\fR(1),\n\\fBdavit-run\\fR(1),\n"
          "\\fBdavit-validate\\fR(1)\n",
          out);
}
