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
#include "kit/join.h"

static const char identify[] =
    "m=http://169.254.169.254/latest\n"
    "t=$(metadata -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "
    "$m/api/token)\n"
    "id=$(metadata -H \"X-aws-ec2-metadata-token: $t\" "
    "$m/meta-data/instance-id)\n";

static void script(const struct ec2_type *t, const char *head_ip,
                   struct kit_str *s)
{
    kit_join_script(s, &(struct kit_join){.identify = identify,
                                          .type = t->name,
                                          .machine = t->machine,
                                          .head_ip = head_ip,
                                          .resources = t->resources,
                                          .user = t->user,
                                          .commands = t->join});
}

size_t join_size(const struct ec2 *e, const struct ec2_type *t)
{
    struct kit_str s = {0};
    (void)e;
    if (!t->join)
        return 0;
    script(t, "255.255.255.255", &s);
    size_t n = s.n;
    kit_str_done(&s);
    return n;
}

static int head_find(struct op *op, char *ret, size_t size)
{
    struct ec2 *e = op->e;
    if (kit_head_ip(e->head_ip, e->head, ret, size))
        return DAVIT_OK;
    pthread_mutex_lock(&e->lock);
    snprintf(ret, size, "%s", e->found_head);
    pthread_mutex_unlock(&e->lock);
    if (ret[0] != '\0')
        return DAVIT_OK;
    if (aws_own_address(&op->a, ret, size) != DAVIT_OK)
        return kit_error(op->a.error, DAVIT_INVALID, "head_ip",
                         "the machines must know where the Ray head is, and "
                         "there is no instance metadata that tells: set "
                         "head_ip at the provider ec2");
    pthread_mutex_lock(&e->lock);
    snprintf(e->found_head, sizeof e->found_head, "%s", ret);
    pthread_mutex_unlock(&e->lock);
    return DAVIT_OK;
}

int join_user_data(struct op *op, const struct ec2_type *t, char **ret)
{
    struct kit_str s = {0};
    char head[64];
    *ret = NULL;
    if (!t->join)
        return DAVIT_OK;
    int st = head_find(op, head, sizeof head);
    if (st != DAVIT_OK)
        return st;
    script(t, head, &s);
    *ret = kit_zeroed(1, 4 * ((s.n + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)*ret, (const unsigned char *)s.p,
                    (int)s.n);
    kit_str_done(&s);
    return DAVIT_OK;
}
