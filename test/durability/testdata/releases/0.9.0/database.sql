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
CREATE TABLE public.deployment_versions (
    deployment uuid NOT NULL,
    number integer NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT deployment_versions_digest_check CHECK ((length(digest) = 32))
);
CREATE TABLE public.deployments (
    id uuid NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    revision bigint NOT NULL,
    state text NOT NULL,
    live integer NOT NULL,
    share integer NOT NULL,
    percent integer NOT NULL,
    salt text NOT NULL
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
    job json NOT NULL,
    deployment text
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
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 46, 19, 2),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 30, 843, 2),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 6, 741, 1),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 30, 23, 2),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, 279, 1),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 6, 995, 2);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-24 17:16:42.555841+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'acme', 'standard', true, '2026-11-24 17:16:44.624528+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'umbrella', 'standard', true, '2026-11-24 17:16:52.600757+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('da03bef4-379c-4dbe-92e0-5db60239b20d', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\x72a84ba51b0f2597adcb3c2107ee3ab5dcbb72e6c698418be18e4066c5af5b68', 'millrace-mu4bpc', '{read,write}', '2026-11-24 17:16:44.747711+00', NULL, '2026-11-24 17:16:44.770942+00'),
	('ef04bb78-85f1-404e-a2ba-22be689259e8', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\x81f754e1291bb9806b156d16e03422855b50d8d9aee857b2a0476240c7f5e964', 'millrace-67nx5a', '{read,write}', '2026-11-24 17:16:52.674759+00', NULL, '2026-11-24 17:16:52.689427+00');
INSERT INTO public.assets_v1 VALUES
	('d2c0762c-182c-4f68-a089-7c8d793945a9', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"d2c0762c-182c-4f68-a089-7c8d793945a9","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"live","version":2,"position":7,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T17:16:44.848Z","verified_at":"2026-11-24T17:16:50.675921Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('4cf37007-3d28-5926-a95e-436fb8dea1eb', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'live', 20, 20, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-25 17:16:50.893+00', '{"id":"4cf37007-3d28-5926-a95e-436fb8dea1eb","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"live","version":1,"position":20,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"135d5013-4b5a-4478-89a2-4c7a8aca9410","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T17:16:50.90013Z","expires_at":"2027-01-25T17:16:50.893Z"}'),
	('adab40a7-c4bc-42d5-b03c-a49e2598f0b5', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'live', 33, 33, 2, 'calls/32c1dd88-c7f3-4f75-b690-a775ad75dc30/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-25 17:16:52.323+00', '{"id":"adab40a7-c4bc-42d5-b03c-a49e2598f0b5","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"live","version":2,"position":34,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/32c1dd88-c7f3-4f75-b690-a775ad75dc30/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-24T17:16:52.323Z","expires_at":"2026-11-25T17:16:52.323Z","verified_at":"2026-11-24T17:16:52.349391Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('d45d7a27-62b4-5408-a629-d687c5acdaa8', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'live', 39, 39, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-25 17:16:52.398+00', '{"id":"d45d7a27-62b4-5408-a629-d687c5acdaa8","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"c09bdf71-7530-4172-bb3e-7a627d077849","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T17:16:52.408343Z","expires_at":"2027-01-25T17:16:52.398Z"}'),
	('8af85d73-5cab-4a2c-9e64-ab7a39688403', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"8af85d73-5cab-4a2c-9e64-ab7a39688403","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"live","version":2,"position":49,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T17:16:52.699Z","verified_at":"2026-11-24T17:16:52.837724Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('3e017959-acb8-4f95-ac7f-7ae0cd9d2f93', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'live', 62, 62, 2, 'calls/9a745c85-2139-468e-9408-b7407fe673a1/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-25 17:16:54.065+00', '{"id":"3e017959-acb8-4f95-ac7f-7ae0cd9d2f93","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"live","version":2,"position":63,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/9a745c85-2139-468e-9408-b7407fe673a1/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-24T17:16:54.065Z","expires_at":"2026-11-25T17:16:54.065Z","verified_at":"2026-11-24T17:16:54.166619Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('e166be08-b9b3-57cc-9b4f-f0e53e61b25b', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'live', 68, 68, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-25 17:16:54.26+00', '{"id":"e166be08-b9b3-57cc-9b4f-f0e53e61b25b","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"live","version":1,"position":68,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"3181fec1-c78c-42ab-8b93-0b1acb74286c","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T17:16:54.269317Z","expires_at":"2027-01-25T17:16:54.26Z"}'),
	('eba6dacb-84be-5902-9158-5e09162e45b8', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'live', 80, 80, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-25 17:16:54.48+00', '{"id":"eba6dacb-84be-5902-9158-5e09162e45b8","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"live","version":1,"position":80,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"2d224be6-499e-4b92-b961-05c235c69970","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T17:16:54.492961Z","expires_at":"2027-01-25T17:16:54.48Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'input', 1),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', 3),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', '', 4),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'input', 1),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', 3),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'input', 4, 'd2c0762c-182c-4f68-a089-7c8d793945a9'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', 20, '4cf37007-3d28-5926-a95e-436fb8dea1eb'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', 33, 'adab40a7-c4bc-42d5-b03c-a49e2598f0b5'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', 39, 'd45d7a27-62b4-5408-a629-d687c5acdaa8'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'input', 45, '8af85d73-5cab-4a2c-9e64-ab7a39688403'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', 62, '3e017959-acb8-4f95-ac7f-7ae0cd9d2f93'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', 68, 'e166be08-b9b3-57cc-9b4f-f0e53e61b25b'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', 80, 'eba6dacb-84be-5902-9158-5e09162e45b8');
INSERT INTO public.call_blobs VALUES
	('4cf82107-4114-4316-b0ba-41ace0184151', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 17:16:50.809231+00'),
	('4cf82107-4114-4316-b0ba-41ace0184151', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 17:16:50.809231+00'),
	('32c1dd88-c7f3-4f75-b690-a775ad75dc30', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-25 17:16:52.349817+00'),
	('32c1dd88-c7f3-4f75-b690-a775ad75dc30', '\xe2b6960299ecd071c1bdc58cc0e88c3d51f3c7b953768803a2fa255580c13bc8', '2026-11-25 17:16:52.349817+00'),
	('a132acaf-c941-4e54-84ef-408c8e84f9c6', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 17:16:52.834031+00'),
	('a132acaf-c941-4e54-84ef-408c8e84f9c6', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 17:16:52.834031+00'),
	('9a745c85-2139-468e-9408-b7407fe673a1', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-25 17:16:54.179871+00'),
	('9a745c85-2139-468e-9408-b7407fe673a1', '\x2401f2a3f12bb0781652a7cdf857f9cf23ddc0f0ae7f42b408846f25e695cbe1', '2026-11-25 17:16:54.179871+00');
INSERT INTO public.call_keys VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'node:c09bdf71-7530-4172-bb3e-7a627d077849:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', '32c1dd88-c7f3-4f75-b690-a775ad75dc30', '2026-11-25 17:16:51.191966+00', NULL),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'node:3181fec1-c78c-42ab-8b93-0b1acb74286c:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', '9a745c85-2139-468e-9408-b7407fe673a1', '2026-11-25 17:16:52.993808+00', NULL);
INSERT INTO public.call_lanes VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, 0, 0, 0, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, 0, 0, 0, 0);
INSERT INTO public.call_workers VALUES
	('vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18', '2026-11-24 17:16:52.442331+00'),
	('vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef', '2026-11-24 17:16:52.932904+00');
INSERT INTO public.calls_v1 VALUES
	('4cf82107-4114-4316-b0ba-41ace0184151', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'succeeded', 'sim/echo', 5, 5, '{"id":"4cf82107-4114-4316-b0ba-41ace0184151","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"succeeded","version":5,"position":10,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:29193","held_micros":0,"charged_micros":0,"run":1,"token":"f49b595e-2a34-4907-9e67-55f26fc6d853","worker":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T17:16:44.924759Z","admitted_at":"2026-11-24T17:16:44.924779Z","sent_at":"2026-11-24T17:16:50.803636Z","ended_at":"2026-11-24T17:16:50.811222Z","updated_at":"2026-11-24T17:16:50.811222Z"}'),
	('32c1dd88-c7f3-4f75-b690-a775ad75dc30', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'succeeded', 'sim/image', 28, 7, '{"id":"32c1dd88-c7f3-4f75-b690-a775ad75dc30","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"succeeded","version":7,"position":36,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"b40fbb81-0c96-4fbe-ad9e-e4e88b30aec4","worker":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18","handle":"sim-eyJyIjoxNzk1NTQwNjExMzY0LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:e2b6960299ecd071c1bdc58cc0e88c3d51f3c7b953768803a2fa255580c13bc8","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T17:16:51.198149Z","admitted_at":"2026-11-24T17:16:51.198187Z","sent_at":"2026-11-24T17:16:51.300281Z","ended_at":"2026-11-24T17:16:52.357644Z","updated_at":"2026-11-24T17:16:52.357644Z"}'),
	('a132acaf-c941-4e54-84ef-408c8e84f9c6', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'succeeded', 'sim/echo', 46, 5, '{"id":"a132acaf-c941-4e54-84ef-408c8e84f9c6","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"succeeded","version":5,"position":51,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:29193","held_micros":0,"charged_micros":0,"run":1,"token":"f29abd5b-a4a0-4658-b002-5e5d31701083","worker":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T17:16:52.712923Z","admitted_at":"2026-11-24T17:16:52.712944Z","sent_at":"2026-11-24T17:16:52.744944Z","ended_at":"2026-11-24T17:16:52.838513Z","updated_at":"2026-11-24T17:16:52.838513Z"}'),
	('9a745c85-2139-468e-9408-b7407fe673a1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'succeeded', 'sim/image', 57, 7, '{"id":"9a745c85-2139-468e-9408-b7407fe673a1","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"succeeded","version":7,"position":65,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"fed145db-ba53-4a88-9984-203e453944be","worker":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef","handle":"sim-eyJyIjoxNzk1NTQwNjEzMDYxLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:2401f2a3f12bb0781652a7cdf857f9cf23ddc0f0ae7f42b408846f25e695cbe1","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T17:16:52.995701Z","admitted_at":"2026-11-24T17:16:52.995755Z","sent_at":"2026-11-24T17:16:53.01021Z","ended_at":"2026-11-24T17:16:54.181144Z","updated_at":"2026-11-24T17:16:54.181144Z"}');
INSERT INTO public.checkpoints VALUES
	('usage_v1', 69, '2026-11-24 17:16:54.305233+00'),
	('stats_v1', 82, '2026-11-24 17:16:54.546828+00'),
	('server_usage_v1', 86, '2026-11-24 17:16:54.693214+00'),
	('calls_v1', 86, '2026-11-24 17:16:54.825232+00'),
	('webhooks_outgoing', 86, '2026-11-24 17:16:54.825856+00'),
	('history_v1', 86, '2026-11-24 17:16:54.826375+00'),
	('assets_v1', 86, '2026-11-24 17:16:54.826946+00'),
	('webhooks_v1', 86, '2026-11-24 17:16:54.827469+00'),
	('job_index_v1', 86, '2026-11-24 17:16:54.877923+00'),
	('jobs_v1', 96, '2026-11-24 17:16:55.102964+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-8be54dfd-e6d9-4724-a164-38068f8b4964', 1, 'ac73495e-8e05-489c-92f4-70c8de1ec6e5', 'account.created.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 17:16:44.632562+00'),
	(2, 'account-8be54dfd-e6d9-4724-a164-38068f8b4964', 2, 'e2fa909b-9dac-44c4-94e5-f55a507e7e0f', 'account.key_issued.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"key":"da03bef4-379c-4dbe-92e0-5db60239b20d","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 17:16:44.763383+00'),
	(3, 'webhooks-8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '6120a85a-e079-4571-9d99-25325ccfffee', 'webhook.registered.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"webhook":"83ef881d-63b7-49b8-9da4-d063aa16228c","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"a5165daa-9afb-402d-8710-b23a3765911a"}', '2026-11-24 17:16:44.812589+00'),
	(4, 'asset-d2c0762c-182c-4f68-a089-7c8d793945a9', 1, '5413bffe-2eec-4ace-be00-f8eb5f4e25cd', 'asset.created.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T17:16:44.848Z"}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"ca4b885e-ffa7-4232-a683-43022c8a4cfb"}', '2026-11-24 17:16:44.891317+00'),
	(5, 'call-4cf82107-4114-4316-b0ba-41ace0184151', 1, '1f3e589b-74b6-4317-a355-e8fdd502d29f', 'call.accepted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"97a8f003dae75b9dd00c844b77021d4c6979db58990230502707c5f319dffc52","base":"http://127.0.0.1:29193","fallback":"runware"}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"4cf82107-4114-4316-b0ba-41ace0184151"}', '2026-11-24 17:16:44.924759+00'),
	(6, 'call-4cf82107-4114-4316-b0ba-41ace0184151', 2, '9a7d20da-654f-5719-9d14-a70562bfc956', 'call.admitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"4cf82107-4114-4316-b0ba-41ace0184151"}', '2026-11-24 17:16:44.924779+00'),
	(7, 'asset-d2c0762c-182c-4f68-a089-7c8d793945a9', 2, '26481fd9-5b39-5fc4-815a-758574d72416', 'asset.verified.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 17:16:50.675921+00'),
	(8, 'call-4cf82107-4114-4316-b0ba-41ace0184151', 3, 'd3964ed1-ab28-5735-8b01-f3c8a723e3fd', 'call.dispatching.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"token":"f49b595e-2a34-4907-9e67-55f26fc6d853","worker":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:50.803636+00'),
	(9, 'call-4cf82107-4114-4316-b0ba-41ace0184151', 4, 'aea07c20-d058-5dd9-a650-5e42dde88420', 'call.answered.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:50.811196+00'),
	(10, 'call-4cf82107-4114-4316-b0ba-41ace0184151', 5, '32d1b43e-7e48-519a-8ca5-d7d39d200f62', 'call.succeeded.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:50.811222+00'),
	(11, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 1, 'cfaf4af9-e97e-41af-a766-2f48b712e705', 'job.submitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795540610834}}"},"targets":["3"],"nodes_total":3}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"e7b24834-e272-4523-8980-de35b35829c2"}', '2026-11-24 17:16:50.84084+00'),
	(12, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 2, '88fb3357-cbea-5fda-b3f5-6e962026f042', 'job.admitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"e7b24834-e272-4523-8980-de35b35829c2"}', '2026-11-24 17:16:50.841188+00'),
	(13, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 3, '2334fe2c-2f95-570e-82f1-75bd1e24d1fd', 'job.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes_total":3,"worker":"vm/26416","execution":"01a20e8f-6f23-7aba-946c-eca4b51152be"}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893089+00'),
	(14, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 4, '91f0d90b-8317-5b38-a610-7d52102561c0', 'job.nodes_cached.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes":null}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893115+00'),
	(15, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 5, '1b5ea9fc-8045-5522-9cef-59a19014d799', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893119+00'),
	(16, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 6, 'fc65ec67-928c-5e9a-beba-f89384ea65a6', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893126+00'),
	(17, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 7, 'e69d287d-fdf8-5b87-a288-cd7c4e3d3050', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893129+00'),
	(18, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 8, 'f413ed60-9c1e-5d8a-8ef6-369a55dd2c7d', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893132+00'),
	(19, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 9, 'fb38f6af-cbb4-56e1-88af-967608a6ebec', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.893135+00'),
	(20, 'asset-4cf37007-3d28-5926-a95e-436fb8dea1eb', 1, '6cfab9a7-fdbd-59b4-b0d2-8ab86df77a3a', 'asset.created.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"135d5013-4b5a-4478-89a2-4c7a8aca9410","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T17:16:50.893Z"}', '{"actor":"job 135d5013-4b5a-4478-89a2-4c7a8aca9410"}', '2026-11-24 17:16:50.90013+00'),
	(21, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 10, 'e1292994-c3bc-525b-82c7-f25a9145c41e', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4cf37007-3d28-5926-a95e-436fb8dea1eb","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:50.896003Z"}],"millis":7}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.906689+00'),
	(22, 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 11, '78572f35-4f16-51be-af44-d1b40cc8e1fa', 'job.succeeded.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.90672+00'),
	(23, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 1, '64619ed1-b639-4d3f-b1c5-76abf2976229', 'job.submitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795540610941}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"1b076891-f0ca-4616-963f-696403661561"}', '2026-11-24 17:16:50.943639+00'),
	(24, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 2, 'd65a6372-32a1-5d58-bc02-cc6a67ee57ba', 'job.admitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"1b076891-f0ca-4616-963f-696403661561"}', '2026-11-24 17:16:50.94384+00'),
	(44, 'webhooks-88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, 'bb594df2-a165-449b-bcf5-217a91c1951c', 'webhook.registered.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"webhook":"a8909c07-1769-4886-bb82-71987739c6f8","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"8122182e-780b-4ee6-924a-f85d013e12b1"}', '2026-11-24 17:16:52.695241+00'),
	(45, 'asset-8af85d73-5cab-4a2c-9e64-ab7a39688403', 1, '7a93db33-df1e-4b93-b8fc-1bbc5e9b4d7f', 'asset.created.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T17:16:52.699Z"}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"213233ea-f700-4f5a-a20b-31004bdc6f39"}', '2026-11-24 17:16:52.702952+00'),
	(46, 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 1, '3ae83026-f0ed-48f9-a720-c2cbbd21c174', 'call.accepted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"97a8f003dae75b9dd00c844b77021d4c6979db58990230502707c5f319dffc52","base":"http://127.0.0.1:29193","fallback":"runware"}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"a132acaf-c941-4e54-84ef-408c8e84f9c6"}', '2026-11-24 17:16:52.712923+00'),
	(47, 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 2, 'eae8e8fb-6194-57cf-b41c-1e14068a6a08', 'call.admitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"a132acaf-c941-4e54-84ef-408c8e84f9c6"}', '2026-11-24 17:16:52.712944+00'),
	(52, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 1, '9bc7d65c-9fed-4600-9b30-b9884e648bf1', 'job.submitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795540612916}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"c9a5920c-176f-484c-ab4c-944e9c195cfb"}', '2026-11-24 17:16:52.918366+00'),
	(53, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 2, '9a9657f5-f4eb-577b-ac1b-6e654e65ea06', 'job.admitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"c9a5920c-176f-484c-ab4c-944e9c195cfb"}', '2026-11-24 17:16:52.918426+00'),
	(25, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 3, '2a30236b-9943-5af7-b82d-e3a6aa9bbb5c', 'job.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes_total":2,"worker":"vm/26416","execution":"01a20e8f-6f82-7316-994e-af41d02092e1"}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.962486+00'),
	(26, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 4, 'f284f20a-a821-5441-99c5-98857a82ca40', 'job.nodes_cached.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes":null}', '{"actor":"vm/26416"}', '2026-11-24 17:16:50.962591+00'),
	(27, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 5, 'ba608f7d-4ad6-534e-98a2-93ac279e39da', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:51.125076+00'),
	(28, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 1, '361fcdfc-ce96-401d-903b-ae37535b7f8f', 'call.accepted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"97a8f003dae75b9dd00c844b77021d4c6979db58990230502707c5f319dffc52","base":"http://127.0.0.1:8188"}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"32c1dd88-c7f3-4f75-b690-a775ad75dc30"}', '2026-11-24 17:16:51.198149+00'),
	(29, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 2, '0eeb3d03-17a6-5056-bc3f-1d5002cb7773', 'call.admitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"32c1dd88-c7f3-4f75-b690-a775ad75dc30"}', '2026-11-24 17:16:51.198187+00'),
	(30, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 3, '7d30cfe4-dc06-574d-bbf6-9092fa559676', 'call.dispatching.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"token":"b40fbb81-0c96-4fbe-ad9e-e4e88b30aec4","worker":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:51.300281+00'),
	(31, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 4, '27915409-d8f7-502d-a8e4-2c2d0b87970a', 'call.provider_accepted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"handle":"sim-eyJyIjoxNzk1NTQwNjExMzY0LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:51.315357+00'),
	(32, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 5, '20bdadb2-adba-54e4-8a92-d8314af9a8e6', 'call.answered.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"answer":{"ref":"blake3:65e14be88d4807eabac9a0cec080be84248e1a7aebabbcf59f7b9a2b2b1b9d8b","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:52.302266+00'),
	(33, 'asset-adab40a7-c4bc-42d5-b03c-a49e2598f0b5', 1, '74f13dd8-c5ab-4330-a74c-117ec6aeb5a8', 'asset.created.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/32c1dd88-c7f3-4f75-b690-a775ad75dc30/0-b008fe36.png","created_at":"2026-11-24T17:16:52.323Z","expires_at":"2026-11-25T17:16:52.323Z"}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"32c1dd88-c7f3-4f75-b690-a775ad75dc30"}', '2026-11-24 17:16:52.328767+00'),
	(34, 'asset-adab40a7-c4bc-42d5-b03c-a49e2598f0b5', 2, '4eebd6c5-59ff-52f9-baef-098fb35aaa0e', 'asset.verified.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-24 17:16:52.349391+00'),
	(35, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 6, '165789b9-142f-5fe3-81eb-cf58cb5bb2a4', 'call.hosted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"assets":[{"pointer":"/result/url","asset":"adab40a7-c4bc-42d5-b03c-a49e2598f0b5","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:e2b6960299ecd071c1bdc58cc0e88c3d51f3c7b953768803a2fa255580c13bc8","size":355,"content_type":"application/json"}}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:52.354869+00'),
	(36, 'call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', 7, '32cf2cf2-db2d-5f26-a1f3-57b28aae249f', 'call.succeeded.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"model":"sim/image","answer":{"ref":"blake3:e2b6960299ecd071c1bdc58cc0e88c3d51f3c7b953768803a2fa255580c13bc8","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18"}', '2026-11-24 17:16:52.357644+00'),
	(37, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 6, '0b5d0fdd-8dae-5e81-9184-ee64ca12a027', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1177,"waited_millis":118}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.368929+00'),
	(38, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 7, '52a378db-015d-502d-9476-e9e4355b4466', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.395606+00'),
	(39, 'asset-d45d7a27-62b4-5408-a629-d687c5acdaa8', 1, '52951e72-2678-5e92-9eb2-a16af080574c', 'asset.created.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"c09bdf71-7530-4172-bb3e-7a627d077849","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T17:16:52.398Z"}', '{"actor":"job c09bdf71-7530-4172-bb3e-7a627d077849"}', '2026-11-24 17:16:52.408343+00'),
	(40, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 8, 'c6870e28-0131-5c87-8fbd-1a17ff61656e', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d45d7a27-62b4-5408-a629-d687c5acdaa8","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:52.400801Z"}],"millis":12}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.415864+00'),
	(41, 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 9, '19fcb1a8-adcc-562a-8444-3350a7ad681b', 'job.succeeded.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:52.450255+00'),
	(42, 'account-88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '06e0b5e9-cbaa-4236-b5bc-6f28290af125', 'account.created.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 17:16:52.620314+00'),
	(43, 'account-88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 2, 'f5c849f4-3bde-4ac7-a622-87777efa5870', 'account.key_issued.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"key":"ef04bb78-85f1-404e-a2ba-22be689259e8","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 17:16:52.683415+00'),
	(48, 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 3, '6836dd8c-82ae-5352-8dde-161dfa4f968e', 'call.dispatching.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"token":"f29abd5b-a4a0-4658-b002-5e5d31701083","worker":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:52.744944+00'),
	(49, 'asset-8af85d73-5cab-4a2c-9e64-ab7a39688403', 2, '586b3c88-9b96-5c80-9ef8-7f1cee801583', 'asset.verified.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 17:16:52.837724+00'),
	(54, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 3, '65baf47e-e2e6-538f-93e4-522ca7a3d8c1', 'job.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes_total":2,"worker":"vm/26415","execution":"01a20e8f-7739-76ce-910e-bd94b31d8f90"}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.959668+00'),
	(50, 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 4, '43cbdb96-1fb1-5f46-9207-34566f0e98bc', 'call.answered.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:52.838357+00'),
	(51, 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 5, '9109d09c-99a4-57da-bc6c-9b64aba49115', 'call.succeeded.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:52.838513+00'),
	(56, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 5, 'a4f5f7b7-2f16-56aa-bbbd-29f67fb7027e', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.986826+00'),
	(57, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 1, '0b15b792-4705-4074-8541-09422aa20dfa', 'call.accepted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"97a8f003dae75b9dd00c844b77021d4c6979db58990230502707c5f319dffc52","base":"http://127.0.0.1:8188"}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"9a745c85-2139-468e-9408-b7407fe673a1"}', '2026-11-24 17:16:52.995701+00'),
	(58, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 2, 'f95f9151-326c-57f5-98cf-56f581f39d0f', 'call.admitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"9a745c85-2139-468e-9408-b7407fe673a1"}', '2026-11-24 17:16:52.995755+00'),
	(59, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 3, 'bc83c7aa-e31b-5d78-9bda-f63abe630440', 'call.dispatching.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"token":"fed145db-ba53-4a88-9984-203e453944be","worker":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:53.01021+00'),
	(60, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 4, '9e10cf5e-d99f-53a2-8e91-0c8303536ca3', 'call.provider_accepted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"handle":"sim-eyJyIjoxNzk1NTQwNjEzMDYxLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:53.012991+00'),
	(61, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 5, 'ca8b1037-d60d-5368-8eeb-e87e044ef8f6', 'call.answered.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"answer":{"ref":"blake3:ebc56eab4f3aa5eb418bba91312150beb983ca186f304249590a83a7ffe8975d","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:54.031758+00'),
	(62, 'asset-3e017959-acb8-4f95-ac7f-7ae0cd9d2f93', 1, 'e95d90db-8580-4663-9ac4-9f63d63eaa25', 'asset.created.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/9a745c85-2139-468e-9408-b7407fe673a1/0-f1b14e28.png","created_at":"2026-11-24T17:16:54.065Z","expires_at":"2026-11-25T17:16:54.065Z"}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"9a745c85-2139-468e-9408-b7407fe673a1"}', '2026-11-24 17:16:54.105871+00'),
	(64, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 6, '0f62e5d4-d534-50db-a9e8-c87002b408c1', 'call.hosted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"assets":[{"pointer":"/result/url","asset":"3e017959-acb8-4f95-ac7f-7ae0cd9d2f93","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:2401f2a3f12bb0781652a7cdf857f9cf23ddc0f0ae7f42b408846f25e695cbe1","size":355,"content_type":"application/json"}}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:54.181116+00'),
	(65, 'call-9a745c85-2139-468e-9408-b7407fe673a1', 7, '1a6d16f6-39d2-543d-9745-7d3056a43ec9', 'call.succeeded.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"model":"sim/image","answer":{"ref":"blake3:2401f2a3f12bb0781652a7cdf857f9cf23ddc0f0ae7f42b408846f25e695cbe1","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef"}', '2026-11-24 17:16:54.181144+00'),
	(66, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 6, 'a690ab4f-fd51-5689-8dfc-a14806f14289', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1212,"waited_millis":39}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.207416+00'),
	(67, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 7, 'a037565b-eb91-5b67-b52d-f18e7ccc4d2b', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.249023+00'),
	(55, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 4, '81946c80-8972-59f8-9391-3b9debc26de4', 'job.nodes_cached.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes":null}', '{"actor":"vm/26415"}', '2026-11-24 17:16:52.959691+00'),
	(63, 'asset-3e017959-acb8-4f95-ac7f-7ae0cd9d2f93', 2, '3d268cf7-9689-5140-ac4e-9014701f0cf2', 'asset.verified.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-24 17:16:54.166619+00'),
	(68, 'asset-e166be08-b9b3-57cc-9b4f-f0e53e61b25b', 1, '9b7d0ef5-09c0-5ef8-8912-c16b4f2eb949', 'asset.created.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"3181fec1-c78c-42ab-8b93-0b1acb74286c","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T17:16:54.26Z"}', '{"actor":"job 3181fec1-c78c-42ab-8b93-0b1acb74286c"}', '2026-11-24 17:16:54.269317+00'),
	(69, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 8, 'fb003473-6671-5747-9925-4960b0e28842', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e166be08-b9b3-57cc-9b4f-f0e53e61b25b","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.266354Z"}],"millis":11}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.274014+00'),
	(70, 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 9, 'bb63ce0a-8658-5a5d-ac86-f2a1f1affbda', 'job.succeeded.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.301111+00'),
	(73, 'job-2d224be6-499e-4b92-b961-05c235c69970', 3, 'd1191dfc-ff53-5279-9c1f-da2e9a661751', 'job.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes_total":3,"worker":"vm/26415","execution":"01a20e8f-7cff-7372-bfd1-210778a71803"}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476572+00'),
	(74, 'job-2d224be6-499e-4b92-b961-05c235c69970', 4, '9d1a436d-7148-5e6f-840e-5abd738db988', 'job.nodes_cached.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes":null}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476601+00'),
	(75, 'job-2d224be6-499e-4b92-b961-05c235c69970', 5, 'df1caacb-7e5b-554f-a8d8-f573572c0a21', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476606+00'),
	(76, 'job-2d224be6-499e-4b92-b961-05c235c69970', 6, '76f81b22-8f7e-546f-9d76-b90b990ffbaf', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.47661+00'),
	(77, 'job-2d224be6-499e-4b92-b961-05c235c69970', 7, '68ba75d0-9c35-57c9-843e-b6c35597adf3', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476613+00'),
	(78, 'job-2d224be6-499e-4b92-b961-05c235c69970', 8, 'df33c24e-2912-56a0-862a-b8010e1137b6', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476616+00'),
	(79, 'job-2d224be6-499e-4b92-b961-05c235c69970', 9, '95cb1c49-cf33-5c15-ab6e-21a175c76f17', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.476618+00'),
	(80, 'asset-eba6dacb-84be-5902-9158-5e09162e45b8', 1, 'af29276f-08d8-5756-b3e6-147545f6aade', 'asset.created.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"2d224be6-499e-4b92-b961-05c235c69970","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T17:16:54.48Z"}', '{"actor":"job 2d224be6-499e-4b92-b961-05c235c69970"}', '2026-11-24 17:16:54.492961+00'),
	(81, 'job-2d224be6-499e-4b92-b961-05c235c69970', 10, 'f2439702-034c-5891-8f70-c9af62d33be7', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"eba6dacb-84be-5902-9158-5e09162e45b8","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.488989Z"}],"millis":16}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.499377+00'),
	(82, 'job-2d224be6-499e-4b92-b961-05c235c69970', 11, '6daaf121-7eff-51e3-898b-f998dab73e0b', 'job.succeeded.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"vm/26415"}', '2026-11-24 17:16:54.499406+00'),
	(71, 'job-2d224be6-499e-4b92-b961-05c235c69970', 1, '0d82151b-46ca-46b7-a606-d470473a1964', 'job.submitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795540614322}}"},"targets":["3"],"nodes_total":3}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"4b050f3a-9288-461e-9cee-f86e245f2f29"}', '2026-11-24 17:16:54.335806+00'),
	(72, 'job-2d224be6-499e-4b92-b961-05c235c69970', 2, '1a29d0f0-1251-5514-972c-7f3ba172ea8e', 'job.admitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"4b050f3a-9288-461e-9cee-f86e245f2f29"}', '2026-11-24 17:16:54.354586+00'),
	(83, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 1, '20975859-a577-41e5-b8ac-7e2e150be63c', 'job.submitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795540614549}}"},"targets":["6"],"nodes_total":6}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"da4ca7c7-de21-49a1-8a1e-2ae677c6406d"}', '2026-11-24 17:16:54.55108+00'),
	(84, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 2, 'fee672ff-80a0-5da0-8126-615dce73105c', 'job.admitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"da4ca7c7-de21-49a1-8a1e-2ae677c6406d"}', '2026-11-24 17:16:54.551163+00'),
	(85, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 1, '48f7543d-dd44-4a2e-a062-153930b1a22a', 'job.submitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795540614553}}"},"targets":["6"],"nodes_total":6}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"6f588e99-22a9-4d53-9bc6-98379ad0a84f"}', '2026-11-24 17:16:54.555394+00'),
	(86, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 2, 'c37f939d-bf76-54cc-afe2-d6fb35fba2e5', 'job.admitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"6f588e99-22a9-4d53-9bc6-98379ad0a84f"}', '2026-11-24 17:16:54.555484+00'),
	(95, 'job-ad9cfd8b-2982-4130-88c3-302f81cda436', 1, 'cd6f3c5b-3519-4696-8610-a01fcafe5030', 'job.submitted.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795540615047}}"},"targets":["3"],"nodes_total":3}', '{"actor":"8be54dfd-e6d9-4724-a164-38068f8b4964","request_id":"137e9fa4-ae0e-4d59-a32c-327744be9b2c"}', '2026-11-24 17:16:55.050613+00'),
	(96, 'job-1fa734c6-a249-4274-890d-828c2482ff17', 1, 'e3c6488a-a49b-4256-b24d-0a7ccfd8f3ac', 'job.submitted.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795540615053}}"},"targets":["3"],"nodes_total":3}', '{"actor":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","request_id":"9c8c111b-ba0e-4e8b-b1d1-a99847e9b0c0"}', '2026-11-24 17:16:55.054711+00'),
	(87, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 3, 'a9f05d8c-e628-5a5e-9267-36dbd25f1695', 'job.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes_total":6,"worker":"vm/26416","execution":"01a20e8f-7d99-7c94-b053-7088ee6fadd3"}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.884993+00'),
	(88, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 4, '45c911d1-d936-5fba-a0cd-db04a255423f', 'job.nodes_cached.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"nodes":null}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.885095+00'),
	(89, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 5, '4c05d313-8206-5d1e-bd4b-4ceb0c792a8f', 'node.started.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.885099+00'),
	(90, 'job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', 6, '9e354aad-932c-584c-a05b-2ab7718a9729', 'node.executed.v1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '{"run":1,"node":"1","class":"EmptyImage","millis":53}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.885102+00'),
	(91, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 3, '75f4b6b2-98ba-5902-ba58-29e6b3178e8b', 'job.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes_total":6,"worker":"vm/26416","execution":"01a20e8f-7da1-718b-9682-fd779b3e3f59"}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.943767+00'),
	(92, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 4, '1921b5b5-86da-5034-ada9-939bd7687a73', 'job.nodes_cached.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"nodes":null}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.943951+00'),
	(93, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 5, '9b23f396-a461-50ae-ad16-5f1748a9d84d', 'node.started.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.943957+00'),
	(94, 'job-7d8c9999-38de-461d-9d7e-2b5600f2687b', 6, '0b313101-23a2-5d0e-8a0c-8c7c4ba68c0d', 'node.executed.v1', '8be54dfd-e6d9-4724-a164-38068f8b4964', '{"run":1,"node":"1","class":"EmptyImage","millis":271}', '{"actor":"vm/26416"}', '2026-11-24 17:16:54.943961+00');
INSERT INTO public.file_counters VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', '', 'done-acme', 1),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'output', '', 'painted', 1),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', '', 'painted', 1),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'output', '', 'done-umbrella', 1);
INSERT INTO public.files VALUES
	('d2c0762c-182c-4f68-a089-7c8d793945a9', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 17:16:44.8771+00', NULL, NULL, NULL),
	('4cf37007-3d28-5926-a95e-436fb8dea1eb', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, '135d5013-4b5a-4478-89a2-4c7a8aca9410', 1, '3', 0, false, '2026-11-24 17:16:50.896003+00', '2027-01-25 17:16:50.893+00', NULL, NULL),
	('adab40a7-c4bc-42d5-b03c-a49e2598f0b5', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/32c1dd88-c7f3-4f75-b690-a775ad75dc30/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 17:16:52.327557+00', '2026-11-25 17:16:52.323+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL),
	('d45d7a27-62b4-5408-a629-d687c5acdaa8', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, 'c09bdf71-7530-4172-bb3e-7a627d077849', 1, '2', 0, false, '2026-11-24 17:16:52.400801+00', '2027-01-25 17:16:52.398+00', NULL, NULL),
	('8af85d73-5cab-4a2c-9e64-ab7a39688403', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 17:16:52.700442+00', NULL, NULL, NULL),
	('3e017959-acb8-4f95-ac7f-7ae0cd9d2f93', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/9a745c85-2139-468e-9408-b7407fe673a1/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 17:16:54.101857+00', '2026-11-25 17:16:54.065+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL),
	('e166be08-b9b3-57cc-9b4f-f0e53e61b25b', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '3181fec1-c78c-42ab-8b93-0b1acb74286c', 1, '2', 0, false, '2026-11-24 17:16:54.266354+00', '2027-01-25 17:16:54.26+00', NULL, NULL),
	('eba6dacb-84be-5902-9158-5e09162e45b8', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, '2d224be6-499e-4b92-b961-05c235c69970', 1, '3', 0, false, '2026-11-24 17:16:54.488989+00', '2027-01-25 17:16:54.48+00', NULL, NULL);
INSERT INTO public.job_index_v1 VALUES
	('135d5013-4b5a-4478-89a2-4c7a8aca9410', '8be54dfd-e6d9-4724-a164-38068f8b4964', 11, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('c09bdf71-7530-4172-bb3e-7a627d077849', '8be54dfd-e6d9-4724-a164-38068f8b4964', 23, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('3181fec1-c78c-42ab-8b93-0b1acb74286c', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 52, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('2d224be6-499e-4b92-b961-05c235c69970', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 71, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('b1f0950f-5f2c-493f-b1cd-2913ef394d96', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11'),
	('7d8c9999-38de-461d-9d7e-2b5600f2687b', '8be54dfd-e6d9-4724-a164-38068f8b4964', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8');
INSERT INTO public.job_lanes VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 3, 1, 1, 'open'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 3, 1, 1, 'open');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('ad9cfd8b-2982-4130-88c3-302f81cda436', '8be54dfd-e6d9-4724-a164-38068f8b4964', 3, 1),
	('1fa734c6-a249-4274-890d-828c2482ff17', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 3, 2);
INSERT INTO public.job_slots VALUES
	('b1f0950f-5f2c-493f-b1cd-2913ef394d96', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:16:54.549979+00'),
	('7d8c9999-38de-461d-9d7e-2b5600f2687b', '8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:16:54.554615+00');
INSERT INTO public.jobs_v1 VALUES
	('135d5013-4b5a-4478-89a2-4c7a8aca9410', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'succeeded', 0, 11, 11, '2026-11-24 17:16:50.84084+00', '{}', '{"id":"135d5013-4b5a-4478-89a2-4c7a8aca9410","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"succeeded","version":11,"position":22,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20e8f-6f23-7aba-946c-eca4b51152be","submitted_at":"2026-11-24T17:16:50.84084Z","admitted_at":"2026-11-24T17:16:50.841188Z","started_at":"2026-11-24T17:16:50.893089Z","ended_at":"2026-11-24T17:16:50.90672Z","updated_at":"2026-11-24T17:16:50.90672Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4cf37007-3d28-5926-a95e-436fb8dea1eb","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:50.896003Z"}]}]}', NULL),
	('ad9cfd8b-2982-4130-88c3-302f81cda436', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'queued', 3, 95, 1, '2026-11-24 17:16:55.050613+00', '{}', '{"id":"ad9cfd8b-2982-4130-88c3-302f81cda436","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"queued","version":1,"position":95,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T17:16:55.050613Z","updated_at":"2026-11-24T17:16:55.050613Z","nodes_done":0}', NULL),
	('2d224be6-499e-4b92-b961-05c235c69970', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'succeeded', 1, 71, 11, '2026-11-24 17:16:54.335806+00', '{}', '{"id":"2d224be6-499e-4b92-b961-05c235c69970","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"succeeded","version":11,"position":82,"number":1,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20e8f-7cff-7372-bfd1-210778a71803","submitted_at":"2026-11-24T17:16:54.335806Z","admitted_at":"2026-11-24T17:16:54.354586Z","started_at":"2026-11-24T17:16:54.476572Z","ended_at":"2026-11-24T17:16:54.499406Z","updated_at":"2026-11-24T17:16:54.499406Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"eba6dacb-84be-5902-9158-5e09162e45b8","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.488989Z"}]}]}', NULL),
	('c09bdf71-7530-4172-bb3e-7a627d077849', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'succeeded', 1, 23, 9, '2026-11-24 17:16:50.943639+00', '{}', '{"id":"c09bdf71-7530-4172-bb3e-7a627d077849","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"succeeded","version":9,"position":41,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20e8f-6f82-7316-994e-af41d02092e1","submitted_at":"2026-11-24T17:16:50.943639Z","admitted_at":"2026-11-24T17:16:50.94384Z","started_at":"2026-11-24T17:16:50.962486Z","ended_at":"2026-11-24T17:16:52.450255Z","updated_at":"2026-11-24T17:16:52.450255Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d45d7a27-62b4-5408-a629-d687c5acdaa8","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:52.400801Z"}]}]}', NULL),
	('b1f0950f-5f2c-493f-b1cd-2913ef394d96', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'running', 2, 83, 6, '2026-11-24 17:16:54.55108+00', '{}', '{"id":"b1f0950f-5f2c-493f-b1cd-2913ef394d96","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"running","version":6,"position":90,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20e8f-7d99-7c94-b053-7088ee6fadd3","submitted_at":"2026-11-24T17:16:54.55108Z","admitted_at":"2026-11-24T17:16:54.551163Z","started_at":"2026-11-24T17:16:54.884993Z","updated_at":"2026-11-24T17:16:54.885102Z","nodes_done":1,"executed":["1"]}', NULL),
	('3181fec1-c78c-42ab-8b93-0b1acb74286c', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'succeeded', 0, 52, 9, '2026-11-24 17:16:52.918366+00', '{}', '{"id":"3181fec1-c78c-42ab-8b93-0b1acb74286c","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"succeeded","version":9,"position":70,"number":0,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20e8f-7739-76ce-910e-bd94b31d8f90","submitted_at":"2026-11-24T17:16:52.918366Z","admitted_at":"2026-11-24T17:16:52.918426Z","started_at":"2026-11-24T17:16:52.959668Z","ended_at":"2026-11-24T17:16:54.301111Z","updated_at":"2026-11-24T17:16:54.301111Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e166be08-b9b3-57cc-9b4f-f0e53e61b25b","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.266354Z"}]}]}', NULL),
	('1fa734c6-a249-4274-890d-828c2482ff17', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'queued', 3, 96, 1, '2026-11-24 17:16:55.054711+00', '{}', '{"id":"1fa734c6-a249-4274-890d-828c2482ff17","account":"88ddc7a6-365d-4b46-a6d8-986fb1ef72a3","state":"queued","version":1,"position":96,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T17:16:55.054711Z","updated_at":"2026-11-24T17:16:55.054711Z","nodes_done":0}', NULL),
	('7d8c9999-38de-461d-9d7e-2b5600f2687b', '8be54dfd-e6d9-4724-a164-38068f8b4964', 'running', 2, 85, 6, '2026-11-24 17:16:54.555394+00', '{}', '{"id":"7d8c9999-38de-461d-9d7e-2b5600f2687b","account":"8be54dfd-e6d9-4724-a164-38068f8b4964","state":"running","version":6,"position":94,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20e8f-7da1-718b-9682-fd779b3e3f59","submitted_at":"2026-11-24T17:16:54.555394Z","admitted_at":"2026-11-24T17:16:54.555484Z","started_at":"2026-11-24T17:16:54.943767Z","updated_at":"2026-11-24T17:16:54.943961Z","nodes_done":1,"executed":["1"]}', NULL);
INSERT INTO public.node_cache VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', '\x72a6bdc40ea569f391efa758fd75ae17ac99564958bc168904a0dc289b37df31', '{"class":"SaveImage","job":"135d5013-4b5a-4478-89a2-4c7a8aca9410","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"4cf37007-3d28-5926-a95e-436fb8dea1eb","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:50.896003Z"}]}', '{4cf37007-3d28-5926-a95e-436fb8dea1eb}', 437, '2026-11-24 17:16:50.902696+00', '2026-11-24 17:16:50.902696+00'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', '\x0a3c5ec0be54d1373ca127abfb2274edcbabf060b2f63ed80950a11c67ff6884', '{"class":"Partner_sim_image","job":"c09bdf71-7530-4172-bb3e-7a627d077849","values":["cached:blake3:2c7d865978325e4d4bdd3550db64714d704f32febeff46f8ef505b9768468f74"]}', '{}', 12495, '2026-11-24 17:16:52.367509+00', '2026-11-24 17:16:52.367509+00'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', '\x1d77ce8781f8035a8f7fe904816e9fa09041d83b8eb93d24fe7f8aeb44421996', '{"class":"SaveImage","job":"c09bdf71-7530-4172-bb3e-7a627d077849","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d45d7a27-62b4-5408-a629-d687c5acdaa8","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:52.400801Z"}]}', '{d45d7a27-62b4-5408-a629-d687c5acdaa8}', 433, '2026-11-24 17:16:52.415302+00', '2026-11-24 17:16:52.415302+00'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xa3a441be04e8711c8b210dba1d59333140294f1bbe406ae2139492826af59c60', '{"class":"Partner_sim_image","job":"3181fec1-c78c-42ab-8b93-0b1acb74286c","values":["cached:blake3:9aa212a056fbc192519e3eaa243405c7ef8cbbcc9b158798e2ecf85ace594649"]}', '{}', 12495, '2026-11-24 17:16:54.206261+00', '2026-11-24 17:16:54.206261+00'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xbf690d84ccb74ac8e5d5302690ff7e68528a09f9e31dded37aecb458c843125c', '{"class":"SaveImage","job":"3181fec1-c78c-42ab-8b93-0b1acb74286c","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e166be08-b9b3-57cc-9b4f-f0e53e61b25b","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.266354Z"}]}', '{e166be08-b9b3-57cc-9b4f-f0e53e61b25b}', 433, '2026-11-24 17:16:54.273438+00', '2026-11-24 17:16:54.273438+00'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\x5377c2d8a77cbfb2614cc985010d9ba2176eaa67d6a7cc33e9c01f437f17abbc', '{"class":"SaveImage","job":"2d224be6-499e-4b92-b961-05c235c69970","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"eba6dacb-84be-5902-9158-5e09162e45b8","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T17:16:54.488989Z"}]}', '{eba6dacb-84be-5902-9158-5e09162e45b8}', 445, '2026-11-24 17:16:54.49763+00', '2026-11-24 17:16:54.49763+00'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xd32a1a2b0e61ba29d2f40506b4047b7c6f5d0df6a9e578877ed1a17db43365d4', '{"class":"EmptyImage","job":"b1f0950f-5f2c-493f-b1cd-2913ef394d96","values":["cached:blake3:8faea5d4614b22e6365f9290e1379c23817380444ec4a3540a5c124a6fbabb14"]}', '{}', 12583112, '2026-11-24 17:16:54.913123+00', '2026-11-24 17:16:54.913123+00'),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', '\x5cb8e78995ca7d9bc57cacdf0bb0fd8386c2c56cfc260ddaae95b69b4b0e0b3c', '{"class":"EmptyImage","job":"7d8c9999-38de-461d-9d7e-2b5600f2687b","values":["cached:blake3:d2bcf687bcc84eb79ffebf797c93e73c284685704ef95cb3c7d7143c37b427c1"]}', '{}', 12583112, '2026-11-24 17:16:54.961467+00', '2026-11-24 17:16:54.961467+00');
INSERT INTO public.replicas VALUES
	('33bfbc67-dc96-43d1-a241-9978015ea3da', 'http://127.0.0.1:42035', '2026-11-24 17:16:53.298143+00'),
	('e722e980-e64a-4803-b1f3-f08d28130766', 'http://127.0.0.1:46205', '2026-11-24 17:16:54.068796+00'),
	('5a3ab2ff-8e8f-4334-9abe-4a30ab1dc64c', 'http://127.0.0.1:35609', '2026-11-24 17:16:54.394611+00'),
	('596cfd94-bfde-4b06-9ba3-82a7991c2073', 'http://127.0.0.1:39809', '2026-11-24 17:16:54.726976+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-24 17:16:42.355363+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-24 17:16:42.461156+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-24 17:16:42.555841+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-24 17:16:42.708316+00'),
	(105, '0105_jobs.sql', '21f657f1879a1f54cb8bc58e5c0fc5817d6672c938d3c507923533f09ca5ac38', 'dev', '2026-11-24 17:16:42.852344+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-24 17:16:43.241272+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-24 17:16:43.25134+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-24 17:16:43.322619+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-24 17:16:43.548185+00'),
	(110, '0110_calls.sql', 'c33a37a07abfff0424a91beb62464813847605f047468fd7a1bd225c7b55e83c', 'dev', '2026-11-24 17:16:43.591576+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-24 17:16:43.634927+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-24 17:16:43.654254+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-24 17:16:43.733129+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-24 17:16:43.74453+00'),
	(115, '0115_deployments.sql', '1ac013fd1680734f84555c248ec6c7151531094858a6792674aefaed6a2ae2a9', 'dev', '2026-11-24 17:16:43.755664+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 82, '2026-11-24 17:00:00+00');
INSERT INTO public.stats_v1 VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/echo', 1, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/echo', 1, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'submitted', '', 2, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'submitted', '', 2, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'waited', '023', 1, 52),
	('', 0, '2026-11-24 17:16:00+00', 'waited', '023', 1, 52),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'waited', '023', 1, 52),
	('', 1, '2026-11-24 17:00:00+00', 'waited', '023', 1, 52),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'took', '024', 1, 65),
	('', 0, '2026-11-24 17:16:00+00', 'took', '024', 1, 65),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'took', '024', 1, 65),
	('', 1, '2026-11-24 17:00:00+00', 'took', '024', 1, 65),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'waited', '017', 1, 18),
	('', 0, '2026-11-24 17:16:00+00', 'waited', '017', 1, 18),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'waited', '017', 1, 18),
	('', 1, '2026-11-24 17:00:00+00', 'waited', '017', 1, 18),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/image', 1, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/image', 1, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'nodes', 'executed', 5, 1196),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'nodes', 'executed', 5, 1196),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'took', '042', 1, 1506),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'took', '042', 1, 1506),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 0, '2026-11-24 17:16:00+00', 'ended', 'succeeded', 2, 1571),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '2026-11-24 17:00:00+00', 'ended', 'succeeded', 2, 1571),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/echo', 2, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/echo', 2, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'waited', '021', 1, 41),
	('', 0, '2026-11-24 17:16:00+00', 'waited', '021', 1, 41),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'waited', '021', 1, 41),
	('', 1, '2026-11-24 17:00:00+00', 'waited', '021', 1, 41),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-24 17:16:00+00', 'calls', 'sim/image', 2, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-24 17:00:00+00', 'calls', 'sim/image', 2, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'nodes', 'executed', 5, 1239),
	('', 0, '2026-11-24 17:16:00+00', 'nodes', 'executed', 10, 2435),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'nodes', 'executed', 5, 1239),
	('', 1, '2026-11-24 17:00:00+00', 'nodes', 'executed', 10, 2435),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'took', '042', 1, 1382),
	('', 0, '2026-11-24 17:16:00+00', 'took', '042', 2, 2888),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'took', '042', 1, 1382),
	('', 1, '2026-11-24 17:00:00+00', 'took', '042', 2, 2888),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'ended', 'succeeded', 2, 1545),
	('', 0, '2026-11-24 17:16:00+00', 'ended', 'succeeded', 4, 3116),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'ended', 'succeeded', 2, 1545),
	('', 1, '2026-11-24 17:00:00+00', 'ended', 'succeeded', 4, 3116),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'submitted', '', 2, 0),
	('', 0, '2026-11-24 17:16:00+00', 'submitted', '', 4, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'submitted', '', 2, 0),
	('', 1, '2026-11-24 17:00:00+00', 'submitted', '', 4, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'waited', '029', 1, 140),
	('', 0, '2026-11-24 17:16:00+00', 'waited', '029', 1, 140),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'waited', '029', 1, 140),
	('', 1, '2026-11-24 17:00:00+00', 'waited', '029', 1, 140),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 0, '2026-11-24 17:16:00+00', 'took', '029', 1, 163),
	('', 0, '2026-11-24 17:16:00+00', 'took', '029', 1, 163),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '2026-11-24 17:00:00+00', 'took', '029', 1, 163),
	('', 1, '2026-11-24 17:00:00+00', 'took', '029', 1, 163);
INSERT INTO public.streams VALUES
	('account-8be54dfd-e6d9-4724-a164-38068f8b4964', '8be54dfd-e6d9-4724-a164-38068f8b4964', 2, false),
	('webhooks-8be54dfd-e6d9-4724-a164-38068f8b4964', '8be54dfd-e6d9-4724-a164-38068f8b4964', 1, false),
	('asset-d2c0762c-182c-4f68-a089-7c8d793945a9', '8be54dfd-e6d9-4724-a164-38068f8b4964', 2, false),
	('call-4cf82107-4114-4316-b0ba-41ace0184151', '8be54dfd-e6d9-4724-a164-38068f8b4964', 5, true),
	('asset-4cf37007-3d28-5926-a95e-436fb8dea1eb', '8be54dfd-e6d9-4724-a164-38068f8b4964', 1, false),
	('job-135d5013-4b5a-4478-89a2-4c7a8aca9410', '8be54dfd-e6d9-4724-a164-38068f8b4964', 11, true),
	('asset-adab40a7-c4bc-42d5-b03c-a49e2598f0b5', '8be54dfd-e6d9-4724-a164-38068f8b4964', 2, false),
	('call-32c1dd88-c7f3-4f75-b690-a775ad75dc30', '8be54dfd-e6d9-4724-a164-38068f8b4964', 7, true),
	('asset-d45d7a27-62b4-5408-a629-d687c5acdaa8', '8be54dfd-e6d9-4724-a164-38068f8b4964', 1, false),
	('job-c09bdf71-7530-4172-bb3e-7a627d077849', '8be54dfd-e6d9-4724-a164-38068f8b4964', 9, true),
	('account-88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 2, false),
	('webhooks-88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, false),
	('asset-8af85d73-5cab-4a2c-9e64-ab7a39688403', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 2, false),
	('call-a132acaf-c941-4e54-84ef-408c8e84f9c6', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 5, true),
	('asset-3e017959-acb8-4f95-ac7f-7ae0cd9d2f93', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 2, false),
	('call-9a745c85-2139-468e-9408-b7407fe673a1', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 7, true),
	('asset-e166be08-b9b3-57cc-9b4f-f0e53e61b25b', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, false),
	('job-3181fec1-c78c-42ab-8b93-0b1acb74286c', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 9, true),
	('asset-eba6dacb-84be-5902-9158-5e09162e45b8', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, false),
	('job-2d224be6-499e-4b92-b961-05c235c69970', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 11, true),
	('job-b1f0950f-5f2c-493f-b1cd-2913ef394d96', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 6, false),
	('job-7d8c9999-38de-461d-9d7e-2b5600f2687b', '8be54dfd-e6d9-4724-a164-38068f8b4964', 6, false),
	('job-ad9cfd8b-2982-4130-88c3-302f81cda436', '8be54dfd-e6d9-4724-a164-38068f8b4964', 1, false),
	('job-1fa734c6-a249-4274-890d-828c2482ff17', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, false);
INSERT INTO public.usage_calls_v1 VALUES
	('4cf82107-4114-4316-b0ba-41ace0184151', 5),
	('32c1dd88-c7f3-4f75-b690-a775ad75dc30', 7),
	('a132acaf-c941-4e54-84ef-408c8e84f9c6', 5),
	('9a745c85-2139-468e-9408-b7407fe673a1', 7);
INSERT INTO public.usage_v1 VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 17:16:44.775318+00', '2026-11-24 17:16:44.775318+00'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 17:16:52.691152+00', '2026-11-24 17:16:52.691152+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('26e658b9-5d7d-5a6d-ad58-f950530dedcc', 1, '8be54dfd-e6d9-4724-a164-38068f8b4964', '83ef881d-63b7-49b8-9da4-d063aa16228c', 'call-4cf82107-4114-4316-b0ba-41ace0184151', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T17:16:50.811222Z","data":{"object":"call","id":"4cf82107-4114-4316-b0ba-41ace0184151","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T17:16:44.924759Z","completed_at":"2026-11-24T17:16:50.811222Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/4cf82107-4114-4316-b0ba-41ace0184151"}}}', 'pending', 1, 0, '2026-11-24 17:16:50.833225+00', '2026-11-24 17:16:50.833225+00', '2026-11-24 17:16:55.175389+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:51.039812347Z", "error": "name_not_found", "millis": 1}]'),
	('72dad648-c70a-55f1-85e7-bcd82df21b5d', 2, '8be54dfd-e6d9-4724-a164-38068f8b4964', '83ef881d-63b7-49b8-9da4-d063aa16228c', 'job-135d5013-4b5a-4478-89a2-4c7a8aca9410', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T17:16:50.90672Z","data":{"object":"job","id":"135d5013-4b5a-4478-89a2-4c7a8aca9410","status":"succeeded","created_at":"2026-11-24T17:16:50.84084Z","completed_at":"2026-11-24T17:16:50.90672Z","error":null,"urls":{"self":"/api/v2/jobs/135d5013-4b5a-4478-89a2-4c7a8aca9410"}}}', 'pending', 1, 0, '2026-11-24 17:16:50.935123+00', '2026-11-24 17:16:50.935123+00', '2026-11-24 17:16:56.863825+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:51.039856312Z", "error": "name_not_found", "millis": 1}]'),
	('a4b752a9-fc38-5603-9590-0ec80e568454', 3, '8be54dfd-e6d9-4724-a164-38068f8b4964', '83ef881d-63b7-49b8-9da4-d063aa16228c', 'job-c09bdf71-7530-4172-bb3e-7a627d077849', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T17:16:52.450255Z","data":{"object":"job","id":"c09bdf71-7530-4172-bb3e-7a627d077849","status":"succeeded","created_at":"2026-11-24T17:16:50.943639Z","completed_at":"2026-11-24T17:16:52.450255Z","error":null,"urls":{"self":"/api/v2/jobs/c09bdf71-7530-4172-bb3e-7a627d077849"}}}', 'pending', 1, 0, '2026-11-24 17:16:52.456306+00', '2026-11-24 17:16:52.456306+00', '2026-11-24 17:16:57.15641+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:52.609549758Z", "error": "name_not_found", "millis": 0}]'),
	('8a481b6f-19e2-5d26-9c5f-46bb2891cc42', 4, '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'a8909c07-1769-4886-bb82-71987739c6f8', 'call-a132acaf-c941-4e54-84ef-408c8e84f9c6', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T17:16:52.838513Z","data":{"object":"call","id":"a132acaf-c941-4e54-84ef-408c8e84f9c6","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T17:16:52.712923Z","completed_at":"2026-11-24T17:16:52.838513Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/a132acaf-c941-4e54-84ef-408c8e84f9c6"}}}', 'pending', 1, 0, '2026-11-24 17:16:52.902788+00', '2026-11-24 17:16:52.902788+00', '2026-11-24 17:16:58.54012+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:52.93394359Z", "error": "name_not_found", "millis": 0}]'),
	('be38480a-e613-5b1a-99e3-b7a08dcf3972', 6, '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'a8909c07-1769-4886-bb82-71987739c6f8', 'job-2d224be6-499e-4b92-b961-05c235c69970', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T17:16:54.499406Z","data":{"object":"job","id":"2d224be6-499e-4b92-b961-05c235c69970","status":"succeeded","created_at":"2026-11-24T17:16:54.335806Z","completed_at":"2026-11-24T17:16:54.499406Z","error":null,"urls":{"self":"/api/v2/jobs/2d224be6-499e-4b92-b961-05c235c69970"}}}', 'pending', 1, 0, '2026-11-24 17:16:54.521029+00', '2026-11-24 17:16:54.521029+00', '2026-11-24 17:16:59.22684+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:54.737408826Z", "error": "name_not_found", "millis": 131}]'),
	('65c5c0f9-47a8-5768-b6c1-719b8951c4df', 5, '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 'a8909c07-1769-4886-bb82-71987739c6f8', 'job-3181fec1-c78c-42ab-8b93-0b1acb74286c', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T17:16:54.301111Z","data":{"object":"job","id":"3181fec1-c78c-42ab-8b93-0b1acb74286c","status":"succeeded","created_at":"2026-11-24T17:16:52.918366Z","completed_at":"2026-11-24T17:16:54.301111Z","error":null,"urls":{"self":"/api/v2/jobs/3181fec1-c78c-42ab-8b93-0b1acb74286c"}}}', 'pending', 1, 0, '2026-11-24 17:16:54.315678+00', '2026-11-24 17:16:54.315678+00', '2026-11-24 17:16:59.114548+00', NULL, NULL, NULL, '[{"at": "2026-11-24T17:16:54.732662896Z", "error": "name_not_found", "millis": 153}]');
INSERT INTO public.webhook_endpoints VALUES
	('83ef881d-63b7-49b8-9da4-d063aa16228c', '8be54dfd-e6d9-4724-a164-38068f8b4964', '\x14b81232e3c4fb32d05d171deaf5eb46ad2e20f3ec3c787ac2fbcc20ad77f62664c76698d63a0a49f51cd9ae714dbfc5cc3c10d36df3988132dfaf1daca2b810f08688503c6603da7f9af0f3ff94e35361706e3c8c6ab2003b1fede2b8a7db661df2492fabccf2dba89daab3aba177b919039f04df315fec896949', false, '2026-11-24 17:16:51.042021+00'),
	('a8909c07-1769-4886-bb82-71987739c6f8', '88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', '\xcf1045762646aaeb29a4215d9cb00c2dd2caa09b5de6c17a1e276d99533efc643701d5170f65f57f6081bc12d31798ffd2460e304c1a954c12e3888418ea76c6c435076ef5e10db1ba5eb78a7ea14933a1a3c50cd881012ae020140fbb4de11d288f4c6002c5b6f92e67a1d32563f0668057bf46cefd4662e377ce', false, '2026-11-24 17:16:52.935529+00');
INSERT INTO public.webhooks_v1 VALUES
	('8be54dfd-e6d9-4724-a164-38068f8b4964', 1, '[{"id":"83ef881d-63b7-49b8-9da4-d063aa16228c","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-24T17:16:44.812589Z"}]'),
	('88ddc7a6-365d-4b46-a6d8-986fb1ef72a3', 1, '[{"id":"a8909c07-1769-4886-bb82-71987739c6f8","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-24T17:16:52.695241Z"}]');
INSERT INTO public.workers VALUES
	('vm/26416/415f46e5-41b0-45f7-b7ce-8a99f0ba9a18', '2026-11-24 17:16:52.437279+00', '{"absent": [], "webhook_allow": null}'),
	('vm/26415/cb67878b-03c8-411c-bfe0-aef30f76eaef', '2026-11-24 17:16:52.798279+00', '{"absent": [], "webhook_allow": null}');
SELECT pg_catalog.setval('public.call_queue_seq_seq', 1, false);
SELECT pg_catalog.setval('public.comfyui_fences', 1, false);
SELECT pg_catalog.setval('public.events_position_seq', 96, true);
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
ALTER TABLE ONLY public.deployment_versions
    ADD CONSTRAINT deployment_versions_pkey PRIMARY KEY (deployment, number);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT deployments_name UNIQUE (account, name);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT deployments_pkey PRIMARY KEY (id);
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
CREATE INDEX deployment_versions_digest ON public.deployment_versions USING btree (digest);
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
CREATE INDEX jobs_v1_deployments ON public.jobs_v1 USING btree (deployment, submitted DESC) WHERE (deployment IS NOT NULL);
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
