-- What a service of the release before migration 0041 left when it was killed (pg_dump).

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.add_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, sum(r.size), count(*) from fresh r group by r.account order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

CREATE FUNCTION public.append_events(lock_class integer, in_streams text[], in_accounts text[], in_expected bigint[], in_sizes bigint[], in_firsts uuid[], in_closes boolean[], in_reopens boolean[], in_metas json[], in_appends bigint[], in_places bigint[], in_ids uuid[], in_types text[], in_data json[]) RETURNS TABLE(placed_position bigint, placed_version bigint, placed_id uuid, placed_at timestamp with time zone)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    rules jsonb; -- by stream: [expected, reopen]; null for a single append, which needs no search
begin
    if cardinality(in_streams) > 1 then
        select jsonb_object_agg(i.stream, jsonb_build_array(i.expected, i.reopen)) into rules
        from unnest(in_streams, in_expected, in_reopens) as i (stream, expected, reopen);
    end if;
    return query
    with l as materialized (
        select pg_advisory_xact_lock_shared(lock_class, hashtext(current_schema()))
    ), a as materialized (
        select i.*, (select true from events where id = i.first) is not null as known
        from l, unnest(in_streams, in_accounts, in_expected, in_sizes, in_firsts, in_closes, in_reopens, in_metas)
            with ordinality as i (stream, account, expected, size, first, close, reopen, meta, n)
    ), s as (
        insert into streams as st (id, account, version, closed)
        select a.stream, a.account, a.size, a.close from a
        where not a.known and (a.expected <= 0 or (select true from streams where id = a.stream))
        order by a.stream
        on conflict (id) do update set version = st.version + excluded.version, closed = st.closed or excluded.closed
        where st.account = excluded.account and case when rules is null
            then in_expected[1] in (-1, st.version) and (in_reopens[1] or not st.closed)
            else (rules -> excluded.id ->> 0)::bigint in (-1, st.version) and ((rules -> excluded.id ->> 1)::boolean or not st.closed) end
        returning id, version
    ), e as (
        insert into events (stream, version, id, type, account, data, meta, recorded_at)
        select a.stream, s.version - a.size + ev.k, ev.id, ev.type, a.account, ev.data, a.meta, clock_timestamp()
        from s join a on a.stream = s.id
        join unnest(in_appends, in_places, in_ids, in_types, in_data) as ev (n, k, id, type, data) on ev.n = a.n
        order by ev.n, ev.k
        returning position, version, id, recorded_at
    )
    select * from e;
end $$;

