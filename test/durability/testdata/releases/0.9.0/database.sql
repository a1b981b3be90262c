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
CREATE FUNCTION public.events_are_final() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if tg_op = 'DELETE' and current_setting('millrace.pruning', true) = 'on' then
        return null;
    end if;
    raise exception 'the event log is append-only: % refused', tg_op;
end $$;
CREATE FUNCTION public.prune_events(in_stream text, retired bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
    gone bigint;
begin
    perform set_config('millrace.pruning', 'on', true);
    delete from events where stream = in_stream and version < retired
        and exists (select from streams where id = in_stream and closed and version = retired)
        and exists (select from events where stream = in_stream and version = retired and type = 'job.retired.v1');
    get diagnostics gone = row_count;
    perform set_config('millrace.pruning', 'off', true);
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
    server_labels text[],
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
CREATE TABLE public.asset_public_ids (
    account text NOT NULL,
    public_id uuid NOT NULL,
    asset_id uuid NOT NULL
);
CREATE TABLE public.assets_v1 (
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
CREATE TABLE public.assets_v1_counts (
    account text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.assets_v1_labels (
    account text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    created bigint NOT NULL,
    id text NOT NULL
);
CREATE TABLE public.assets_v1_tags (
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
    delivered_at timestamp with time zone,
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
    expires_at timestamp with time zone NOT NULL,
    of_job boolean GENERATED ALWAYS AS ((payload ? 'for'::text)) STORED
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
CREATE TABLE public.comfyui_classes (
    digest text NOT NULL,
    body bytea NOT NULL,
    made_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.comfyui_fences
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.comfyui_leases (
    job text NOT NULL,
    run integer NOT NULL,
    unit integer NOT NULL,
    account text NOT NULL,
    server uuid NOT NULL,
    attempt integer NOT NULL,
    fence bigint NOT NULL,
    holder text NOT NULL,
    until timestamp with time zone NOT NULL,
    since timestamp with time zone NOT NULL,
    reason text NOT NULL,
    models text[] DEFAULT '{}'::text[] NOT NULL,
    result jsonb,
    copying boolean DEFAULT false NOT NULL
);
CREATE TABLE public.comfyui_loads (
    server uuid NOT NULL,
    model text NOT NULL,
    millis bigint NOT NULL,
    measured timestamp with time zone NOT NULL
);
CREATE TABLE public.comfyui_orphans (
    server uuid NOT NULL,
    prompt text NOT NULL,
    made_at timestamp with time zone NOT NULL
);
CREATE TABLE public.comfyui_servers (
    id uuid NOT NULL,
    url text NOT NULL,
    labels text[] DEFAULT '{}'::text[] NOT NULL,
    slots integer DEFAULT 1 NOT NULL,
    fixed boolean DEFAULT false NOT NULL,
    drained boolean DEFAULT false NOT NULL,
    expires_at timestamp with time zone,
    registered_at timestamp with time zone NOT NULL,
    sealed bytea,
    health text DEFAULT 'unseen'::text NOT NULL,
    problem text DEFAULT ''::text NOT NULL,
    version text DEFAULT ''::text NOT NULL,
    system jsonb DEFAULT '{}'::jsonb NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    pending integer DEFAULT 0 NOT NULL,
    others integer DEFAULT 0 NOT NULL,
    digest text DEFAULT ''::text NOT NULL,
    models text[] DEFAULT '{}'::text[] NOT NULL,
    seen_at timestamp with time zone,
    looked_at timestamp with time zone,
    token uuid,
    price bigint DEFAULT 0 NOT NULL,
    CONSTRAINT comfyui_servers_price_check CHECK ((price >= 0)),
    CONSTRAINT comfyui_servers_slots_check CHECK ((slots > 0))
);
CREATE TABLE public.comfyui_tokens (
    id uuid NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    price bigint DEFAULT 0 NOT NULL,
    hosts text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT comfyui_tokens_price_check CHECK ((price >= 0))
);
CREATE TABLE public.comfyui_waits (
    job text NOT NULL,
    run integer NOT NULL,
    unit integer NOT NULL,
    account text NOT NULL,
    body jsonb NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    ahead integer DEFAULT 0 NOT NULL,
    since timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL
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
CREATE TABLE public.downloads (
    id uuid NOT NULL,
    account text NOT NULL,
    fingerprint bytea NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    source bytea NOT NULL
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
CREATE TABLE public.job_index_v1 (
    id text NOT NULL,
    account text NOT NULL,
    submitted bigint NOT NULL,
    version bigint NOT NULL,
    title text NOT NULL,
    classes text[] NOT NULL,
    models text[] NOT NULL,
    servers text[] NOT NULL,
    code text NOT NULL,
    class text NOT NULL,
    cause text NOT NULL,
    words tsvector NOT NULL
);
CREATE TABLE public.job_lanes (
    account text NOT NULL,
    last_number bigint DEFAULT 0 NOT NULL,
    queued integer DEFAULT 0 NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    mode text DEFAULT 'open'::text NOT NULL
);
CREATE TABLE public.job_public_ids (
    account text NOT NULL,
    public_id uuid NOT NULL,
    job_id uuid NOT NULL
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
CREATE TABLE public.node_marks (
    job_id uuid NOT NULL,
    run integer NOT NULL,
    node text NOT NULL,
    worker text NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE UNLOGGED TABLE public.node_progress (
    job uuid NOT NULL,
    node text NOT NULL,
    run integer NOT NULL,
    value integer NOT NULL,
    max integer NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    waiting text DEFAULT ''::text NOT NULL
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
    program text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.sealed_credentials (
    job_id uuid NOT NULL,
    sealed bytea NOT NULL
);
CREATE TABLE public.server_usage_v1 (
    job text NOT NULL,
    run integer NOT NULL,
    segment integer NOT NULL,
    attempt integer NOT NULL,
    account text NOT NULL,
    server text NOT NULL,
    url text NOT NULL,
    day date NOT NULL,
    outcome text NOT NULL,
    millis bigint NOT NULL,
    charged_micros bigint NOT NULL
);
CREATE TABLE public.stats_at_v1 (
    one smallint NOT NULL,
    "position" bigint NOT NULL,
    hour timestamp with time zone NOT NULL
);
CREATE TABLE public.stats_open_v1 (
    job text NOT NULL,
    submitted_at timestamp with time zone NOT NULL
);
CREATE TABLE public.stats_v1 (
    account text NOT NULL,
    grain smallint NOT NULL,
    bucket timestamp with time zone NOT NULL,
    measure text NOT NULL,
    key text NOT NULL,
    n bigint NOT NULL,
    total bigint NOT NULL
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
CREATE TABLE public.workers (
    id text NOT NULL,
    heartbeat timestamp with time zone NOT NULL,
    rules jsonb
);
INSERT INTO public.account_storage VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 37, 19, 2),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 33, 1584, 3),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 12, 23, 2),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 43, 453, 1),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 40, 279, 1),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 32, 542, 1);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-23 20:00:18.850363+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'acme', 'standard', true, '2026-11-23 20:00:21.310798+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'umbrella', 'standard', true, '2026-11-23 20:00:26.072824+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('9f045b80-c576-4875-85ec-f68205116ceb', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x5279cdfa6edd3296733eec35ca65b469b4e4f98a660fae1ed20f638b379349f0', 'millrace-xjsvti', '{read,write}', '2026-11-23 20:00:21.834951+00', NULL, '2026-11-23 20:00:22.146261+00'),
	('2dc4e585-74d6-4e74-868a-3c13fd1a4d21', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\x1836043f6c081132c08e44291f385f9219ce5ec74fbab5ead32acd023d90a9bc', 'millrace-esn4vw', '{read,write}', '2026-11-23 20:00:26.158563+00', NULL, '2026-11-23 20:00:26.173692+00');
INSERT INTO public.assets_v1 VALUES
	('a884a41f-4e0b-4f88-ab05-3850b3dccca3', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"a884a41f-4e0b-4f88-ab05-3850b3dccca3","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"live","version":2,"position":8,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-23T20:00:22.523Z","verified_at":"2026-11-23T20:00:24.22163Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('7b8a1f1c-2909-5952-b532-3b9eb114b2ed', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'live', 20, 20, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-24 20:00:24.347+00', '{"id":"7b8a1f1c-2909-5952-b532-3b9eb114b2ed","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"live","version":1,"position":20,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"f075a1ae-3348-4dc4-92af-b1ea1c2621b9","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-23T20:00:24.362086Z","expires_at":"2027-01-24T20:00:24.347Z"}'),
	('bf2c135a-5d3d-4fee-b1d6-371f263371ab', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'live', 33, 33, 2, 'calls/a1bf039e-fd36-461e-a487-57ecae78cf5e/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-24 20:00:25.768+00', '{"id":"bf2c135a-5d3d-4fee-b1d6-371f263371ab","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"live","version":2,"position":37,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/a1bf039e-fd36-461e-a487-57ecae78cf5e/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-23T20:00:25.768Z","expires_at":"2026-11-24T20:00:25.768Z","verified_at":"2026-11-23T20:00:25.825264Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'live', 39, 39, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-24 20:00:25.921+00', '{"id":"1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-23T20:00:25.925316Z","expires_at":"2027-01-24T20:00:25.921Z"}'),
	('40816fd5-2156-46b7-a759-cc90ac7defc7', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"40816fd5-2156-46b7-a759-cc90ac7defc7","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"live","version":2,"position":51,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-23T20:00:26.202Z","verified_at":"2026-11-23T20:00:26.339154Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('4db577c1-ed90-5db1-aa14-1a2f47d59f8e', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'live', 61, 61, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-24 20:00:26.385+00', '{"id":"4db577c1-ed90-5db1-aa14-1a2f47d59f8e","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"live","version":1,"position":61,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-23T20:00:26.424054Z","expires_at":"2027-01-24T20:00:26.385Z"}'),
	('a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'live', 74, 74, 2, 'calls/b841a80d-4dab-4685-ae20-962c9b796eec/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-24 20:00:27.597+00', '{"id":"a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"live","version":2,"position":75,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/b841a80d-4dab-4685-ae20-962c9b796eec/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-23T20:00:27.597Z","expires_at":"2026-11-24T20:00:27.597Z","verified_at":"2026-11-23T20:00:27.637904Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('ca126c48-06ed-5f0d-9cc6-fbd3bc370d99', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'live', 80, 80, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-24 20:00:27.731+00', '{"id":"ca126c48-06ed-5f0d-9cc6-fbd3bc370d99","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"live","version":1,"position":80,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-23T20:00:27.736966Z","expires_at":"2027-01-24T20:00:27.731Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'input', 1),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', 3),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', '', 4),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'input', 1),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', 3),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'input', 4, 'a884a41f-4e0b-4f88-ab05-3850b3dccca3'),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', 20, '7b8a1f1c-2909-5952-b532-3b9eb114b2ed'),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', 33, 'bf2c135a-5d3d-4fee-b1d6-371f263371ab'),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', 39, '1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'input', 45, '40816fd5-2156-46b7-a759-cc90ac7defc7'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', 61, '4db577c1-ed90-5db1-aa14-1a2f47d59f8e'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', 74, 'a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', 80, 'ca126c48-06ed-5f0d-9cc6-fbd3bc370d99');
INSERT INTO public.call_blobs VALUES
	('050e0d05-95d5-4af5-977a-7b82aea8746f', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-24 20:00:24.242586+00'),
	('050e0d05-95d5-4af5-977a-7b82aea8746f', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-24 20:00:24.242586+00'),
	('a1bf039e-fd36-461e-a487-57ecae78cf5e', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-24 20:00:25.78265+00'),
	('a1bf039e-fd36-461e-a487-57ecae78cf5e', '\xdb97de577d7eedfc51d7f3880e25191410e31e72914fee811b8de14c26a81d3c', '2026-11-24 20:00:25.78265+00'),
	('6ff520f9-1903-4a0d-9519-55c559a6dea1', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-24 20:00:26.285497+00'),
	('6ff520f9-1903-4a0d-9519-55c559a6dea1', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-24 20:00:26.285497+00'),
	('b841a80d-4dab-4685-ae20-962c9b796eec', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-24 20:00:27.646208+00'),
	('b841a80d-4dab-4685-ae20-962c9b796eec', '\xfe80a5152e5ad305a7d770cec725a3bef1d11ae33d259b39fb219a11930b529d', '2026-11-24 20:00:27.646208+00');
INSERT INTO public.call_keys VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'node:58ae0474-05c0-4c62-88e8-fce6d7d1b56a:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', 'a1bf039e-fd36-461e-a487-57ecae78cf5e', '2026-11-24 20:00:24.619272+00', NULL),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'node:de8b95e8-0c18-4962-93da-3d96f4fe7a91:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', 'b841a80d-4dab-4685-ae20-962c9b796eec', '2026-11-24 20:00:26.5103+00', NULL);
INSERT INTO public.call_lanes VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, 0, 0, 0, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, 0, 0, 0, 0);
INSERT INTO public.call_workers VALUES
	('vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5', '2026-11-23 20:00:27.444448+00'),
	('vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d', '2026-11-23 20:00:27.552409+00');
INSERT INTO public.calls_v1 VALUES
	('050e0d05-95d5-4af5-977a-7b82aea8746f', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'succeeded', 'sim/echo', 5, 5, '{"id":"050e0d05-95d5-4af5-977a-7b82aea8746f","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"succeeded","version":5,"position":10,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:19000","held_micros":0,"charged_micros":0,"run":1,"token":"728fa6c9-249e-4e4b-83d6-0c8e85012f84","worker":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-23T20:00:22.855926Z","admitted_at":"2026-11-23T20:00:22.85597Z","sent_at":"2026-11-23T20:00:24.212881Z","ended_at":"2026-11-23T20:00:24.257005Z","updated_at":"2026-11-23T20:00:24.257005Z"}'),
	('a1bf039e-fd36-461e-a487-57ecae78cf5e', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'succeeded', 'sim/image', 28, 7, '{"id":"a1bf039e-fd36-461e-a487-57ecae78cf5e","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"succeeded","version":7,"position":35,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"0828b95c-ad78-4e20-beab-b5b8ea8d8e69","worker":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5","handle":"sim-eyJyIjoxNzk1NDY0MDI0ODE2LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:db97de577d7eedfc51d7f3880e25191410e31e72914fee811b8de14c26a81d3c","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-23T20:00:24.626423Z","admitted_at":"2026-11-23T20:00:24.626629Z","sent_at":"2026-11-23T20:00:24.690778Z","ended_at":"2026-11-23T20:00:25.783895Z","updated_at":"2026-11-23T20:00:25.783895Z"}'),
	('6ff520f9-1903-4a0d-9519-55c559a6dea1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'succeeded', 'sim/echo', 46, 5, '{"id":"6ff520f9-1903-4a0d-9519-55c559a6dea1","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"succeeded","version":5,"position":50,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:19000","held_micros":0,"charged_micros":0,"run":1,"token":"397602b8-e0a4-47b2-9c4b-05676871ff58","worker":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-23T20:00:26.240421Z","admitted_at":"2026-11-23T20:00:26.240458Z","sent_at":"2026-11-23T20:00:26.278283Z","ended_at":"2026-11-23T20:00:26.298997Z","updated_at":"2026-11-23T20:00:26.298997Z"}'),
	('b841a80d-4dab-4685-ae20-962c9b796eec', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'succeeded', 'sim/image', 69, 7, '{"id":"b841a80d-4dab-4685-ae20-962c9b796eec","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"succeeded","version":7,"position":77,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"da2a1364-3e57-4eae-8f15-c4565f726fb7","worker":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d","handle":"sim-eyJyIjoxNzk1NDY0MDI2NzA1LCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:fe80a5152e5ad305a7d770cec725a3bef1d11ae33d259b39fb219a11930b529d","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-23T20:00:26.514459Z","admitted_at":"2026-11-23T20:00:26.514499Z","sent_at":"2026-11-23T20:00:26.541754Z","ended_at":"2026-11-23T20:00:27.658883Z","updated_at":"2026-11-23T20:00:27.658883Z"}');
INSERT INTO public.checkpoints VALUES
	('server_usage_v1', 72, '2026-11-23 20:00:27.255055+00'),
	('stats_v1', 72, '2026-11-23 20:00:27.272689+00'),
	('calls_v1', 77, '2026-11-23 20:00:27.679152+00'),
	('assets_v1', 80, '2026-11-23 20:00:27.752592+00'),
	('webhooks_outgoing', 82, '2026-11-23 20:00:27.793602+00'),
	('usage_v1', 86, '2026-11-23 20:00:27.845774+00'),
	('webhooks_v1', 90, '2026-11-23 20:00:27.927936+00'),
	('history_v1', 90, '2026-11-23 20:00:27.933007+00'),
	('job_index_v1', 94, '2026-11-23 20:00:28.120023+00'),
	('jobs_v1', 97, '2026-11-23 20:00:28.151948+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '07c5d76a-3fc6-44ad-bc48-82cd28ad4ba4', 'account.created.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-23 20:00:21.392388+00'),
	(2, 'account-2b82d3ef-fcc8-42da-9d13-b6b80940386f', 2, '3cdfe0a4-d91f-4218-bcb7-aad285cece5d', 'account.key_issued.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"key":"9f045b80-c576-4875-85ec-f68205116ceb","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-23 20:00:21.870819+00'),
	(3, 'webhooks-2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '3893828e-05d5-4af9-a31e-59e1bf010a9e', 'webhook.registered.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"webhook":"5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"061a9d06-56c3-4176-9cef-6b95c0d73a19"}', '2026-11-23 20:00:22.438728+00'),
	(4, 'asset-a884a41f-4e0b-4f88-ab05-3850b3dccca3', 1, '5a2540fa-4522-4e00-82e1-2e966572fe2c', 'asset.created.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-23T20:00:22.523Z"}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"c2724dbd-321c-4cd9-b1b1-5bae8b3fd14d"}', '2026-11-23 20:00:22.5794+00'),
	(5, 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 1, 'c2620c6b-0c69-4f2b-93cf-9737f99901d9', 'call.accepted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"fcd80b1bcb948367738b2a878355dac2a42987cf53650eb0c56ee9f03de8a069","base":"http://127.0.0.1:19000","fallback":"runware"}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"050e0d05-95d5-4af5-977a-7b82aea8746f"}', '2026-11-23 20:00:22.855926+00'),
	(6, 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 2, '822d553f-248c-5bb5-aac5-d20a8c4110a3', 'call.admitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"050e0d05-95d5-4af5-977a-7b82aea8746f"}', '2026-11-23 20:00:22.85597+00'),
	(7, 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 3, '8362c224-8646-5e59-843e-c0f6e8033220', 'call.dispatching.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"token":"728fa6c9-249e-4e4b-83d6-0c8e85012f84","worker":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:24.212881+00'),
	(8, 'asset-a884a41f-4e0b-4f88-ab05-3850b3dccca3', 2, '301b98c4-70db-5115-a648-5371e87f0c21', 'asset.verified.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-23 20:00:24.22163+00'),
	(9, 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 4, '4e525f89-1596-5093-8a14-0bdfef4ede5f', 'call.answered.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:24.256962+00'),
	(10, 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 5, '8acf6ff5-002b-58ae-978f-fe74cdbcf69f', 'call.succeeded.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:24.257005+00'),
	(11, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 1, 'ee22ed3d-737a-4b48-abbf-89f05ac1d005', 'job.submitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795464024293}}"},"targets":["3"],"nodes_total":3}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"4c9642ec-e934-450b-8958-713694444728"}', '2026-11-23 20:00:24.303489+00'),
	(12, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 2, '6a4a9771-9d60-587b-91be-579db791af15', 'job.admitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"4c9642ec-e934-450b-8958-713694444728"}', '2026-11-23 20:00:24.303929+00'),
	(13, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 3, 'e51d8f91-5fda-5d18-9121-2262a20e69b7', 'job.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes_total":3,"worker":"vm/973","execution":"01a209fe-d0f7-7447-ba19-800d401013c4"}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340552+00'),
	(14, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 4, '251fe1a8-dc4f-542f-b3c1-48fb4a57f9a0', 'job.nodes_cached.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes":null}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340578+00'),
	(15, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 5, '7acb5c67-59d3-56b2-858d-a918b4ea281d', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340582+00'),
	(16, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 6, '3f3995f8-8c9b-5bf2-a040-10969a290666', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340585+00'),
	(17, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 7, 'b03af112-41bb-5e0b-9a01-5f6adbb379ac', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340588+00'),
	(18, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 8, 'b8bd20e4-2f8e-5131-9b28-ce10b7b34f77', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340591+00'),
	(19, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 9, '67d23fa6-03af-5bb4-9b72-095d3410c50a', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.340593+00'),
	(20, 'asset-7b8a1f1c-2909-5952-b532-3b9eb114b2ed', 1, '3e5b306d-4d66-5f9a-b2ca-a7e5509e1c42', 'asset.created.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"f075a1ae-3348-4dc4-92af-b1ea1c2621b9","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-24T20:00:24.347Z"}', '{"actor":"job f075a1ae-3348-4dc4-92af-b1ea1c2621b9"}', '2026-11-23 20:00:24.362086+00'),
	(21, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 10, '4175f9ba-88b6-5da0-9561-e23ed4dc71a0', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"7b8a1f1c-2909-5952-b532-3b9eb114b2ed","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:24.349714Z"}],"millis":23}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.380873+00'),
	(22, 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 11, '8ce77852-6152-5d44-b8b4-cd7cd9259ae2', 'job.succeeded.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.380911+00'),
	(23, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 1, '57ec6dc6-a8dc-4bb8-bd62-ca19367e2221', 'job.submitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795464024413}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"53cc9de9-3763-4d76-9609-a1b7fcd2c0b7"}', '2026-11-23 20:00:24.414906+00'),
	(24, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 2, 'cbcadd02-2f23-5d18-8d15-529d8083fed6', 'job.admitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"53cc9de9-3763-4d76-9609-a1b7fcd2c0b7"}', '2026-11-23 20:00:24.415363+00'),
	(44, 'webhooks-a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '9b8bcdd8-9503-4e59-bacc-f349c132a473', 'webhook.registered.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"webhook":"d7f1f5e2-a19d-4175-8b38-e3995c238dde","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"15083047-20db-40e5-ac82-ff89d5922e9c"}', '2026-11-23 20:00:26.194643+00'),
	(45, 'asset-40816fd5-2156-46b7-a759-cc90ac7defc7', 1, 'c2e57608-1ee6-4b99-8db4-63c130790990', 'asset.created.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-23T20:00:26.202Z"}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"ddc4fcf5-7a3d-4371-8023-29741072dc4f"}', '2026-11-23 20:00:26.208326+00'),
	(46, 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 1, '90eec619-fcdd-4dc2-9c4d-edcc089658d4', 'call.accepted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"fcd80b1bcb948367738b2a878355dac2a42987cf53650eb0c56ee9f03de8a069","base":"http://127.0.0.1:19000","fallback":"runware"}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"6ff520f9-1903-4a0d-9519-55c559a6dea1"}', '2026-11-23 20:00:26.240421+00'),
	(47, 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 2, '5efbc0e9-75fc-554c-8091-53a497a2687e', 'call.admitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"6ff520f9-1903-4a0d-9519-55c559a6dea1"}', '2026-11-23 20:00:26.240458+00'),
	(52, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 1, '046da793-08ba-47d1-b9c9-063186583b4d', 'job.submitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795464026352}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"8faf82bf-76c9-4a53-b12b-de6da016a34e"}', '2026-11-23 20:00:26.354526+00'),
	(53, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 2, '4bc7619f-3aa9-508f-94b0-d27e27492435', 'job.admitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"8faf82bf-76c9-4a53-b12b-de6da016a34e"}', '2026-11-23 20:00:26.354575+00'),
	(25, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 3, 'df66cbef-d8c3-577e-97a1-67b0cdf7ebc0', 'job.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes_total":2,"worker":"vm/973","execution":"01a209fe-d16c-7a5e-b0d2-a943b96b2e66"}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.509412+00'),
	(26, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 4, '87aa3078-4f4a-55a4-9b2d-b0d1b63f1769', 'job.nodes_cached.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes":null}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.50949+00'),
	(27, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 5, '36debd8f-3649-5eac-9177-849a749c8d56', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:24.596633+00'),
	(28, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 1, 'bba624ba-7612-4a98-8406-db4288eb1b6c', 'call.accepted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"fcd80b1bcb948367738b2a878355dac2a42987cf53650eb0c56ee9f03de8a069","base":"http://127.0.0.1:8188"}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"a1bf039e-fd36-461e-a487-57ecae78cf5e"}', '2026-11-23 20:00:24.626423+00'),
	(29, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 2, '3ccdd647-0923-5090-afd4-17dd58138c2e', 'call.admitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"a1bf039e-fd36-461e-a487-57ecae78cf5e"}', '2026-11-23 20:00:24.626629+00'),
	(30, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 3, '2a45d12e-6e47-5d15-bec2-28805c83a30a', 'call.dispatching.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"token":"0828b95c-ad78-4e20-beab-b5b8ea8d8e69","worker":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:24.690778+00'),
	(31, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 4, '55001d1c-71b8-5056-8cf7-ed3d6dc62471', 'call.provider_accepted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"handle":"sim-eyJyIjoxNzk1NDY0MDI0ODE2LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:24.76829+00'),
	(32, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 5, '315e824d-c3a8-5c93-a64f-0fe1e2a81dda', 'call.answered.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"answer":{"ref":"blake3:ccd4d1333e907fa48cdcea72170bab5aa798ea6093f49d911d80b99fefda8570","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:25.700836+00'),
	(33, 'asset-bf2c135a-5d3d-4fee-b1d6-371f263371ab', 1, '8e7e9ff5-6365-45c7-87f5-de7dac6beaa9', 'asset.created.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/a1bf039e-fd36-461e-a487-57ecae78cf5e/0-b008fe36.png","created_at":"2026-11-23T20:00:25.768Z","expires_at":"2026-11-24T20:00:25.768Z"}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"a1bf039e-fd36-461e-a487-57ecae78cf5e"}', '2026-11-23 20:00:25.774877+00'),
	(34, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 6, '7dc77152-def8-54a8-934c-919e199c34b0', 'call.hosted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"assets":[{"pointer":"/result/url","asset":"bf2c135a-5d3d-4fee-b1d6-371f263371ab","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:db97de577d7eedfc51d7f3880e25191410e31e72914fee811b8de14c26a81d3c","size":355,"content_type":"application/json"}}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:25.783862+00'),
	(35, 'call-a1bf039e-fd36-461e-a487-57ecae78cf5e', 7, '9d220830-5578-50ed-869c-d6f6075602c4', 'call.succeeded.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"model":"sim/image","answer":{"ref":"blake3:db97de577d7eedfc51d7f3880e25191410e31e72914fee811b8de14c26a81d3c","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5"}', '2026-11-23 20:00:25.783895+00'),
	(36, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 6, '4a3dac0c-a9b9-50cd-8d70-d7501bc5c6dd', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1183,"waited_millis":84}', '{"actor":"vm/973"}', '2026-11-23 20:00:25.78663+00'),
	(37, 'asset-bf2c135a-5d3d-4fee-b1d6-371f263371ab', 2, 'd34f6512-d183-5336-971a-d08a305f4adf', 'asset.verified.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-23 20:00:25.825264+00'),
	(38, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 7, 'bf3d916d-f745-51c7-839b-8160f732b52b', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:25.869666+00'),
	(39, 'asset-1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57', 1, 'a98774ff-d2cd-52c4-8f54-81de745d2e64', 'asset.created.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-24T20:00:25.921Z"}', '{"actor":"job 58ae0474-05c0-4c62-88e8-fce6d7d1b56a"}', '2026-11-23 20:00:25.925316+00'),
	(40, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 8, '7e40e13a-73dd-5533-a483-b64ded4a70ae', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:25.923238Z"}],"millis":11}', '{"actor":"vm/973"}', '2026-11-23 20:00:25.941659+00'),
	(41, 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 9, '8998e651-ec24-5199-bd39-29ffbc2a5ca2', 'job.succeeded.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:26.004062+00'),
	(42, 'account-a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '9453e7b6-3fa9-49e7-b88a-48f4f07aaf93', 'account.created.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-23 20:00:26.09001+00'),
	(43, 'account-a3e4598b-32c7-4158-9919-dd2fa1e36b50', 2, 'b5a415a1-a0a7-42d5-b32f-40c5f166c2ab', 'account.key_issued.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"key":"2dc4e585-74d6-4e74-868a-3c13fd1a4d21","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-23 20:00:26.163313+00'),
	(48, 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 3, 'dd37bb1b-4076-5454-94dd-8538a2f1c186', 'call.dispatching.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"token":"397602b8-e0a4-47b2-9c4b-05676871ff58","worker":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:26.278283+00'),
	(49, 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 4, '12e2fc3b-bf62-5007-9f2a-8ef756a182f9', 'call.answered.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:26.298952+00'),
	(51, 'asset-40816fd5-2156-46b7-a759-cc90ac7defc7', 2, 'faf0d68f-6acd-5b87-8f92-debbdcdcbb9b', 'asset.verified.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-23 20:00:26.339154+00'),
	(50, 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 5, '754fc415-afd4-5fa1-a342-f7082ebe412a', 'call.succeeded.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:26.298997+00'),
	(54, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 3, '77a89327-629a-540b-86e7-00cbb9539ca4', 'job.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes_total":3,"worker":"vm/974","execution":"01a209fe-d8fc-7507-9612-9b8fcf8ad4a5"}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380904+00'),
	(55, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 4, '9a741c5d-e422-55bf-9224-b1bc1a40e736', 'job.nodes_cached.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes":null}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380931+00'),
	(56, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 5, '5a7c8f69-d677-52ea-98d2-366a3a0ded13', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380962+00'),
	(57, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 6, '8af4c8ee-218e-54c3-b02d-f5ff81a0ace0', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380966+00'),
	(58, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 7, 'f8575daf-7997-525f-a9eb-8044ac6b30e1', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380969+00'),
	(59, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 8, '4558398f-2711-5cd9-a108-ea61a9f0ad02', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380972+00'),
	(60, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 9, 'a7a2ee30-2a83-568e-9f8f-bdcc7b26d553', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.380975+00'),
	(61, 'asset-4db577c1-ed90-5db1-aa14-1a2f47d59f8e', 1, '7d588b39-0373-5497-81bb-07e73dd37a3b', 'asset.created.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-24T20:00:26.385Z"}', '{"actor":"job a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c"}', '2026-11-23 20:00:26.424054+00'),
	(62, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 10, '1e33e18b-0e89-5adc-b555-89718cc94942', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4db577c1-ed90-5db1-aa14-1a2f47d59f8e","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:26.410783Z"}],"millis":40}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.434544+00'),
	(63, 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 11, '19815ff0-2c0e-51d7-9308-ccefb443e8b6', 'job.succeeded.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.434572+00'),
	(66, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 3, 'a99ef9f6-6fae-541d-8ed5-e47963594b6b', 'job.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes_total":2,"worker":"vm/974","execution":"01a209fe-d96b-7426-aaee-ef7eebfd1c52"}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.487767+00'),
	(67, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 4, 'aa14ff1a-e061-56c0-b9e1-73d043bc7b00', 'job.nodes_cached.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes":null}', '{"actor":"vm/974"}', '2026-11-23 20:00:26.487795+00'),
	(71, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 3, '4350b8f6-f1c0-57fb-abf2-78bebb6ee50e', 'call.dispatching.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"token":"da2a1364-3e57-4eae-8f15-c4565f726fb7","worker":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:26.541754+00'),
	(72, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 4, 'c6fb2ca5-e141-5fbb-9569-b291e22b38c6', 'call.provider_accepted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"handle":"sim-eyJyIjoxNzk1NDY0MDI2NzA1LCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:26.659311+00'),
	(75, 'asset-a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb', 2, '566c7bc6-a5bb-5eeb-aa49-6a8a55dd82a1', 'asset.verified.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-23 20:00:27.637904+00'),
	(64, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 1, '81df424c-c8a0-4444-9271-d1a61f0b1ff6', 'job.submitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795464026465}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"b10968f2-d0d3-490e-97a9-4f052304ddd3"}', '2026-11-23 20:00:26.469388+00'),
	(65, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 2, 'bfe37537-a0ad-5dc9-bd4d-c8f17cf4e411', 'job.admitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"b10968f2-d0d3-490e-97a9-4f052304ddd3"}', '2026-11-23 20:00:26.469822+00'),
	(83, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 1, '4696f7d9-542c-4b9a-8149-f3c593af3d1a', 'job.submitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795464027786}}"},"targets":["6"],"nodes_total":6}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"bc88f481-0be3-49db-9849-589b101e1427"}', '2026-11-23 20:00:27.789234+00'),
	(84, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 2, 'e623f3f4-644a-5197-ae59-a183a090f7d3', 'job.admitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"bc88f481-0be3-49db-9849-589b101e1427"}', '2026-11-23 20:00:27.789304+00'),
	(85, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 1, '29c9afa1-8534-49a3-9ab1-08434e1e6b04', 'job.submitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795464027802}}"},"targets":["6"],"nodes_total":6}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"33bcfc57-6266-4bdd-a532-a511ae03fe4d"}', '2026-11-23 20:00:27.803872+00'),
	(86, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 2, '28a2ea90-37f3-56cc-b746-870457bd9bc4', 'job.admitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"33bcfc57-6266-4bdd-a532-a511ae03fe4d"}', '2026-11-23 20:00:27.803911+00'),
	(96, 'job-f18f05a5-78dd-4b99-a16f-22153239759e', 1, '4fce7434-dce3-41b3-9db9-fe8e84f58d27', 'job.submitted.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795464028034}}"},"targets":["3"],"nodes_total":3}', '{"actor":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","request_id":"6b4b81e2-d571-443a-8fe0-8116edf92a4a"}', '2026-11-23 20:00:28.036608+00'),
	(97, 'job-f0cb2ee2-492b-4117-81ec-c714b966dd7d', 1, '904e1752-31c3-4e12-a851-1d143efaeb4d', 'job.submitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795464028119}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"72d6d5dc-90f0-4604-af28-b428b5501527"}', '2026-11-23 20:00:28.121335+00'),
	(68, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 5, '011223c1-c9fd-5667-b084-91a5ddba0686', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:26.505771+00'),
	(69, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 1, 'fc76d962-2a3a-4811-9893-2cf79bd429f3', 'call.accepted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"fcd80b1bcb948367738b2a878355dac2a42987cf53650eb0c56ee9f03de8a069","base":"http://127.0.0.1:8188"}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"b841a80d-4dab-4685-ae20-962c9b796eec"}', '2026-11-23 20:00:26.514459+00'),
	(70, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 2, '1fbc1de9-3df5-569f-a3db-f0f853d5f9ac', 'call.admitted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"b841a80d-4dab-4685-ae20-962c9b796eec"}', '2026-11-23 20:00:26.514499+00'),
	(73, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 5, 'a6c85cf6-92de-52da-b9c3-32f8f969928f', 'call.answered.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"answer":{"ref":"blake3:a1e7ae49b223219258fb375fa91594e25c8b2f411b91b693ff334ee5b860751a","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:27.553331+00'),
	(74, 'asset-a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb', 1, 'f1a9fecc-647a-4507-9107-abf1b27596e5', 'asset.created.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/b841a80d-4dab-4685-ae20-962c9b796eec/0-f1b14e28.png","created_at":"2026-11-23T20:00:27.597Z","expires_at":"2026-11-24T20:00:27.597Z"}', '{"actor":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","request_id":"b841a80d-4dab-4685-ae20-962c9b796eec"}', '2026-11-23 20:00:27.608353+00'),
	(76, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 6, 'c6ab2ce1-95c9-58ed-8e01-a403907ec701', 'call.hosted.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"assets":[{"pointer":"/result/url","asset":"a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:fe80a5152e5ad305a7d770cec725a3bef1d11ae33d259b39fb219a11930b529d","size":355,"content_type":"application/json"}}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:27.658851+00'),
	(77, 'call-b841a80d-4dab-4685-ae20-962c9b796eec', 7, '1ef8b1d3-01bf-57e3-92b1-bbdbe20d9d0b', 'call.succeeded.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"model":"sim/image","answer":{"ref":"blake3:fe80a5152e5ad305a7d770cec725a3bef1d11ae33d259b39fb219a11930b529d","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d"}', '2026-11-23 20:00:27.658883+00'),
	(78, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 6, '714fe7a2-d562-5120-949b-23e62334807b', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1166,"waited_millis":47}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.674605+00'),
	(79, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 7, '1e4d9693-d521-5454-9c78-af186535f14e', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.71589+00'),
	(80, 'asset-ca126c48-06ed-5f0d-9cc6-fbd3bc370d99', 1, '6a1b371c-bde6-5b22-8df5-78efa495f153', 'asset.created.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-24T20:00:27.731Z"}', '{"actor":"job de8b95e8-0c18-4962-93da-3d96f4fe7a91"}', '2026-11-23 20:00:27.736966+00'),
	(81, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 8, '0556ad4c-7186-5db9-a9cf-a15abeab6e91', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"ca126c48-06ed-5f0d-9cc6-fbd3bc370d99","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:27.733917Z"}],"millis":15}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.758247+00'),
	(82, 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 9, '50c4c071-140f-5356-a99a-169c49bc3b91', 'job.succeeded.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:27.777308+00'),
	(91, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 3, '9dd4929e-344b-50d2-b972-54870f7d2e4a', 'job.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes_total":6,"worker":"vm/973","execution":"01a209fe-de9f-7a0e-acfc-3fc1ce8a35dc"}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.983549+00'),
	(92, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 4, '8cd5f941-7c8c-587d-8711-df8f9b222413', 'job.nodes_cached.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"nodes":null}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.983576+00'),
	(93, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 5, '0ab1c4fc-543d-5679-b32b-de6d8022bdf6', 'node.started.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.983581+00'),
	(94, 'job-5cb215ed-a616-468f-9618-90f04835a6e2', 6, 'da6e15f5-5bb6-5763-9e43-e83d2f515742', 'node.executed.v1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '{"run":1,"node":"1","class":"EmptyImage","millis":10}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.983584+00'),
	(95, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 7, 'f1531d51-218e-5f6d-8c7a-ea99c3413abf', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/974"}', '2026-11-23 20:00:28.029739+00'),
	(87, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 3, 'eb622d5e-010a-59f3-8549-f008c25c8d51', 'job.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes_total":6,"worker":"vm/973","execution":"01a209fe-de99-7d2a-9d7b-dce1c8041230"}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.890949+00'),
	(88, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 4, '05c58506-2eb6-543d-a06e-aca558e719b3', 'job.nodes_cached.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"nodes":null}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.891156+00'),
	(89, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 5, 'a7efa920-68fd-599d-b3aa-e67a0750ee5e', 'node.started.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.891161+00'),
	(90, 'job-377017e3-f1b5-4017-8082-051d1bbc1c87', 6, '53eb83fb-7093-5d40-852a-709883755c29', 'node.executed.v1', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '{"run":1,"node":"1","class":"EmptyImage","millis":7}', '{"actor":"vm/973"}', '2026-11-23 20:00:27.891165+00');
INSERT INTO public.file_counters VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', '', 'done-acme', 1),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'output', '', 'painted', 1),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', '', 'done-umbrella', 1),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'output', '', 'painted', 1);
INSERT INTO public.files VALUES
	('a884a41f-4e0b-4f88-ab05-3850b3dccca3', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-23 20:00:22.551194+00', NULL, NULL, NULL),
	('7b8a1f1c-2909-5952-b532-3b9eb114b2ed', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, 'f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 1, '3', 0, false, '2026-11-23 20:00:24.349714+00', '2027-01-24 20:00:24.347+00', NULL, NULL),
	('bf2c135a-5d3d-4fee-b1d6-371f263371ab', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/a1bf039e-fd36-461e-a487-57ecae78cf5e/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-23 20:00:25.770792+00', '2026-11-24 20:00:25.768+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL),
	('1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 1, '2', 0, false, '2026-11-23 20:00:25.923238+00', '2027-01-24 20:00:25.921+00', NULL, NULL),
	('40816fd5-2156-46b7-a759-cc90ac7defc7', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-23 20:00:26.205605+00', NULL, NULL, NULL),
	('4db577c1-ed90-5db1-aa14-1a2f47d59f8e', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, 'a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 1, '3', 0, false, '2026-11-23 20:00:26.410783+00', '2027-01-24 20:00:26.385+00', NULL, NULL),
	('a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/b841a80d-4dab-4685-ae20-962c9b796eec/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-23 20:00:27.60182+00', '2026-11-24 20:00:27.597+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL),
	('ca126c48-06ed-5f0d-9cc6-fbd3bc370d99', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, 'de8b95e8-0c18-4962-93da-3d96f4fe7a91', 1, '2', 0, false, '2026-11-23 20:00:27.733917+00', '2027-01-24 20:00:27.731+00', NULL, NULL);
INSERT INTO public.job_index_v1 VALUES
	('f075a1ae-3348-4dc4-92af-b1ea1c2621b9', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 11, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('58ae0474-05c0-4c62-88e8-fce6d7d1b56a', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 23, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 52, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('de8b95e8-0c18-4962-93da-3d96f4fe7a91', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 64, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('377017e3-f1b5-4017-8082-051d1bbc1c87', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8'),
	('5cb215ed-a616-468f-9618-90f04835a6e2', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11');
INSERT INTO public.job_lanes VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 3, 1, 1, 'open'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 3, 1, 1, 'open');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('f18f05a5-78dd-4b99-a16f-22153239759e', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 3, 1),
	('f0cb2ee2-492b-4117-81ec-c714b966dd7d', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 3, 2);
INSERT INTO public.job_slots VALUES
	('377017e3-f1b5-4017-8082-051d1bbc1c87', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:27.787704+00'),
	('5cb215ed-a616-468f-9618-90f04835a6e2', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:27.803137+00');
INSERT INTO public.jobs_v1 VALUES
	('f075a1ae-3348-4dc4-92af-b1ea1c2621b9', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'succeeded', 0, 11, 11, '2026-11-23 20:00:24.303489+00', '{}', '{"id":"f075a1ae-3348-4dc4-92af-b1ea1c2621b9","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"succeeded","version":11,"position":22,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a209fe-d0f7-7447-ba19-800d401013c4","submitted_at":"2026-11-23T20:00:24.303489Z","admitted_at":"2026-11-23T20:00:24.303929Z","started_at":"2026-11-23T20:00:24.340552Z","ended_at":"2026-11-23T20:00:24.380911Z","updated_at":"2026-11-23T20:00:24.380911Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"7b8a1f1c-2909-5952-b532-3b9eb114b2ed","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:24.349714Z"}]}]}'),
	('a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'succeeded', 0, 52, 11, '2026-11-23 20:00:26.354526+00', '{}', '{"id":"a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"succeeded","version":11,"position":63,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a209fe-d8fc-7507-9612-9b8fcf8ad4a5","submitted_at":"2026-11-23T20:00:26.354526Z","admitted_at":"2026-11-23T20:00:26.354575Z","started_at":"2026-11-23T20:00:26.380904Z","ended_at":"2026-11-23T20:00:26.434572Z","updated_at":"2026-11-23T20:00:26.434572Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4db577c1-ed90-5db1-aa14-1a2f47d59f8e","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:26.410783Z"}]}]}'),
	('de8b95e8-0c18-4962-93da-3d96f4fe7a91', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'succeeded', 1, 64, 9, '2026-11-23 20:00:26.469388+00', '{}', '{"id":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a209fe-d96b-7426-aaee-ef7eebfd1c52","submitted_at":"2026-11-23T20:00:26.469388Z","admitted_at":"2026-11-23T20:00:26.469822Z","started_at":"2026-11-23T20:00:26.487767Z","ended_at":"2026-11-23T20:00:27.777308Z","updated_at":"2026-11-23T20:00:27.777308Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"ca126c48-06ed-5f0d-9cc6-fbd3bc370d99","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:27.733917Z"}]}]}'),
	('58ae0474-05c0-4c62-88e8-fce6d7d1b56a', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'succeeded', 1, 23, 9, '2026-11-23 20:00:24.414906+00', '{}', '{"id":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"succeeded","version":9,"position":41,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a209fe-d16c-7a5e-b0d2-a943b96b2e66","submitted_at":"2026-11-23T20:00:24.414906Z","admitted_at":"2026-11-23T20:00:24.415363Z","started_at":"2026-11-23T20:00:24.509412Z","ended_at":"2026-11-23T20:00:26.004062Z","updated_at":"2026-11-23T20:00:26.004062Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:25.923238Z"}]}]}'),
	('5cb215ed-a616-468f-9618-90f04835a6e2', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'running', 2, 85, 6, '2026-11-23 20:00:27.803872+00', '{}', '{"id":"5cb215ed-a616-468f-9618-90f04835a6e2","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"running","version":6,"position":94,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a209fe-de9f-7a0e-acfc-3fc1ce8a35dc","submitted_at":"2026-11-23T20:00:27.803872Z","admitted_at":"2026-11-23T20:00:27.803911Z","started_at":"2026-11-23T20:00:27.983549Z","updated_at":"2026-11-23T20:00:27.983584Z","nodes_done":1,"executed":["1"]}'),
	('377017e3-f1b5-4017-8082-051d1bbc1c87', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'running', 2, 83, 7, '2026-11-23 20:00:27.789234+00', '{}', '{"id":"377017e3-f1b5-4017-8082-051d1bbc1c87","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"running","version":7,"position":95,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a209fe-de99-7d2a-9d7b-dce1c8041230","submitted_at":"2026-11-23T20:00:27.789234Z","admitted_at":"2026-11-23T20:00:27.789304Z","started_at":"2026-11-23T20:00:27.890949Z","updated_at":"2026-11-23T20:00:28.029739Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}'),
	('f18f05a5-78dd-4b99-a16f-22153239759e', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'queued', 3, 96, 1, '2026-11-23 20:00:28.036608+00', '{}', '{"id":"f18f05a5-78dd-4b99-a16f-22153239759e","account":"2b82d3ef-fcc8-42da-9d13-b6b80940386f","state":"queued","version":1,"position":96,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-23T20:00:28.036608Z","updated_at":"2026-11-23T20:00:28.036608Z","nodes_done":0}'),
	('f0cb2ee2-492b-4117-81ec-c714b966dd7d', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'queued', 3, 97, 1, '2026-11-23 20:00:28.121335+00', '{}', '{"id":"f0cb2ee2-492b-4117-81ec-c714b966dd7d","account":"a3e4598b-32c7-4158-9919-dd2fa1e36b50","state":"queued","version":1,"position":97,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-23T20:00:28.121335Z","updated_at":"2026-11-23T20:00:28.121335Z","nodes_done":0}');
INSERT INTO public.node_cache VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x27d23759050aea2f84087b7b87a72b4638ea4b52076c9f71b0c7a665771b3a40', '{"class":"SaveImage","job":"f075a1ae-3348-4dc4-92af-b1ea1c2621b9","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"7b8a1f1c-2909-5952-b532-3b9eb114b2ed","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:24.349714Z"}]}', '{7b8a1f1c-2909-5952-b532-3b9eb114b2ed}', 437, '2026-11-23 20:00:24.371022+00', '2026-11-23 20:00:24.371022+00'),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x4cca75004a1020f12aaa711a9e2668d6d9f9b1dc5f8ca2285d9a2469743d9910', '{"class":"Partner_sim_image","job":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","values":["cached:blake3:d242f83ec2fe9318db7a3a9c97c57c19f3279a7ae93600d97dccfb22b261a265"]}', '{}', 12495, '2026-11-23 20:00:25.785949+00', '2026-11-23 20:00:25.785949+00'),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\x8caee42d72e929f472d77e8d9c620a3a68e2749799c99f6d0d1a5f84c41e37eb', '{"class":"SaveImage","job":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:25.923238Z"}]}', '{1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57}', 433, '2026-11-23 20:00:25.940986+00', '2026-11-23 20:00:25.940986+00'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\xaed41a697c25971485874dca7910c2caffa9dc9a64ac5829a1a7a0c87868cb27', '{"class":"SaveImage","job":"a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4db577c1-ed90-5db1-aa14-1a2f47d59f8e","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:26.410783Z"}]}', '{4db577c1-ed90-5db1-aa14-1a2f47d59f8e}', 445, '2026-11-23 20:00:26.431015+00', '2026-11-23 20:00:26.431015+00'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\x1d075cda9f2031afa1192fe8ecfd57564c83f971640789f9041815f11b037a89', '{"class":"Partner_sim_image","job":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","values":["cached:blake3:e340f6d99b0f75d0ef7696da6f4052cf2b9a3e8e8a81a28eafdde707d4321ef4"]}', '{}', 12495, '2026-11-23 20:00:27.673656+00', '2026-11-23 20:00:27.673656+00'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\x75cda1b013ce06a42e3dcb1b9f505911873a171ef41107ec6d828557f2583eea', '{"class":"SaveImage","job":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"ca126c48-06ed-5f0d-9cc6-fbd3bc370d99","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-23T20:00:27.733917Z"}]}', '{ca126c48-06ed-5f0d-9cc6-fbd3bc370d99}', 433, '2026-11-23 20:00:27.757405+00', '2026-11-23 20:00:27.757405+00');
INSERT INTO public.replicas VALUES
	('57c77272-687e-47e0-845e-6fde6cb0756d', 'http://127.0.0.1:35975', '2026-11-23 20:00:25.830792+00'),
	('7a499155-242c-4bd0-9107-92503e1b71bf', 'http://127.0.0.1:40337', '2026-11-23 20:00:26.213233+00'),
	('e0caa354-6615-4dcb-add1-6073ce905cf5', 'http://127.0.0.1:41079', '2026-11-23 20:00:26.3835+00'),
	('02abae91-64ce-41e3-9955-eb51f9228082', 'http://127.0.0.1:35087', '2026-11-23 20:00:26.980124+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-23 20:00:18.668646+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-23 20:00:18.782563+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-23 20:00:18.850363+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-23 20:00:18.948897+00'),
	(105, '0105_jobs.sql', '8896ed747999f8fd0c90e275d3b500e40d4e2d6ed05303b798612c92f447a2d3', 'dev', '2026-11-23 20:00:18.994518+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-23 20:00:19.337506+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-23 20:00:19.415849+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-23 20:00:19.694522+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-23 20:00:19.706434+00'),
	(110, '0110_calls.sql', 'c33a37a07abfff0424a91beb62464813847605f047468fd7a1bd225c7b55e83c', 'dev', '2026-11-23 20:00:19.718423+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-23 20:00:19.954706+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-23 20:00:20.08663+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-23 20:00:20.341979+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-23 20:00:20.386457+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 67, '2026-11-23 20:00:00+00');
INSERT INTO public.stats_open_v1 VALUES
	('job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', '2026-11-23 20:00:26.469388+00');
INSERT INTO public.stats_v1 VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 1, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 1, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'submitted', '', 2, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'submitted', '', 2, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'waited', '021', 1, 37),
	('', 0, '2026-11-23 20:00:00+00', 'waited', '021', 1, 37),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'waited', '021', 1, 37),
	('', 1, '2026-11-23 20:00:00+00', 'waited', '021', 1, 37),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'took', '025', 1, 77),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'took', '025', 1, 77),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'waited', '026', 1, 94),
	('', 0, '2026-11-23 20:00:00+00', 'waited', '026', 1, 94),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'waited', '026', 1, 94),
	('', 1, '2026-11-23 20:00:00+00', 'waited', '026', 1, 94),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-23 20:00:00+00', 'calls', 'sim/image', 1, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-23 20:00:00+00', 'calls', 'sim/image', 1, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'nodes', 'executed', 5, 1217),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'nodes', 'executed', 5, 1217),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'took', '043', 1, 1589),
	('', 0, '2026-11-23 20:00:00+00', 'took', '043', 1, 1589),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'took', '043', 1, 1589),
	('', 1, '2026-11-23 20:00:00+00', 'took', '043', 1, 1589),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 0, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 2, 1666),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 2, 1666),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 2, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-23 20:00:00+00', 'calls', 'sim/echo', 2, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'submitted', '', 2, 0),
	('', 0, '2026-11-23 20:00:00+00', 'submitted', '', 4, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'submitted', '', 2, 0),
	('', 1, '2026-11-23 20:00:00+00', 'submitted', '', 4, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'waited', '019', 1, 26),
	('', 0, '2026-11-23 20:00:00+00', 'waited', '019', 1, 26),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'waited', '019', 1, 26),
	('', 1, '2026-11-23 20:00:00+00', 'waited', '019', 1, 26),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'nodes', 'executed', 3, 40),
	('', 0, '2026-11-23 20:00:00+00', 'nodes', 'executed', 8, 1257),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'nodes', 'executed', 3, 40),
	('', 1, '2026-11-23 20:00:00+00', 'nodes', 'executed', 8, 1257),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'took', '025', 1, 80),
	('', 0, '2026-11-23 20:00:00+00', 'took', '025', 2, 157),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'took', '025', 1, 80),
	('', 1, '2026-11-23 20:00:00+00', 'took', '025', 2, 157),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 1, 80),
	('', 0, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 3, 1746),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 1, 80),
	('', 1, '2026-11-23 20:00:00+00', 'ended', 'succeeded', 3, 1746),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 0, '2026-11-23 20:00:00+00', 'waited', '017', 1, 18),
	('', 0, '2026-11-23 20:00:00+00', 'waited', '017', 1, 18),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '2026-11-23 20:00:00+00', 'waited', '017', 1, 18),
	('', 1, '2026-11-23 20:00:00+00', 'waited', '017', 1, 18);
INSERT INTO public.streams VALUES
	('account-2b82d3ef-fcc8-42da-9d13-b6b80940386f', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 2, false),
	('webhooks-2b82d3ef-fcc8-42da-9d13-b6b80940386f', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, false),
	('job-f18f05a5-78dd-4b99-a16f-22153239759e', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, false),
	('asset-a884a41f-4e0b-4f88-ab05-3850b3dccca3', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 2, false),
	('call-050e0d05-95d5-4af5-977a-7b82aea8746f', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 5, true),
	('job-f0cb2ee2-492b-4117-81ec-c714b966dd7d', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, false),
	('asset-7b8a1f1c-2909-5952-b532-3b9eb114b2ed', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, false),
	('job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 11, true),
	('call-a1bf039e-fd36-461e-a487-57ecae78cf5e', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 7, true),
	('asset-bf2c135a-5d3d-4fee-b1d6-371f263371ab', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 2, false),
	('asset-1c61bd2a-aae4-5eee-ad1d-c10ff2e1ac57', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, false),
	('job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 9, true),
	('account-a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 2, false),
	('webhooks-a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, false),
	('call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 5, true),
	('asset-40816fd5-2156-46b7-a759-cc90ac7defc7', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 2, false),
	('asset-4db577c1-ed90-5db1-aa14-1a2f47d59f8e', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, false),
	('job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 11, true),
	('asset-a09dd8c9-9d9c-40f4-a4f1-ee5450d69ccb', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 2, false),
	('call-b841a80d-4dab-4685-ae20-962c9b796eec', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 7, true),
	('asset-ca126c48-06ed-5f0d-9cc6-fbd3bc370d99', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, false),
	('job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 9, true),
	('job-5cb215ed-a616-468f-9618-90f04835a6e2', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 6, false),
	('job-377017e3-f1b5-4017-8082-051d1bbc1c87', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', 7, false);
INSERT INTO public.usage_calls_v1 VALUES
	('050e0d05-95d5-4af5-977a-7b82aea8746f', 5),
	('a1bf039e-fd36-461e-a487-57ecae78cf5e', 7),
	('6ff520f9-1903-4a0d-9519-55c559a6dea1', 5),
	('b841a80d-4dab-4685-ae20-962c9b796eec', 7);
INSERT INTO public.usage_v1 VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'sim/echo', '2026-11-23', 1, 0, 0, 0, 0, 60, 0),
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'sim/image', '2026-11-23', 1, 0, 0, 0, 0, 355, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'sim/echo', '2026-11-23', 1, 0, 0, 0, 0, 60, 0),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'sim/image', '2026-11-23', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-23 20:00:22.192721+00', '2026-11-23 20:00:22.192721+00'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-23 20:00:26.175629+00', '2026-11-23 20:00:26.175629+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('90ff0d35-e689-5228-9ea0-210ae3029d60', 1, '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491', 'call-050e0d05-95d5-4af5-977a-7b82aea8746f', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-23T20:00:24.257005Z","data":{"object":"call","id":"050e0d05-95d5-4af5-977a-7b82aea8746f","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-23T20:00:22.855926Z","completed_at":"2026-11-23T20:00:24.257005Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/050e0d05-95d5-4af5-977a-7b82aea8746f"}}}', 'pending', 1, 0, '2026-11-23 20:00:24.277014+00', '2026-11-23 20:00:24.277014+00', '2026-11-23 20:00:29.021801+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:24.404983308Z", "error": "name_not_found", "millis": 1}]'),
	('55f14db0-1f22-52e7-b998-61a607884873', 2, '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491', 'job-f075a1ae-3348-4dc4-92af-b1ea1c2621b9', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-23T20:00:24.380911Z","data":{"object":"job","id":"f075a1ae-3348-4dc4-92af-b1ea1c2621b9","status":"succeeded","created_at":"2026-11-23T20:00:24.303489Z","completed_at":"2026-11-23T20:00:24.380911Z","error":null,"urls":{"self":"/api/v2/jobs/f075a1ae-3348-4dc4-92af-b1ea1c2621b9"}}}', 'pending', 1, 0, '2026-11-23 20:00:24.406932+00', '2026-11-23 20:00:24.406932+00', '2026-11-23 20:00:29.690947+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:24.452871864Z", "error": "name_not_found", "millis": 0}]'),
	('d6aa273a-b837-586b-b8ba-aa3774cc9954', 3, '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491', 'job-58ae0474-05c0-4c62-88e8-fce6d7d1b56a', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-23T20:00:26.004062Z","data":{"object":"job","id":"58ae0474-05c0-4c62-88e8-fce6d7d1b56a","status":"succeeded","created_at":"2026-11-23T20:00:24.414906Z","completed_at":"2026-11-23T20:00:26.004062Z","error":null,"urls":{"self":"/api/v2/jobs/58ae0474-05c0-4c62-88e8-fce6d7d1b56a"}}}', 'pending', 1, 0, '2026-11-23 20:00:26.014057+00', '2026-11-23 20:00:26.014057+00', '2026-11-23 20:00:31.001096+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:26.328459211Z", "error": "name_not_found", "millis": 1}]'),
	('557fc424-aff5-54aa-9c62-e1f31b8e3ebe', 4, 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'd7f1f5e2-a19d-4175-8b38-e3995c238dde', 'call-6ff520f9-1903-4a0d-9519-55c559a6dea1', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-23T20:00:26.298997Z","data":{"object":"call","id":"6ff520f9-1903-4a0d-9519-55c559a6dea1","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-23T20:00:26.240421Z","completed_at":"2026-11-23T20:00:26.298997Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/6ff520f9-1903-4a0d-9519-55c559a6dea1"}}}', 'pending', 1, 0, '2026-11-23 20:00:26.327777+00', '2026-11-23 20:00:26.327777+00', '2026-11-23 20:00:31.780647+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:26.388872623Z", "error": "name_not_found", "millis": 2}]'),
	('b6528821-0751-56b3-9efd-4c9bcb7f427a', 5, 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'd7f1f5e2-a19d-4175-8b38-e3995c238dde', 'job-a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-23T20:00:26.434572Z","data":{"object":"job","id":"a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c","status":"succeeded","created_at":"2026-11-23T20:00:26.354526Z","completed_at":"2026-11-23T20:00:26.434572Z","error":null,"urls":{"self":"/api/v2/jobs/a2c0def5-5c9b-4277-a41c-9b5ae6a2f61c"}}}', 'pending', 1, 0, '2026-11-23 20:00:26.453255+00', '2026-11-23 20:00:26.453255+00', '2026-11-23 20:00:31.841956+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:26.704723862Z", "error": "name_not_found", "millis": 0}]'),
	('e0727c60-027f-50ca-b41f-2c298eccb060', 6, 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', 'd7f1f5e2-a19d-4175-8b38-e3995c238dde', 'job-de8b95e8-0c18-4962-93da-3d96f4fe7a91', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-23T20:00:27.777308Z","data":{"object":"job","id":"de8b95e8-0c18-4962-93da-3d96f4fe7a91","status":"succeeded","created_at":"2026-11-23T20:00:26.469388Z","completed_at":"2026-11-23T20:00:27.777308Z","error":null,"urls":{"self":"/api/v2/jobs/de8b95e8-0c18-4962-93da-3d96f4fe7a91"}}}', 'pending', 1, 0, '2026-11-23 20:00:27.793157+00', '2026-11-23 20:00:27.793157+00', '2026-11-23 20:00:33.769199+00', NULL, NULL, NULL, '[{"at": "2026-11-23T20:00:27.920553273Z", "error": "name_not_found", "millis": 5}]');
INSERT INTO public.webhook_endpoints VALUES
	('5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491', '2b82d3ef-fcc8-42da-9d13-b6b80940386f', '\xbf6a1e01341fda7f0f57b25a0d9df6bd0639d567c5b2063f82dc079845ca545ea0d797348df398ae6ace9c226602d3fc51d1d7eacfe494e6a7b972db1e22076277104698a5450625831960c822e7b189a1f355907d53542ab8ea15012308a01cfde96e052feda239b056802cbeaf3ac5c04626b81e643fa04d7a58', false, '2026-11-23 20:00:24.409068+00'),
	('d7f1f5e2-a19d-4175-8b38-e3995c238dde', 'a3e4598b-32c7-4158-9919-dd2fa1e36b50', '\xf36ebcb8324dae0ef5063e01237f169ab6d0b8ee3d4f1169ee08172fefa9b21fca12b7da79a4862fdb67d561bdbc57bdf22c1528d3feaa6a0ad25ff6e7da291324ef78f7b4d7e8601773776e41ca3dc8f987ab2ba1694494fcbdc1ff97c35697facb418d5edadfeb2751f1d720b5a8dfe06d4a4d31f7e2c32f1565', false, '2026-11-23 20:00:26.402247+00');
INSERT INTO public.webhooks_v1 VALUES
	('2b82d3ef-fcc8-42da-9d13-b6b80940386f', 1, '[{"id":"5bbd4ea5-96ae-429b-ab87-fdcf9dbbb491","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-23T20:00:22.438728Z"}]'),
	('a3e4598b-32c7-4158-9919-dd2fa1e36b50', 1, '[{"id":"d7f1f5e2-a19d-4175-8b38-e3995c238dde","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-23T20:00:26.194643Z"}]');
INSERT INTO public.workers VALUES
	('vm/973/9d025452-75ed-4607-b88b-8ce4f2da2bb5', '2026-11-23 20:00:27.370793+00', '{"absent": [], "webhook_allow": null}'),
	('vm/974/49eed5ea-dafe-4b0d-8293-bc44fa36083d', '2026-11-23 20:00:27.494558+00', '{"absent": [], "webhook_allow": null}');
SELECT pg_catalog.setval('public.call_queue_seq_seq', 1, false);
SELECT pg_catalog.setval('public.comfyui_fences', 1, false);
SELECT pg_catalog.setval('public.events_position_seq', 97, true);
SELECT pg_catalog.setval('public.job_queue_seq_seq', 2, true);
SELECT pg_catalog.setval('public.outbox_id_seq', 14, true);
SELECT pg_catalog.setval('public.webhook_deliveries_seq_seq', 6, true);
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
ALTER TABLE ONLY public.asset_public_ids
    ADD CONSTRAINT asset_public_ids_asset_id_key UNIQUE (asset_id);
ALTER TABLE ONLY public.asset_public_ids
    ADD CONSTRAINT asset_public_ids_pkey PRIMARY KEY (account, public_id);
ALTER TABLE ONLY public.assets_v1_counts
    ADD CONSTRAINT assets_v1_counts_id PRIMARY KEY (account, label);
ALTER TABLE ONLY public.assets_v1
    ADD CONSTRAINT assets_v1_id PRIMARY KEY (id);
ALTER TABLE ONLY public.assets_v1_labels
    ADD CONSTRAINT assets_v1_labels_id PRIMARY KEY (account, label, created);
ALTER TABLE ONLY public.assets_v1_tags
    ADD CONSTRAINT assets_v1_tags_id PRIMARY KEY (account, tag, created);
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
ALTER TABLE ONLY public.comfyui_classes
    ADD CONSTRAINT comfyui_classes_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.comfyui_leases
    ADD CONSTRAINT comfyui_leases_pkey PRIMARY KEY (job, run, unit);
ALTER TABLE ONLY public.comfyui_loads
    ADD CONSTRAINT comfyui_loads_pkey PRIMARY KEY (server, model);
ALTER TABLE ONLY public.comfyui_orphans
    ADD CONSTRAINT comfyui_orphans_pkey PRIMARY KEY (server, prompt);
ALTER TABLE ONLY public.comfyui_servers
    ADD CONSTRAINT comfyui_servers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.comfyui_servers
    ADD CONSTRAINT comfyui_servers_url_key UNIQUE (url);
ALTER TABLE ONLY public.comfyui_tokens
    ADD CONSTRAINT comfyui_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.comfyui_tokens
    ADD CONSTRAINT comfyui_tokens_name_key UNIQUE (name);
ALTER TABLE ONLY public.comfyui_tokens
    ADD CONSTRAINT comfyui_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.comfyui_waits
    ADD CONSTRAINT comfyui_waits_pkey PRIMARY KEY (job, run, unit);
ALTER TABLE ONLY public.credit_balances
    ADD CONSTRAINT credit_balances_pkey PRIMARY KEY (account);
ALTER TABLE ONLY public.credit_holds
    ADD CONSTRAINT credit_holds_id PRIMARY KEY (account, hold);
ALTER TABLE ONLY public.downloads
    ADD CONSTRAINT downloads_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.job_index_v1
    ADD CONSTRAINT job_index_v1_id PRIMARY KEY (id);
ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_pkey PRIMARY KEY (account);
ALTER TABLE ONLY public.job_public_ids
    ADD CONSTRAINT job_public_ids_job_id_key UNIQUE (job_id);
ALTER TABLE ONLY public.job_public_ids
    ADD CONSTRAINT job_public_ids_pkey PRIMARY KEY (account, public_id);
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
ALTER TABLE ONLY public.node_marks
    ADD CONSTRAINT node_marks_pkey PRIMARY KEY (job_id, run, node, worker);
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
ALTER TABLE ONLY public.server_usage_v1
    ADD CONSTRAINT server_usage_v1_key PRIMARY KEY (job, run, segment, attempt);
ALTER TABLE ONLY public.stats_at_v1
    ADD CONSTRAINT stats_at_v1_one PRIMARY KEY (one);
ALTER TABLE ONLY public.stats_open_v1
    ADD CONSTRAINT stats_open_v1_job PRIMARY KEY (job);
ALTER TABLE ONLY public.stats_v1
    ADD CONSTRAINT stats_v1_key PRIMARY KEY (account, grain, bucket, measure, key);
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
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account);
CREATE INDEX asset_holds_job ON public.asset_holds USING btree (job_id);
CREATE INDEX asset_public_ids_public ON public.asset_public_ids USING btree (public_id);
CREATE INDEX assets_v1_by_change ON public.assets_v1 USING btree (account, changed) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));
CREATE INDEX assets_v1_by_hash ON public.assets_v1 USING btree (account, hash) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));
CREATE INDEX assets_v1_by_label ON public.assets_v1 USING btree (account, label, created) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));
CREATE INDEX assets_v1_by_size ON public.assets_v1 USING btree (account, size, created) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));
CREATE INDEX assets_v1_counts_most ON public.assets_v1_counts USING btree (account, count DESC, label);
CREATE INDEX assets_v1_described ON public.assets_v1 USING btree (account, created DESC) WHERE ((state = ANY (ARRAY['live'::text, 'rejected'::text])) AND (metadata IS NOT NULL));
CREATE INDEX assets_v1_end ON public.assets_v1 USING btree (account, expires_at) WHERE ((state = ANY (ARRAY['live'::text, 'rejected'::text])) AND (expires_at IS NOT NULL));
CREATE INDEX assets_v1_listing ON public.assets_v1 USING btree (account, created DESC) WHERE (state = ANY (ARRAY['live'::text, 'rejected'::text]));
CREATE INDEX call_blobs_expiry ON public.call_blobs USING btree (keep_until) WHERE (keep_until < 'infinity'::timestamp with time zone);
CREATE INDEX call_blobs_ref ON public.call_blobs USING btree (ref);
CREATE INDEX call_keys_call ON public.call_keys USING btree (call_id);
CREATE INDEX call_keys_expiry ON public.call_keys USING btree (expires_at);
CREATE INDEX call_queue_expiry ON public.call_queue USING btree (expires_at);
CREATE INDEX call_queue_order ON public.call_queue USING btree (account, of_job DESC, seq);
CREATE INDEX call_slots_age ON public.call_slots USING btree (admitted_at);
CREATE INDEX calls_v1_all ON public.calls_v1 USING btree (accepted DESC);
CREATE INDEX calls_v1_listing ON public.calls_v1 USING btree (account, accepted DESC);
CREATE INDEX comfyui_leases_server ON public.comfyui_leases USING btree (server);
CREATE INDEX comfyui_leases_until ON public.comfyui_leases USING btree (until);
CREATE INDEX credit_holds_open ON public.credit_holds USING btree (account) WHERE (state = 'held'::text);
CREATE UNIQUE INDEX downloads_same ON public.downloads USING btree (account, fingerprint);
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
CREATE INDEX job_index_v1_classes ON public.job_index_v1 USING gin (classes);
CREATE INDEX job_index_v1_failures ON public.job_index_v1 USING btree (account, submitted DESC) WHERE (code <> ''::text);
CREATE INDEX job_index_v1_listing ON public.job_index_v1 USING btree (account, submitted DESC);
CREATE INDEX job_index_v1_models ON public.job_index_v1 USING gin (models);
CREATE INDEX job_index_v1_newest ON public.job_index_v1 USING btree (submitted DESC);
CREATE INDEX job_index_v1_words ON public.job_index_v1 USING gin (words);
CREATE INDEX job_public_ids_public ON public.job_public_ids USING btree (public_id);
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
CREATE INDEX server_usage_v1_days ON public.server_usage_v1 USING btree (day, account);
CREATE INDEX stats_v1_age ON public.stats_v1 USING btree (grain, bucket);
CREATE INDEX userdata_hash ON public.userdata USING btree (hash);
CREATE INDEX webhook_deliveries_dead ON public.webhook_deliveries USING btree (account, seq DESC) WHERE (state = 'dead'::text);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook, due_at, seq) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_ended ON public.webhook_deliveries USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX webhook_deliveries_leased ON public.webhook_deliveries USING btree (webhook) WHERE (leased_until IS NOT NULL);
CREATE INDEX webhook_deliveries_of ON public.webhook_deliveries USING btree (webhook, seq DESC);
CREATE INDEX webhook_deliveries_oldest ON public.webhook_deliveries USING btree (queued_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_subject ON public.webhook_deliveries USING btree (webhook, subject, seq) WHERE (state = 'pending'::text);
CREATE INDEX webhook_endpoints_account ON public.webhook_endpoints USING btree (account);
CREATE TRIGGER events_are_final BEFORE DELETE OR UPDATE OR TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.events_are_final();
CREATE TRIGGER files_added AFTER INSERT ON public.files REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.add_storage();
CREATE TRIGGER files_fixed BEFORE UPDATE OF account, size ON public.files FOR EACH ROW WHEN (((old.account <> new.account) OR (old.size <> new.size))) EXECUTE FUNCTION public.storage_is_fixed();
CREATE TRIGGER files_gone AFTER DELETE ON public.files REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.take_storage();
CREATE TRIGGER userdata_added AFTER INSERT ON public.userdata REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.add_storage();
CREATE TRIGGER userdata_changed AFTER UPDATE ON public.userdata REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.change_storage();
CREATE TRIGGER userdata_gone AFTER DELETE ON public.userdata REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.take_storage();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.comfyui_leases
    ADD CONSTRAINT comfyui_leases_server_fkey FOREIGN KEY (server) REFERENCES public.comfyui_servers(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.comfyui_loads
    ADD CONSTRAINT comfyui_loads_server_fkey FOREIGN KEY (server) REFERENCES public.comfyui_servers(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.comfyui_orphans
    ADD CONSTRAINT comfyui_orphans_server_fkey FOREIGN KEY (server) REFERENCES public.comfyui_servers(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.comfyui_servers
    ADD CONSTRAINT comfyui_servers_token_fkey FOREIGN KEY (token) REFERENCES public.comfyui_tokens(id);
