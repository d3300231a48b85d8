/*
 * man_settings.c - davit.yaml(5), from what `davit config explain` knows.
 */
#include "../explain/explain.h"
#include "roff.h"

static void example(FILE *out, const char *text)
{
    if (!text || !*text)
        return;
    fputs(".RS\n.nf\n", out);
    roff_literal(out, text);
    fputs(".fi\n.RE\n", out);
}

static void key(FILE *out, const struct explained *e)
{
    fputs(".TP\n", out);
    roff_bold(out, e->key);
    if (*e->takes) {
        fputs(": ", out);
        roff_italic(out, e->takes);
    }
    fputc('\n', out);
    roff_prose(out, *e->meaning ? e->meaning : "see above");
    if (*e->dflt) {
        fputs(".br\nDefault: ", out);
        roff_prose(out, e->dflt);
    }
    example(out, e->example);
}

void man_settings(FILE *out, const struct man_issue *issue)
{
    struct arena a = {0};
    struct explained_list all = explain_all(&a);

    roff_heading(out, "davit.yaml", "settings of davit", 5, issue);
    fputs(".SH DESCRIPTION\n", out);
    roff_prose(out, "What `davit run` reads: YAML, one document. A time is "
                    "written as 90s, 15m or 2h, an amount of memory as 50Gi. "
                    "A key that is not known is an error, and the nearest is "
                    "named: `davit validate FILE` says all of them at once. A "
                    "Ray cluster YAML, a podTypes list and a RayCluster "
                    "manifest are read as well; what they have no key for "
                    "stands under davit: in them. `davit config explain KEY` "
                    "says the same as this page of one key.");
    fputs(".SH KEYS\n", out);
    for (uint32_t i = 0; i < all.n; i++)
        key(out, &all.v[i]);
    fputs(".SH \"SEE ALSO\"\n\\fBdavit\\fR(1),\n\\fBdavit-run\\fR(1),\n"
          "\\fBdavit-validate\\fR(1),\n\\fBdavit-config\\fR(1)\n",
          out);
    arena_done(&a);
}