CREATE FUNCTION public.append_events_or_fail(lock_class integer, in_streams text[], in_accounts text[], in_expected bigint[], in_sizes bigint[], in_firsts uuid[], in_closes boolean[], in_reopens boolean[], in_metas json[], in_appends bigint[], in_places bigint[], in_ids uuid[], in_types text[], in_data json[]) RETURNS TABLE(placed_position bigint, placed_version bigint, placed_id uuid, placed_at timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
declare
    placed bigint;
begin
    return query select * from append_events(lock_class, in_streams, in_accounts, in_expected, in_sizes, in_firsts,
        in_closes, in_reopens, in_metas, in_appends, in_places, in_ids, in_types, in_data);
    get diagnostics placed = row_count;
    if placed < cardinality(in_ids) then
        raise exception 'events refused' using errcode = 'MR001';
    end if;
end $$;

CREATE FUNCTION public.change_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, sum(r.size), sum(r.n) from (
            select account, size, 1 as n from fresh union all select account, -size, -1 from gone) r
        group by r.account having sum(r.size) <> 0 or sum(r.n) <> 0 order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

CREATE FUNCTION public.events_are_facts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if tg_op = 'DELETE' and current_setting('millrace.pruning', true) = 'on' then
        return null;
    end if;
    raise exception 'the event log is append-only: % refused', tg_op;
end $$;

CREATE FUNCTION public.prune_facts(in_stream text, retired bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET "millrace.pruning" TO 'on'
    AS $$
declare
    gone bigint;
begin
    delete from events where stream = in_stream and version < retired
        and exists (select from streams where id = in_stream and closed and version = retired)
        and exists (select from events where stream = in_stream and version = retired and type = 'job.retired.v1');
    get diagnostics gone = row_count;
    return gone;
end $$;

CREATE FUNCTION public.storage_is_fixed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'account and size of a file do not change';
end $$;

CREATE FUNCTION public.take_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, -sum(r.size), -count(*) from gone r group by r.account order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

CREATE FUNCTION public.within_storage(in_account text, in_limit bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    kept numeric;
begin
    perform pg_advisory_xact_lock(hashtextextended(in_account, 37));
    select coalesce(sum(bytes), 0) into kept from account_storage where account = in_account; -- sees what was committed meanwhile
    if kept > in_limit then
        raise exception 'the account would keep % bytes, % at most', kept, in_limit using errcode = 'MR037';
    end if;
end $$;

CREATE FUNCTION public.within_storage_by(in_account text, in_limit bigint, in_added bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
    lock_key bigint := hashtextextended(in_account, 37); -- that of within_storage
    room bigint := in_limit / 4 * 3;
begin
    if in_added <= in_limit / 256
        and (select coalesce(sum(bytes), 0) from account_storage where account = in_account) <= room then
        begin
            perform pg_advisory_xact_lock_shared(lock_key);
            if (select coalesce(sum(bytes), 0) from account_storage where account = in_account) <= room then -- sees what was committed meanwhile
                return;
            end if;
            raise exception using errcode = 'MR040';
        exception when sqlstate 'MR040' then
            null; -- the lock is given back with the block: two that hold it together could not both take it alone
        end;
    end if;
    perform within_storage(in_account, in_limit);
end $$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.account_storage (
    account text NOT NULL,
    slot smallint NOT NULL,
    bytes bigint NOT NULL,
    files bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.accounts (
    id text NOT NULL,
    name text NOT NULL,
    tier text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    router boolean DEFAULT true NOT NULL,
    router_models text[],
    router_denied text[] DEFAULT '{}'::text[] NOT NULL,
    suspended boolean DEFAULT false NOT NULL,
    tier_token_at timestamp with time zone,
    storage_limit bigint,
    CONSTRAINT accounts_storage_limit_check CHECK ((storage_limit >= 0))
);

CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    account text NOT NULL,
    hash bytea NOT NULL,
    prefix text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_hash_check CHECK ((length(hash) = 32))
);

CREATE TABLE public.asset_holds (
    asset_id uuid NOT NULL,
    job_id uuid NOT NULL
);

CREATE TABLE public.assets_v1 (
    id text NOT NULL,
    account text NOT NULL,
    state text NOT NULL,
    created bigint NOT NULL,
    version bigint NOT NULL,
    name text NOT NULL,
    tags text[] NOT NULL,
    expires_at timestamp with time zone,
    asset json NOT NULL
);

CREATE TABLE public.assets_v1_tags (
    account text NOT NULL,
    tag text NOT NULL,
    created bigint NOT NULL,
    id text NOT NULL
);

CREATE TABLE public.assets_v2 (
    id text NOT NULL,
    account text NOT NULL,
    state text NOT NULL,
    created bigint NOT NULL,
    changed bigint NOT NULL,
    version bigint NOT NULL,
    name text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    tags text[] NOT NULL,
    labels text[] NOT NULL,
    size bigint NOT NULL,
    hash bytea NOT NULL,
    metadata jsonb,
    expires_at timestamp with time zone,
    asset json NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.assets_v2_counts (
    account text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.assets_v2_labels (
    account text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    created bigint NOT NULL,
    id text NOT NULL
);

CREATE TABLE public.assets_v2_tags (
    account text NOT NULL,
    tag text NOT NULL,
    created bigint NOT NULL,
    id text NOT NULL
);

CREATE TABLE public.call_blobs (
    call_id uuid NOT NULL,
    ref bytea NOT NULL,
    keep_until timestamp with time zone NOT NULL
);

CREATE TABLE public.call_keys (
    account text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    call_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    delivered boolean DEFAULT false NOT NULL,
    CONSTRAINT call_keys_fingerprint_check CHECK ((length(fingerprint) = 32)),
    CONSTRAINT call_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

CREATE TABLE public.call_lanes (
    account text NOT NULL,
    in_flight integer DEFAULT 0 NOT NULL,
    costly integer DEFAULT 0 NOT NULL,
    parked integer DEFAULT 0 NOT NULL,
    committed bigint DEFAULT 0 NOT NULL,
    spent bigint DEFAULT 0 NOT NULL,
    CONSTRAINT call_lanes_committed_check CHECK ((committed >= 0)),
    CONSTRAINT call_lanes_costly_check CHECK ((costly >= 0)),
    CONSTRAINT call_lanes_in_flight_check CHECK ((in_flight >= 0)),
    CONSTRAINT call_lanes_parked_check CHECK ((parked >= 0))
);

CREATE TABLE public.call_queue (
    call_id uuid NOT NULL,
    account text NOT NULL,
    seq bigint NOT NULL,
    held bigint NOT NULL,
    costly boolean NOT NULL,
    payload jsonb NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE public.call_queue ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.call_queue_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.call_slots (
    call_id uuid NOT NULL,
    account text NOT NULL,
    run integer NOT NULL,
    held bigint NOT NULL,
    costly boolean NOT NULL,
    payload jsonb NOT NULL,
    admitted_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.call_windows (
    account text NOT NULL,
    name text NOT NULL,
    started timestamp with time zone NOT NULL,
    used integer NOT NULL
);

CREATE TABLE public.call_workers (
    id text NOT NULL,
    seen_at timestamp with time zone NOT NULL
);

CREATE TABLE public.calls_v1 (
    id text NOT NULL,
    account text NOT NULL,
    state text NOT NULL,
    model text NOT NULL,
    accepted bigint NOT NULL,
    version bigint NOT NULL,
    call json NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.checkpoints (
    name text NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.credit_balances (
    account text NOT NULL,
    granted bigint NOT NULL,
    available bigint NOT NULL,
    held bigint NOT NULL,
    settled bigint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT credit_balances_balance CHECK ((granted = ((available + held) + settled))),
    CONSTRAINT credit_balances_held_check CHECK ((held >= 0)),
    CONSTRAINT credit_balances_settled_check CHECK ((settled >= 0))
);

CREATE TABLE public.credit_holds (
    account text NOT NULL,
    hold text NOT NULL,
    micros bigint NOT NULL,
    state text NOT NULL,
    CONSTRAINT credit_holds_micros_check CHECK ((micros >= 0))
);

CREATE TABLE public.events (
    "position" bigint NOT NULL,
    stream text NOT NULL,
    version bigint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    account text NOT NULL,
    data json NOT NULL,
    meta json NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);

ALTER TABLE public.events ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.exports (
    id uuid NOT NULL,
    account text NOT NULL,
    fingerprint bytea NOT NULL,
    bytes bigint NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.file_counters (
    account text NOT NULL,
    folder text NOT NULL,
    subfolder text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL
);

CREATE TABLE public.files (
    asset_id uuid NOT NULL,
    account text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL,
    content_type text NOT NULL,
    file_path text,
    folder text NOT NULL,
    subfolder text NOT NULL COLLATE pg_catalog."C",
    filename text NOT NULL COLLATE pg_catalog."C",
    named boolean NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    width integer DEFAULT 0 NOT NULL,
    height integer DEFAULT 0 NOT NULL,
    job_id uuid,
    run integer,
    node text,
    idx integer,
    rejected boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    thumbnail bytea,
    ingest_since timestamp with time zone,
    CONSTRAINT files_folder_check CHECK ((folder = ANY (ARRAY['input'::text, 'output'::text, 'temp'::text]))),
    CONSTRAINT files_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT files_thumbnail_check CHECK ((length(thumbnail) = 32))
);

CREATE TABLE public.halted_streams (
    projection text NOT NULL,
    stream text NOT NULL,
    "position" bigint NOT NULL,
    error text NOT NULL,
    halted_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.history_v1 (
    account text NOT NULL,
    version bigint NOT NULL,
    cleared bigint NOT NULL,
    kept text[] NOT NULL
);

CREATE TABLE public.history_v1_jobs (
    account text NOT NULL,
    job text NOT NULL
);

CREATE TABLE public.idempotency_keys (
    account text NOT NULL,
    operation text NOT NULL,
    key text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    holder uuid,
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

CREATE TABLE public.job_archives (
    job_id uuid NOT NULL,
    account text NOT NULL,
    version bigint NOT NULL,
    "position" bigint NOT NULL,
    archive bytea,
    document bytea,
    retired_at timestamp with time zone DEFAULT now() NOT NULL,
    pruned boolean DEFAULT false NOT NULL,
    forgotten_at timestamp with time zone,
    CONSTRAINT job_archives_archive_check CHECK ((length(archive) = 32)),
    CONSTRAINT job_archives_document_check CHECK ((length(document) = 32))
);

CREATE TABLE public.job_lanes (
    account text NOT NULL,
    last_number bigint DEFAULT 0 NOT NULL,
    queued integer DEFAULT 0 NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    mode text DEFAULT 'open'::text NOT NULL
);

CREATE TABLE public.job_queue (
    job_id uuid NOT NULL,
    account text NOT NULL,
    number double precision NOT NULL,
    seq bigint NOT NULL
);

ALTER TABLE public.job_queue ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.job_queue_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.job_retries (
    job_id uuid NOT NULL,
    origin uuid NOT NULL
);

CREATE TABLE public.job_slots (
    job_id uuid NOT NULL,
    account text NOT NULL,
    run integer NOT NULL,
    admitted_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.jobs_v1 (
    id text NOT NULL,
    account text NOT NULL,
    state text NOT NULL,
    number double precision NOT NULL,
    submitted bigint NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    metadata jsonb NOT NULL,
    job json NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.node_cache (
    account text NOT NULL,
    key bytea NOT NULL,
    entry text NOT NULL,
    assets uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    bytes bigint NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT node_cache_key_check CHECK ((length(key) = 32))
);

CREATE UNLOGGED TABLE public.node_progress (
    job uuid NOT NULL,
    node text NOT NULL,
    run integer NOT NULL,
    value integer NOT NULL,
    max integer NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

CREATE TABLE public.outbox (
    id bigint NOT NULL,
    workflow_id text NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_error text
);

ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.replicas (
    id uuid NOT NULL,
    url text NOT NULL,
    heartbeat timestamp with time zone NOT NULL
);

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.sealed_credentials (
    job_id uuid NOT NULL,
    sealed bytea NOT NULL
);

CREATE TABLE public.streams (
    id text NOT NULL,
    account text NOT NULL,
    version bigint NOT NULL,
    closed boolean DEFAULT false NOT NULL
);

CREATE TABLE public.usage_calls_v1 (
    id text NOT NULL,
    version bigint NOT NULL
);

CREATE TABLE public.usage_v1 (
    account text NOT NULL,
    model text NOT NULL,
    day date NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    canceled bigint NOT NULL,
    unknown bigint NOT NULL,
    late bigint NOT NULL,
    answer_bytes bigint NOT NULL,
    charged_micros bigint NOT NULL
);

CREATE TABLE public.userdata (
    account text NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    size bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    CONSTRAINT userdata_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT userdata_path_check CHECK (((length(path) >= 1) AND (length(path) <= 512))),
    CONSTRAINT userdata_size_check CHECK ((size >= 0))
);

CREATE TABLE public.webhook_deliveries (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    account text NOT NULL,
    webhook uuid NOT NULL,
    subject text NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    replays integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    queued_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    lease uuid,
    leased_until timestamp with time zone,
    ended_at timestamp with time zone,
    tries jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])))
);

ALTER TABLE public.webhook_deliveries ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_endpoints (
    id uuid NOT NULL,
    account text NOT NULL,
    sealed bytea NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    failing_since timestamp with time zone
);

CREATE TABLE public.webhooks_v1 (
    account text NOT NULL,
    version bigint NOT NULL,
    endpoints json NOT NULL
);

INSERT INTO public.account_storage VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 12, 309, 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 20, 331, 3),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 13, 338, 1),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 20, 611, 3),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 12, 338, 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 18, 593, 1),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 17, 8266, 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 17, 8266, 1);

INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-22 13:16:34.845265+00', true, NULL, '{}', false, NULL, NULL),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'acme', 'standard', true, '2026-11-22 13:16:37.703716+00', true, NULL, '{}', false, NULL, NULL),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'umbrella', 'standard', true, '2026-11-22 13:16:38.447055+00', true, NULL, '{}', false, NULL, NULL);

INSERT INTO public.api_keys VALUES
	('25fb4200-5ee8-430b-9632-520126b37ec4', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x358107dadb2896ab32818032d227112067941f3b51ee5e9236c47cf2ef5ec10f', 'millrace-j5k5ih', '{read,write}', '2026-11-22 13:16:38.170034+00', NULL, '2026-11-22 13:16:39.084254+00'),
	('42ecf0fb-442a-4abb-a511-f1ebec68d127', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\xb568d9ac8adb888e8b15265b85bc2272ff9be609a1a8baf557363c0acd400792', 'millrace-haj3qp', '{read,write}', '2026-11-22 13:16:38.745516+00', NULL, '2026-11-22 13:16:39.69387+00');

INSERT INTO public.assets_v2 VALUES
	('7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'live', 9, 9, 3, 'f0.txt', 'f0.txt', '{}', '{input}', 11, '\x62e44cce5d6b7da20d3d03798aaf01fbe90129af577a3d7dc1a5249d4290f364', NULL, NULL, '{"id":"7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"live","version":3,"position":21,"origin":"upload","hash":"blake3:62e44cce5d6b7da20d3d03798aaf01fbe90129af577a3d7dc1a5249d4290f364","size":11,"content_type":"text/plain","file_path":"f0.txt","place":{"folder":"input","subfolder":"","filename":"f0.txt"},"created_at":"2026-11-22T13:16:39.331441Z","verified_at":"2026-11-22T13:16:39.564787Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'live', 22, 22, 1, 'd0_00001_.png', 'd0_00001_.png', '{}', '{output}', 309, '\xbd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1', NULL, '2027-01-23 13:16:39.582+00', '{"id":"be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"live","version":1,"position":22,"origin":"job","hash":"blake3:bd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1","size":309,"content_type":"image/png","file_path":"d0_00001_.png","place":{"folder":"output","subfolder":"","filename":"d0_00001_.png"},"producer":{"job":"597d9a61-a3d2-4ddf-8a44-4a4db45cb324","run":1,"node":"9","index":0},"width":16,"height":16,"created_at":"2026-11-22T13:16:39.670513Z","expires_at":"2027-01-23T13:16:39.582Z"}'),
	('b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'live', 40, 40, 1, 'd0_00001_.png', 'd0_00001_.png', '{}', '{output}', 309, '\x5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75', NULL, '2027-01-23 13:16:39.806+00', '{"id":"b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"live","version":1,"position":40,"origin":"job","hash":"blake3:5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75","size":309,"content_type":"image/png","file_path":"d0_00001_.png","place":{"folder":"output","subfolder":"","filename":"d0_00001_.png"},"producer":{"job":"b74f22f4-2e2d-4594-85ea-c665e85deb6c","run":1,"node":"9","index":0},"width":16,"height":16,"created_at":"2026-11-22T13:16:39.875808Z","expires_at":"2027-01-23T13:16:39.806Z"}'),
	('c4f27699-a365-4652-8c5f-f6ae4a564a1d', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'live', 37, 37, 3, 'f0.txt', 'f0.txt', '{}', '{input}', 15, '\x3180fc5b0bb120dd01bd141a4caa2d5f1a534ace0540bc710d08bfc560aec117', NULL, NULL, '{"id":"c4f27699-a365-4652-8c5f-f6ae4a564a1d","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"live","version":3,"position":57,"origin":"upload","hash":"blake3:3180fc5b0bb120dd01bd141a4caa2d5f1a534ace0540bc710d08bfc560aec117","size":15,"content_type":"text/plain","file_path":"f0.txt","place":{"folder":"input","subfolder":"","filename":"f0.txt"},"created_at":"2026-11-22T13:16:39.841679Z","verified_at":"2026-11-22T13:16:39.910109Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'live', 66, 66, 3, 'calls/fd745e4a-8b1c-4437-b6c7-b7175af419b2/0-6c2ed3be.png', '0-6c2ed3be.png', '{}', '{output}', 338, '\xe78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7', NULL, '2026-11-23 13:16:41.143+00', '{"id":"85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"live","version":3,"position":72,"origin":"call","hash":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338,"content_type":"image/png","file_path":"calls/fd745e4a-8b1c-4437-b6c7-b7175af419b2/0-6c2ed3be.png","width":64,"height":64,"created_at":"2026-11-22T13:16:41.15218Z","expires_at":"2026-11-23T13:16:41.143Z","verified_at":"2026-11-22T13:16:41.174433Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:d84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde"}}'),
	('acf43acc-e2ea-5bbf-bb33-5813715208e0', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'live', 75, 75, 1, 'p_00001_.png', 'p_00001_.png', '{}', '{output}', 593, '\xceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf', NULL, '2027-01-23 13:16:41.277+00', '{"id":"acf43acc-e2ea-5bbf-bb33-5813715208e0","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"live","version":1,"position":75,"origin":"job","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","file_path":"p_00001_.png","place":{"folder":"output","subfolder":"","filename":"p_00001_.png"},"producer":{"job":"050029fa-5685-4db3-ace5-0052e4897580","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-22T13:16:41.281421Z","expires_at":"2027-01-23T13:16:41.277Z"}'),
	('e3f0c9ad-b26e-425d-a504-040ca588bb7a', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'live', 77, 77, 3, 'calls/88b5a28e-8dad-4ee7-b72c-b2b9c34a3556/0-6c2ed3be.png', '0-6c2ed3be.png', '{}', '{output}', 338, '\xe78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7', NULL, '2026-11-23 13:16:41.263+00', '{"id":"e3f0c9ad-b26e-425d-a504-040ca588bb7a","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"live","version":3,"position":83,"origin":"call","hash":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338,"content_type":"image/png","file_path":"calls/88b5a28e-8dad-4ee7-b72c-b2b9c34a3556/0-6c2ed3be.png","width":64,"height":64,"created_at":"2026-11-22T13:16:41.30899Z","expires_at":"2026-11-23T13:16:41.263Z","verified_at":"2026-11-22T13:16:41.378886Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:d84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde"}}'),
	('19571a0b-00ac-5fd2-883e-53a2919f5a72', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'live', 85, 85, 1, 'p_00001_.png', 'p_00001_.png', '{}', '{output}', 593, '\xceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf', NULL, '2027-01-23 13:16:41.759+00', '{"id":"19571a0b-00ac-5fd2-883e-53a2919f5a72","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"live","version":1,"position":85,"origin":"job","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","file_path":"p_00001_.png","place":{"folder":"output","subfolder":"","filename":"p_00001_.png"},"producer":{"job":"ebae9f6a-0669-4099-a784-177dceffed34","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-22T13:16:41.810968Z","expires_at":"2027-01-23T13:16:41.759Z"}'),
	('4c4a5400-fbba-5064-8d5e-4af475b6b59e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'live', 140, 140, 1, 'r0_00001_.png', 'r0_00001_.png', '{}', '{output}', 8266, '\xcf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d', NULL, '2027-01-23 13:16:49.805+00', '{"id":"4c4a5400-fbba-5064-8d5e-4af475b6b59e","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"live","version":1,"position":140,"origin":"job","hash":"blake3:cf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d","size":8266,"content_type":"image/png","file_path":"r0_00001_.png","place":{"folder":"output","subfolder":"","filename":"r0_00001_.png"},"producer":{"job":"220fa158-745b-417e-8b08-10e3cf843ed9","run":1,"node":"9","index":0},"width":640,"height":640,"created_at":"2026-11-22T13:16:50.166672Z","expires_at":"2027-01-23T13:16:49.805Z"}'),
	('467aba17-4961-5338-bed8-7f3f7eadb183', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'live', 141, 141, 1, 'r0_00001_.png', 'r0_00001_.png', '{}', '{output}', 8266, '\x76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b', NULL, '2027-01-23 13:16:50.062+00', '{"id":"467aba17-4961-5338-bed8-7f3f7eadb183","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"live","version":1,"position":141,"origin":"job","hash":"blake3:76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b","size":8266,"content_type":"image/png","file_path":"r0_00001_.png","place":{"folder":"output","subfolder":"","filename":"r0_00001_.png"},"producer":{"job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","run":1,"node":"9","index":0},"width":640,"height":640,"created_at":"2026-11-22T13:16:50.253362Z","expires_at":"2027-01-23T13:16:50.062Z"}');

INSERT INTO public.assets_v2_counts VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'input', 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'input', 1),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', 4),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '', 5),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', 4),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '', 5);

INSERT INTO public.assets_v2_labels VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'input', 9, '7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', 22, 'be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'input', 37, 'c4f27699-a365-4652-8c5f-f6ae4a564a1d'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', 40, 'b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', 66, '85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', 75, 'acf43acc-e2ea-5bbf-bb33-5813715208e0'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', 77, 'e3f0c9ad-b26e-425d-a504-040ca588bb7a'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', 85, '19571a0b-00ac-5fd2-883e-53a2919f5a72'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', 140, '4c4a5400-fbba-5064-8d5e-4af475b6b59e'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', 141, '467aba17-4961-5338-bed8-7f3f7eadb183');

INSERT INTO public.call_blobs VALUES
	('8924e253-5491-4b07-96aa-ee138a63eed0', '\x741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3', '2026-11-23 13:16:39.726925+00'),
	('8924e253-5491-4b07-96aa-ee138a63eed0', '\xe42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51', '2026-11-23 13:16:39.726925+00'),
	('c9613ada-0a59-41ce-9c81-ee99862965db', '\x741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3', '2026-11-23 13:16:39.973287+00'),
	('c9613ada-0a59-41ce-9c81-ee99862965db', '\xe42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51', '2026-11-23 13:16:39.973287+00'),
	('fd745e4a-8b1c-4437-b6c7-b7175af419b2', '\xbc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78', '2026-11-23 13:16:41.167379+00'),
	('fd745e4a-8b1c-4437-b6c7-b7175af419b2', '\x1579215495a2ebf296359bc810762c9520c557c388ce3362f03cb3bf1d30b187', '2026-11-23 13:16:41.167379+00'),
	('88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', '\xbc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78', '2026-11-23 13:16:41.325447+00'),
	('88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', '\x4763bbdfbb9c24f5bc5c9f9d13d69934a604c70d73a11526322add2143c429f8', '2026-11-23 13:16:41.325447+00');

INSERT INTO public.call_keys VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'node:050029fa-5685-4db3-ace5-0052e4897580:1:0:1', '\x4aaf75de64d81e0f3f20d6e24a336d007cf26b23f13fbe84f67a0be00e72826e', 'fd745e4a-8b1c-4437-b6c7-b7175af419b2', '2026-11-23 13:16:39.941772+00', false),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'node:ebae9f6a-0669-4099-a784-177dceffed34:1:0:1', '\x4aaf75de64d81e0f3f20d6e24a336d007cf26b23f13fbe84f67a0be00e72826e', '88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', '2026-11-23 13:16:40.083622+00', false);

INSERT INTO public.call_lanes VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 0, 0, 0, 0, 0),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 0, 0, 0, 0, 0);

INSERT INTO public.call_workers VALUES
	('vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be', '2026-11-22 13:16:48.726206+00');

INSERT INTO public.calls_v1 VALUES
	('8924e253-5491-4b07-96aa-ee138a63eed0', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'succeeded', 'sim/echo', 17, 5, '{"id":"8924e253-5491-4b07-96aa-ee138a63eed0","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"succeeded","version":5,"position":26,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"request":{"ref":"blake3:741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3","size":21,"content_type":"application/json"},"base":"http://127.0.0.1:18399","held_micros":0,"charged_micros":0,"run":1,"token":"82336582-3645-46e6-a14e-0a9949ebbe6c","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be","answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-22T13:16:39.575827Z","admitted_at":"2026-11-22T13:16:39.575891Z","sent_at":"2026-11-22T13:16:39.657833Z","ended_at":"2026-11-22T13:16:39.731912Z","updated_at":"2026-11-22T13:16:39.731912Z"}'),
	('fd745e4a-8b1c-4437-b6c7-b7175af419b2', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'succeeded', 'sim/image', 54, 7, '{"id":"fd745e4a-8b1c-4437-b6c7-b7175af419b2","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"succeeded","version":7,"position":69,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:bc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:18399","held_micros":0,"charged_micros":0,"run":1,"token":"c1a4a7d4-c018-48f3-a004-c2a15d31ce66","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be","handle":"sim-eyJyIjoxNzk1MzUzNDAwMzQ5LCJzIjoiNmMyZWQzYmUiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:1579215495a2ebf296359bc810762c9520c557c388ce3362f03cb3bf1d30b187","size":356,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-22T13:16:39.986969Z","admitted_at":"2026-11-22T13:16:39.987001Z","sent_at":"2026-11-22T13:16:40.048318Z","ended_at":"2026-11-22T13:16:41.182309Z","updated_at":"2026-11-22T13:16:41.182309Z"}'),
	('c9613ada-0a59-41ce-9c81-ee99862965db', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'succeeded', 'sim/echo', 45, 5, '{"id":"c9613ada-0a59-41ce-9c81-ee99862965db","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"succeeded","version":5,"position":53,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"request":{"ref":"blake3:741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3","size":21,"content_type":"application/json"},"base":"http://127.0.0.1:18399","held_micros":0,"charged_micros":0,"run":1,"token":"0f5abc39-739f-4c14-be5f-0307b82b1eac","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be","answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-22T13:16:39.904201Z","admitted_at":"2026-11-22T13:16:39.904224Z","sent_at":"2026-11-22T13:16:39.96497Z","ended_at":"2026-11-22T13:16:39.986583Z","updated_at":"2026-11-22T13:16:39.986583Z"}'),
	('88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'succeeded', 'sim/image', 61, 7, '{"id":"88b5a28e-8dad-4ee7-b72c-b2b9c34a3556","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"succeeded","version":7,"position":79,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:bc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:18399","held_micros":0,"charged_micros":0,"run":1,"token":"c02be20a-8b70-41fc-8ff5-bbfb196a214f","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be","handle":"sim-eyJyIjoxNzk1MzUzNDAwNDY1LCJzIjoiNmMyZWQzYmUiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:4763bbdfbb9c24f5bc5c9f9d13d69934a604c70d73a11526322add2143c429f8","size":356,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-22T13:16:40.104787Z","admitted_at":"2026-11-22T13:16:40.104817Z","sent_at":"2026-11-22T13:16:40.143848Z","ended_at":"2026-11-22T13:16:41.336858Z","updated_at":"2026-11-22T13:16:41.336858Z"}');

INSERT INTO public.checkpoints VALUES
	('calls_v1', 134, '2026-11-22 13:16:49.790802+00'),
	('webhooks_v1', 134, '2026-11-22 13:16:49.790758+00'),
	('history_v1', 137, '2026-11-22 13:16:50.139377+00'),
	('usage_v1', 137, '2026-11-22 13:16:50.139685+00'),
	('assets_v2', 141, '2026-11-22 13:16:50.284187+00'),
	('webhooks_outgoing', 147, '2026-11-22 13:16:50.42322+00'),
	('jobs_v1', 147, '2026-11-22 13:16:50.423244+00');

INSERT INTO public.credit_balances VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 25000000, 25000000, 0, 0, 5);

INSERT INTO public.credit_holds VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 0, 'released'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 0, 'released');

INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, '8b95575f-beb7-42a7-8644-e016a527ee25', 'account.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm","reason":"t"}', '2026-11-22 13:16:37.798492+00'),
	(2, 'account-e07676b7-6923-4403-96ef-2ec0a8e7807e', 2, '36482e6a-be6b-4296-be3e-2623df195d36', 'account.key_issued.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"key":"25fb4200-5ee8-430b-9632-520126b37ec4","scopes":["read","write"]}', '{"actor":"operator:root@vm","reason":"t"}', '2026-11-22 13:16:38.210548+00'),
	(3, 'account-9ae41ada-907b-464f-910e-9aa0155d50c1', 1, 'e4585f33-b201-4e3d-a75a-10c074684c63', 'account.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm","reason":"t"}', '2026-11-22 13:16:38.498491+00'),
	(4, 'account-9ae41ada-907b-464f-910e-9aa0155d50c1', 2, '7ff67407-9e29-4edb-9fc3-d5b9205ffd1d', 'account.key_issued.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"key":"42ecf0fb-442a-4abb-a511-f1ebec68d127","scopes":["read","write"]}', '{"actor":"operator:root@vm","reason":"t"}', '2026-11-22 13:16:38.77133+00'),
	(5, 'ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, '9452f057-4a20-4d6e-a054-ba60dbadfe1a', 'credit.granted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"micros":25000000}', '{"actor":"operator:root@vm","reason":"trial"}', '2026-11-22 13:16:39.070901+00'),
	(6, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 1, '22d1cd58-0bcf-43f5-b75e-1008be643586', 'job.submitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"number":0,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":16,\"height\":16,\"batch_size\":1,\"color\":4}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"d0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353399094}}"},"targets":["9"],"nodes_total":2,"credential":true}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"d8e8bf3b-197b-4dd1-bbbd-a04a51c7938e"}', '2026-11-22 13:16:39.107005+00'),
	(7, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 2, 'd994db55-fc44-5613-9433-32fd6ec41305', 'job.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"d8e8bf3b-197b-4dd1-bbbd-a04a51c7938e"}', '2026-11-22 13:16:39.107349+00'),
	(8, 'job-050029fa-5685-4db3-ace5-0052e4897580', 1, 'c80c88e6-b1e6-4a22-a60c-fd0914ac2ce3', 'job.submitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"number":1,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a cat\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"p\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353399134}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"92bc7374-0229-47fb-8f1c-fad7b38d4bf3"}', '2026-11-22 13:16:39.16067+00'),
	(9, 'asset-7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 1, '18ebd911-ad75-4f4c-b5ea-f2fa13a0132b', 'asset.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"origin":"upload","hash":"blake3:62e44cce5d6b7da20d3d03798aaf01fbe90129af577a3d7dc1a5249d4290f364","size":11,"content_type":"text/plain","file_path":"f0.txt","place":{"folder":"input","subfolder":"","filename":"f0.txt"}}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"7278146a-2d79-4d45-939b-2e2a45123884"}', '2026-11-22 13:16:39.331441+00'),
	(10, 'webhooks-e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, '17bbed5c-b873-4abc-a226-ca5d12df419a', 'webhook.registered.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"webhook":"5af6e097-0bb1-4199-bc2b-44e51482c931","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"72b670fd-8336-44be-b553-1a687850ad46"}', '2026-11-22 13:16:39.498506+00'),
	(11, 'asset-7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 2, '674a7124-fa08-58d1-9762-29547c350f4d', 'asset.verified.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"ok":true,"size":11}', '{"actor":"ingest"}', '2026-11-22 13:16:39.564787+00'),
	(12, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 3, 'cfd7cabc-073a-5238-ba4e-d3df534f535c', 'job.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes_total":2,"worker":"vm/14452","execution":"01a20366-cf6e-775e-831f-eb19c45f1eb5"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.567021+00'),
	(13, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 4, '9f317535-5cc8-583f-a6a3-8ce6c26b83dd', 'job.nodes_cached.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.567087+00'),
	(14, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 5, 'a693068d-f574-5b76-a7b4-eb9aa250ac2b', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.567093+00'),
	(15, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 6, 'ed2413e9-5cb4-54ce-afe1-60172bb52307', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.5671+00'),
	(16, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 7, 'f5e0dbcd-10e3-5509-a7d6-c10d192f6d1b', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"9","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.567104+00'),
	(17, 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 1, 'b542f80e-9288-4d6e-be44-c8ac819daa11', 'call.accepted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","request":{"ref":"blake3:741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3","size":21,"content_type":"application/json"},"held_micros":0,"catalog":"825e8ba28b1a14e4f1cbe551a85925fb76302f7eca730f2c6d85a093410ef947","base":"http://127.0.0.1:18399"}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"8924e253-5491-4b07-96aa-ee138a63eed0"}', '2026-11-22 13:16:39.575827+00'),
	(18, 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 2, 'b5be0a1d-3362-52dd-a889-3a2fcb60cd6d', 'call.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"8924e253-5491-4b07-96aa-ee138a63eed0"}', '2026-11-22 13:16:39.575891+00'),
	(19, 'ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 2, '54170282-e8c5-588d-8eb2-4729bef4cff7', 'credit.held.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"hold":"call-8924e253-5491-4b07-96aa-ee138a63eed0","micros":0}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e"}', '2026-11-22 13:16:39.575897+00'),
	(20, 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 3, '35518cf5-b025-58f4-b2cd-84966547f4a3', 'call.dispatching.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"token":"82336582-3645-46e6-a14e-0a9949ebbe6c","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.657833+00'),
	(21, 'asset-7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 3, 'c180d50c-0e9b-593b-a923-04c2b431e93e', 'asset.scanned.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-22 13:16:39.663039+00'),
	(22, 'asset-be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6', 1, '30dc8a19-8532-55a4-bc8a-3d4a9bc3d733', 'asset.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"origin":"job","hash":"blake3:bd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1","size":309,"content_type":"image/png","file_path":"d0_00001_.png","place":{"folder":"output","subfolder":"","filename":"d0_00001_.png"},"producer":{"job":"597d9a61-a3d2-4ddf-8a44-4a4db45cb324","run":1,"node":"9","index":0},"width":16,"height":16,"expires_at":"2027-01-23T13:16:39.582Z"}', '{"actor":"job 597d9a61-a3d2-4ddf-8a44-4a4db45cb324"}', '2026-11-22 13:16:39.670513+00'),
	(25, 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 4, 'c9e9ead9-0b77-5e22-87b9-deaedf14a3dc', 'call.answered.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.73188+00'),
	(23, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 1, '06b81928-c165-4858-b753-344579601496', 'job.submitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"number":0,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":16,\"height\":16,\"batch_size\":1,\"color\":8}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"d0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353399706}}"},"targets":["9"],"nodes_total":2,"credential":true}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"80512568-ff94-4b45-9c1e-c92728a38d8f"}', '2026-11-22 13:16:39.708541+00'),
	(24, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 2, '3bf30242-2f39-5b3e-807b-a497f48f3f15', 'job.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"80512568-ff94-4b45-9c1e-c92728a38d8f"}', '2026-11-22 13:16:39.709478+00'),
	(40, 'asset-b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58', 1, '3f3afd78-716f-51c5-947d-5fbbba84cb42', 'asset.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"origin":"job","hash":"blake3:5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75","size":309,"content_type":"image/png","file_path":"d0_00001_.png","place":{"folder":"output","subfolder":"","filename":"d0_00001_.png"},"producer":{"job":"b74f22f4-2e2d-4594-85ea-c665e85deb6c","run":1,"node":"9","index":0},"width":16,"height":16,"expires_at":"2027-01-23T13:16:39.806Z"}', '{"actor":"job b74f22f4-2e2d-4594-85ea-c665e85deb6c"}', '2026-11-22 13:16:39.875808+00'),
	(42, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 8, '33cf9572-5d97-5567-b389-a5619453db9f', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"9","class":"SaveImage","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58","hash":"blake3:5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.819218Z"}],"millis":78}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.903507+00'),
	(43, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 9, '4498e922-28ce-5e66-a74f-a5f83b9d266d', 'job.succeeded.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.903537+00'),
	(44, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 2, 'f64c197e-0f07-5943-abc2-3170cc3dab68', 'job.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"admission"}', '2026-11-22 13:16:39.903543+00'),
	(64, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 4, 'ac34d94e-53b1-5c6c-a2b2-3672588aad8d', 'call.provider_accepted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"handle":"sim-eyJyIjoxNzk1MzUzNDAwNDY1LCJzIjoiNmMyZWQzYmUiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:40.167066+00'),
	(65, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 5, 'b70fca90-58d2-5423-ba3a-07e24872332f', 'call.answered.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"answer":{"ref":"blake3:d05aeab82ebbc0e7940f3bcbe43934f9516fd11ac5e9d9f25a6e08736dbcba5d","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.118338+00'),
	(68, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 6, '01721fb2-cd10-5c9c-b063-5dd813dc800b', 'call.hosted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"assets":[{"pointer":"/result/url","asset":"85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86","ref":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338}],"answer":{"ref":"blake3:1579215495a2ebf296359bc810762c9520c557c388ce3362f03cb3bf1d30b187","size":356,"content_type":"application/json"}}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.182275+00'),
	(69, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 7, '04a019d5-f5c9-53e2-bfe6-c1f8fb176dcb', 'call.succeeded.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"model":"sim/image","answer":{"ref":"blake3:1579215495a2ebf296359bc810762c9520c557c388ce3362f03cb3bf1d30b187","size":356,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.182309+00'),
	(70, 'ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 5, '48800a4b-c405-5ca2-8c34-1b7604e8c1d7', 'credit.released.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"hold":"call-fd745e4a-8b1c-4437-b6c7-b7175af419b2","micros":0}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e"}', '2026-11-22 13:16:41.182314+00'),
	(75, 'asset-acf43acc-e2ea-5bbf-bb33-5813715208e0', 1, 'dfedef02-7f5e-5256-9dcb-5fd7a038a783', 'asset.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"origin":"job","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","file_path":"p_00001_.png","place":{"folder":"output","subfolder":"","filename":"p_00001_.png"},"producer":{"job":"050029fa-5685-4db3-ace5-0052e4897580","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-23T13:16:41.277Z"}', '{"actor":"job 050029fa-5685-4db3-ace5-0052e4897580"}', '2026-11-22 13:16:41.281421+00'),
	(76, 'job-050029fa-5685-4db3-ace5-0052e4897580', 8, '2ed8df03-ac7b-59cc-b4ee-5965ea8ca834', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"acf43acc-e2ea-5bbf-bb33-5813715208e0","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.27966Z"}],"millis":13}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.291867+00'),
	(114, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 12, 'dcda5dc6-b946-5a21-a6bf-707b9198f569', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"12","class":"ImageBlur","millis":826}', '{"actor":"vm/14452"}', '2026-11-22 13:16:45.58123+00'),
	(115, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 13, '67cfb99c-9109-57c5-8cde-baaa61a99f56', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"13","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:45.661147+00'),
	(118, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 14, '5ef8eec7-7b81-50fb-91a1-c57221e8b54f', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"13","class":"ImageBlur","millis":938}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.670413+00'),
	(119, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 15, 'b89e2659-3ccc-5925-b1f0-fbe13e4b08e3', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"14","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.670485+00'),
	(126, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 18, '5f15d284-e4eb-526d-b23a-194a996389ce', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"15","class":"ImageBlur","millis":465}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.257202+00'),
	(127, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 19, '981a0acf-8824-533d-9197-dc5bb790bd73', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"16","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.257251+00'),
	(143, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 26, '677ac558-3e5d-5ff8-9ba1-48f922ae4204', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"9","class":"SaveImage","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"467aba17-4961-5338-bed8-7f3f7eadb183","hash":"blake3:76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.238432Z"}],"millis":211}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.33792+00'),
	(146, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 27, '7bd406c5-bf37-57f7-b1a4-2ed47c1dd4e5', 'job.succeeded.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.419445+00'),
	(26, 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 5, 'ca2a716b-e605-56ce-8739-f5bd37cca839', 'call.succeeded.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"model":"sim/echo","answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.731912+00'),
	(27, 'ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 3, '6f9eb940-ec5a-558a-8a43-6e833b3ad900', 'credit.released.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"hold":"call-8924e253-5491-4b07-96aa-ee138a63eed0","micros":0}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e"}', '2026-11-22 13:16:39.731956+00'),
	(37, 'asset-c4f27699-a365-4652-8c5f-f6ae4a564a1d', 1, 'ba0615b2-12d2-4d4a-bce6-9eb736c27286', 'asset.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"origin":"upload","hash":"blake3:3180fc5b0bb120dd01bd141a4caa2d5f1a534ace0540bc710d08bfc560aec117","size":15,"content_type":"text/plain","file_path":"f0.txt","place":{"folder":"input","subfolder":"","filename":"f0.txt"}}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"9bce235f-50b4-4d39-9cf5-ec301b2d2b75"}', '2026-11-22 13:16:39.841679+00'),
	(41, 'webhooks-9ae41ada-907b-464f-910e-9aa0155d50c1', 1, '0da30c87-9ff4-44a8-8f15-7d8fb3aa9690', 'webhook.registered.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"webhook":"2d4f4a7e-d4b8-402d-b69d-787d4f400210","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"d3e0d2da-ab4a-4fe0-a132-c7653c8b8f01"}', '2026-11-22 13:16:39.876401+00'),
	(45, 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 1, '7fbc69cf-43f0-4b77-b82a-6ffbc4587276', 'call.accepted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","request":{"ref":"blake3:741f1def484ca6da5489c55392d22726449b4f91a0d59ba52737c0d76fc3ddf3","size":21,"content_type":"application/json"},"held_micros":0,"catalog":"825e8ba28b1a14e4f1cbe551a85925fb76302f7eca730f2c6d85a093410ef947","base":"http://127.0.0.1:18399"}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"c9613ada-0a59-41ce-9c81-ee99862965db"}', '2026-11-22 13:16:39.904201+00'),
	(46, 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 2, '4b42b5b5-70e8-5ee6-8859-6b1b25dfd4fb', 'call.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"c9613ada-0a59-41ce-9c81-ee99862965db"}', '2026-11-22 13:16:39.904224+00'),
	(51, 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 3, 'ef5a6fc8-4210-5aa4-94ec-2462a184c535', 'call.dispatching.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"token":"0f5abc39-739f-4c14-be5f-0307b82b1eac","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.96497+00'),
	(73, 'job-050029fa-5685-4db3-ace5-0052e4897580', 6, '1f11002f-d1ac-5717-b3f6-ee0e9a59d18b', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1284}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.218777+00'),
	(74, 'job-050029fa-5685-4db3-ace5-0052e4897580', 7, '3423ff84-ba79-5d65-aed8-f26d44e70fcd', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.274403+00'),
	(136, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 24, '38235d47-93c2-5bfd-99c3-efff16a7a4ae', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"18","class":"ImageBlur","millis":792}', '{"actor":"vm/14452"}', '2026-11-22 13:16:49.78985+00'),
	(137, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 25, '8bd972af-9a54-5cb5-87e1-b30b82829833', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"9","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:49.790041+00'),
	(28, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 8, 'd1e6ec45-74e5-539a-b2d5-e07a42491395', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"9","class":"SaveImage","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6","hash":"blake3:bd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.641885Z"}],"millis":109}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.733343+00'),
	(29, 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 9, '04eca260-49e9-53ad-8d3a-1824be9f0c3b', 'job.succeeded.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.733413+00'),
	(30, 'job-050029fa-5685-4db3-ace5-0052e4897580', 2, '2a83e742-7d37-5296-a89c-bb6e3d4bd9ba', 'job.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"admission"}', '2026-11-22 13:16:39.733419+00'),
	(49, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 3, '4afdfbe8-8092-5e57-94a9-75c6cbbe5b95', 'job.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes_total":2,"worker":"vm/14452","execution":"01a20366-d26b-7816-8b6e-72df1f747dec"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.946589+00'),
	(50, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 4, 'f0791f18-4f58-57a1-8f58-ab1ba1e087ef', 'job.nodes_cached.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.946614+00'),
	(72, 'asset-85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 3, 'd62b66f2-78fa-53b1-be6d-abb71d69fbb3', 'asset.scanned.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:d84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde"}}', '{"actor":"ingest"}', '2026-11-22 13:16:41.202811+00'),
	(77, 'asset-e3f0c9ad-b26e-425d-a504-040ca588bb7a', 1, 'e8063d7a-5592-47fe-8ad9-88ade3b2cd06', 'asset.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"origin":"call","hash":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338,"content_type":"image/png","file_path":"calls/88b5a28e-8dad-4ee7-b72c-b2b9c34a3556/0-6c2ed3be.png","expires_at":"2026-11-23T13:16:41.263Z"}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"88b5a28e-8dad-4ee7-b72c-b2b9c34a3556"}', '2026-11-22 13:16:41.30899+00'),
	(78, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 6, 'a96384a3-0b1b-5613-903d-a164ce879297', 'call.hosted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"assets":[{"pointer":"/result/url","asset":"e3f0c9ad-b26e-425d-a504-040ca588bb7a","ref":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338}],"answer":{"ref":"blake3:4763bbdfbb9c24f5bc5c9f9d13d69934a604c70d73a11526322add2143c429f8","size":356,"content_type":"application/json"}}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.336814+00'),
	(79, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 7, 'e8247310-6f1e-5377-8cf0-d255b62b419c', 'call.succeeded.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"model":"sim/image","answer":{"ref":"blake3:4763bbdfbb9c24f5bc5c9f9d13d69934a604c70d73a11526322add2143c429f8","size":356,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.336858+00'),
	(81, 'asset-e3f0c9ad-b26e-425d-a504-040ca588bb7a', 2, 'd7bfea67-c7f2-5e59-bd13-506748e192da', 'asset.verified.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"ok":true,"size":338}', '{"actor":"ingest"}', '2026-11-22 13:16:41.378886+00'),
	(82, 'job-050029fa-5685-4db3-ace5-0052e4897580', 9, 'e91b9eff-f022-5938-b52b-3e8f37cd11d0', 'job.succeeded.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.391464+00'),
	(88, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 1, 'b19e7bb9-9942-4116-93e1-5da933c2136a', 'job.submitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"number":2,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":640,\"height\":640,\"batch_size\":1,\"color\":81}},\"10\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"11\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"10\",0],\"blur_radius\":31,\"sigma\":2.0}},\"12\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"11\",0],\"blur_radius\":31,\"sigma\":2.0}},\"13\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"12\",0],\"blur_radius\":31,\"sigma\":2.0}},\"14\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"13\",0],\"blur_radius\":31,\"sigma\":2.0}},\"15\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"14\",0],\"blur_radius\":31,\"sigma\":2.0}},\"16\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"15\",0],\"blur_radius\":31,\"sigma\":2.0}},\"17\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"16\",0],\"blur_radius\":31,\"sigma\":2.0}},\"18\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"17\",0],\"blur_radius\":31,\"sigma\":2.0}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"18\",0],\"filename_prefix\":\"r0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353401928}}"},"targets":["9"],"nodes_total":11,"credential":true}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"45e8a2d0-f5d0-40bb-b5be-053a428963ea"}', '2026-11-22 13:16:41.930442+00'),
	(89, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 2, '678667ec-7c68-5fbe-828e-b58d420284fe', 'job.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"45e8a2d0-f5d0-40bb-b5be-053a428963ea"}', '2026-11-22 13:16:41.930779+00'),
	(90, 'job-b35d1969-7e38-4dee-92c1-e9bc81b27c88', 1, '5749805e-2063-4f19-ac4a-c056889fff1e', 'job.submitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"number":3,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":16,\"height\":16,\"batch_size\":1,\"color\":5554}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"w0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353401942}}"},"targets":["9"],"nodes_total":2,"credential":true}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"0ff83326-ec9b-4cf2-a55b-063b361bcfd7"}', '2026-11-22 13:16:41.944592+00'),
	(91, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 1, '5025b10f-12b8-4340-88e6-d09846c70745', 'job.submitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"number":2,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":640,\"height\":640,\"batch_size\":1,\"color\":85}},\"10\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"11\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"10\",0],\"blur_radius\":31,\"sigma\":2.0}},\"12\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"11\",0],\"blur_radius\":31,\"sigma\":2.0}},\"13\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"12\",0],\"blur_radius\":31,\"sigma\":2.0}},\"14\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"13\",0],\"blur_radius\":31,\"sigma\":2.0}},\"15\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"14\",0],\"blur_radius\":31,\"sigma\":2.0}},\"16\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"15\",0],\"blur_radius\":31,\"sigma\":2.0}},\"17\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"16\",0],\"blur_radius\":31,\"sigma\":2.0}},\"18\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"17\",0],\"blur_radius\":31,\"sigma\":2.0}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"18\",0],\"filename_prefix\":\"r0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353401950}}"},"targets":["9"],"nodes_total":11,"credential":true}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"780998ce-67f5-4294-b3ea-0129334040ca"}', '2026-11-22 13:16:41.957047+00'),
	(31, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 1, 'd99755a9-55c4-47f8-a0ed-179de341765c', 'job.submitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"number":1,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a cat\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"p\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353399764}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"82fc93ed-5697-4d8a-9c06-f14839ff7643"}', '2026-11-22 13:16:39.766099+00'),
	(38, 'job-050029fa-5685-4db3-ace5-0052e4897580', 3, '096f7313-aff8-5624-9099-7ecad1b8651a', 'job.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes_total":2,"worker":"vm/14452","execution":"01a20366-d1df-7219-b0ea-24f76295fc3e"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.843288+00'),
	(39, 'job-050029fa-5685-4db3-ace5-0052e4897580', 4, 'd331dced-5e1d-5995-9751-882e5aa0d7db', 'job.nodes_cached.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.843314+00'),
	(52, 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 4, 'fc8d9893-bb78-5c6c-964b-d9905ebf1afc', 'call.answered.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.986552+00'),
	(53, 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 5, '478ef556-a6ae-518c-ba8b-3473858f9150', 'call.succeeded.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"model":"sim/echo","answer":{"ref":"blake3:e42bcefa7a63a36dcb1ab04175a23ce760654ca5a20832af949e79ec02936a51","size":63,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:39.986583+00'),
	(63, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 3, '6a9bdbd6-fb98-5be7-8b7d-fef5c8469644', 'call.dispatching.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"token":"c02be20a-8b70-41fc-8ff5-bbfb196a214f","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:40.143848+00'),
	(67, 'asset-85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 2, '7e16e22d-0982-5bac-a1ec-ca8f593d71f7', 'asset.verified.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"ok":true,"size":338}', '{"actor":"ingest"}', '2026-11-22 13:16:41.174433+00'),
	(71, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 5, '570d814d-870f-519a-9336-af342971951a', 'call.answered.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"answer":{"ref":"blake3:7d2ac80fcddc1cbc9328f81b67ba7eb60b6020a6785b95d909614298345d0ed9","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:41.191301+00'),
	(110, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 10, '76a83dd2-81af-5f73-9e4b-c7ddec0d9e38', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"11","class":"ImageBlur","millis":771}', '{"actor":"vm/14452"}', '2026-11-22 13:16:44.515501+00'),
	(111, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 11, 'e078cc54-e8a9-5aa8-83a5-2674dfe7a0de', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"12","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:44.515535+00'),
	(133, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 23, '7875f9d5-f2a0-538d-af10-ad6b461ef5ab', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"18","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.698388+00'),
	(32, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 3, 'c27b19a8-3a92-5323-903e-d0c60e06076d', 'job.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes_total":2,"worker":"vm/14452","execution":"01a20366-d1cc-722d-8c3d-799eac01cdd9"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.800732+00'),
	(33, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 4, 'a17ee90a-55db-5e9d-aa15-c31b090e5966', 'job.nodes_cached.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.800857+00'),
	(34, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 5, '8110711a-9895-5bc3-ae2c-2e2ab0b99caa', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.800863+00'),
	(35, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 6, '836957b9-5205-5297-903c-d702e2119e0b', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.800868+00'),
	(36, 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 7, '8d3dc81a-529f-5e50-8d10-2a64d4e7ee64', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"9","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.800872+00'),
	(57, 'asset-c4f27699-a365-4652-8c5f-f6ae4a564a1d', 3, '04a44d84-fc73-5533-af08-30279137746f', 'asset.scanned.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-22 13:16:40.015377+00'),
	(58, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 3, 'c83f023e-07fa-525a-a963-08d2823bdfa4', 'call.dispatching.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"token":"c1a4a7d4-c018-48f3-a004-c2a15d31ce66","worker":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:40.048318+00'),
	(59, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 4, 'ac51381c-e38b-542f-ba5f-f476d8c90ae0', 'call.provider_accepted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"handle":"sim-eyJyIjoxNzk1MzUzNDAwMzQ5LCJzIjoiNmMyZWQzYmUiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/14452/3d03755e-b292-461f-b15d-b386b7e2e7be"}', '2026-11-22 13:16:40.050219+00'),
	(60, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 5, '7bd33562-4ae4-50d3-8fc1-868115dde56e', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:40.059108+00'),
	(61, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 1, '4c3b7393-64a3-4e51-a115-b637a9521b9d', 'call.accepted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:bc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"825e8ba28b1a14e4f1cbe551a85925fb76302f7eca730f2c6d85a093410ef947","base":"http://127.0.0.1:18399"}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"88b5a28e-8dad-4ee7-b72c-b2b9c34a3556"}', '2026-11-22 13:16:40.104787+00'),
	(62, 'call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 2, '66ae6186-3605-51c5-8a03-ca2f1a2070aa', 'call.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"88b5a28e-8dad-4ee7-b72c-b2b9c34a3556"}', '2026-11-22 13:16:40.104817+00'),
	(66, 'asset-85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 1, 'fbe9e975-6fd5-44f1-a8f8-4bf6c87e2b96', 'asset.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"origin":"call","hash":"blake3:e78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7","size":338,"content_type":"image/png","file_path":"calls/fd745e4a-8b1c-4437-b6c7-b7175af419b2/0-6c2ed3be.png","expires_at":"2026-11-23T13:16:41.143Z"}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"fd745e4a-8b1c-4437-b6c7-b7175af419b2"}', '2026-11-22 13:16:41.15218+00'),
	(108, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 10, '40a7f69d-e6bf-52c7-9f6d-360e7ec811ac', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"11","class":"ImageBlur","millis":1226}', '{"actor":"vm/14452"}', '2026-11-22 13:16:44.197072+00'),
	(109, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 11, '06961fba-3c09-5908-9d36-f30d7970d460', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"12","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:44.197108+00'),
	(120, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 16, '50099d3a-2a00-594e-8819-175ed8e71b38', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"14","class":"ImageBlur","millis":675}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.990806+00'),
	(121, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 17, '6a409d49-322b-554d-9c76-87038cc2aba3', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"15","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.99094+00'),
	(142, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 26, '08a46ead-9fd3-5205-92c1-3cc8368e748d', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"9","class":"SaveImage","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4c4a5400-fbba-5064-8d5e-4af475b6b59e","hash":"blake3:cf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.049947Z"}],"millis":392}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.283764+00'),
	(47, 'asset-c4f27699-a365-4652-8c5f-f6ae4a564a1d', 2, 'cf360957-9381-56cb-94f7-9a2b770f404a', 'asset.verified.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"ok":true,"size":15}', '{"actor":"ingest"}', '2026-11-22 13:16:39.910109+00'),
	(48, 'job-050029fa-5685-4db3-ace5-0052e4897580', 5, 'cadab1ef-696b-5796-8a34-38dbe779f7cd', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:39.931306+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(54, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 1, 'a6b03eb3-34ef-4633-97f7-adc09fc3f2eb', 'call.accepted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:bc44f37ac271e18c8311bc16fdf89151dfc687bd198106bff23484c922421f78","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"825e8ba28b1a14e4f1cbe551a85925fb76302f7eca730f2c6d85a093410ef947","base":"http://127.0.0.1:18399"}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"fd745e4a-8b1c-4437-b6c7-b7175af419b2"}', '2026-11-22 13:16:39.986969+00'),
	(55, 'call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 2, 'ec0b0153-ff13-53a8-bf35-edcb105e5c09', 'call.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e","request_id":"fd745e4a-8b1c-4437-b6c7-b7175af419b2"}', '2026-11-22 13:16:39.987001+00'),
	(56, 'ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 4, 'cbdd07a1-5079-509d-8c00-9a2115416e5e', 'credit.held.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"hold":"call-fd745e4a-8b1c-4437-b6c7-b7175af419b2","micros":0}', '{"actor":"e07676b7-6923-4403-96ef-2ec0a8e7807e"}', '2026-11-22 13:16:39.987006+00'),
	(80, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 6, '6b8fbb5d-a2e5-5f27-87c8-c12447de5ca7', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1303}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.377227+00'),
	(83, 'asset-e3f0c9ad-b26e-425d-a504-040ca588bb7a', 3, 'c65808cf-bce5-564f-9c31-82f114bcb107', 'asset.scanned.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:d84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde"}}', '{"actor":"ingest"}', '2026-11-22 13:16:41.523768+00'),
	(84, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 7, 'bc37f118-4ee2-5627-8efa-c84f1d6e9a5c', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.749609+00'),
	(85, 'asset-19571a0b-00ac-5fd2-883e-53a2919f5a72', 1, '9857e4ea-53f3-56a5-a46e-800531aaf366', 'asset.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"origin":"job","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","file_path":"p_00001_.png","place":{"folder":"output","subfolder":"","filename":"p_00001_.png"},"producer":{"job":"ebae9f6a-0669-4099-a784-177dceffed34","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-23T13:16:41.759Z"}', '{"actor":"job ebae9f6a-0669-4099-a784-177dceffed34"}', '2026-11-22 13:16:41.810968+00'),
	(86, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 8, 'eed2189f-50ff-5a95-af94-b6c707dd8504', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"19571a0b-00ac-5fd2-883e-53a2919f5a72","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.761773Z"}],"millis":54}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.820442+00'),
	(87, 'job-ebae9f6a-0669-4099-a784-177dceffed34', 9, 'da54162c-4a43-5a64-acf3-202dd5bbf0cd', 'job.succeeded.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.86916+00'),
	(94, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 3, '13a779e1-4403-5194-bc19-56956382cec9', 'job.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes_total":11,"worker":"vm/14452","execution":"01a20366-da54-74f6-b703-f2c71696a775"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.965414+00'),
	(95, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 4, '09cfcf41-985d-56f4-82ac-d3c84b69db26', 'job.nodes_cached.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.965441+00'),
	(96, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 5, 'fca9858e-19de-5140-aa82-c52e4d6cdfc0', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.965446+00'),
	(97, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 6, '50b260b7-cadd-555e-8245-0fa5c1ce8c34', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.965451+00'),
	(98, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 7, 'd85675ee-6925-53d3-b87e-978e40efeda1', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"10","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:41.965454+00'),
	(112, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 12, '45a5bfdc-1776-5d2c-950c-6d388dd95743', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"12","class":"ImageBlur","millis":743}', '{"actor":"vm/14452"}', '2026-11-22 13:16:45.385598+00'),
	(113, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 13, '05e31133-3013-586a-8061-b493a926ae68', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"13","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:45.520483+00'),
	(124, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 18, '1633c920-906f-571e-b222-70fc9fe6a9aa', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"15","class":"ImageBlur","millis":705}', '{"actor":"vm/14452"}', '2026-11-22 13:16:47.915818+00'),
	(125, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 19, '66674019-62c1-505f-9691-d6c4abc2f308', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"16","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:47.915862+00'),
	(128, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 20, 'a7da6b16-bca1-5c71-85e9-4ee001161745', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"16","class":"ImageBlur","millis":308}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.290404+00'),
	(129, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 21, 'e21cee11-e3a9-5d71-aa32-4dd3318b9e41', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"17","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.290443+00'),
	(130, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 20, '33e60daf-eb7f-56cf-9d1d-b3bc546d27d5', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"16","class":"ImageBlur","millis":241}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.603139+00'),
	(131, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 21, '2f93585d-9e96-57ab-ba9a-b75d4c3f15e5', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"17","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.60318+00'),
	(132, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 22, '241daf86-1472-50b5-b2b9-3aa1a44f3ac2', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"17","class":"ImageBlur","millis":287}', '{"actor":"vm/14452"}', '2026-11-22 13:16:48.654476+00'),
	(138, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 24, 'a9ddf57f-f83e-5c7d-a51b-faca13960dae', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"18","class":"ImageBlur","millis":587}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.049731+00'),
	(139, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 25, '5bdc4609-9995-5101-a75b-bb8794ddb9f3', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"9","class":"SaveImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.049783+00'),
	(144, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 27, 'c1905b50-1382-5fd6-9464-2c51b2df1888', 'job.succeeded.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:50.41843+00'),
	(92, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 2, '6835a020-adc3-5214-8208-6f8ba10da596', 'job.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"780998ce-67f5-4294-b3ea-0129334040ca"}', '2026-11-22 13:16:41.957099+00'),
	(93, 'job-b9859827-a1f3-4d79-889d-f05ab2ee242d', 1, '6e4b1081-3732-43b1-a88d-185679dd37f4', 'job.submitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"number":3,"surface":"cloud","client_id":"c1","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":16,\"height\":16,\"batch_size\":1,\"color\":5558}},\"9\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"w0\"}}},\"extra_data\":{\"client_id\":\"c1\",\"create_time\":1795353401960}}"},"targets":["9"],"nodes_total":2,"credential":true}', '{"actor":"9ae41ada-907b-464f-910e-9aa0155d50c1","request_id":"5213ef1d-f934-4234-8c2d-550eb3e85218"}', '2026-11-22 13:16:41.962336+00'),
	(99, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 3, '0e6171c2-e25f-54a9-a4e9-cb13c6c62935', 'job.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes_total":11,"worker":"vm/14452","execution":"01a20366-da6a-7f28-bdd2-8e12bad7c3da"}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.100074+00'),
	(100, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 4, '9aa6a676-c7fb-5bed-8fa7-7a0b01b5fcb5', 'job.nodes_cached.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"nodes":[]}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.100109+00'),
	(101, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 5, '0f383551-2f64-5a78-b1e3-713a1fd5fe28', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.100117+00'),
	(102, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 6, '9f89ec94-1f00-5d3a-a968-dbfe3793ff12', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.100122+00'),
	(103, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 7, 'd782d61d-9456-5d61-b04f-8e4e7020018f', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"10","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.100126+00'),
	(104, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 8, '357ff366-2d37-56ad-88ed-0e4e09c336b9', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"10","class":"ImageBlur","millis":276}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.51291+00'),
	(105, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 9, '75e11953-6895-554a-80d8-5b4b86964421', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"11","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:42.513019+00'),
	(106, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 8, '4d1fd0d1-ae87-5d85-959d-56ef909a7c3d', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"10","class":"ImageBlur","millis":1201}', '{"actor":"vm/14452"}', '2026-11-22 13:16:43.55087+00'),
	(107, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 9, '3c286d49-8e24-5959-8054-b061953746a4', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"11","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:43.550905+00'),
	(116, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 14, '1ee48c94-f92a-50dd-9cde-e3611f356a14', 'node.executed.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"13","class":"ImageBlur","millis":500}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.119674+00'),
	(117, 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 15, '1055f760-e746-52c5-8e9c-4a394d2761e8', 'node.started.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1,"node":"14","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:46.119779+00'),
	(122, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 16, '9f46a9f8-3ae9-5749-a293-e955708e1bc6', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"14","class":"ImageBlur","millis":802}', '{"actor":"vm/14452"}', '2026-11-22 13:16:47.705864+00'),
	(123, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 17, '75ab332c-2d3e-5869-8b1d-d5202c5b2262', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"15","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:47.705959+00'),
	(134, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 22, '94d12765-9993-5f1b-b50a-9d2e3b61d6cf', 'node.executed.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"17","class":"ImageBlur","millis":324}', '{"actor":"vm/14452"}', '2026-11-22 13:16:49.283937+00'),
	(135, 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 23, '68dd4927-6666-5462-8989-02eaece55fda', 'node.started.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1,"node":"18","class":"ImageBlur","attempt":1}', '{"actor":"vm/14452"}', '2026-11-22 13:16:49.427188+00'),
	(140, 'asset-4c4a5400-fbba-5064-8d5e-4af475b6b59e', 1, '5edf27fe-a473-5e68-ba53-aba6261e9fb4', 'asset.created.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"origin":"job","hash":"blake3:cf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d","size":8266,"content_type":"image/png","file_path":"r0_00001_.png","place":{"folder":"output","subfolder":"","filename":"r0_00001_.png"},"producer":{"job":"220fa158-745b-417e-8b08-10e3cf843ed9","run":1,"node":"9","index":0},"width":640,"height":640,"expires_at":"2027-01-23T13:16:49.805Z"}', '{"actor":"job 220fa158-745b-417e-8b08-10e3cf843ed9"}', '2026-11-22 13:16:50.166672+00'),
	(141, 'asset-467aba17-4961-5338-bed8-7f3f7eadb183', 1, 'ce627746-ad6c-54c2-82cd-bda2dd681f01', 'asset.created.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"origin":"job","hash":"blake3:76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b","size":8266,"content_type":"image/png","file_path":"r0_00001_.png","place":{"folder":"output","subfolder":"","filename":"r0_00001_.png"},"producer":{"job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","run":1,"node":"9","index":0},"width":640,"height":640,"expires_at":"2027-01-23T13:16:50.062Z"}', '{"actor":"job 43cb979e-e40a-4b21-8e88-9b0ab13aaad2"}', '2026-11-22 13:16:50.253362+00'),
	(145, 'job-b35d1969-7e38-4dee-92c1-e9bc81b27c88', 2, '17fdc3ab-ed5b-5c92-b66a-0295f0a88e80', 'job.admitted.v1', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '{"run":1}', '{"actor":"admission"}', '2026-11-22 13:16:50.418469+00'),
	(147, 'job-b9859827-a1f3-4d79-889d-f05ab2ee242d', 2, 'aa1c7237-f6fe-5f19-8958-a93081c4b783', 'job.admitted.v1', '9ae41ada-907b-464f-910e-9aa0155d50c1', '{"run":1}', '{"actor":"admission"}', '2026-11-22 13:16:50.419474+00');

INSERT INTO public.file_counters VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', '', 'd0', 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', '', 'd0', 1),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', '', 'p', 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', '', 'p', 1),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'output', '', 'r0', 1),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'output', '', 'r0', 1);

INSERT INTO public.files VALUES
	('7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x62e44cce5d6b7da20d3d03798aaf01fbe90129af577a3d7dc1a5249d4290f364', 11, 'text/plain', 'f0.txt', 'input', '', 'f0.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-22 13:16:39.280071+00', NULL, NULL, NULL),
	('be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xbd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1', 309, 'image/png', NULL, 'output', '', 'd0_00001_.png', true, '{}', 16, 16, '597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 1, '9', 0, false, '2026-11-22 13:16:39.641885+00', '2027-01-23 13:16:39.582+00', NULL, NULL),
	('b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\x5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75', 309, 'image/png', NULL, 'output', '', 'd0_00001_.png', true, '{}', 16, 16, 'b74f22f4-2e2d-4594-85ea-c665e85deb6c', 1, '9', 0, false, '2026-11-22 13:16:39.819218+00', '2027-01-23 13:16:39.806+00', NULL, NULL),
	('c4f27699-a365-4652-8c5f-f6ae4a564a1d', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\x3180fc5b0bb120dd01bd141a4caa2d5f1a534ace0540bc710d08bfc560aec117', 15, 'text/plain', 'f0.txt', 'input', '', 'f0.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-22 13:16:39.815933+00', NULL, NULL, NULL),
	('85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xe78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7', 338, 'image/png', 'calls/fd745e4a-8b1c-4437-b6c7-b7175af419b2/0-6c2ed3be.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-22 13:16:41.147621+00', '2026-11-23 13:16:41.143+00', '\xd84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde', NULL),
	('acf43acc-e2ea-5bbf-bb33-5813715208e0', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf', 593, 'image/png', NULL, 'output', '', 'p_00001_.png', true, '{}', 64, 64, '050029fa-5685-4db3-ace5-0052e4897580', 1, '2', 0, false, '2026-11-22 13:16:41.27966+00', '2027-01-23 13:16:41.277+00', NULL, NULL),
	('e3f0c9ad-b26e-425d-a504-040ca588bb7a', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\xe78bfff1d1608a3dba284cde24876dd4119089d5df3787057d362f57217fe7d7', 338, 'image/png', 'calls/88b5a28e-8dad-4ee7-b72c-b2b9c34a3556/0-6c2ed3be.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-22 13:16:41.30577+00', '2026-11-23 13:16:41.263+00', '\xd84341664bfd5a3a398e9d0112f5f4d3e59158be5acd83bb2e68db34edc85dde', NULL),
	('19571a0b-00ac-5fd2-883e-53a2919f5a72', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\xceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf', 593, 'image/png', NULL, 'output', '', 'p_00001_.png', true, '{}', 64, 64, 'ebae9f6a-0669-4099-a784-177dceffed34', 1, '2', 0, false, '2026-11-22 13:16:41.761773+00', '2027-01-23 13:16:41.759+00', NULL, NULL),
	('4c4a5400-fbba-5064-8d5e-4af475b6b59e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xcf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d', 8266, 'image/png', NULL, 'output', '', 'r0_00001_.png', true, '{}', 640, 640, '220fa158-745b-417e-8b08-10e3cf843ed9', 1, '9', 0, false, '2026-11-22 13:16:50.049947+00', '2027-01-23 13:16:49.805+00', NULL, NULL),
	('467aba17-4961-5338-bed8-7f3f7eadb183', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\x76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b', 8266, 'image/png', NULL, 'output', '', 'r0_00001_.png', true, '{}', 640, 640, '43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 1, '9', 0, false, '2026-11-22 13:16:50.238432+00', '2027-01-23 13:16:50.062+00', NULL, NULL);

INSERT INTO public.job_lanes VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 3, 0, 1, 'open'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 3, 0, 1, 'open');

INSERT INTO public.job_slots VALUES
	('b35d1969-7e38-4dee-92c1-e9bc81b27c88', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, '2026-11-22 13:16:50.34039+00'),
	('b9859827-a1f3-4d79-889d-f05ab2ee242d', '9ae41ada-907b-464f-910e-9aa0155d50c1', 1, '2026-11-22 13:16:50.39045+00');

INSERT INTO public.jobs_v1 VALUES
	('597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'succeeded', 0, 6, 9, '2026-11-22 13:16:39.107005+00', '{}', '{"id":"597d9a61-a3d2-4ddf-8a44-4a4db45cb324","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"succeeded","version":9,"position":29,"number":0,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":2,"run":1,"execution":"01a20366-cf6e-775e-831f-eb19c45f1eb5","submitted_at":"2026-11-22T13:16:39.107005Z","admitted_at":"2026-11-22T13:16:39.107349Z","started_at":"2026-11-22T13:16:39.567021Z","ended_at":"2026-11-22T13:16:39.733413Z","updated_at":"2026-11-22T13:16:39.733413Z","nodes_done":2,"executed":["1","9"],"outputs":[{"node":"9","class":"SaveImage","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6","hash":"blake3:bd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.641885Z"}]}]}'),
	('ebae9f6a-0669-4099-a784-177dceffed34', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'succeeded', 1, 31, 9, '2026-11-22 13:16:39.766099+00', '{}', '{"id":"ebae9f6a-0669-4099-a784-177dceffed34","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"succeeded","version":9,"position":87,"number":1,"surface":"cloud","client_id":"c1","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20366-d26b-7816-8b6e-72df1f747dec","submitted_at":"2026-11-22T13:16:39.766099Z","admitted_at":"2026-11-22T13:16:39.903543Z","started_at":"2026-11-22T13:16:39.946589Z","ended_at":"2026-11-22T13:16:41.86916Z","updated_at":"2026-11-22T13:16:41.86916Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"19571a0b-00ac-5fd2-883e-53a2919f5a72","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.761773Z"}]}]}'),
	('b74f22f4-2e2d-4594-85ea-c665e85deb6c', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'succeeded', 0, 23, 9, '2026-11-22 13:16:39.708541+00', '{}', '{"id":"b74f22f4-2e2d-4594-85ea-c665e85deb6c","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"succeeded","version":9,"position":43,"number":0,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":2,"run":1,"execution":"01a20366-d1cc-722d-8c3d-799eac01cdd9","submitted_at":"2026-11-22T13:16:39.708541Z","admitted_at":"2026-11-22T13:16:39.709478Z","started_at":"2026-11-22T13:16:39.800732Z","ended_at":"2026-11-22T13:16:39.903537Z","updated_at":"2026-11-22T13:16:39.903537Z","nodes_done":2,"executed":["1","9"],"outputs":[{"node":"9","class":"SaveImage","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58","hash":"blake3:5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.819218Z"}]}]}'),
	('050029fa-5685-4db3-ace5-0052e4897580', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'succeeded', 1, 8, 9, '2026-11-22 13:16:39.16067+00', '{}', '{"id":"050029fa-5685-4db3-ace5-0052e4897580","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","client_id":"c1","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20366-d1df-7219-b0ea-24f76295fc3e","submitted_at":"2026-11-22T13:16:39.16067Z","admitted_at":"2026-11-22T13:16:39.733419Z","started_at":"2026-11-22T13:16:39.843288Z","ended_at":"2026-11-22T13:16:41.391464Z","updated_at":"2026-11-22T13:16:41.391464Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"acf43acc-e2ea-5bbf-bb33-5813715208e0","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.27966Z"}]}]}'),
	('220fa158-745b-417e-8b08-10e3cf843ed9', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'succeeded', 2, 88, 27, '2026-11-22 13:16:41.930442+00', '{}', '{"id":"220fa158-745b-417e-8b08-10e3cf843ed9","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"succeeded","version":27,"position":144,"number":2,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":11,"run":1,"execution":"01a20366-da54-74f6-b703-f2c71696a775","submitted_at":"2026-11-22T13:16:41.930442Z","admitted_at":"2026-11-22T13:16:41.930779Z","started_at":"2026-11-22T13:16:41.965414Z","ended_at":"2026-11-22T13:16:50.41843Z","updated_at":"2026-11-22T13:16:50.41843Z","nodes_done":11,"executed":["1","10","11","12","13","14","15","16","17","18","9"],"outputs":[{"node":"9","class":"SaveImage","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4c4a5400-fbba-5064-8d5e-4af475b6b59e","hash":"blake3:cf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.049947Z"}]}]}'),
	('b35d1969-7e38-4dee-92c1-e9bc81b27c88', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 'running', 3, 90, 2, '2026-11-22 13:16:41.944592+00', '{}', '{"id":"b35d1969-7e38-4dee-92c1-e9bc81b27c88","account":"e07676b7-6923-4403-96ef-2ec0a8e7807e","state":"running","version":2,"position":145,"number":3,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":2,"run":1,"submitted_at":"2026-11-22T13:16:41.944592Z","admitted_at":"2026-11-22T13:16:50.418469Z","updated_at":"2026-11-22T13:16:50.418469Z","nodes_done":0}'),
	('43cb979e-e40a-4b21-8e88-9b0ab13aaad2', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'succeeded', 2, 91, 27, '2026-11-22 13:16:41.957047+00', '{}', '{"id":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"succeeded","version":27,"position":146,"number":2,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":11,"run":1,"execution":"01a20366-da6a-7f28-bdd2-8e12bad7c3da","submitted_at":"2026-11-22T13:16:41.957047Z","admitted_at":"2026-11-22T13:16:41.957099Z","started_at":"2026-11-22T13:16:42.100074Z","ended_at":"2026-11-22T13:16:50.419445Z","updated_at":"2026-11-22T13:16:50.419445Z","nodes_done":11,"executed":["1","10","11","12","13","14","15","16","17","18","9"],"outputs":[{"node":"9","class":"SaveImage","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"467aba17-4961-5338-bed8-7f3f7eadb183","hash":"blake3:76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.238432Z"}]}]}'),
	('b9859827-a1f3-4d79-889d-f05ab2ee242d', '9ae41ada-907b-464f-910e-9aa0155d50c1', 'running', 3, 93, 2, '2026-11-22 13:16:41.962336+00', '{}', '{"id":"b9859827-a1f3-4d79-889d-f05ab2ee242d","account":"9ae41ada-907b-464f-910e-9aa0155d50c1","state":"running","version":2,"position":147,"number":3,"surface":"cloud","client_id":"c1","targets":["9"],"nodes_total":2,"run":1,"submitted_at":"2026-11-22T13:16:41.962336Z","admitted_at":"2026-11-22T13:16:50.419474Z","updated_at":"2026-11-22T13:16:50.419474Z","nodes_done":0}');

INSERT INTO public.node_cache VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x4d83523e82163651757a1fae1c5c7cc8a5120eae690e2855f032b7b748d9adad', '{"class":"SaveImage","job":"597d9a61-a3d2-4ddf-8a44-4a4db45cb324","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6","hash":"blake3:bd5f3645c865e6af3a63b9d0b14308d8cd4fbe8a3ac4d0545e44167820ccb7d1","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.641885Z"}],"values":["cached:blake3:6d1ef2a46ad3d5f962b4e3d2bf93a32f2532b3cd21f13334ec92c61df5a2e319"]}', '{be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6}', 1324, '2026-11-22 13:16:39.691196+00', '2026-11-22 13:16:39.691196+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\xef4c22437d987332fa47867c5036508149aea5d5c81bf6164ff4cb238e89934b', '{"class":"SaveImage","job":"b74f22f4-2e2d-4594-85ea-c665e85deb6c","ui":{"images":[{"filename":"d0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58","hash":"blake3:5f1cf18134dce03ca4ecb8ea847090e85a3780cf52ec9fb7c323cc066be2cb75","size":309,"content_type":"image/png","filename":"d0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:39.819218Z"}],"values":["cached:blake3:0b2c5e09b022bab65ce4caa273374256a856e1504beb667ffe9d3d92f680aaa0"]}', '{b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58}', 1324, '2026-11-22 13:16:39.88743+00', '2026-11-22 13:16:39.88743+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x7f5b12a603d4ad1a843d6db3431795fd65daeaaea3660320e3ced149b9605e0a', '{"class":"Partner_sim_image","job":"050029fa-5685-4db3-ace5-0052e4897580","values":["cached:blake3:127a00a4310686344507e14969fd63a9c04ef54a22f87e5989a0fa1461995610"]}', '{}', 12495, '2026-11-22 13:16:41.217595+00', '2026-11-22 13:16:41.217595+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x81e40651afeb1982e4f0fc33b2cd2a6f3f70932782945210f248d640b9796120', '{"class":"SaveImage","job":"050029fa-5685-4db3-ace5-0052e4897580","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"acf43acc-e2ea-5bbf-bb33-5813715208e0","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.27966Z"}]}', '{acf43acc-e2ea-5bbf-bb33-5813715208e0}', 420, '2026-11-22 13:16:41.29078+00', '2026-11-22 13:16:41.29078+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x626bdb41390d737ebd1c033357e719072c063e2810a6079dd48868fb779caa4a', '{"class":"Partner_sim_image","job":"ebae9f6a-0669-4099-a784-177dceffed34","values":["cached:blake3:847756d6fc86acb46c8896c369b2b9807a1da3cae8d7310d77a17f7995056a6d"]}', '{}', 12495, '2026-11-22 13:16:41.376074+00', '2026-11-22 13:16:41.376074+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\xa61783fe9f96c224b87f68f5cf35ee75c5484e9eb75a7f84f2c7a7f317b7b73d', '{"class":"SaveImage","job":"ebae9f6a-0669-4099-a784-177dceffed34","ui":{"images":[{"filename":"p_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"19571a0b-00ac-5fd2-883e-53a2919f5a72","hash":"blake3:ceba041508ae69eb65c145f69afc87bdb1ced969dae03a1f7ec57f1b5c35ddbf","size":593,"content_type":"image/png","filename":"p_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:41.761773Z"}],"values":["cached:blake3:847756d6fc86acb46c8896c369b2b9807a1da3cae8d7310d77a17f7995056a6d"]}', '{19571a0b-00ac-5fd2-883e-53a2919f5a72}', 12842, '2026-11-22 13:16:41.815201+00', '2026-11-22 13:16:41.815201+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xe1e27781859381447beee5a5b82ed0431043c8633da3dd296b3a345c1885566a', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:45.310554+00', '2026-11-22 13:16:45.310554+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x52f5b695256c5c1a427bbbc29bab1f4611b4ba642d0ebe16a4890f07c89f3457', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:45.310554+00', '2026-11-22 13:16:45.310554+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x0dc622445c74ae7bc47a06de6d737f2549317d0c5b86c078b64a2a9613475755', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:45.310554+00', '2026-11-22 13:16:45.310554+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\xb2b10d8546f5bccecd1f06c3c7e40aabc9c0410537fda30788dec1dda9f24c3c', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:45.579253+00', '2026-11-22 13:16:45.579253+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x754cc05bf2435fe6ffdbf7b7c7132ed9d49d54a404b010397af4e9e3e3efa5e6', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:45.579253+00', '2026-11-22 13:16:45.579253+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x7ab38c527f0a1eb5c16bb99421f4fb379ebeb16905d45e5654ad2dc12bd461ab', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:45.579253+00', '2026-11-22 13:16:45.579253+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x247e58df17fd8dda46a0d8b4952f4c3f8d84e4c827e1a8058708fe1d36388eb1', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:48.647323+00', '2026-11-22 13:16:48.647323+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x8cdbb29ab8507b5b45039ffef7892e9c8b971e561c825daa26746d243b4078f0', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:48.647323+00', '2026-11-22 13:16:48.647323+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x5683adb4372b7f11b48db0e1d91ff54d58f1bc394a36b24ca3bf079f93451f3a', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:48.647323+00', '2026-11-22 13:16:48.647323+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x1c3f6b3fed468a80d836a8bc0756a997307c1552ed38d6f5db787997143dbe2c', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:48.647323+00', '2026-11-22 13:16:48.647323+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xc0b2c1b52eb0c3fed220cbab5da761629ee3cf199d5376e3782f0ca1ed64663b', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:48.647323+00', '2026-11-22 13:16:48.647323+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\xcaa593a16e63b13f6f9327109b31530e4a4a9843238ff4dcd6a52d288d6bbe1f', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:49.210083+00', '2026-11-22 13:16:49.210083+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x37b6f54633152ad046eb10757eb8c1dbd64dd9ff48144eb0b88bb5bcba7e16ce', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:49.210083+00', '2026-11-22 13:16:49.210083+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x772b20ddd73643768e5134a3dd1abc77c876c4185c3dd6eb6cd8c0fd354a7287', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:49.210083+00', '2026-11-22 13:16:49.210083+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x4f340a4c69ed42a20c707b92215396e65232f3d4297ff4efb337c6ed6683706a', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:49.210083+00', '2026-11-22 13:16:49.210083+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x41253028f805213df42b43552f2d3c5c1bcf4a10f48e895f00d6322835a7ba5e', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:49.210083+00', '2026-11-22 13:16:49.210083+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\x1055383b5989f3a1c14c9fb1efd83d7a59cef1a6c87e5a22c7319579042a9f53', '{"class":"ImageBlur","job":"220fa158-745b-417e-8b08-10e3cf843ed9","values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{}', 4915399, '2026-11-22 13:16:50.27639+00', '2026-11-22 13:16:50.27639+00'),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xe643a34b5bcc78b36c17b3941c490a805793a8fa27e9a43934fedb4136d9b61e', '{"class":"SaveImage","job":"220fa158-745b-417e-8b08-10e3cf843ed9","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4c4a5400-fbba-5064-8d5e-4af475b6b59e","hash":"blake3:cf25dcfbb768fb3d9edbc1a6aeb26738b54a179753e78680edaaf468786e588d","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.049947Z"}],"values":["cached:blake3:3cd16c31889380303d539c5e9f7d63bd9bd23c72e1047d13442e98d3e9613e91"]}', '{4c4a5400-fbba-5064-8d5e-4af475b6b59e}', 4915757, '2026-11-22 13:16:50.27639+00', '2026-11-22 13:16:50.27639+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x0c4259b84f466877bd403dc101a6e8ec16ef61449c4f40efd4f9e8927f693dd6', '{"class":"ImageBlur","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{}', 4915399, '2026-11-22 13:16:50.328746+00', '2026-11-22 13:16:50.328746+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', '\x0b698537bb8889154c228d14fa4221205b6b551e29a8c8eb55c4f1d25e2440ac', '{"class":"SaveImage","job":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","ui":{"images":[{"filename":"r0_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"467aba17-4961-5338-bed8-7f3f7eadb183","hash":"blake3:76a4abe28951da300b58d1f9bc10c8cf27e6f739f1bb7cf0499a434b5423687b","size":8266,"content_type":"image/png","filename":"r0_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-22T13:16:50.238432Z"}],"values":["cached:blake3:e1ba012aa260babd70f3e720eef0a5bf46a6c8281bfdad9dd2adb83d8364b31e"]}', '{467aba17-4961-5338-bed8-7f3f7eadb183}', 4915757, '2026-11-22 13:16:50.328746+00', '2026-11-22 13:16:50.328746+00');

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES
	(15, 'job-b35d1969-7e38-4dee-92c1-e9bc81b27c88-1', 'start_run_graph', '{"job": "b35d1969-7e38-4dee-92c1-e9bc81b27c88", "run": 1, "account": "e07676b7-6923-4403-96ef-2ec0a8e7807e"}', '2026-11-22 13:16:55.34039+00', 0, NULL),
	(16, 'job-b9859827-a1f3-4d79-889d-f05ab2ee242d-1', 'start_run_graph', '{"job": "b9859827-a1f3-4d79-889d-f05ab2ee242d", "run": 1, "account": "9ae41ada-907b-464f-910e-9aa0155d50c1"}', '2026-11-22 13:16:55.39045+00', 0, NULL);

INSERT INTO public.schema_migrations VALUES
	(1, '0001_log.sql', '5b8b41ebfb68338100e3c81aaac94ad4ddf2a7374d6a9d655e35a68438df89b9', '2026-11-22 13:16:34.42337+00'),
	(2, '0002_jobs.sql', '555bdad3b2fb850ac14da9ca7ea06818acf8a77ca2377b9ac451503fa90a8abf', '2026-11-22 13:16:34.62988+00'),
	(3, '0003_files.sql', '19d509ac57379d00487b36bf22e86406ca29dbcf7ae7be077b835cb2fa09f70e', '2026-11-22 13:16:34.821969+00'),
	(4, '0004_accounts.sql', '8223e3598a6346b2aa3cbcccb669b61c681440da1a443a7d4d0415634ab616e3', '2026-11-22 13:16:34.845265+00'),
	(5, '0005_progress.sql', 'dee44421d3050cee7c113431d87456d6b041e4c1c428e4b330d40235c42f4b08', '2026-11-22 13:16:35.106794+00'),
	(10, '0010_view_jobs.sql', 'd659f9d61df248e4f39f5590df3b852a442c0ca496676970e7e528592b6d910f', '2026-11-22 13:16:35.223347+00'),
	(11, '0011_view_assets.sql', '736009797d7a05a1edb3ab8cc7f9b8bb3bffb129fcfe79bc75f05ce42d70e815', '2026-11-22 13:16:35.274313+00'),
	(12, '0012_asset_scan.sql', 'ede8d8a2d770b2c1f9b9648ffb6ea78395a4eb70f72aa3828892b2bc145ea2ea', '2026-11-22 13:16:35.317628+00'),
	(13, '0013_asset_tags.sql', '8e545cd251a08fd6f68415defa97f8fba4da2dee748b79b492361f0720dd4604', '2026-11-22 13:16:35.322278+00'),
	(14, '0014_credits_and_queues.sql', '89d4bc6d39d850651744baf129b0d8afc6a026b8b6e0533cbf4a8b056eeb1f32', '2026-11-22 13:16:35.395104+00'),
	(15, '0015_queue_position.sql', 'e9dce6b93c249f0c3a9d4dbed95297c8b135b782c80fcff285b1a0df1b64856f', '2026-11-22 13:16:35.437347+00'),
	(16, '0016_job_retention.sql', '9be0bf7131016838bd9b416fb1d65ce06abfa6d84bc937af1ce643822e442d90', '2026-11-22 13:16:35.450398+00'),
	(18, '0018_calls.sql', '90534835687eaf143bb2e45997ea2f52d53b508def42534fcacc3a6321ddc803', '2026-11-22 13:16:35.502971+00'),
	(19, '0019_view_calls.sql', 'e098dab6560425fe01098f0fb273e9959f3c4622e5d83a37906c119ec05acace', '2026-11-22 13:16:35.581658+00'),
	(20, '0020_node_cache.sql', '740be44fa432a39ff89507ab14ae68e7c78366efa696a447c0149135b56e7309', '2026-11-22 13:16:35.68328+00'),
	(21, '0021_retries.sql', '1f6d13e350d04ae55cb67beed7d5cb87dc59968a6c3c1ce285d4c33b87359b1f', '2026-11-22 13:16:35.694794+00'),
	(23, '0023_userdata.sql', '4ae7b6732598403d49dfde88a651c2a77842432519383a7b596233fb89cbb810', '2026-11-22 13:16:35.70369+00'),
	(24, '0024_view_history.sql', 'a9a98b68ca2699183b5a693aaa4a55b883ddf6534140f7b37bf3d7608174c3f4', '2026-11-22 13:16:35.720143+00'),
	(25, '0025_append_or_fail.sql', 'd7a52f2f08feb70e251d7b24c0abc05ca826ce646cdef2dd42b882f2cd427fb6', '2026-11-22 13:16:35.740641+00'),
	(26, '0026_router_access.sql', '24f3be939847e1c0de1e31c7d1b965a045cefafaf4bd5c7030bf1ff598665d72', '2026-11-22 13:16:35.741526+00'),
	(27, '0027_account_access.sql', 'bc75c26cc3c43c7081aa8463910b256169ddd1a0da580c50094368eb1be5274a', '2026-11-22 13:16:35.754296+00'),
	(30, '0030_append_many.sql', '3e078e13c7ea1718a0e8ecce2ba4c64e1e9224fe468648c3ecfffe1071d3d614', '2026-11-22 13:16:35.773346+00'),
	(31, '0031_ingestion.sql', '937dfdb61dd61f54503b37f378107c9185c8297b05b362cd6ebd8ec2864f40a4', '2026-11-22 13:16:35.777411+00'),
	(32, '0032_archive_retention.sql', 'e23219f76792ceffda78c0f39beb2d0ee785e6b78f7418a9d7482dec846b0238', '2026-11-22 13:16:35.787506+00'),
	(33, '0033_webhooks.sql', '1d6f898738a1428f2592346648d4322368fed67565611b2471b16c9e1f52bf32', '2026-11-22 13:16:35.7961+00'),
	(34, '0034_key_use.sql', 'cced994a2797fe50cb139cbf3f306d08c1bb04110ac8d4ade80ed12f16cbf759', '2026-11-22 13:16:35.877931+00'),
	(36, '0036_view_assets_v2.sql', 'd6cbde3e7de4ba8be845c43ef21fc59434d2c5ccc41d252a33676496a1a7e738', '2026-11-22 13:16:35.882503+00'),
	(37, '0037_account_storage.sql', '551da7b5aab6a8875a01e91e1fa0e6080f7a8f5821d70c28e4d4ce44920b7ffe', '2026-11-22 13:16:36.027524+00'),
	(38, '0038_exports.sql', '13f781a9288266d0ac4da5b3fdeb5920ad093e62740525908745628fc0f6ed16', '2026-11-22 13:16:36.101273+00'),
	(39, '0039_key_holder.sql', '98c440d4855163b4d76138e1169b1122407052b4e2dea8a5f9069b10e207a75f', '2026-11-22 13:16:36.117349+00'),
	(40, '0040_storage_in_parallel.sql', '6e3f42e4573f662a1284fbde7f7f3fd8f0854304acb8107b8c433271350b7a13', '2026-11-22 13:16:36.119087+00');

INSERT INTO public.sealed_credentials VALUES
	('b35d1969-7e38-4dee-92c1-e9bc81b27c88', '\xfae410e00ec1838ab0548d012675952cdd1eab72b25c47fdc597da1af7f638045fbf4afb1a0b364db220fe436865e159488d605079eb4e31f7ccfaa5dc95ece35774cc9630c4b0b912d055b60b'),
	('b9859827-a1f3-4d79-889d-f05ab2ee242d', '\xb1734cd4a8b5e6c8f1d4744e25db63ffc245d3286fb6e64f0474855443ff44c6a414097d0c2fbb9ee858bc34ea1e2933afd0df11ae6fa5acb013b088508cb4a0db9631e571180af606ffe3eb88');

INSERT INTO public.streams VALUES
	('account-e07676b7-6923-4403-96ef-2ec0a8e7807e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 2, false),
	('account-9ae41ada-907b-464f-910e-9aa0155d50c1', '9ae41ada-907b-464f-910e-9aa0155d50c1', 2, false),
	('webhooks-e07676b7-6923-4403-96ef-2ec0a8e7807e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, false),
	('job-050029fa-5685-4db3-ace5-0052e4897580', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 9, true),
	('asset-e3f0c9ad-b26e-425d-a504-040ca588bb7a', '9ae41ada-907b-464f-910e-9aa0155d50c1', 3, false),
	('asset-19571a0b-00ac-5fd2-883e-53a2919f5a72', '9ae41ada-907b-464f-910e-9aa0155d50c1', 1, false),
	('asset-7f4f2e0e-20b7-4e5c-838d-a5e588f5b57b', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 3, false),
	('asset-be80dc6f-adc9-5c4c-b706-5cacd6ee6cb6', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, false),
	('call-8924e253-5491-4b07-96aa-ee138a63eed0', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 5, true),
	('job-220fa158-745b-417e-8b08-10e3cf843ed9', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 27, true),
	('job-ebae9f6a-0669-4099-a784-177dceffed34', '9ae41ada-907b-464f-910e-9aa0155d50c1', 9, true),
	('job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 9, true),
	('asset-b6e9e8d1-dafd-5770-9d2a-ce8ef5ddfd58', '9ae41ada-907b-464f-910e-9aa0155d50c1', 1, false),
	('webhooks-9ae41ada-907b-464f-910e-9aa0155d50c1', '9ae41ada-907b-464f-910e-9aa0155d50c1', 1, false),
	('job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', '9ae41ada-907b-464f-910e-9aa0155d50c1', 9, true),
	('job-b35d1969-7e38-4dee-92c1-e9bc81b27c88', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 2, false),
	('job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', '9ae41ada-907b-464f-910e-9aa0155d50c1', 27, true),
	('job-b9859827-a1f3-4d79-889d-f05ab2ee242d', '9ae41ada-907b-464f-910e-9aa0155d50c1', 2, false),
	('call-c9613ada-0a59-41ce-9c81-ee99862965db', '9ae41ada-907b-464f-910e-9aa0155d50c1', 5, true),
	('asset-c4f27699-a365-4652-8c5f-f6ae4a564a1d', '9ae41ada-907b-464f-910e-9aa0155d50c1', 3, false),
	('call-fd745e4a-8b1c-4437-b6c7-b7175af419b2', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 7, true),
	('ledger-e07676b7-6923-4403-96ef-2ec0a8e7807e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 5, false),
	('asset-85e9f4e2-bdc3-458a-a0cf-da2a9f6ecf86', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 3, false),
	('asset-acf43acc-e2ea-5bbf-bb33-5813715208e0', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, false),
	('call-88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', '9ae41ada-907b-464f-910e-9aa0155d50c1', 7, true),
	('asset-4c4a5400-fbba-5064-8d5e-4af475b6b59e', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, false),
	('asset-467aba17-4961-5338-bed8-7f3f7eadb183', '9ae41ada-907b-464f-910e-9aa0155d50c1', 1, false);

INSERT INTO public.usage_calls_v1 VALUES
	('8924e253-5491-4b07-96aa-ee138a63eed0', 5),
	('c9613ada-0a59-41ce-9c81-ee99862965db', 5),
	('fd745e4a-8b1c-4437-b6c7-b7175af419b2', 7),
	('88b5a28e-8dad-4ee7-b72c-b2b9c34a3556', 7);

INSERT INTO public.usage_v1 VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'sim/echo', '2026-11-22', 1, 0, 0, 0, 0, 63, 0),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'sim/echo', '2026-11-22', 1, 0, 0, 0, 0, 63, 0),
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'sim/image', '2026-11-22', 1, 0, 0, 0, 0, 356, 0),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'sim/image', '2026-11-22', 1, 0, 0, 0, 0, 356, 0);

INSERT INTO public.userdata VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-22 13:16:39.651732+00', '2026-11-22 13:16:39.651732+00'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-22 13:16:39.924943+00', '2026-11-22 13:16:39.924943+00');

INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('d07d4fc4-2ce2-5ee5-92b1-9a2004c8338c', 2, 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '5af6e097-0bb1-4199-bc2b-44e51482c931', 'job-597d9a61-a3d2-4ddf-8a44-4a4db45cb324', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:39.733413Z","data":{"object":"job","id":"597d9a61-a3d2-4ddf-8a44-4a4db45cb324","status":"succeeded","created_at":"2026-11-22T13:16:39.107005Z","completed_at":"2026-11-22T13:16:39.733413Z","error":null,"urls":{"self":"/api/v2/jobs/597d9a61-a3d2-4ddf-8a44-4a4db45cb324"}}}', 'pending', 2, 0, '2026-11-22 13:16:39.802709+00', '2026-11-22 13:16:39.802709+00', '2026-11-22 13:17:38.708822+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:40.123969406Z", "error": "name_not_found", "millis": 0}, {"at": "2026-11-22T13:16:45.308331625Z", "error": "name_not_found", "millis": 29}]'),
	('3709a3df-f412-51c0-a157-3a93650534d1', 4, '9ae41ada-907b-464f-910e-9aa0155d50c1', '2d4f4a7e-d4b8-402d-b69d-787d4f400210', 'call-c9613ada-0a59-41ce-9c81-ee99862965db', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-22T13:16:39.986583Z","data":{"object":"call","id":"c9613ada-0a59-41ce-9c81-ee99862965db","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-22T13:16:39.904201Z","completed_at":"2026-11-22T13:16:39.986583Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/c9613ada-0a59-41ce-9c81-ee99862965db"}}}', 'pending', 2, 0, '2026-11-22 13:16:39.998099+00', '2026-11-22 13:16:39.998099+00', '2026-11-22 13:17:39.182255+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:40.123924271Z", "error": "name_not_found", "millis": 0}, {"at": "2026-11-22T13:16:45.395143044Z", "error": "name_not_found", "millis": 6}]'),
	('9da1253c-1ed8-5f9b-9171-50cdbdf2671c', 1, 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '5af6e097-0bb1-4199-bc2b-44e51482c931', 'call-8924e253-5491-4b07-96aa-ee138a63eed0', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-22T13:16:39.731912Z","data":{"object":"call","id":"8924e253-5491-4b07-96aa-ee138a63eed0","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-22T13:16:39.575827Z","completed_at":"2026-11-22T13:16:39.731912Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/8924e253-5491-4b07-96aa-ee138a63eed0"}}}', 'pending', 2, 0, '2026-11-22 13:16:39.759667+00', '2026-11-22 13:16:39.759667+00', '2026-11-22 13:17:43.958427+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:40.123999091Z", "error": "name_not_found", "millis": 0}, {"at": "2026-11-22T13:16:46.17496144Z", "error": "name_not_found", "millis": 7}]'),
	('fbe1d60f-148c-5bfe-9493-338c50c941cd', 5, 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '5af6e097-0bb1-4199-bc2b-44e51482c931', 'job-050029fa-5685-4db3-ace5-0052e4897580', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:41.391464Z","data":{"object":"job","id":"050029fa-5685-4db3-ace5-0052e4897580","status":"succeeded","created_at":"2026-11-22T13:16:39.16067Z","completed_at":"2026-11-22T13:16:41.391464Z","error":null,"urls":{"self":"/api/v2/jobs/050029fa-5685-4db3-ace5-0052e4897580"}}}', 'pending', 2, 0, '2026-11-22 13:16:41.425952+00', '2026-11-22 13:16:41.425952+00', '2026-11-22 13:17:36.045695+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:41.616444364Z", "error": "name_not_found", "millis": 1}, {"at": "2026-11-22T13:16:46.174573953Z", "error": "name_not_found", "millis": 8}]'),
	('0abb3d54-34ea-5569-8c6c-be1d7c4a3ab6', 3, '9ae41ada-907b-464f-910e-9aa0155d50c1', '2d4f4a7e-d4b8-402d-b69d-787d4f400210', 'job-b74f22f4-2e2d-4594-85ea-c665e85deb6c', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:39.903537Z","data":{"object":"job","id":"b74f22f4-2e2d-4594-85ea-c665e85deb6c","status":"succeeded","created_at":"2026-11-22T13:16:39.708541Z","completed_at":"2026-11-22T13:16:39.903537Z","error":null,"urls":{"self":"/api/v2/jobs/b74f22f4-2e2d-4594-85ea-c665e85deb6c"}}}', 'pending', 2, 0, '2026-11-22 13:16:39.921508+00', '2026-11-22 13:16:39.921508+00', '2026-11-22 13:17:39.652462+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:40.123547018Z", "error": "name_not_found", "millis": 1}, {"at": "2026-11-22T13:16:46.57541187Z", "error": "name_not_found", "millis": 86}]'),
	('be8e97b7-7bc6-5991-b4f8-0c0765624fda', 6, '9ae41ada-907b-464f-910e-9aa0155d50c1', '2d4f4a7e-d4b8-402d-b69d-787d4f400210', 'job-ebae9f6a-0669-4099-a784-177dceffed34', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:41.86916Z","data":{"object":"job","id":"ebae9f6a-0669-4099-a784-177dceffed34","status":"succeeded","created_at":"2026-11-22T13:16:39.766099Z","completed_at":"2026-11-22T13:16:41.86916Z","error":null,"urls":{"self":"/api/v2/jobs/ebae9f6a-0669-4099-a784-177dceffed34"}}}', 'pending', 2, 0, '2026-11-22 13:16:41.872773+00', '2026-11-22 13:16:41.872773+00', '2026-11-22 13:17:39.726227+00', NULL, NULL, NULL, '[{"at": "2026-11-22T13:16:42.503938555Z", "error": "name_not_found", "millis": 26}, {"at": "2026-11-22T13:16:49.282515313Z", "error": "name_not_found", "millis": 128}]'),
	('659d935c-70ad-5167-ba0b-433ce05544a6', 7, 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '5af6e097-0bb1-4199-bc2b-44e51482c931', 'job-220fa158-745b-417e-8b08-10e3cf843ed9', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:50.41843Z","data":{"object":"job","id":"220fa158-745b-417e-8b08-10e3cf843ed9","status":"succeeded","created_at":"2026-11-22T13:16:41.930442Z","completed_at":"2026-11-22T13:16:50.41843Z","error":null,"urls":{"self":"/api/v2/jobs/220fa158-745b-417e-8b08-10e3cf843ed9"}}}', 'pending', 0, 0, '2026-11-22 13:16:50.42322+00', '2026-11-22 13:16:50.42322+00', '2026-11-22 13:16:50.42322+00', NULL, NULL, NULL, '[]'),
	('133481ea-418d-583e-9b78-dab512ee3031', 8, '9ae41ada-907b-464f-910e-9aa0155d50c1', '2d4f4a7e-d4b8-402d-b69d-787d4f400210', 'job-43cb979e-e40a-4b21-8e88-9b0ab13aaad2', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-22T13:16:50.419445Z","data":{"object":"job","id":"43cb979e-e40a-4b21-8e88-9b0ab13aaad2","status":"succeeded","created_at":"2026-11-22T13:16:41.957047Z","completed_at":"2026-11-22T13:16:50.419445Z","error":null,"urls":{"self":"/api/v2/jobs/43cb979e-e40a-4b21-8e88-9b0ab13aaad2"}}}', 'pending', 0, 0, '2026-11-22 13:16:50.42322+00', '2026-11-22 13:16:50.42322+00', '2026-11-22 13:16:50.42322+00', NULL, NULL, NULL, '[]');

INSERT INTO public.webhook_endpoints VALUES
	('5af6e097-0bb1-4199-bc2b-44e51482c931', 'e07676b7-6923-4403-96ef-2ec0a8e7807e', '\xd8f7b1b0009ff243968978e2e2288453e5bdb656bf5a08c253e3d5261f4619dadbc523dbe67777c28ef4c8bb6d4abca3d765518762b3ffa118862d6876b34e50b26d993429142e2f12b737d131f5c322054ca56940511878a5e1cb430fa87fe7188df42cfaf7a6894b174bf10bc0b58c92f0a8890d00d22d3bdecc39efcde8ee3b75', false, '2026-11-22 13:16:40.124794+00'),
	('2d4f4a7e-d4b8-402d-b69d-787d4f400210', '9ae41ada-907b-464f-910e-9aa0155d50c1', '\x12574c1823cca32e337e770ef9353ef8860f1c01b7d423ee79f40bc07cdfe1c068e8e289c401b8f5ba3da218c4b7fcb2c86649dd498263d6a84f08ec8715cfb42649676b541d1ada87d332fa3de4592f2270fda59aa0c5a7dd79ca6af9fc0e4850c6bbc56710ce4b2996ca21f309135716078c3cb5475b2ff9f779a1407d409065c8', false, '2026-11-22 13:16:40.126981+00');

INSERT INTO public.webhooks_v1 VALUES
	('e07676b7-6923-4403-96ef-2ec0a8e7807e', 1, '[{"id":"5af6e097-0bb1-4199-bc2b-44e51482c931","host":"hooks.invalid","events":["call.*","job.*"],"position":10,"created_at":"2026-11-22T13:16:39.498506Z"}]'),
	('9ae41ada-907b-464f-910e-9aa0155d50c1', 1, '[{"id":"2d4f4a7e-d4b8-402d-b69d-787d4f400210","host":"hooks.invalid","events":["call.*","job.*"],"position":41,"created_at":"2026-11-22T13:16:39.876401Z"}]');

SELECT pg_catalog.setval('public.call_queue_seq_seq', 1, false);

SELECT pg_catalog.setval('public.events_position_seq', 165, true);

SELECT pg_catalog.setval('public.job_queue_seq_seq', 33, true);

SELECT pg_catalog.setval('public.outbox_id_seq', 33, true);

SELECT pg_catalog.setval('public.webhook_deliveries_seq_seq', 33, true);

ALTER TABLE ONLY public.account_storage
    ADD CONSTRAINT account_storage_pkey PRIMARY KEY (account, slot);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_name_key UNIQUE (name);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.asset_holds
    ADD CONSTRAINT asset_holds_pkey PRIMARY KEY (asset_id, job_id);

ALTER TABLE ONLY public.assets_v1
    ADD CONSTRAINT assets_v1_id PRIMARY KEY (id);

ALTER TABLE ONLY public.assets_v1_tags
    ADD CONSTRAINT assets_v1_tags_id PRIMARY KEY (account, tag, created);

ALTER TABLE ONLY public.assets_v2_counts
    ADD CONSTRAINT assets_v2_counts_id PRIMARY KEY (account, label);

ALTER TABLE ONLY public.assets_v2
    ADD CONSTRAINT assets_v2_id PRIMARY KEY (id);

ALTER TABLE ONLY public.assets_v2_labels
    ADD CONSTRAINT assets_v2_labels_id PRIMARY KEY (account, label, created);

ALTER TABLE ONLY public.assets_v2_tags
    ADD CONSTRAINT assets_v2_tags_id PRIMARY KEY (account, tag, created);

ALTER TABLE ONLY public.call_blobs
    ADD CONSTRAINT call_blobs_pkey PRIMARY KEY (call_id, ref);

ALTER TABLE ONLY public.call_keys
    ADD CONSTRAINT call_keys_pkey PRIMARY KEY (account, key);

ALTER TABLE ONLY public.call_lanes
    ADD CONSTRAINT call_lanes_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.call_queue
    ADD CONSTRAINT call_queue_pkey PRIMARY KEY (call_id);

ALTER TABLE ONLY public.call_slots
    ADD CONSTRAINT call_slots_pkey PRIMARY KEY (call_id);

ALTER TABLE ONLY public.call_windows
    ADD CONSTRAINT call_windows_pkey PRIMARY KEY (account, name);

ALTER TABLE ONLY public.call_workers
    ADD CONSTRAINT call_workers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.calls_v1
    ADD CONSTRAINT calls_v1_id PRIMARY KEY (id);

ALTER TABLE ONLY public.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.credit_balances
    ADD CONSTRAINT credit_balances_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.credit_holds
    ADD CONSTRAINT credit_holds_id PRIMARY KEY (account, hold);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id UNIQUE (id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_position PRIMARY KEY ("position");

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_stream_version UNIQUE (stream, version);

ALTER TABLE ONLY public.exports
    ADD CONSTRAINT exports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.file_counters
    ADD CONSTRAINT file_counters_pkey PRIMARY KEY (account, folder, subfolder, prefix);

ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (asset_id);

ALTER TABLE ONLY public.halted_streams
    ADD CONSTRAINT halted_streams_pkey PRIMARY KEY (projection, stream);

ALTER TABLE ONLY public.history_v1
    ADD CONSTRAINT history_v1_account PRIMARY KEY (account);

ALTER TABLE ONLY public.history_v1_jobs
    ADD CONSTRAINT history_v1_jobs_id PRIMARY KEY (account, job);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account, operation, key);

ALTER TABLE ONLY public.job_archives
    ADD CONSTRAINT job_archives_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.job_queue
    ADD CONSTRAINT job_queue_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_retries
    ADD CONSTRAINT job_retries_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.job_slots
    ADD CONSTRAINT job_slots_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.jobs_v1
    ADD CONSTRAINT jobs_v1_id PRIMARY KEY (id);

ALTER TABLE ONLY public.node_cache
    ADD CONSTRAINT node_cache_pkey PRIMARY KEY (account, key);

ALTER TABLE ONLY public.node_progress
    ADD CONSTRAINT node_progress_pkey PRIMARY KEY (job, node);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.sealed_credentials
    ADD CONSTRAINT sealed_credentials_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.usage_calls_v1
    ADD CONSTRAINT usage_calls_v1_id PRIMARY KEY (id);

ALTER TABLE ONLY public.usage_v1
    ADD CONSTRAINT usage_v1_key PRIMARY KEY (account, model, day);

ALTER TABLE ONLY public.userdata
    ADD CONSTRAINT userdata_path PRIMARY KEY (account, path);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhooks_v1
    ADD CONSTRAINT webhooks_v1_account PRIMARY KEY (account);

CREATE INDEX api_keys_account ON public.api_keys USING btree (account);

CREATE INDEX asset_holds_job ON public.asset_holds USING btree (job_id);

CREATE INDEX assets_v1_listing ON public.assets_v1 USING btree (account, created DESC) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX assets_v2_by_change ON public.assets_v2 USING btree (account, changed) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX assets_v2_by_hash ON public.assets_v2 USING btree (account, hash) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX assets_v2_by_label ON public.assets_v2 USING btree (account, label, created) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX assets_v2_by_size ON public.assets_v2 USING btree (account, size, created) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX assets_v2_counts_most ON public.assets_v2_counts USING btree (account, count DESC, label);

CREATE INDEX assets_v2_described ON public.assets_v2 USING btree (account, created DESC) WHERE ((state = ANY (ARRAY['live'::text, 'rejected'::text])) AND (metadata IS NOT NULL));

CREATE INDEX assets_v2_end ON public.assets_v2 USING btree (account, expires_at) WHERE ((state = ANY (ARRAY['live'::text, 'rejected'::text])) AND (expires_at IS NOT NULL));

CREATE INDEX assets_v2_listing ON public.assets_v2 USING btree (account, created DESC) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));

CREATE INDEX call_blobs_expiry ON public.call_blobs USING btree (keep_until) WHERE (keep_until < 'infinity'::timestamp with time zone);

CREATE INDEX call_blobs_ref ON public.call_blobs USING btree (ref);

CREATE INDEX call_keys_call ON public.call_keys USING btree (call_id);

CREATE INDEX call_keys_expiry ON public.call_keys USING btree (expires_at);

CREATE INDEX call_queue_expiry ON public.call_queue USING btree (expires_at);

CREATE INDEX call_queue_order ON public.call_queue USING btree (account, seq);

CREATE INDEX call_slots_age ON public.call_slots USING btree (admitted_at);

CREATE INDEX calls_v1_all ON public.calls_v1 USING btree (accepted DESC);

CREATE INDEX calls_v1_listing ON public.calls_v1 USING btree (account, accepted DESC);

CREATE INDEX credit_holds_open ON public.credit_holds USING btree (account) WHERE (state = 'held'::text);

CREATE INDEX events_document ON public.events USING btree ("substring"((data)::text, '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}'::text)) WHERE ((type = 'job.submitted.v1'::text) AND ("substring"((data)::text, '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}'::text) IS NOT NULL));

CREATE UNIQUE INDEX exports_same ON public.exports USING btree (account, fingerprint);

CREATE INDEX files_expiry ON public.files USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX files_hash ON public.files USING btree (hash, account);

CREATE INDEX files_ingest ON public.files USING btree (asset_id) WHERE (ingest_since IS NOT NULL);

CREATE UNIQUE INDEX files_name ON public.files USING btree (account, folder, subfolder, filename) WHERE named;

CREATE UNIQUE INDEX files_producer ON public.files USING btree (job_id, run, node, idx) WHERE (job_id IS NOT NULL);

CREATE INDEX files_thumbnail ON public.files USING btree (thumbnail) WHERE (thumbnail IS NOT NULL);

CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);

CREATE INDEX job_archives_age ON public.job_archives USING btree (retired_at) WHERE (archive IS NOT NULL);

CREATE INDEX job_archives_blob ON public.job_archives USING btree (archive) WHERE (archive IS NOT NULL);

CREATE INDEX job_archives_document ON public.job_archives USING btree (document) WHERE (document IS NOT NULL);

CREATE INDEX job_archives_waiting ON public.job_archives USING btree ("position") WHERE (NOT pruned);

CREATE INDEX job_queue_order ON public.job_queue USING btree (account, number, seq);

CREATE INDEX job_retries_origin ON public.job_retries USING btree (origin);

CREATE INDEX job_slots_account ON public.job_slots USING btree (account);

CREATE INDEX job_slots_age ON public.job_slots USING btree (admitted_at);

CREATE INDEX jobs_v1_active ON public.jobs_v1 USING btree (account, number, submitted) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text, 'canceling'::text]));

CREATE INDEX jobs_v1_age ON public.jobs_v1 USING btree (created_at, id);

CREATE INDEX jobs_v1_listing ON public.jobs_v1 USING btree (account, submitted DESC);

CREATE INDEX jobs_v1_metadata ON public.jobs_v1 USING gin (metadata jsonb_path_ops) WITH (fastupdate=off);

CREATE INDEX jobs_v1_queued ON public.jobs_v1 USING btree (account, number, submitted, id) WHERE (state = 'queued'::text);

CREATE INDEX jobs_v1_states ON public.jobs_v1 USING btree (account, state, submitted DESC);

CREATE INDEX node_cache_used ON public.node_cache USING btree (used_at);

CREATE INDEX node_progress_age ON public.node_progress USING btree (updated_at);

CREATE INDEX outbox_due ON public.outbox USING btree (due_at);

CREATE INDEX outbox_order ON public.outbox USING btree (workflow_id, id);

CREATE INDEX userdata_hash ON public.userdata USING btree (hash);

CREATE INDEX webhook_deliveries_dead ON public.webhook_deliveries USING btree (account, seq DESC) WHERE (state = 'dead'::text);

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook, due_at, seq) WHERE (state = 'pending'::text);

CREATE INDEX webhook_deliveries_ended ON public.webhook_deliveries USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX webhook_deliveries_leased ON public.webhook_deliveries USING btree (webhook) WHERE (leased_until IS NOT NULL);

CREATE INDEX webhook_deliveries_of ON public.webhook_deliveries USING btree (webhook, seq DESC);

CREATE INDEX webhook_deliveries_oldest ON public.webhook_deliveries USING btree (queued_at) WHERE (state = 'pending'::text);

CREATE INDEX webhook_deliveries_subject ON public.webhook_deliveries USING btree (webhook, subject, seq) WHERE (state = 'pending'::text);

CREATE INDEX webhook_endpoints_account ON public.webhook_endpoints USING btree (account);

CREATE TRIGGER events_are_facts BEFORE DELETE OR UPDATE OR TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.events_are_facts();

CREATE TRIGGER files_added AFTER INSERT ON public.files REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.add_storage();

CREATE TRIGGER files_fixed BEFORE UPDATE OF account, size ON public.files FOR EACH ROW WHEN (((old.account <> new.account) OR (old.size <> new.size))) EXECUTE FUNCTION public.storage_is_fixed();

CREATE TRIGGER files_gone AFTER DELETE ON public.files REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.take_storage();

CREATE TRIGGER userdata_added AFTER INSERT ON public.userdata REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.add_storage();

CREATE TRIGGER userdata_changed AFTER UPDATE ON public.userdata REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.change_storage();

CREATE TRIGGER userdata_gone AFTER DELETE ON public.userdata REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.take_storage();

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
