/*
 * fuzz_snapshot.c - any bytes as snapshot.json: read, made into arrays, written
 * and read again; nothing may crash, and what was taken once is taken again
 * with the same snapshot.
 *
 * With clang -fsanitize=fuzzer this is a libFuzzer target; with replay.c it
 * runs the files it is given, and mutations of them.
 */
#include <stddef.h>
#include <stdint.h>

#include "../unit/model_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fail(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena arena = {0};
    struct err err = {0};
    struct snapshot *snapshot = NULL, *again = NULL;
    struct problem *now = NULL, *then = NULL;
    struct snap_bundle bundle = {0};
    json_t *v = NULL, *w;
    char *before, *after;

    if (codec_parse((const char *)data, n, &v, &err) != ST_OK)
        return 0;
    if (codec_bundle_read(v, "bundle", &arena, &bundle, &err) == ST_OK) {
        w = codec_bundle_write(&bundle);
        if (codec_bundle_read(w, "bundle", &arena, &bundle, &err) != ST_OK)
            fail("a bundle that was written is refused", &err);
        json_decref(w);
    }
    if (codec_snapshot_read(v, &arena, &snapshot, &err) == ST_OK &&
        problem_make(snapshot, &arena, &now, &err) == ST_OK) {
        w = codec_snapshot_write(snapshot);
        if (codec_snapshot_read(w, &arena, &again, &err) != ST_OK ||
            problem_make(again, &arena, &then, &err) != ST_OK)
            fail("facts that were written are refused", &err);
        json_decref(w);
        before = dump(now);
        after = dump(then);
        if (strcmp(before, after) != 0)
            fail("another snapshot", &err);
        free(before);
        free(after);
    }
    json_decref(v);
    arena_done(&arena);
    return 0;
}
