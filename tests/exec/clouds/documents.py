"""What the clouds' published OpenAPI documents say of the operations that docs/gallery uses: paths, parameters, members, types,
enumerations.  Written down from the documents; against.py compares it with a copy of them.

| cloud | document | version | read | licence |
|---|---|---|---|---|
| Lambda Cloud | the API's own openapi.json, docs.lambda.ai/api/cloud | 1.10.0 | copy of 2026-08-22 | none stated: nothing of its text is here |
| Runpod | api.runpod.io/v2/openapi.json (github.com/runpod/docs, api-reference-v2) | 2.0.0 | commit a900806e, 2026-08-20 | none stated: nothing of its text is here |
| DigitalOcean | github.com/digitalocean/openapi | 2.0 | commit 7c1300c4, 2026-08-07 | Apache-2.0 |
"""
S, I, N, B = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
SN = {"type": ["string", "null"]}


def one_of(*words):
    return {"type": "string", "enum": list(words)}


def many(of, **more):
    return {"type": "array", "items": of, **more}


def members(must, may=None, **more):
    return {"type": "object", "properties": {**must, **(may or {})}, "required": sorted(must), **more}


def text(**more):
    return {"type": "string", **more}


def op(replies, body=None, query=None):
    """replies: by HTTP status, 0 for any other; None: no body."""
    return {"replies": replies, "body": body, "query": query or {}}


# ---- Lambda

def _error(*codes):
    def one(code):  # these always come with a suggestion
        must = {"code": {"type": "string", "const": code.removesuffix("+")}, "message": S}
        return members({**must, "suggestion": S}) if code.endswith("+") else members(must, {"suggestion": S})
    return {"anyOf": [one(c) for c in codes]}


def _fails(code400=(), code403=(), code404=()):
    def wrapped(*codes):
        return members({"error": _error(*codes)})
    return {400: wrapped("global/invalid-parameters", *code400), 401: wrapped("global/invalid-api-key+"),
            403: wrapped("global/account-inactive+", *code403), 404: wrapped(*code404)}


_L = "instance-operations/launch/"
_region = members({"name": S, "description": S})
_kind = members({"name": S, "description": S, "gpu_description": S, "price_cents_per_hour": I,
                 "specs": members({"vcpus": I, "memory_gib": I, "storage_gib": I, "gpus": I})})
_may = members({"available": B}, {"reason_code": S, "reason_description": S})
_instance = members(
    {"id": S, "status": one_of("booting", "active", "unhealthy", "terminated", "terminating", "preempted"), "ssh_key_names": many(S),
     "file_system_names": many(S), "region": _region, "instance_type": _kind,
     "actions": members({"migrate": _may, "rebuild": _may, "restart": _may, "cold_reboot": _may, "terminate": _may})},
    {"name": text(minLength=0, maxLength=64), "ip": S, "private_ip": S, "hostname": S, "tags": many(members({"key": S, "value": S}))})

LAMBDA = {
    "POST /api/v1/instance-operations/launch": op(
        {200: members({"data": members({"instance_ids": many(S)})}),
         **_fails([_L + "insufficient-capacity", _L + "file-system-in-wrong-region", "global/object-does-not-exist+", "global/quota-exceeded+"],
                  ["global/invalid-address+"], ["global/object-does-not-exist+"])},
        body=members({"region_name": S, "instance_type_name": S, "ssh_key_names": many(S)},
                     {"name": text(minLength=0, maxLength=64), "hostname": text(minLength=1, maxLength=63, pattern="^[a-z0-9][0-9a-z-]{0,62}$"),
                      "image": {"anyOf": [members({"id": S}), members({"family": S})]}, "user_data": S,
                      "tags": many(members({"key": text(maxLength=55, pattern="^[a-z][a-z0-9-:]+$"), "value": text(maxLength=128)}))})),
    "POST /api/v1/instance-operations/terminate": op(
        {200: members({"data": members({"terminated_instances": many(_instance)})}), **_fails(code404=["global/object-does-not-exist"])},
        body=members({"instance_ids": many(S)})),
    "GET /api/v1/instances": op({200: members({"data": many(_instance)}), **_fails((), ["global/forbidden"], ["global/not-found"])},
                                query={"cluster_id": S}),
    "GET /api/v1/instances/{id}": op({200: members({"data": _instance}), **_fails((), ["global/forbidden"], ["global/object-does-not-exist"])}),
    "GET /api/v1/instance-types": op(
        {200: members({"data": {"type": "object", "additionalProperties": members({"instance_type": _kind, "regions_with_capacity_available": many(_region)})}}),
         **_fails((), (), ["global/not-found"])}),
}

# ---- Runpod

