/*
 * join.h - the script that a new machine runs at its first start, so that it
 * joins a Ray head: user data, a startup script, custom data.
 *
 * Ray knows a machine by RAY_CLOUD_INSTANCE_ID, and what it is by
 * RAY_NODE_TYPE_NAME and RAY_CLOUD_INSTANCE_TYPE_NAME; Ray's own launcher
 * gives its commands RAY_HEAD_IP and RAY_OVERRIDE_RESOURCES
 * (ray/autoscaler/_private/updater.py).  Without them a machine would be paid
 * and never counted.  No secret belongs into it: clouds show it to whoever may
 * read the machine's metadata.
 */
#ifndef KIT_JOIN_H
#define KIT_JOIN_H

#include <stdbool.h>

#include "str.h"

struct kit_join {
    const char *identify; /* shell: sets the variable id, with metadata() */
    const char *type;     /* the node type's name */
    const char *machine;  /* the machine type's */
    const char *head_ip;
    const char *resources; /* JSON; NULL: what Ray finds itself */
    const char *user;      /* who runs the commands; NULL: root */
    const char *commands;  /* a shell script */
};

/* The head's address as machines see it: the given one (may be NULL), else the
 * host of head ("host:port" or "[v6]:port"); false: that is this machine, or
 * there is none. */
bool kit_head_ip(const char *given, const char *head, char *ret, size_t size);

/* Appends the script.  What it prints goes to the console, where clouds keep
 * it, and to /var/log/davit-join.log. */
void kit_join_script(struct kit_str *s, const struct kit_join *j);

#endif
