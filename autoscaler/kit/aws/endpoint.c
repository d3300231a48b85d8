/*
 * endpoint.c - where a service of AWS's is asked, as the SDKs read it
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
 *
 * First our own setting, then AWS_ENDPOINT_URL_<SERVICE> and AWS_ENDPOINT_URL,
 * then the profile: endpoint_url of the service in the [services] section that
 * it names, then its own endpoint_url.  The files are read once.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inside.h"

static const struct {
    const char *name;       /* in host names and signatures */
    const char *env, *file; /* in AWS_ENDPOINT_URL_<env>, and in [services] */
} services[AWS_SERVICES] = {
    [AWS_EKS] = {"eks", "AWS_ENDPOINT_URL_EKS", "eks"},
    [AWS_AUTOSCALING] = {"autoscaling", "AWS_ENDPOINT_URL_AUTO_SCALING",
                         "auto_scaling"},
    [AWS_EC2] = {"ec2", "AWS_ENDPOINT_URL_EC2", "ec2"},
    [AWS_STS] = {"sts", "AWS_ENDPOINT_URL_STS", "sts"},
    [AWS_SSO] = {"portal.sso", "AWS_ENDPOINT_URL_SSO", "sso"},
    [AWS_SSO_OIDC] = {"oidc", "AWS_ENDPOINT_URL_SSO_OIDC", "sso_oidc"},
    [AWS_QUOTAS] = {"servicequotas", "AWS_ENDPOINT_URL_SERVICE_QUOTAS",
                    "service_quotas"}};

const char *aws_service_name(enum aws_service s)
{
    return services[s].name;
}

static bool is_true(const char *text)
{
    return text && strcasecmp(text, "true") == 0;
}

static const char *some(const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

static void profile_endpoints(const struct profile *p,
                              const struct profile *section,
                              char *ret[AWS_SERVICES])
{
    for (size_t s = 0; s < AWS_SERVICES; s++) {
        struct kit_str key = {0};
        kit_str_printf(&key, "%s.endpoint_url", services[s].file);
        const char *one = some(profile_get(section, key.p));
        const char *url = one ? one : some(profile_get(p, "endpoint_url"));
        ret[s] = url ? kit_copy(url) : NULL;
        kit_str_done(&key);
    }
}

/* a->lock is held. */
static int profile_endpoints_read(const struct aws_op *op)
{
    struct profile *p = profile_read(aws_profile_name(op)), *section = NULL;
    const char *name = profile_get(p, "services");
    const char *said = getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    int st = DAVIT_OK;
    op->aws->fips = is_true(profile_get(p, "use_fips_endpoint"));
    op->aws->dual = is_true(profile_get(p, "use_dualstack_endpoint"));
    bool ignored = is_true(
        said ? said : profile_get(p, "ignore_configured_endpoint_urls"));
    if (name && !ignored)
        section = profile_services(name);
    if (name && !ignored && !section)
        st = kit_error(op->error, DAVIT_AUTH, "BadProfile",
                       "profile %.60s names services = %.60s, and the AWS "
                       "config file has no such section",
                       aws_profile_name(op), name);
    else if (!ignored)
        profile_endpoints(p, section, op->aws->configured);
    profile_free(section);
    profile_free(p);
    return st;
}

/* *ret is NULL when no endpoint is configured; it lives as long as op->aws. */
static int configured(const struct aws_op *op, enum aws_service s,
                      const char **ret)
{
    struct aws *a = op->aws;
    int st = DAVIT_OK;
    *ret = NULL;
    if (!is_true(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) {
        *ret = some(getenv(services[s].env));
        if (!*ret)
            *ret = some(getenv("AWS_ENDPOINT_URL"));
    }
    if (*ret)
        return DAVIT_OK;
    pthread_mutex_lock(&a->lock);
    if (!a->configured_read)
        st = profile_endpoints_read(op);
    a->configured_read = st == DAVIT_OK;
    *ret = a->configured[s];
    pthread_mutex_unlock(&a->lock);
    return st;
}

/* By the environment, else by the profile. */
static bool wanted(const struct aws_op *op, const char *env, const bool *mine)
{
    const char *said = getenv(env);
    if (said)
        return is_true(said);
    pthread_mutex_lock(&op->aws->lock);
    bool on = *mine;
    pthread_mutex_unlock(&op->aws->lock);
    return on;
}

int aws_endpoint(const struct aws_op *op, enum aws_service s,
                 const char *region, struct kit_str *ret)
{
    const char *given = op->aws->endpoints[s];
    int st = given ? DAVIT_OK : configured(op, s, &given);
    if (st != DAVIT_OK)
        return st;
    if (given && !kit_url_safe(given))
        return kit_error(op->error, DAVIT_AUTH, "BadEndpoint",
                         "the endpoint %.100s is neither https:// nor on this "
                         "machine",
                         given);
    if (given)
        kit_str_puts(ret, given);
    else
        aws_host(s, region, wanted(op, "AWS_USE_FIPS_ENDPOINT", &op->aws->fips),
                 wanted(op, "AWS_USE_DUALSTACK_ENDPOINT", &op->aws->dual), ret);
    while (ret->n > 0 && ret->p[ret->n - 1] == '/')
        ret->p[--ret->n] = '\0';
    return DAVIT_OK;
}
