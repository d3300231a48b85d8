/*
 * fuzz_exec.c - lines that the program behind the `exec` provider prints.  Held:
 * what is taken is whole, what is not says why.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../autoscaler/kit/options.h"
#include "../../providers/exec/answer.c"

/* Of supervisor.c, which has a thread and a child. */
void verdict_set(struct verdict *v, int status, const char *code,
                 const char *fmt, ...)
{
    va_list ap;

    *v = (struct verdict){.status = status};
    snprintf(v->code, sizeof v->code, "%s", code);
    va_start(ap, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, ap);
    va_end(ap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    json_t *line = json_loadb((const char *)data, n, 0, NULL);
    struct kit_keep keep = {0};
    struct davit_machine m;
    struct davit_offer o;
    struct verdict v = {0};
    char room[300];
    bool good;

    if (json_is_object(line)) {
        good = verdict_read(line, &v);
        assert(good || (v.status == DAVIT_BROKEN && v.text[0]));
        assert(v.status >= DAVIT_OK && v.status <= DAVIT_BROKEN);
        if (!machine_read(json_object_get(line, "machine"), &m, room,
                          sizeof room))
            assert(m.id && m.zone && m.address && m.phase <= DAVIT_FAILED);
        if (!offer_read(json_object_get(line, "offer"), &o, &keep, room,
                        sizeof room))
            assert(o.name && o.zone && o.price_micros_hour >= -1);
    }
    kit_keep_done(&keep);
    json_decref(line);
    return 0;
}
