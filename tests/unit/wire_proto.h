/*
 * wire_proto.h - writes protobuf by field number, right or wrong, for tests;
 * and a made-up GetClusterResourceState reply of any size.
 */
#ifndef TEST_WIRE_PROTO_H
#define TEST_WIRE_PROTO_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../autoscaler/base/buf.h"

#define PB_MAX ((size_t)64 << 20)

static void pb_varint(struct buf *b, uint64_t v)
{
    do {
        unsigned char c = (unsigned char)(v & 127);
        v >>= 7;
        c = (unsigned char)(c | (v ? 128 : 0));
        buf_add(b, &c, 1);
    } while (v);
}

static void pb_int(struct buf *b, int field, int64_t v)
{
    pb_varint(b, (uint64_t)field << 3);
    pb_varint(b, (uint64_t)v);
}

static void pb_bytes(struct buf *b, int field, const void *p, size_t n)
{
    pb_varint(b, (uint64_t)field << 3 | 2);
    pb_varint(b, n);
    buf_add(b, p, n);
}

static void pb_str(struct buf *b, int field, const char *s)
{
    pb_bytes(b, field, s, strlen(s));
}

/* Adds sub as a message and empties it. */
static void pb_msg(struct buf *b, int field, struct buf *sub)
{
    pb_bytes(b, field, sub->s, sub->n);
    buf_clear(sub);
}

/* An entry of a map<string, double>. */
static void pb_amount(struct buf *b, int field, const char *name, double v)
{
    struct buf e;
    buf_init(&e, PB_MAX);
    pb_str(&e, 1, name);
    pb_varint(&e, 2 << 3 | 1);
    buf_add(&e, &v, sizeof v);
    pb_msg(b, field, &e);
    buf_done(&e);
}

static void pb_label(struct buf *b, int field, const char *key,
                     const char *value)
{
    struct buf e;
    buf_init(&e, PB_MAX);
    pb_str(&e, 1, key);
    pb_str(&e, 2, value);
    pb_msg(b, field, &e);
    buf_done(&e);
}

/* One constraint of a LabelSelector: values separated by '|'. */
static void pb_constraint(struct buf *selector, const char *key, int op,
                          const char *values)
{
    struct buf c;
    buf_init(&c, PB_MAX);
    pb_str(&c, 1, key);
    if (op)
        pb_int(&c, 2, op);
    while (*values) {
        size_t n = strcspn(values, "|");
        pb_bytes(&c, 3, values, n);
        values += n + (values[n] == '|');
    }
    pb_msg(selector, 1, &c);
    buf_done(&c);
}

/* The state's fields in, the whole reply out; the state is emptied. */
static void pb_reply(struct buf *reply, struct buf *state)
{
    pb_msg(reply, 1, state);
}

/* n_nodes nodes and n_shapes pending shapes plus n_gangs groups of 8. */
static __attribute__((unused)) void pb_large_reply(struct buf *reply,
                                                   unsigned n_nodes,
                                                   unsigned n_shapes,
                                                   unsigned n_gangs)
{
    struct buf s, n, r, sel, c;
    buf_init(&s, PB_MAX);
    buf_init(&n, PB_MAX);
    buf_init(&r, PB_MAX);
    buf_init(&sel, PB_MAX);
    buf_init(&c, PB_MAX);
    pb_int(&s, 1, 4711);
    for (unsigned i = 0; i < n_nodes; i++) {
        unsigned char id[28] = {0};
        char text[80];
        memcpy(id, &i, sizeof i);
        pb_bytes(&n, 1, id, sizeof id);
        snprintf(text, sizeof text, "i-0123456789abcd%03u", i);
        pb_str(&n, 2, text);
        pb_str(&n, 3, i % 3 ? "gpu-t4" : "gpu-a100");
        for (int which = 5; which >= 4; which--) {
            pb_amount(&n, which, "CPU", which == 5 ? 32 : i % 32);
            pb_amount(&n, which, "GPU", which == 5 ? 4 : i % 4);
            pb_amount(&n, which, "memory", 137438953472.0 - i);
            pb_amount(&n, which, "object_store_memory", 40000000000.0);
            snprintf(text, sizeof text, "node:10.0.%u.%u", i / 256, i % 256);
            pb_amount(&n, which, text, 1);
            pb_amount(&n, which, "accelerator_type:T4", 1);
            if (i % 4 == 0) { /* a placement group lives here */
                snprintf(text, sizeof text, "CPU_group_0_%036x", i);
                pb_amount(&n, which, text, 1);
                snprintf(text, sizeof text, "bundle_group_%036x", i);
                pb_amount(&n, which, text, 1000);
            }
        }
        pb_int(&n, 7, 4711);
        pb_int(&n, 8, i % 5 ? 1 : 3);
        if (i % 5 == 0)
            pb_int(&n, 9, 1000 + i);
        snprintf(text, sizeof text, "10.0.%u.%u", i / 256, i % 256);
        pb_str(&n, 10, text);
        pb_str(&n, 11, "g4dn.12xlarge");
        pb_str(&n, 12, "Resource: CPU currently in use.");
        pb_str(&n, 12, "Busy workers on node.");
        snprintf(text, sizeof text, "%056x", i);
        pb_label(&n, 13, "ray.io/node-id", text);
        pb_label(&n, 13, "ray.io/node-group", "gpu-t4");
        pb_label(&n, 13, "ray.io/accelerator-type", "T4");
        pb_label(&n, 13, "topology.kubernetes.io/zone", "us-east-1a");
        pb_msg(&s, 3, &n);
    }
    for (unsigned i = 0; i < n_shapes; i++) {
        pb_amount(&r, 1, "CPU", 1 + i % 64);
        pb_amount(&r, 1, "GPU", 0.0001 * (1 + i));
        pb_amount(&r, 1, "memory", 1e9);
        pb_constraint(&sel, "topology.kubernetes.io/zone", 1,
                      "us-east-1a|us-east-1b");
        pb_msg(&r, 3, &sel);
        pb_msg(&n, 1, &r);
        pb_int(&n, 2, 3);
        pb_msg(&s, 4, &n);
    }
    for (unsigned i = 0; i < n_gangs; i++) {
        char text[80];
        for (int k = 0; k < 8; k++) {
            pb_amount(&r, 1, "GPU", 1);
            pb_amount(&r, 1, "CPU", 4);
            pb_msg(&n, 1, &r);
        }
        snprintf(text, sizeof text, "%036x:PACK|PENDING", i);
        pb_str(&n, 2, text);
        for (int k = 0; k < 8; k++) {
            pb_amount(&r, 1, "GPU", 1);
            pb_amount(&r, 1, "CPU", 4);
            pb_msg(&sel, 1, &r);
        }
        pb_msg(&n, 3, &sel);
        pb_msg(&s, 5, &n);
    }
    pb_str(&s, 7, "session_2026-11-21_10-40-35_363471_14093");
    pb_reply(reply, &s);
    buf_done(&s);
    buf_done(&n);
    buf_done(&r);
    buf_done(&sel);
    buf_done(&c);
}

#endif
