/*
 * console.c - instances.getSerialPortOutput: the end of what an instance has
 * printed.
 */
#include <stdlib.h>
#include <string.h>

#include "gce.h"

#define BYTES "65536"

int gce_console(void *self, struct davit_call *call, const char *id,
                struct davit_sink *sink, davit_put_text *put,
                struct davit_error *e)
{
    struct op op = {self, call, e};
    json_t *reply;
    char *instance = instance_path(id);
    if (!instance)
        return DAVIT_NOT_FOUND;
    char *path = kit_print("%s/serialPort?start=-" BYTES, instance);
    int s = api_send(&op, "GET", path, NULL, &reply);
    const json_t *text = json_object_get(reply, "contents");
    if (s == DAVIT_OK && json_is_string(text))
        put(sink, json_string_value(text), json_string_length(text));
    json_decref(reply);
    free(instance);
    free(path);
    return s;
}
