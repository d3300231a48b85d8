/*
 * join.c - see join.h.
 */
#include "join.h"

#include <stdio.h>
#include <string.h>

static void quoted(struct kit_str *s, const char *text)
{
    kit_str_puts(s, "'");
    for (; *text != '\0'; text++)
        if (*text == '\'')
            kit_str_puts(s, "'\\''");
        else
            kit_str_add(s, text, 1);
    kit_str_puts(s, "'");
}

static void export_line(struct kit_str *s, const char *name, const char *value)
{
    kit_str_printf(s, "export %s=", name);
    quoted(s, value);
    kit_str_puts(s, "\n");
}

static const char begin[] =
    "#!/bin/bash\n"
    "# Written by Davit: how this machine joins its Ray head.\n"
    "exec > >(tee -a /var/log/davit-join.log) 2>&1\n"
    "[ -w /dev/console ] && exec > >(tee -a /dev/console) 2>&1\n"
    "metadata() { curl -fsS --retry 30 --retry-delay 2 --retry-connrefused "
    "--noproxy '*' \"$@\"; }\n";

static const char kept[] =
    "RAY_CLOUD_INSTANCE_ID,RAY_NODE_TYPE_NAME,RAY_CLOUD_INSTANCE_TYPE_NAME,"
    "RAY_HEAD_IP,RAY_OVERRIDE_RESOURCES";

void kit_join_script(struct kit_str *s, const struct kit_join *j)
{
    kit_str_puts(s, begin);
    kit_str_puts(s, j->identify);
    kit_str_puts(s, "export RAY_CLOUD_INSTANCE_ID=$id\n"
                    "[ -n \"$id\" ] || { echo 'davit: this machine cannot "
                    "learn its own id'; exit 1; }\n");
    export_line(s, "RAY_NODE_TYPE_NAME", j->type);
    export_line(s, "RAY_CLOUD_INSTANCE_TYPE_NAME", j->machine);
    export_line(s, "RAY_HEAD_IP", j->head_ip);
    if (j->resources)
        export_line(s, "RAY_OVERRIDE_RESOURCES", j->resources);
    kit_str_puts(s, "ulimit -n 65536 2>/dev/null\n");
    if (!j->user || strcmp(j->user, "root") == 0) {
        kit_str_puts(s, j->commands);
        kit_str_puts(s, "\n");
        return;
    }
    kit_str_puts(s, "commands=$(mktemp) && cat > \"$commands\" "
                    "<<'DAVIT_JOIN_END'\n");
    kit_str_puts(s, j->commands);
    kit_str_printf(s,
                   "\nDAVIT_JOIN_END\nchmod 755 \"$commands\"\n"
                   "sudo -H -u %s --preserve-env=%s bash \"$commands\"\n",
                   j->user, kept);
}

bool kit_head_ip(const char *given, const char *head, char *ret, size_t size)
{
    if (given)
        snprintf(ret, size, "%s", given);
    else if (head[0] == '[')
        snprintf(ret, size, "%.*s", (int)strcspn(head + 1, "]"), head + 1);
    else
        snprintf(ret, size, "%.*s", (int)strcspn(head, ":"), head);
    return ret[0] != '\0' && strncmp(ret, "127.", 4) != 0 &&
           strcmp(ret, "localhost") != 0 && strcmp(ret, "::1") != 0;
}
