/*
 * join.h - the script that a new machine runs at its first start, so that it
 * joins a Ray head: user data, a startup script, custom data.
 *
 * Ray knows a machine by RAY_CLOUD_INSTANCE_ID, and what it is by
 * RAY_NODE_TYPE_NAME and RAY_CLOUD_INSTANCE_TYPE_NAME; Ray's own launcher
 * gives its commands RAY_HEAD_IP and RAY_OVERRIDE_RESOURCES
 * (ray/autoscaler/_private/updater.py).  Without them a machine would be paid
 * and never counted.  No secret belongs into it, but for the join token, which is
 * of no use once the machine's node has shown what it makes of it: clouds show the
 * script to whoever may read the machine's metadata.
 */
#ifndef KIT_JOIN_H
#define KIT_JOIN_H

#include <pthread.h>
#include <stdbool.h>

#include "../provider.h"
#include "keep.h"
#include "str.h"

struct kit_join {
    const char *identify; /* shell: sets the variable id, with metadata() */
    const char *type;     /* the node type's name */
    const char *machine;  /* the machine type's */
    const char *head_ip;
    const char *resources; /* JSON; NULL: what Ray finds itself */
    const char *user;      /* who runs the commands; NULL: root */
    const char *commands;  /* a shell script */
    const char *token;     /* davit_launch.join_token; NULL, "": none */
    /* Shell: succeeds once the cloud is taking the machine back, asked every five
     * seconds with notice() in the place of metadata().  The machine's Ray node is
     * drained then, with that reason, by Ray's own drain-node.  NULL: nothing on
     * the machine tells, or it is not spot. */
    const char *taken;
};

/* The label of the machine's node, and its value: what the script makes of the
 * token and the machine's id, 32 hexadecimal digits. */
#define KIT_JOIN_LABEL "davit.io/join"
#define KIT_JOIN_MARK 33
void kit_join_mark(const char *token, const char *id, char ret[KIT_JOIN_MARK]);
/* The token of a launch; "": there is none, or the daemon is an older one. */
const char *kit_join_token(const struct davit_launch *l);

/* Where the head is, as machines see it. */
struct kit_head {
    const char *given;    /* head_ip: of the settings, or NULL */
    const char *head;     /* davit_setup.head */
    pthread_mutex_t lock; /* of found */
    char found[64];       /* our own address, once asked for */
};

void kit_head_init(struct kit_head *h);
void kit_head_done(struct kit_head *h);
/* The given address, else the host of head ("host:port" or "[v6]:port"), else,
 * when that is this machine, what own() says of it: the metadata of the
 * instance that we run on.  RETRY with a sentence when that says nothing. */
int kit_head_find(struct kit_head *h, const char *provider,
                  int (*own)(void *arg, char *ret, size_t size), void *arg,
                  char *ret, size_t size, struct davit_error *e);

/* A node type's resources for RAY_OVERRIDE_RESOURCES, with the accelerator's
 * own as `ray up` adds it (ray/autoscaler/_private/aws/node_provider.py). */
char *kit_join_resources(struct kit_keep *k, const struct davit_node_type *t);

#define KIT_JOIN_NAME 64
/* The i-th machine of a request, for clouds where a name makes a launch
 * idempotent: "ray-t4-0a1b2c3d4e5f6071-0", of a-z, 0-9 and - alone. */
void kit_join_name(const char *type, const char *request, uint32_t i,
                   char ret[KIT_JOIN_NAME]);

/* Appends the script.  What it prints goes to the console, where clouds keep
 * it, and to /var/log/davit-join.log. */
void kit_join_script(struct kit_str *s, const struct kit_join *j);

#endif
