/*
 * fuzz_journal.c - rows of the journal's copy, which lies in ConfigMaps that
 * others can write: a line each, kind, id and JSON with tabs between.  Held: a
 * journal that opens is read, whatever is in its rows.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/store/mirror.h"

enum { MOST_ROWS = 16 };

static uint32_t rows_of(struct arena *a, const uint8_t *data, size_t n,
                        struct mirror_row *rows)
{
    char *text = arena_strndup(a, (const char *)data, n), *line;
    uint32_t count = 0;

    while (count < MOST_ROWS && (line = strsep(&text, "\n"))) {
        char *kind = strsep(&line, "\t"), *id = strsep(&line, "\t");

        if (id)
            rows[count++] = (struct mirror_row){kind, id, line, count + 1};
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    struct mirror_row rows[MOST_ROWS];
    uint32_t n_rows = rows_of(&a, data, n, rows), n_requests = 0;
    struct journal_request *requests = NULL;
    struct journal *j = NULL;
    struct fleet fleet;
    struct err err = {0};

    if (journal_open(JOURNAL_IN_MEMORY, NULL, &j, &err) != ST_OK)
        abort();
    if (mirror_restore(j, rows, n_rows, &err) == ST_OK) {
        fleet_init(&fleet);
        journal_load_fleet(j, &fleet, &err);
        journal_load_requests(j, &a, &requests, &n_requests, &err);
        for (uint32_t i = 0; i < n_requests; i++)
            assert(requests[i].owner && requests[i].body);
        journal_boot(j, "t");
        fleet_done(&fleet);
    }
    journal_close(j);
    arena_done(&a);
    return 0;
}
