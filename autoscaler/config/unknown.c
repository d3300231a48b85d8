/*
 * unknown.c - keys of others' files that we do not know; see raw.h.
 *
 * Their formats grow without us, so what we know of a file counts, and a key
 * that is in no list is a warning with its line: what it asks for is not done,
 * or it is the misspelling of one that is used, and a min_worker or a
 * rayResource that nobody reads costs money, or the GPU.  The lists hold all
 * keys of theirs, also those that change nothing of what is launched.
 */
#include <string.h>

#include "../base/suggest.h"
#include "raw.h"

#define LIST(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

static const char *const *const lists[] = {
    [KEYS_RAY_FILE] = LIST(
        "cluster_name", "max_workers", "upscaling_speed",
        "idle_timeout_minutes", "provider", "auth", "docker", "head_node_type",
        "file_mounts", "cluster_synced_files", "file_mounts_sync_continuously",
        "rsync_exclude", "rsync_filter", "metadata", "initialization_commands",
        "setup_commands", "head_setup_commands", "worker_setup_commands",
        "head_start_ray_commands", "worker_start_ray_commands", "no_restart",
        "available_node_types", "davit",
        /* of older releases */
        "min_workers", "initial_workers", "autoscaling_mode", "head_node",
        "worker_nodes", "worker_default_node_type", "idle_timeout_s",
        "target_utilization_fraction"),
    [KEYS_RAY_TYPE] = LIST("node_config", "min_workers", "max_workers",
                           "idle_timeout_s", "priority", "resources", "labels",
                           "initialization_commands", "setup_commands",
                           "worker_setup_commands", "docker"),
    [KEYS_RAY_PROVIDER] = LIST(
        "type", "region", "availability_zone", "cache_stopped_nodes",
        "security_group", "key_pair", "cloudwatch", "aws_credentials",
        "project_id", "gcp_credentials", "location", "resource_group",
        "subscription_id", "unique_id", "msi_name", "msi_resource_group",
        "msi_identity_id", "msi_identity_principal_id", "subnet_id",
        "subnet_mask", "tags", "use_internal_ips", "use_external_head_ip",
        "module", "namespace", "autoscaler_service_account", "autoscaler_role",
        "autoscaler_role_binding", "head_ip", "worker_ips",
        "disable_node_updaters", "disable_launch_config_check",
        "foreground_node_launch", "use_node_id_as_ip", "worker_liveness_check",
        "worker_rpc_drain"),
    [KEYS_RAY_AUTH] = LIST("ssh_user", "ssh_public_key", "ssh_private_key",
                           "ssh_proxy_command", "ssh_proxy_use_node_id"),
    [KEYS_RAY_DOCKER] = LIST("image", "container_name", "pull_before_run",
                             "run_options", "head_image", "head_run_options",
                             "worker_image", "worker_run_options",
                             "disable_automatic_runtime_detection",
                             "disable_shm_size_detection", "use_podman"),
    [KEYS_PODS_FILE] = LIST(
        "podTypes", "headPodType", "maxWorkers", "upscalingSpeed",
        "idleTimeoutMinutes", "davit", "image", "imagePullSecrets",
        "imagePullPolicy", "operatorImage", "operatorOnly", "clusterOnly",
        "namespacedOperator", "operatorNamespace", "headServicePorts",
        "headSetupCommands", "headStartRayCommands", "workerStartRayCommands",
        "workerSetupCommands", "setupCommands", "nameOverride",
        "fullnameOverride"),
    [KEYS_PODS_TYPE] = LIST("name", "memory", "CPU", "GPU", "CPUInteger",
                            "minWorkers", "maxWorkers", "rayResources",
                            "nodeSelector", "podConfig", "tolerations",
                            "setupCommands", "workerSetupCommands",
                            "annotations", "labels", "image", "affinity"),
    [KEYS_KUBERAY_SPEC] = LIST(
        "workerGroupSpecs", "headGroupSpec", "autoscalerOptions",
        "enableInTreeAutoscaling", "rayVersion", "suspend", "managedBy",
        "headServiceAnnotations", "gcsFaultToleranceOptions", "authOptions",
        "tlsOptions", "upgradeStrategy", "networkPolicy",
        "historyServerOptions", "podTypes", "headPodType"),
    [KEYS_KUBERAY_GROUP] = LIST(
        "groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts",
        "idleTimeoutSeconds", "suspend", "rayStartParams", "template",
        "scaleStrategy", "resources", "labels", "priority"),
    [KEYS_KUBERAY_OPTIONS] = LIST("idleTimeoutSeconds", "upscalingMode",
                                  "version", "resources", "image",
                                  "imagePullPolicy", "securityContext", "env",
                                  "envFrom", "volumeMounts", "command", "args"),
    [KEYS_KUBERAY_PARAMS] = LIST(
        "num-cpus", "num-gpus", "memory", "resources", "labels",
        "object-store-memory", "node-ip-address", "node-name", "address",
        "port", "object-manager-port", "node-manager-port", "min-worker-port",
        "max-worker-port", "worker-port-list", "ray-client-server-port", "head",
        "include-dashboard", "dashboard-host", "dashboard-port",
        "dashboard-agent-listen-port", "dashboard-agent-grpc-port", "block",
        "runtime-env-agent-port", "plasma-directory", "system-config",
        "object-spilling-directory", "autoscaling-config", "no-monitor",
        "no-redirect-output", "temp-dir", "metrics-export-port", "storage",
        "disable-usage-stats", "include-log-monitor", "ray-debugger-external",
        "redis-password", "redis-username", "redis-shard-ports", "log-style",
        "log-color", "num-neuron-cores", "tracing-startup-hook", "labels-file",
        "enable-resource-isolation", "system-reserved-cpu",
        "system-reserved-memory", "cgroup-path", "proxy-server-url",
        "enable-object-reconstruction", "verbose"),
};

void unknown_keys(struct raw *d, enum known_keys which, const struct ynode *map,
                  const char *where)
{
    const char *const *words = lists[which];
    size_t n = 0;

    while (words[n])
        n++;
    for (uint32_t i = 0; map && map->kind == YNODE_MAP && i < map->n; i++) {
        const struct ynode *key = map->pairs[i].key;
        const char *near = suggest(key->text, words, n);
        bool known = false;
        for (size_t j = 0; j < n; j++)
            known = known || strcmp(words[j], key->text) == 0;
        if (!known && near)
            diag_warn(d->r.diag, key,
                      "unknown key %s%s%s; did you mean \"%s\"?",
                      diag_quote(d->r.arena, key->text), *where ? " in " : "",
                      where, near);
        else if (!known)
            diag_warn(d->r.diag, key, "unknown key %s%s%s: it is not used",
                      diag_quote(d->r.arena, key->text), *where ? " in " : "",
                      where);
    }
}