_problem = members({"title": S, "status": I, "detail": S}, {"errors": many(S)})
_rp_fails = {s: _problem for s in (401, 403, 404, 429, 0)}
_rp_cloud = one_of("SECURE", "COMMUNITY")
_endpoint = {"anyOf": [members({"host": S, "port": I, "username": S, "command": S}), {"type": "null"}]}
_pod = members(
    {"id": S, "name": S, "image": S, "args": S, "disk": {"type": "integer", "minimum": 1}, "ports": many(S),
     "env": {"type": "object", "additionalProperties": S}, "registry": SN,
     "status": one_of("PROVISIONING", "STARTING", "RUNNING", "EXITED", "ERROR", "TERMINATED"),
     "actions": many(one_of("start", "stop", "restart", "terminate")), "mounts": members({}), "cloud": _rp_cloud, "dataCenterId": SN, "cudaVersion": SN,
     "ssh": members({"proxy": _endpoint, "direct": _endpoint}), "template": SN, "cost": N, "locked": B, "runtime": {"type": ["object", "null"]},
     "createdAt": text(format="date-time"), "startedAt": {"type": ["string", "null"], "format": "date-time"}, "globalNetworking": members({"enabled": B})},
    {"gpu": members({"id": S}, {"count": {"type": "integer", "minimum": 1}})})
_level = one_of("NONE", "LOW", "MEDIUM", "HIGH")
_gpu = members({"id": S, "name": S, "pool": SN, "manufacturer": one_of("NVIDIA", "AMD", "UNKNOWN"), "memory": I, "secure": B, "community": B,
                "price": members({"secure": N, "community": N}), "maxCount": members({"secure": I, "community": I})},
               {"availability": _level, "dataCenters": many(members({"id": S, "name": S, "availability": _level}))})

RUNPOD = {
    "GET /v2/pods": op({200: members({"pods": many(_pod)}), **{s: v for s, v in _rp_fails.items() if s != 404}}, query={"includeClusterPods": B}),
    "POST /v2/pods": op(
        {201: _pod, 400: _problem, 422: _problem, **_rp_fails},
        body=members({"name": text(minLength=1)},
                     {"image": S, "args": S, "disk": {"type": "integer", "minimum": 1}, "env": {"type": "object", "additionalProperties": S},
                      "cloud": _rp_cloud, "dataCenterIds": many(S), "gpu": members({"id": S}, {"count": {"type": "integer", "minimum": 1}}),
                      "templateId": text(minLength=1)})),
    "GET /v2/pods/{id}": op({200: _pod, **_rp_fails}),
    "DELETE /v2/pods/{id}": op({204: None, 409: _problem, **_rp_fails}),
    "GET /v2/catalog/gpus": op(
        {200: members({"gpus": many(_gpu)}), **{s: v for s, v in _rp_fails.items() if s != 404}},
        query={"include": many(one_of("AVAILABILITY"), maxItems=1), "product": many(one_of("POD", "CLUSTER", "SERVERLESS")),
               "count": {"type": "integer", "minimum": 1}, "cloud": _rp_cloud}),
}

# ---- DigitalOcean

_do_error = members({"id": S, "message": S}, {"request_id": S})
_do_fails = {s: _do_error for s in (401, 429, 500, 0)}
_size = members({"slug": S, "memory": {"type": "integer", "multipleOf": 8, "minimum": 8}, "vcpus": I, "disk": I, "transfer": N, "price_monthly": N,
                 "price_hourly": N, "regions": many(S), "available": B, "description": S}, {"gpu_info": members({}, {"count": I, "model": S})})
_droplet = members(
    {"id": I, "name": S, "memory": {"type": "integer", "multipleOf": 8}, "vcpus": I, "disk": I, "locked": B, "status": one_of("new", "active", "off", "archive"),
     "created_at": text(format="date-time"), "features": many(S), "backup_ids": many(I), "next_backup_window": {"type": ["object", "null"]},
     "snapshot_ids": many(I), "image": {"type": "object"}, "volume_ids": many(S), "size": _size, "size_slug": S,
     "networks": members({}, {"v4": many(members({}, {"ip_address": S, "netmask": S, "gateway": S, "type": one_of("public", "private")}))}),
     "region": members({"name": S, "slug": S, "features": many(S), "available": B, "sizes": many(S)}), "tags": many(S)},
    {"vpc_uuid": S})
_page = {"per_page": {"type": "integer", "minimum": 1, "maximum": 200}, "page": {"type": "integer", "minimum": 1}}
_meta, _links = members({"total": I}), members({}, {"pages": members({}, {k: S for k in ("first", "prev", "next", "last")})})

DIGITALOCEAN = {
    "GET /v2/droplets": op({200: members({"meta": _meta}, {"droplets": many(_droplet), "links": _links}), **_do_fails},
                           query={**_page, "tag_name": S, "name": S, "type": one_of("droplets", "gpus")}),
    "POST /v2/droplets": op(
        {202: members({"droplet": _droplet, "links": members({}, {"actions": many(members({}, {"id": I, "rel": S, "href": S}))})}), **_do_fails},
        body=members({"name": text(maxLength=255, pattern=r"^[a-zA-Z0-9]?[a-z0-9A-Z.\-]*[a-z0-9A-Z]$"), "size": S, "image": {"type": ["string", "integer"]}},
                     {"region": S, "ssh_keys": many({"type": ["string", "integer"]}), "tags": many(S), "user_data": S, "vpc_uuid": S})),
    "GET /v2/droplets/{droplet_id}": op({200: members({}, {"droplet": _droplet}), 404: _do_error, **_do_fails}),
    "DELETE /v2/droplets/{droplet_id}": op({204: None, 404: _do_error, **_do_fails}),
    "GET /v2/sizes": op({200: members({"sizes": many(_size), "meta": _meta}, {"links": _links}), **_do_fails}, query=_page),
}
