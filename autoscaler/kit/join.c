/*
 * join.c - see join.h.
 */
#include "join.h"

#include <jansson.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "options.h"

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
    "RAY_HEAD_IP,RAY_OVERRIDE_RESOURCES,RAY_OVERRIDE_LABELS,DAVIT_JOIN";

/* Ray adds these labels to those of its command line
 * (ray/_private/resource_and_label_spec.py); a kubelet is given $DAVIT_JOIN. */
static const char marked[] =
    "DAVIT_JOIN=$(printf '%%s %%s' '%s' \"$id\" | sha256sum | cut -c1-32)\n"
    "export DAVIT_JOIN "
    "RAY_OVERRIDE_LABELS=\"{\\\"" KIT_JOIN_LABEL
    "\\\":\\\"$DAVIT_JOIN\\\"}\"\n";

void kit_join_mark(const char *token, const char *id, char ret[KIT_JOIN_MARK])
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    char *text = kit_print("%s %s", token, id);

    SHA256((const unsigned char *)text, strlen(text), d);
    free(text);
    for (size_t i = 0; i < (KIT_JOIN_MARK - 1) / 2; i++)
        snprintf(ret + 2 * i, 3, "%02x", d[i]);
}

const char *kit_join_token(const struct davit_launch *l)
{
    return DAVIT_HAS(l, struct davit_launch, join_token) && l->join_token
               ? l->join_token
               : "";
}

/* What tells a Ray head that the machine goes is its own raylet's Python, found by
 * that process's command line (ray/_private/services.py): in a container, in a
 * virtual environment, of whatever user.  No raylet: there is nobody to tell. */
static const char watching[] =
    "notice() { curl -fsS -m 3 --noproxy '*' \"$@\"; }\n"
    "davit_taken() { %s; }\n"
    "davit_drain() { (\n"
    "  while IFS= read -r -d '' v; do case \"$v\" in\n"
    "    --node_id=*) node=${v#*=};;\n"
    "    --gcs-address=*) head=${v#*=};;\n"
    "    --python_worker_command=*) v=${v#*=}; python=${v%%%% *};;\n"
    "  esac; done <\"/proc/$1/cmdline\"\n"
    "  while IFS= read -r -d '' v; do case \"$v\" in\n"
    "    RAY_*|PATH=*|HOME=*|PYTHON*|LD_LIBRARY_PATH=*) export \"$v\";;\n"
    "  esac; done <\"/proc/$1/environ\"\n"
    "  nsenter -t \"$1\" -m -n \"$python\" -m ray.scripts.scripts drain-node "
    "--address \"$head\" --node-id \"$node\" "
    "--reason DRAIN_NODE_REASON_PREEMPTION "
    "--reason-message 'the cloud takes the machine back' "
    "--deadline-remaining-seconds 25\n"
    ") }\n"
    "davit_watch() {\n"
    "  while sleep 5; do\n"
    "    davit_taken || continue\n"
    "    echo 'davit: the cloud takes this machine back'\n"
    "    for p in /proc/[0-9]*; do\n"
    "      [ \"$(cat \"$p/comm\" 2>/dev/null)\" = raylet ] || continue\n"
    "      davit_drain \"${p#/proc/}\" && return\n"
    "    done\n"
    "  done\n"
    "}\n"
    "davit_watch </dev/null >>/var/log/davit-join.log 2>&1 &\n";

/* Clouds' agents make the user, who may do everything, when somebody logs in
 * with a key that they were given for it; we never log in. */
static const char made[] =
    "user=%s\n"
    "id -u \"$user\" >/dev/null 2>&1 || { useradd -m -s /bin/bash \"$user\" "
    "&& mkdir -p /etc/sudoers.d && echo \"$user ALL=(ALL) NOPASSWD:ALL\" "
    "> \"/etc/sudoers.d/davit-$user\" && "
    "chmod 440 \"/etc/sudoers.d/davit-$user\"; }\n"
    "! getent group docker >/dev/null || usermod -aG docker \"$user\"\n";

