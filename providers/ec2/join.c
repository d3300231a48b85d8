/*
 * join.c - user data: how a new instance joins.
 *
 * The head's address is what the machines must reach: a head on loopback is the
 * instance that Davit runs on, whose own address its metadata tell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "ec2.h"

static const char identify[] =
    "m=http://169.254.169.254/latest\n"
    "t=$(metadata -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "
    "$m/api/token)\n"
    "id=$(metadata -H \"X-aws-ec2-metadata-token: $t\" "
    "$m/meta-data/instance-id)\n";

static void script(const struct ec2_type *t, const char *head_ip,
                   const char *token, struct kit_str *s)
{
    kit_join_script(s, &(struct kit_join){.identify = identify,
                                          .type = t->name,
                                          .machine = t->machine,
                                          .head_ip = head_ip,
                                          .resources = t->resources,
                                          .user = t->user,
                                          .commands = t->join,
                                          .token = token});
}

size_t join_size(const struct ec2_type *t)
{
    struct kit_str s = {0};
    if (!t->join)
        return 0;
    script(t, "255.255.255.255", "0123456789abcdef0123456789abcdef", &s);
    size_t n = s.n;
    kit_str_done(&s);
    return n;
}

static int own_address(void *op, char *ret, size_t size)
{
    return aws_own_address(&((struct op *)op)->a, ret, size);
}

int join_user_data(struct op *op, const struct ec2_type *t,
                   const struct davit_launch *l, char **ret)
{
    struct kit_str s = {0};
    char head[64];
    *ret = NULL;
    if (!t->join)
        return DAVIT_OK;
    int st = kit_head_find(&op->e->head, "ec2", own_address, op, head,
                           sizeof head, op->a.error);
    if (st != DAVIT_OK)
        return st;
    script(t, head, kit_join_token(l), &s);
    *ret = kit_zeroed(1, 4 * ((s.n + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)*ret, (const unsigned char *)s.p,
                    (int)s.n);
    kit_str_done(&s);
    return DAVIT_OK;
}
