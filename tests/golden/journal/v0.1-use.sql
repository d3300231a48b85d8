-- How Davit 0.1 uses a journal, with values in place of its parameters: every
-- statement it prepares at its start, and the words that it knows.
BEGIN IMMEDIATE;
SELECT id, request_id, provider, type, zone, cloud_id, address, ray_id, config_hash, detail, spot, adopted, state, why, failure, created_ms, since_ms, ready_ms, price_micros_hour, progress_ms, seen_ms, hold_until_ms, drain_since_ms, needed_ms, launch_count, drain_accepted, shielded, holds FROM machine ORDER BY seq;
INSERT INTO machine(id, request_id, provider, type, zone, cloud_id, address, ray_id, config_hash, detail, spot, adopted, state, why, failure, created_ms, since_ms, ready_ms, price_micros_hour, progress_ms, seen_ms, hold_until_ms, drain_since_ms, needed_ms, launch_count, drain_accepted, shielded, holds) VALUES('of-0.1', 'r', 'sim', 't4', '', 'i', '', '', '', '', 0, 0, 'ready', 'request', 'OK', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, '') ON CONFLICT(id) DO UPDATE SET request_id = excluded.request_id, provider = excluded.provider, type = excluded.type, zone = excluded.zone, cloud_id = excluded.cloud_id, address = excluded.address, ray_id = excluded.ray_id, config_hash = excluded.config_hash, detail = excluded.detail, spot = excluded.spot, adopted = excluded.adopted, state = excluded.state, why = excluded.why, failure = excluded.failure, created_ms = excluded.created_ms, since_ms = excluded.since_ms, ready_ms = excluded.ready_ms, price_micros_hour = excluded.price_micros_hour, progress_ms = excluded.progress_ms, seen_ms = excluded.seen_ms, hold_until_ms = excluded.hold_until_ms, drain_since_ms = excluded.drain_since_ms, needed_ms = excluded.needed_ms, launch_count = excluded.launch_count, drain_accepted = excluded.drain_accepted, shielded = excluded.shielded, holds = excluded.holds;
DELETE FROM machine WHERE id = 'nobody';
INSERT INTO request VALUES('me', '{}', 1, 0) ON CONFLICT(owner) DO UPDATE SET body = '{}', created_ms = 1, expires_ms = 0;
DELETE FROM request WHERE owner = 'nobody';
SELECT owner, body, created_ms, expires_ms FROM request ORDER BY created_ms, owner;
INSERT INTO event VALUES(77, 1, 'k', 's', '', 't', '');
DELETE FROM event WHERE id <= 1;
SELECT max(id) FROM event;
SELECT id, at_ms, kind, subject, reason, text, data FROM event WHERE id > 0 ORDER BY id LIMIT 10;
INSERT INTO boot VALUES('t4', 2, 1) ON CONFLICT(type) DO UPDATE SET mean_ms = mean_ms + (2 - mean_ms) * max(0.3, 1.0 / (n + 1)), n = n + 1;
SELECT CAST(round(mean_ms) AS INTEGER) FROM boot WHERE type = 't4';
INSERT INTO value VALUES('k', 'v') ON CONFLICT(key) DO UPDATE SET value = 'v';
SELECT value FROM value WHERE key = 'k';
COMMIT;
CREATE TABLE word(k, w);
INSERT INTO word VALUES('state', 'intended'), ('state', 'requested'), ('state', 'starting'), ('state', 'ready'), ('state', 'draining'), ('state', 'stopping');
INSERT INTO word VALUES('why', 'none'), ('why', 'lacks_resource'), ('why', 'label_mismatch'), ('why', 'max_of_type'), ('why', 'max_nodes'), ('why', 'over_budget'), ('why', 'set_aside'), ('why', 'provider_down'), ('why', 'type_disabled'), ('why', 'conserve_accelerators'), ('why', 'gang_incomplete'), ('why', 'spread_conflict'), ('why', 'whole_devices_only'), ('why', 'launch_limit'), ('why', 'deciding'), ('why', 'taint_not_tolerated'), ('why', 'not_in_queue'), ('why', 'queue_full'), ('why', 'queue_denied'), ('why', 'alternative_waits'), ('why', 'min_of_type'), ('why', 'request'), ('why', 'pending_task'), ('why', 'pending_gang'), ('why', 'pending_pod'), ('why', 'spare'), ('why', 'consolidation'), ('why', 'idle'), ('why', 'over_max_of_type'), ('why', 'over_max_nodes'), ('why', 'outdated'), ('why', 'not_needed'), ('why', 'failed'), ('why', 'consolidated'), ('why', 'over_budget_end'), ('why', 'unit_incomplete'), ('why', 'head'), ('why', 'busy'), ('why', 'starting'), ('why', 'idle_wait'), ('why', 'min_kept'), ('why', 'needed_by_request'), ('why', 'needed_by_demand'), ('why', 'stale_view'), ('why', 'drain_refused'), ('why', 'draining'), ('why', 'stopping'), ('why', 'foreign'), ('why', 'protected'), ('why', 'removal_breaker'), ('why', 'needed_by_unit');
INSERT INTO word VALUES('failure', 'OK'), ('failure', 'RETRY'), ('failure', 'THROTTLED'), ('failure', 'STOCKOUT'), ('failure', 'QUOTA'), ('failure', 'AUTH'), ('failure', 'INVALID'), ('failure', 'NOT_FOUND'), ('failure', 'CANCELLED'), ('failure', 'UNSUPPORTED'), ('failure', 'BROKEN');