void kit_join_script(struct kit_str *s, const struct kit_join *j)
{
    kit_str_puts(s, begin);
    kit_str_puts(s, j->identify);
    kit_str_puts(s, "export RAY_CLOUD_INSTANCE_ID=$id\n"
                    "[ -n \"$id\" ] || { echo 'davit: this machine cannot "
                    "learn its own id'; exit 1; }\n");
    if (j->token && j->token[0] != '\0')
        kit_str_printf(s, marked, j->token);
    export_line(s, "RAY_NODE_TYPE_NAME", j->type);
    export_line(s, "RAY_CLOUD_INSTANCE_TYPE_NAME", j->machine);
    export_line(s, "RAY_HEAD_IP", j->head_ip);
    if (j->resources)
        export_line(s, "RAY_OVERRIDE_RESOURCES", j->resources);
    kit_str_puts(s, "export HOME=${HOME:-/root}\n"
                    "ulimit -n 65536 2>/dev/null\n");
    if (j->taken)
        kit_str_printf(s, watching, j->taken);
    if (!j->user || strcmp(j->user, "root") == 0) {
        kit_str_puts(s, j->commands);
        kit_str_puts(s, "\n");
        return;
    }
    kit_str_printf(s, made, j->user);
    kit_str_puts(s, "commands=$(mktemp) && cat > \"$commands\" "
                    "<<'DAVIT_JOIN_END'\n");
    kit_str_puts(s, j->commands);
    kit_str_printf(s,
                   "\nDAVIT_JOIN_END\nchmod 755 \"$commands\"\n"
                   "sudo -H -u %s --preserve-env=%s bash \"$commands\"\n",
                   j->user, kept);
}

void kit_head_init(struct kit_head *h)
{
    pthread_mutex_init(&h->lock, NULL);
}

void kit_head_done(struct kit_head *h)
{
    pthread_mutex_destroy(&h->lock);
}

/* False: that is this machine, or there is none. */
static bool known(const struct kit_head *h, char *ret, size_t size)
{
    if (h->given)
        snprintf(ret, size, "%s", h->given);
    else if (h->head[0] == '[')
        snprintf(ret, size, "%.*s", (int)strcspn(h->head + 1, "]"),
                 h->head + 1);
    else
        snprintf(ret, size, "%.*s", (int)strcspn(h->head, ":"), h->head);
    return ret[0] != '\0' && strncmp(ret, "127.", 4) != 0 &&
           strcmp(ret, "localhost") != 0 && strcmp(ret, "::1") != 0;
}

int kit_head_find(struct kit_head *h, const char *provider,
                  int (*own)(void *arg, char *ret, size_t size), void *arg,
                  char *ret, size_t size, struct davit_error *e)
{
    if (known(h, ret, size))
        return DAVIT_OK;
    pthread_mutex_lock(&h->lock);
    snprintf(ret, size, "%s", h->found);
    pthread_mutex_unlock(&h->lock);
    if (ret[0] != '\0')
        return DAVIT_OK;
    if (own(arg, ret, size) != DAVIT_OK || ret[0] == '\0')
        return kit_error(e, DAVIT_RETRY, "head_ip",
                         "the machines must know where the Ray head is, and "
                         "there is no instance metadata that tells: set "
                         "head_ip at the provider %s",
                         provider);
    pthread_mutex_lock(&h->lock);
    snprintf(h->found, sizeof h->found, "%s", ret);
    pthread_mutex_unlock(&h->lock);
    return DAVIT_OK;
}

char *kit_join_resources(struct kit_keep *k, const struct davit_node_type *t)
{
    json_t *j = json_object();
    for (size_t i = 0; i < t->n_resources; i++)
        json_object_set_new(j, t->resources[i].key,
                            json_real(strtod(t->resources[i].value, NULL)));
    const char *accelerator = kit_find(t->labels, t->n_labels,
                                       "ray.io/accelerator-type");
    if (accelerator && kit_find(t->resources, t->n_resources, "GPU")) {
        char key[80];
        snprintf(key, sizeof key, "accelerator_type:%.60s", accelerator);
        json_object_set_new(j, key, json_real(1));
    }
    char *text = kit_must(
        json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15)));
    char *mine = kit_keep_text(k, text);
    free(text);
    json_decref(j);
    return mine;
}

void kit_join_name(const char *type, const char *request, uint32_t i,
                   char ret[KIT_JOIN_NAME])
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    char hash[17], kind[16];
    size_t n = 0;
    SHA256((const unsigned char *)request, strlen(request), d);
    for (size_t k = 0; k < 8; k++)
        snprintf(hash + 2 * k, 3, "%02x", d[k]);
    for (const char *c = type; *c != '\0' && n + 1 < sizeof kind; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-')
            kind[n++] = *c;
    while (n > 0 && kind[n - 1] == '-')
        n--;
    kind[n] = '\0';
    snprintf(ret, KIT_JOIN_NAME, "ray-%s%s%s-%u", kind, n > 0 ? "-" : "", hash,
             i);
}
