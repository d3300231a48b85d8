/*
 * local.c - whose process is at the other end of a connection over loopback?
 *
 * The kernel knows: it is asked for the socket that has our addresses turned
 * around (sock_diag(7)).  A socket that its process has closed is nobody's: the
 * kernel says 0 for it, which is no user.  Users that this user namespace does not
 * know are all one to us, so that one is nobody either.
 */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { WAIT_US = 200000 };

/* Of users that a user namespace does not know. */
static uid_t local_nobody(void)
{
    static const char path[] = "/proc/sys/kernel/overflowuid";
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        close(fd);
    return n > 0 ? (uid_t)strtoul(text, NULL, 10) : 65534;
}

static bool local_in_namespace(void)
{
    char text[128] = "";
    int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    unsigned long from = 0, to = 0, many = 0;

    if (fd >= 0)
        close(fd);
    return n > 0 && (sscanf(text, "%lu %lu %lu", &from, &to, &many) != 3 ||
                     from != 0 || to != 0 || many < UINT32_MAX);
}

bool local_known(uid_t uid)
{
    return uid != (uid_t)-1 && (uid != local_nobody() || !local_in_namespace());
}

/* An IPv4 address within IPv6 is that of an IPv4 socket at the other end. */
static bool end_read(const struct sockaddr_storage *a, int *family,
                     __be32 address[4], __be16 *port)
{
    const struct sockaddr_in *four = (const void *)a;
    const struct sockaddr_in6 *six = (const void *)a;

    if (a->ss_family == AF_INET) {
        *family = AF_INET;
        *port = four->sin_port;
        memcpy(address, &four->sin_addr, 4);
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    if (a->ss_family != AF_INET6)
        return false;
    *port = six->sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        *family = AF_INET;
        memcpy(address, &six->sin6_addr.s6_addr[12], 4);
        return six->sin6_addr.s6_addr[12] == 127;
    }
    *family = AF_INET6;
    memcpy(address, &six->sin6_addr, 16);
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool question_make(int fd, struct inet_diag_req_v2 *q)
{
    struct sockaddr_storage here, there;
    socklen_t n = sizeof here, k = sizeof there;
    int family, other;

    *q = (struct inet_diag_req_v2){.sdiag_protocol = IPPROTO_TCP,
                                   .idiag_states = UINT32_MAX};
    q->id.idiag_cookie[0] = q->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (getsockname(fd, (struct sockaddr *)&here, &n) != 0 ||
        getpeername(fd, (struct sockaddr *)&there, &k) != 0 ||
        !end_read(&there, &family, q->id.idiag_src, &q->id.idiag_sport) ||
        !end_read(&here, &other, q->id.idiag_dst, &q->id.idiag_dport) ||
        family != other)
        return false;
    q->sdiag_family = (__u8)family;
    return true;
}

static bool answer_read(const void *reply, ssize_t n, uid_t *ret)
{
    const struct nlmsghdr *h = reply;
    const struct inet_diag_msg *m;

    if (n < (ssize_t)NLMSG_LENGTH(sizeof *m) || !NLMSG_OK(h, (size_t)n) ||
        h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    m = NLMSG_DATA(h);
    if (!m->idiag_inode || m->idiag_state == TCP_TIME_WAIT ||
        m->idiag_state == TCP_LISTEN)
        return false;
    *ret = m->idiag_uid;
    return local_known(m->idiag_uid);
}

bool local_user(int fd, uid_t *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 question;
    } q = {.head = {.nlmsg_len = sizeof q,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST}};
    const struct timeval wait = {.tv_usec = WAIT_US};
    _Alignas(struct nlmsghdr) char reply[2048];
    bool known = false;
    ssize_t n;
    int s;

    if (!question_make(fd, &q.question))
        return false;
    s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (s < 0)
        return false;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    if (send(s, &q, sizeof q, 0) == (ssize_t)sizeof q) {
        n = recv(s, reply, sizeof reply, 0);
        known = answer_read(reply, n, ret);
    }
    close(s);
    return known;
}
