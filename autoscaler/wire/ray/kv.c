/*
 * kv.c - Ray's messages as bytes and back, and three calls to the GCS's
 * key-value store, where `ray status`, Ray's drivers and we leave each other
 * texts.
 */
#include <string.h>

#include "inside.h"
#include "ray.pb-c.h"

static ProtobufCBinaryData bytes_of(const char *s)
{
    return (ProtobufCBinaryData){strlen(s), (uint8_t *)(uintptr_t)s};
}

const void *ray_packed(struct arena *a, const ProtobufCMessage *m,
                       size_t *ret_n)
{
    *ret_n = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = arena_alloc(a, *ret_n);
    protobuf_c_message_pack(m, bytes);
    return bytes;
}

/* Memory for protobuf-c that ends with an arena and has a ceiling. */
struct memory {
    struct arena *arena;
    size_t left;
};

static void *memory_alloc(void *memory, size_t n)
{
    struct memory *m = memory;
    size_t cost = (n + 15) / 16 * 16 + 16;
    if (n > m->left || cost > m->left)
        return NULL; /* protobuf-c gives up, and so do we */
    m->left -= cost;
    return arena_alloc(m->arena, n);
}

static void memory_free(void *memory, void *p)
{
    (void)memory;
    (void)p;
}

void *ray_unpacked(struct arena *a, const ProtobufCMessageDescriptor *type,
                   const void *bytes, size_t n, size_t most)
{
    struct memory memory = {a, most};
    ProtobufCAllocator allocator = {memory_alloc, memory_free, &memory};
    return protobuf_c_message_unpack(type, &allocator, n, bytes);
}

static enum status call(struct ray_head *h, const char *path,
                        const ProtobufCMessage *m, int64_t deadline_mono_ms,
                        const void **ret, size_t *ret_n, struct err *err)
{
    size_t n;
    const void *bytes = ray_packed(&h->scratch, m, &n);
    return ray_call(h, path, bytes, n, deadline_mono_ms, ret, ret_n, err);
}

enum status ray_kv_get(struct ray_head *h, const char *space, const char *key,
                       int64_t deadline_mono_ms, const char **ret,
                       struct err *err)
{
    PB(InternalKVGetRequest)
    get = RAY__RPC__AUTOSCALER__INTERNAL_KVGET_REQUEST__INIT;
    const void *bytes;
    size_t n;
    get.key = bytes_of(key);
    get.namespace_ = bytes_of(space);
    *ret = "";
    enum status s = call(h, RAY_KV "InternalKVGet", &get.base, deadline_mono_ms,
                         &bytes, &n, err);
    if (s == ST_NOT_FOUND)
        return ST_OK;
    if (s)
        return s;
    PB(InternalKVGetReply) *reply = ray_unpacked(
        &h->scratch, &ray__rpc__autoscaler__internal_kvget_reply__descriptor,
        bytes, n, n * 2 + 4096);
    if (reply && reply->value.len)
        *ret = arena_strndup(&h->scratch, (const char *)reply->value.data,
                             reply->value.len);
    return ST_OK;
}

enum status ray_kv_put(struct ray_head *h, const char *key, const char *value,
                       int64_t deadline_mono_ms, struct err *err)
{
    PB(InternalKVPutRequest)
    put = RAY__RPC__AUTOSCALER__INTERNAL_KVPUT_REQUEST__INIT;
    const void *bytes;
    size_t n;
    put.key = bytes_of(key);
    put.value = bytes_of(value);
    put.overwrite = true;
    return call(h, RAY_KV "InternalKVPut", &put.base, deadline_mono_ms, &bytes,
                &n, err);
}

enum status ray_kv_del(struct ray_head *h, const char *key,
                       int64_t deadline_mono_ms, struct err *err)
{
    PB(InternalKVDelRequest)
    del = RAY__RPC__AUTOSCALER__INTERNAL_KVDEL_REQUEST__INIT;
    const void *bytes;
    size_t n;
    del.key = bytes_of(key);
    return call(h, RAY_KV "InternalKVDel", &del.base, deadline_mono_ms, &bytes,
                &n, err);
}
