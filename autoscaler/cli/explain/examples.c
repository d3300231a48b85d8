/*
 * examples.c - one example for each key of the configuration.
 */
#include <string.h>

#include "explain.h"

static const struct {
    const char *key, *yaml;
} examples[] = {
    {"cluster", "cluster: resnet"},
    {"head", "head: {ray: {address: 127.0.0.1:6379}}"},
    {"head.ray", "head: {ray: {address: 127.0.0.1:6379}}"},
    {"head.ray.address", "head: {ray: {address: 10.0.0.2:6379}}"},
    {"head.ray.token_file",
     "head: {ray: {address: 10.0.0.2:6379, token_file: /run/secrets/ray}}"},
    {"head.kubernetes", "head: {kubernetes: {}}"},
    {"head.kubernetes.kubeconfig",
     "head: {kubernetes: {kubeconfig: ~/.kube/config}}"},
    {"head.kubernetes.context", "head: {kubernetes: {context: prod}}"},
    {"head.kubernetes.namespaces",
     "head: {kubernetes: {namespaces: [train, serve]}}"},
    {"head.kubernetes.scheduler_names",
     "head: {kubernetes: {scheduler_names: [default-scheduler, volcano]}}"},
    {"head.kubernetes.gpu_join_timeout",
     "head: {kubernetes: {gpu_join_timeout: 15m}}"},
    {"head.kubernetes.drain_timeout",
     "head: {kubernetes: {drain_timeout: 30m}}"},
    {"head.kubernetes.drain_grace", "head: {kubernetes: {drain_grace: 60s}}"},
    {"head.kubernetes.drain_local_storage",
     "head: {kubernetes: {drain_local_storage: true}}"},
    {"head.kubernetes.drain_bare_pods",
     "head: {kubernetes: {drain_bare_pods: true}}"},
    {"head.kubernetes.reserve", "head: {kubernetes: {reserve: false}}"},
    {"head.kubernetes.label",
     "head: {kubernetes: {label: example.com/machine}}"},
    {"head.kubernetes.scheduler_config",
     "head: {kubernetes: {scheduler_config: "
     "configmap:kube-system/scheduler-config}}"},
    {"head.kubernetes.startup_taints",
     "head: {kubernetes: {startup_taints: [example.com/not-up]}}"},
    {"node_types.NAME.reserved",
     "node_types: {h200: {machine: p5en.48xlarge, max: 4, market: reserved, reserved: {count: 4}}}"},
    {"node_types.NAME.startup_taints",
     "node_types: {t4: {resources: {CPU: 4}, startup_taints: "
     "[example.com/driver-missing]}}"},
    {"node_types.NAME.kubelet_reserved",
     "node_types: {t4: {resources: {CPU: 4, memory: 16Gi}, "
     "kubelet_reserved: {CPU: 0.1, memory: 1Gi}}}"},
    {"node_types.NAME.reserved.id",
     "providers: {ec2: {region: us-east-1, image: ami-0a1b2c3d4e5f60718}}\n"
     "node_types: {h200: {provider: ec2, machine: p5en.48xlarge, max: 4, market: reserved, reserved: {id: cr-0a1b2c3d4e5f60718, count: 4}}}"},
    {"node_types.NAME.reserved.count",
     "node_types: {h200: {machine: p5en.48xlarge, max: 4, market: reserved, reserved: {count: 4}}}"},
    {"node_types.NAME.reserved.from",
     "node_types: {h200: {machine: p5en.48xlarge, max: 4, market: reserved, reserved: {count: 4, from: '2027-12-01T11:30:00Z'}}}"},
    {"node_types.NAME.reserved.until",
     "node_types: {h200: {machine: p5en.48xlarge, max: 4, market: reserved, reserved: {count: 4, until: '2027-12-08T11:30:00Z'}}}"},
    {"node_types.NAME.reserved.drain_before",
     "node_types: {h200: {machine: p5en.48xlarge, max: 4, market: reserved, reserved: {count: 4, until: '2027-12-08T11:30:00Z', drain_before: 30m}}}"},
    {"api", "api: {listen: 127.0.0.1:8790}"},
    {"api.listen", "api: {listen: 0.0.0.0:8790, token_file: /etc/davit/token}"},
    {"api.kubernetes", "api: {kubernetes: {}}"},
    {"api.kubernetes.audience", "api: {kubernetes: {audience: davit}}"},
    {"api.kubernetes.namespace", "api: {kubernetes: {namespace: ray}}"},
    {"api.kubernetes.cache", "api: {kubernetes: {cache: 2s}}"},
    {"api.metrics", "api: {metrics: 0.0.0.0:44217}"},
    {"api.hosts", "api: {hosts: [davit.example]}"},
    {"api.anonymous", "api: {anonymous: admin}"},
    {"api.token_file", "api: {token_file: /etc/davit/token}"},
    {"api.tokens", "api: {tokens: /etc/davit/tokens}"},
    {"api.socket", "api: {socket: /run/davit/api.sock}"},
    {"api.audit", "api: {audit: /var/log/davit/audit.jsonl}"},
    {"api.tls",
     "api: {tls: {cert: /etc/davit/tls.crt, key: /etc/davit/tls.key}}"},
    {"api.tls.cert",
     "api: {tls: {cert: /etc/davit/tls.crt, key: /etc/davit/tls.key}}"},
    {"api.tls.key",
     "api: {tls: {cert: /etc/davit/tls.crt, key: /etc/davit/tls.key}}"},
    {"api.tls.client_ca", "api: {tls: {cert: /etc/davit/tls.crt, key: "
                          "/etc/davit/tls.key, client_ca: /etc/davit/ca.crt}}"},
    {"api.tls.client_crl", "api: {tls: {cert: /etc/davit/tls.crt, key: "
                           "/etc/davit/tls.key, client_ca: /etc/davit/ca.crt, "
                           "client_crl: /etc/davit/ca.crl}}"},
    {"state", "state: /var/lib/davit/davit.db"},
    {"ha", "state: kubernetes\nha: {lease: 15s}"},
    {"ha.namespace", "state: kubernetes\nha: {namespace: davit}"},
    {"ha.name", "state: kubernetes\nha: {name: davit-prod}"},
    {"ha.identity", "state: kubernetes\nha: {identity: davit-0}"},
    {"ha.lease", "state: kubernetes\nha: {lease: 30s}"},
    {"catalogue", "catalogue: /etc/davit/machines.yaml"},
    {"plugin_dir", "plugin_dir: /opt/davit/plugins"},
    {"limits", "limits: {max_nodes: 20, max_cost_per_hour: 50}"},
    {"limits.max_nodes", "limits: {max_nodes: 20}"},
    {"limits.idle_timeout", "limits: {idle_timeout: 5m}"},
    {"limits.max_cost_per_hour", "limits: {max_cost_per_hour: 50}"},
    {"limits.max_ends", "limits: {max_ends: 4}"},
    {"limits.max_launching", "limits: {max_launching: 10}"},
    {"limits.upscaling_speed", "limits: {upscaling_speed: 1}"},
    {"limits.upscaling", "limits: {upscaling: Conservative}"},
    {"limits.spare", "limits: {spare: {GPU: 2}}"},
    {"limits.end_order", "limits: {end_order: [spot, most_expensive]}"},
    {"limits.consolidate", "limits: {consolidate: \"on\"}"},
    {"limits.consolidate.mode", "limits: {consolidate: {mode: \"on\"}}"},
    {"limits.consolidate.min_saving",
     "limits: {consolidate: {mode: \"on\", min_saving: 0.3}}"},
    {"limits.consolidate.older_than",
     "limits: {consolidate: {mode: \"on\", older_than: 30m}}"},
    {"limits.idle_timeouts",
     "limits:\n"
     "  idle_timeouts:\n"
     "    - {labels: {ray.io/accelerator-type: H100}, idle_timeout: 15m}"},
    {"limits.idle_timeouts[].labels",
     "limits:\n"
     "  idle_timeouts:\n"
     "    - {labels: {ray.io/market-type: spot}, idle_timeout: 15m}"},
    {"limits.idle_timeouts[].idle_timeout",
     "limits:\n"
     "  idle_timeouts:\n"
     "    - {labels: {ray.io/market-type: spot}, idle_timeout: never}"},
    {"limits.start_timeout", "limits: {start_timeout: 20m}"},
    {"limits.end_unjoined", "limits: {end_unjoined: true}"},
    {"limits.think", "limits: {think: 2s}"},
    {"limits.end_outdated", "limits: {end_outdated: true}"},
    {"limits.conserve_accelerators", "limits: {conserve_accelerators: false}"},
    {"limits.policy", "limits: {policy: priority}"},
    {"providers",
     "providers:\n"
     "  gke: {project: my-proj, location: us-central1, cluster: c1}"},
    {"node_types", "node_types:\n"
                   "  cpu: {machine: e2-standard-8, max: 4}\n"
                   "  t4: {machine: n1-standard-8+t4, max: 2}"},
    {"queues", "queues:\n"
               "  vision: {node_types: [t4], quota: {gpus: 8}}"},
    {"node_types.NAME.provider",
     "node_types: {t4: {provider: sim, machine: n1-standard-8+t4, max: 2}}"},
    {"node_types.NAME.pool",
     "node_types: {t4: {pool: gpu, machine: n1-standard-8+t4, max: 2}}"},
    {"node_types.NAME.machine",
     "node_types: {t4: {machine: n1-standard-8+t4, max: 2}}"},
    {"node_types.NAME.resources",
     "node_types: {big: {resources: {CPU: 64, memory: 512Gi, GPU: 8}, max: 2}}"},
    {"node_types.NAME.accelerator_type",
     "node_types: {big: {resources: {CPU: 64, GPU: 8}, accelerator_type: A100, "
     "max: 2}}"},
    {"node_types.NAME.labels",
     "node_types: {t4: {machine: n1-standard-8+t4, labels: {team: vision}, max: "
     "2}}"},
    {"node_types.NAME.taints",
     "node_types: {t4: {machine: n1-standard-8+t4, taints: "
     "[\"nvidia.com/gpu=present:NoSchedule\"], max: 2}}"},
    {"node_types.NAME.shares",
     "node_types: {t4: {machine: n1-standard-8+t4, shares: {time_slicing: 4}, "
     "max: 2}}"},
    {"node_types.NAME.min",
     "node_types: {cpu: {machine: e2-standard-8, min: 1, max: 4}}"},
    {"node_types.NAME.max",
     "node_types: {cpu: {machine: e2-standard-8, max: 4}}"},
    {"node_types.NAME.hosts",
     "node_types: {slice: {resources: {CPU: 112, TPU: 4}, hosts: 4, max: 8}}"},
    {"node_types.NAME.idle_timeout",
     "node_types: {t4: {machine: n1-standard-8+t4, idle_timeout: 10m, max: 2}}"},
    {"node_types.NAME.zones",
     "node_types: {t4: {machine: n1-standard-8+t4, zones: [us-central1-a, "
     "us-central1-b], max: 2}}"},
    {"node_types.NAME.market",
     "node_types: {t4: {machine: n1-standard-8+t4, market: [spot, on-demand], "
     "max: 2}}"},
    {"node_types.NAME.spot",
     "node_types: {t4: {machine: n1-standard-8+t4, spot: true, max: 2}}"},
    {"node_types.NAME.price",
     "node_types: {own: {resources: {CPU: 32, GPU: 1}, price: 1.2, max: 2}}"},
    {"node_types.NAME.spot_price",
     "node_types: {own: {resources: {CPU: 32, GPU: 1}, market: [spot, "
     "on-demand], price: 1.2, spot_price: 0.4, max: 2}}"},
    {"node_types.NAME.boot",
     "node_types: {t4: {machine: n1-standard-8+t4, boot: 90s, max: 2}}"},
    {"node_types.NAME.priority",
     "limits: {policy: priority}\n"
     "node_types: {t4: {machine: n1-standard-8+t4, priority: 10, max: 2}}"},
    {"node_types.NAME.options",
     "node_types: {t4: {machine: n1-standard-8+t4, max: 2, options: {boot: "
     "5s}}}"},
    {"queues.NAME.node_types", "queues:\n"
                               "  vision: {node_types: [t4]}"},
    {"queues.NAME.selector", "queues:\n"
                             "  vision: {selector: {team: vision}}"},
    {"queues.NAME.quota", "queues:\n"
                          "  vision: {node_types: [t4], quota: {gpus: 8}}"},
    {"queues.NAME.quota.gpus",
     "queues:\n"
     "  vision: {node_types: [t4], quota: {gpus: 8}}"},
    {"queues.NAME.quota.cpus",
     "queues:\n"
     "  vision: {node_types: [t4], quota: {cpus: 64}}"},
    {"queues.NAME.quota.nodes",
     "queues:\n"
     "  vision: {node_types: [t4], quota: {nodes: 4}}"},
    {"queues.NAME.priority", "queues:\n"
                             "  vision: {node_types: [t4], priority: 5}"},
    {"queues.NAME.owners",
     "queues:\n"
     "  vision: {node_types: [t4], owners: [train-*, ray]}"},
};

const char *explain_example(const char *key)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i].key, key) == 0)
            return examples[i].yaml;
    return NULL;
}
