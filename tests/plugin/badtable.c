/* badtable.c - a table with what $DAVIT_BADTABLE says missing. */
#include "misfit.h"

static struct davit_provider table;

const struct davit_provider *davit_provider_v1(void)
{
    const char *how = getenv("DAVIT_BADTABLE");
    static const struct davit_kv no_help[] = {{"key", NULL}, {NULL, NULL}};
    table = (struct davit_provider){.size = sizeof table,
                                    .name = "badtable",
                                    .version = "1",
                                    .options = misfit_options,
                                    .open = misfit_open,
                                    .close = misfit_close,
                                    .list = misfit_list,
                                    .launch = misfit_launch,
                                    .terminate = misfit_terminate};
    if (!how)
        return &table;
    if (strcmp(how, "null") == 0)
        return NULL;
    if (strcmp(how, "size") == 0)
        table.size = 8;
    else if (strcmp(how, "name") == 0)
        table.name = NULL;
    else if (strcmp(how, "control name") == 0)
        table.name = "bad\n";
    else if (strcmp(how, "list") == 0)
        table.list = NULL;
    else if (strcmp(how, "offers") == 0)
        table.caps = DAVIT_CAP_OFFERS;
    else if (strcmp(how, "help") == 0)
        table.options = no_help;
    return &table;
}
