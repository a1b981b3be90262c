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
CREATE TABLE public.call_admissions (
    account text NOT NULL,
    in_flight integer DEFAULT 0 NOT NULL,
    costly integer DEFAULT 0 NOT NULL,
    queued integer DEFAULT 0 NOT NULL,
    committed bigint DEFAULT 0 NOT NULL,
    spent bigint DEFAULT 0 NOT NULL,
    CONSTRAINT call_admissions_committed_check CHECK ((committed >= 0)),
    CONSTRAINT call_admissions_costly_check CHECK ((costly >= 0)),
    CONSTRAINT call_admissions_in_flight_check CHECK ((in_flight >= 0)),
    CONSTRAINT call_admissions_queued_check CHECK ((queued >= 0))
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
    drifted text[] DEFAULT '{}'::text[] NOT NULL,
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
CREATE TABLE public.job_admissions (
    account text NOT NULL,
    last_number bigint DEFAULT 0 NOT NULL,
    queued integer DEFAULT 0 NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    released integer DEFAULT 0 NOT NULL,
    mode text DEFAULT 'open'::text NOT NULL
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
    admitted_at timestamp with time zone DEFAULT now() NOT NULL,
    released_at timestamp with time zone,
    wanted_at timestamp with time zone
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
	('2715e985-f2a5-4199-b014-91b3a950b770', 47, 19, 2),
	('2715e985-f2a5-4199-b014-91b3a950b770', 51, 450, 1),
	('2715e985-f2a5-4199-b014-91b3a950b770', 49, 1134, 2),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 56, 453, 1),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 62, 279, 1),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 47, 565, 3);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-24 19:13:26.581912+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'acme', 'standard', true, '2026-11-24 19:13:28.378915+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'umbrella', 'standard', true, '2026-11-24 19:13:30.963495+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('89f25e91-94e4-4702-ad0b-b1dadc2d7a50', '2715e985-f2a5-4199-b014-91b3a950b770', '\x07be1f17ca9d9dc78a36f340b5eeb75a35cfefbc26609b0a99c2b801ffd4fa4f', 'millrace-5bt5jd', '{read,write}', '2026-11-24 19:13:28.565818+00', NULL, '2026-11-24 19:13:28.653754+00'),
	('474b59e8-f998-4e23-be96-7b982d4ef881', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\xcea7b974a372a2afbaef333b59d8eeb1a269c1ddad7f5c01cf3732ad7f7ac25a', 'millrace-glpao5', '{read,write}', '2026-11-24 19:13:31.025661+00', NULL, '2026-11-24 19:13:31.080409+00');
INSERT INTO public.assets_v1 VALUES
	('f59d0758-7eaa-4a0b-b403-5406a278adfc', '2715e985-f2a5-4199-b014-91b3a950b770', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"f59d0758-7eaa-4a0b-b403-5406a278adfc","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"live","version":2,"position":7,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:13:28.794Z","verified_at":"2026-11-24T19:13:29.317595Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('20e5ca21-d983-559a-9b6a-27a75c55044e', '2715e985-f2a5-4199-b014-91b3a950b770', 'live', 20, 20, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-25 19:13:29.482+00', '{"id":"20e5ca21-d983-559a-9b6a-27a75c55044e","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"live","version":1,"position":20,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"849cc059-0f66-4289-af1d-d1cc191ee068","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:13:29.497841Z","expires_at":"2027-01-25T19:13:29.482Z"}'),
	('26ebe929-62e6-4664-ad0d-f8d386a8722b', '2715e985-f2a5-4199-b014-91b3a950b770', 'live', 33, 33, 2, 'calls/9315189b-4547-4ca0-99b4-5c150647125c/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-25 19:13:30.742+00', '{"id":"26ebe929-62e6-4664-ad0d-f8d386a8722b","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"live","version":2,"position":34,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/9315189b-4547-4ca0-99b4-5c150647125c/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-24T19:13:30.742Z","expires_at":"2026-11-25T19:13:30.742Z","verified_at":"2026-11-24T19:13:30.781553Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('2e0c16cc-3cf1-5e40-abc3-345933dcd2ab', '2715e985-f2a5-4199-b014-91b3a950b770', 'live', 39, 39, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-25 19:13:30.85+00', '{"id":"2e0c16cc-3cf1-5e40-abc3-345933dcd2ab","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"6b8f538d-0432-4646-a0bb-15c3f01433da","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:13:30.854665Z","expires_at":"2027-01-25T19:13:30.85Z"}'),
	('b54a844e-f6b9-557d-be84-8764cd004891', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'live', 60, 60, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-25 19:13:31.178+00', '{"id":"b54a844e-f6b9-557d-be84-8764cd004891","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"live","version":1,"position":60,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"f55e83b2-a329-4f13-b382-5cbe96a0db99","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:13:31.187009Z","expires_at":"2027-01-25T19:13:31.178Z"}'),
	('9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"live","version":2,"position":65,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:13:31.087Z","verified_at":"2026-11-24T19:13:31.218466Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('4255116d-93c5-460a-9bf4-f6a3aba40234', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'live', 74, 74, 2, 'calls/2e6b839e-9631-4ab1-96e3-ac2801728f07/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-25 19:13:32.371+00', '{"id":"4255116d-93c5-460a-9bf4-f6a3aba40234","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"live","version":2,"position":78,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/2e6b839e-9631-4ab1-96e3-ac2801728f07/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-24T19:13:32.371Z","expires_at":"2026-11-25T19:13:32.371Z","verified_at":"2026-11-24T19:13:32.40922Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('be54efaf-1e62-5192-852e-fe0eadacd24f', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'live', 80, 80, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-25 19:13:32.434+00', '{"id":"be54efaf-1e62-5192-852e-fe0eadacd24f","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"live","version":1,"position":80,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"3d92da35-1815-4dd5-ba68-dd01b129d11d","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:13:32.449902Z","expires_at":"2027-01-25T19:13:32.434Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'input', 1),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', 3),
	('2715e985-f2a5-4199-b014-91b3a950b770', '', 4),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'input', 1),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', 3),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'input', 4, 'f59d0758-7eaa-4a0b-b403-5406a278adfc'),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', 20, '20e5ca21-d983-559a-9b6a-27a75c55044e'),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', 33, '26ebe929-62e6-4664-ad0d-f8d386a8722b'),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', 39, '2e0c16cc-3cf1-5e40-abc3-345933dcd2ab'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'input', 45, '9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', 60, 'b54a844e-f6b9-557d-be84-8764cd004891'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', 74, '4255116d-93c5-460a-9bf4-f6a3aba40234'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', 80, 'be54efaf-1e62-5192-852e-fe0eadacd24f');
INSERT INTO public.call_admissions VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, 0, 0, 0, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, 0, 0, 0, 0);
INSERT INTO public.call_blobs VALUES
	('4cd23c2c-8567-4dfa-bdfd-43c62af468cf', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 19:13:29.394731+00'),
	('4cd23c2c-8567-4dfa-bdfd-43c62af468cf', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 19:13:29.394731+00'),
	('9315189b-4547-4ca0-99b4-5c150647125c', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-25 19:13:30.783002+00'),
	('9315189b-4547-4ca0-99b4-5c150647125c', '\xeaef217dcef396aa5a457345cde0b0e7982cdd17ff8ca65ce6036881888ce375', '2026-11-25 19:13:30.783002+00'),
	('d9bdd54d-3c6b-4131-9ee3-76bb5613feac', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 19:13:31.111969+00'),
	('d9bdd54d-3c6b-4131-9ee3-76bb5613feac', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 19:13:31.111969+00'),
	('2e6b839e-9631-4ab1-96e3-ac2801728f07', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-25 19:13:32.380348+00'),
	('2e6b839e-9631-4ab1-96e3-ac2801728f07', '\xf00c6faabffb6c13d2180bb040caf62cbc2d53b925bd6438e89d48dc5357e0ef', '2026-11-25 19:13:32.380348+00');
INSERT INTO public.call_keys VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'node:6b8f538d-0432-4646-a0bb-15c3f01433da:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', '9315189b-4547-4ca0-99b4-5c150647125c', '2026-11-25 19:13:29.663469+00', NULL),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'node:3d92da35-1815-4dd5-ba68-dd01b129d11d:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', '2e6b839e-9631-4ab1-96e3-ac2801728f07', '2026-11-25 19:13:31.325296+00', NULL);
INSERT INTO public.call_workers VALUES
	('vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f', '2026-11-24 19:13:28.900052+00'),
	('vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2', '2026-11-24 19:13:29.021855+00');
INSERT INTO public.calls_v1 VALUES
	('4cd23c2c-8567-4dfa-bdfd-43c62af468cf', '2715e985-f2a5-4199-b014-91b3a950b770', 'succeeded', 'sim/echo', 5, 5, '{"id":"4cd23c2c-8567-4dfa-bdfd-43c62af468cf","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"succeeded","version":5,"position":10,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:28253","held_micros":0,"charged_micros":0,"run":1,"token":"6bb8b315-dbf0-4798-a221-050543368135","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T19:13:28.852636Z","admitted_at":"2026-11-24T19:13:28.852665Z","sent_at":"2026-11-24T19:13:29.365905Z","ended_at":"2026-11-24T19:13:29.396871Z","updated_at":"2026-11-24T19:13:29.396871Z"}'),
	('9315189b-4547-4ca0-99b4-5c150647125c', '2715e985-f2a5-4199-b014-91b3a950b770', 'succeeded', 'sim/image', 28, 7, '{"id":"9315189b-4547-4ca0-99b4-5c150647125c","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"succeeded","version":7,"position":36,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"4cefabe4-eca7-46b8-ac3a-96790a0b43b2","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f","handle":"sim-eyJyIjoxNzk1NTQ3NjA5NzYzLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:eaef217dcef396aa5a457345cde0b0e7982cdd17ff8ca65ce6036881888ce375","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T19:13:29.688176Z","admitted_at":"2026-11-24T19:13:29.688238Z","sent_at":"2026-11-24T19:13:29.707924Z","ended_at":"2026-11-24T19:13:30.793759Z","updated_at":"2026-11-24T19:13:30.793759Z"}'),
	('d9bdd54d-3c6b-4131-9ee3-76bb5613feac', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'succeeded', 'sim/echo', 46, 5, '{"id":"d9bdd54d-3c6b-4131-9ee3-76bb5613feac","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"succeeded","version":5,"position":50,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:28253","held_micros":0,"charged_micros":0,"run":1,"token":"79312844-7bb4-4c51-81df-c937b30d7cb2","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T19:13:31.09452Z","admitted_at":"2026-11-24T19:13:31.094535Z","sent_at":"2026-11-24T19:13:31.109417Z","ended_at":"2026-11-24T19:13:31.112961Z","updated_at":"2026-11-24T19:13:31.112961Z"}'),
	('2e6b839e-9631-4ab1-96e3-ac2801728f07', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'succeeded', 'sim/image', 69, 7, '{"id":"2e6b839e-9631-4ab1-96e3-ac2801728f07","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"succeeded","version":7,"position":76,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"cf056b2a-a400-4f64-99ce-d27d6bd3b940","worker":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2","handle":"sim-eyJyIjoxNzk1NTQ3NjExMzkzLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:f00c6faabffb6c13d2180bb040caf62cbc2d53b925bd6438e89d48dc5357e0ef","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T19:13:31.326452Z","admitted_at":"2026-11-24T19:13:31.326472Z","sent_at":"2026-11-24T19:13:31.340969Z","ended_at":"2026-11-24T19:13:32.386141Z","updated_at":"2026-11-24T19:13:32.386141Z"}');
INSERT INTO public.checkpoints VALUES
	('server_usage_v1', 72, '2026-11-24 19:13:32.171045+00'),
	('stats_v1', 72, '2026-11-24 19:13:32.194336+00'),
	('calls_v1', 76, '2026-11-24 19:13:32.400481+00'),
	('assets_v1', 81, '2026-11-24 19:13:32.468602+00'),
	('webhooks_outgoing', 82, '2026-11-24 19:13:32.48736+00'),
	('history_v1', 90, '2026-11-24 19:13:32.600127+00'),
	('webhooks_v1', 90, '2026-11-24 19:13:32.600694+00'),
	('job_index_v1', 90, '2026-11-24 19:13:32.615701+00'),
	('usage_v1', 90, '2026-11-24 19:13:32.615939+00'),
	('jobs_v1', 97, '2026-11-24 19:13:32.737114+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-2715e985-f2a5-4199-b014-91b3a950b770', 1, 'cc42b9f6-dcff-4e81-b67b-6a7531fbde66', 'account.created.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 19:13:28.402174+00'),
	(2, 'account-2715e985-f2a5-4199-b014-91b3a950b770', 2, '88c165e7-0807-482e-a04a-ae4ef25f89c6', 'account.key_issued.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"key":"89f25e91-94e4-4702-ad0b-b1dadc2d7a50","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 19:13:28.572675+00'),
	(3, 'webhooks-2715e985-f2a5-4199-b014-91b3a950b770', 1, '8639befe-1e3c-4fb9-9e08-3c289de06762', 'webhook.registered.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"webhook":"322140a4-bde7-4d0d-9351-68f47eedba79","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"091cafc8-5b7a-4044-bafa-38003ecaac2b"}', '2026-11-24 19:13:28.749904+00'),
	(4, 'asset-f59d0758-7eaa-4a0b-b403-5406a278adfc', 1, '9fb9154f-3d33-4873-8a0e-7a8ac4d2c7a2', 'asset.created.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:13:28.794Z"}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"7b615f52-6a51-494f-90cf-ae516c926e56"}', '2026-11-24 19:13:28.828022+00'),
	(5, 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 1, '7decf128-2639-4d56-bef4-b455261add46', 'call.accepted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"572337e215a6bcefe6877ef9f24ad551c6705c168bb553c95e344c8ee46f7150","base":"http://127.0.0.1:28253","fallback":"runware"}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"4cd23c2c-8567-4dfa-bdfd-43c62af468cf"}', '2026-11-24 19:13:28.852636+00'),
	(6, 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 2, 'facf27af-9e5a-5251-a1b2-070d74fa04c3', 'call.admitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"4cd23c2c-8567-4dfa-bdfd-43c62af468cf"}', '2026-11-24 19:13:28.852665+00'),
	(7, 'asset-f59d0758-7eaa-4a0b-b403-5406a278adfc', 2, 'd12467c8-dcf7-5cc4-926d-f34ed89ac338', 'asset.verified.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 19:13:29.317595+00'),
	(8, 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 3, '047df7c5-2fef-5267-bb60-8b89687fbbff', 'call.dispatching.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"token":"6bb8b315-dbf0-4798-a221-050543368135","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:29.365905+00'),
	(9, 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 4, '9cc8b8d6-78f8-5e5d-8c21-3486a3164610', 'call.answered.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:29.396848+00'),
	(10, 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 5, 'e3d97ab0-91ce-5577-b131-eded6a383516', 'call.succeeded.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:29.396871+00'),
	(11, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 1, '9b639b62-5bb7-45a6-8238-6b32c80ea2c9', 'job.submitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795547609420}}"},"targets":["3"],"nodes_total":3}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"92503168-0452-4a26-b7c8-43735dcb1aa1"}', '2026-11-24 19:13:29.451649+00'),
	(12, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 2, '30232818-4a59-56f9-943c-e0c975979625', 'job.admitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"92503168-0452-4a26-b7c8-43735dcb1aa1"}', '2026-11-24 19:13:29.451973+00'),
	(13, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 3, 'e3c5aaed-98b0-5707-a2f5-7f0fffaca978', 'job.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes_total":3,"worker":"vm/1075","execution":"01a20efa-3977-7bec-b654-97433eeafa5d"}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480715+00'),
	(14, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 4, '424545a1-1411-5214-b821-7b184bf9d041', 'job.nodes_cached.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes":null}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480739+00'),
	(15, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 5, 'd56f3504-03c0-5d9c-87e1-6b1507bd9028', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480743+00'),
	(16, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 6, 'c2fb7a53-14f9-5205-a56c-685efa72a355', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480746+00'),
	(17, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 7, '1721ade8-d7e7-53d5-9041-69379693e479', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480749+00'),
	(18, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 8, '381cc926-1546-5ad1-bba4-aa5d7c65870c', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480752+00'),
	(19, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 9, 'cfe5a523-655e-55eb-91e8-2da3643753e0', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.480755+00'),
	(20, 'asset-20e5ca21-d983-559a-9b6a-27a75c55044e', 1, '6b83724a-9812-5c70-ba2d-2118de9e5890', 'asset.created.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"849cc059-0f66-4289-af1d-d1cc191ee068","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:13:29.482Z"}', '{"actor":"job 849cc059-0f66-4289-af1d-d1cc191ee068"}', '2026-11-24 19:13:29.497841+00'),
	(21, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 10, '81484588-ecdd-51c9-b462-fbe62261b4a2', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"20e5ca21-d983-559a-9b6a-27a75c55044e","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:29.485Z"}],"millis":19}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.510102+00'),
	(22, 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 11, '7f5fcfdd-2bee-5b3c-9c0a-f68398080a4f', 'job.succeeded.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.510127+00'),
	(23, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 1, 'ce05eabb-11da-4726-9246-a0248469a8e7', 'job.submitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795547609564}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"3e89f098-f04e-4c6c-b75a-b05a24f5f159"}', '2026-11-24 19:13:29.566371+00'),
	(24, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 2, 'b1e13f0f-fc96-5db3-8960-01016deb8d1f', 'job.admitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"3e89f098-f04e-4c6c-b75a-b05a24f5f159"}', '2026-11-24 19:13:29.567103+00'),
	(44, 'webhooks-99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, 'b633ae85-7008-41e8-90f8-b981ab3d94bb', 'webhook.registered.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"webhook":"d73261c4-14a3-4c2e-b764-239e9b2144c6","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"e9734e35-44fb-4543-ac73-cc927e87299b"}', '2026-11-24 19:13:31.085417+00'),
	(45, 'asset-9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa', 1, '30767a8e-9f24-4b8b-bf30-fb980d4d07f4', 'asset.created.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:13:31.087Z"}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"57e562dc-ce37-41f2-a122-4b169c2d71e2"}', '2026-11-24 19:13:31.088285+00'),
	(46, 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 1, '0713eba0-1566-4def-b551-d64874505af0', 'call.accepted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"572337e215a6bcefe6877ef9f24ad551c6705c168bb553c95e344c8ee46f7150","base":"http://127.0.0.1:28253","fallback":"runware"}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"d9bdd54d-3c6b-4131-9ee3-76bb5613feac"}', '2026-11-24 19:13:31.09452+00'),
	(47, 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 2, 'ca848423-8e2e-5235-ae47-8cdfd94f5c32', 'call.admitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"d9bdd54d-3c6b-4131-9ee3-76bb5613feac"}', '2026-11-24 19:13:31.094535+00'),
	(51, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 1, '22c1b05c-091e-40c2-8185-6e823def6fba', 'job.submitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795547611147}}"},"targets":["3"],"nodes_total":3}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"843db7b8-a6e7-4fe3-b227-c7cddbc92e23"}', '2026-11-24 19:13:31.148512+00'),
	(52, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 2, 'c4c90207-a913-57c7-86ce-592a58c03fef', 'job.admitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"843db7b8-a6e7-4fe3-b227-c7cddbc92e23"}', '2026-11-24 19:13:31.148592+00'),
	(63, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 1, '404f3c40-8292-4759-9ee4-dd9ab76380e6', 'job.submitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795547611214}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"7d68f499-e043-4987-af30-bb1bd3439847"}', '2026-11-24 19:13:31.215699+00'),
	(64, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 2, '0586553d-80d7-5d7b-9663-5788779bbbc3', 'job.admitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"7d68f499-e043-4987-af30-bb1bd3439847"}', '2026-11-24 19:13:31.215733+00'),
	(25, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 3, 'cc2b19bb-df8e-5062-ac3a-7f260e97a129', 'job.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes_total":2,"worker":"vm/1075","execution":"01a20efa-39e9-7a01-a68f-16ce6d3e2d19"}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.593392+00'),
	(26, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 4, '19f9c560-d78e-5ffc-b695-d28091692acd', 'job.nodes_cached.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes":null}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.593487+00'),
	(27, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 5, 'c64975c0-1eca-56ff-befd-1ef4852c5e8e', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:29.649509+00'),
	(28, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 1, '001dfe10-982b-43e4-bff3-4382d0452a84', 'call.accepted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"572337e215a6bcefe6877ef9f24ad551c6705c168bb553c95e344c8ee46f7150","base":"http://127.0.0.1:8188"}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"9315189b-4547-4ca0-99b4-5c150647125c"}', '2026-11-24 19:13:29.688176+00'),
	(29, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 2, 'a75340f4-8b17-5708-aa01-0c7f14add23d', 'call.admitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"9315189b-4547-4ca0-99b4-5c150647125c"}', '2026-11-24 19:13:29.688238+00'),
	(30, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 3, '33ef171f-dbc3-5feb-af1c-2e375c1f811b', 'call.dispatching.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"token":"4cefabe4-eca7-46b8-ac3a-96790a0b43b2","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:29.707924+00'),
	(31, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 4, 'b4c02b68-fe9f-5bdf-8b47-444df33a52c8', 'call.provider_accepted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"handle":"sim-eyJyIjoxNzk1NTQ3NjA5NzYzLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:29.714635+00'),
	(32, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 5, '90c65b89-ea8b-5858-bfb8-0da648d2d21d', 'call.answered.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"answer":{"ref":"blake3:69576ae1bfc73aaa018b20a72105231f05b86293380cb494e184df69b85644b2","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:30.723145+00'),
	(33, 'asset-26ebe929-62e6-4664-ad0d-f8d386a8722b', 1, '1243008a-5aab-42f2-b0bb-c2ce58b4fe69', 'asset.created.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/9315189b-4547-4ca0-99b4-5c150647125c/0-b008fe36.png","created_at":"2026-11-24T19:13:30.742Z","expires_at":"2026-11-25T19:13:30.742Z"}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"9315189b-4547-4ca0-99b4-5c150647125c"}', '2026-11-24 19:13:30.747117+00'),
	(34, 'asset-26ebe929-62e6-4664-ad0d-f8d386a8722b', 2, 'ace42ddc-da23-56c0-a4af-25a9a8d90156', 'asset.verified.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-24 19:13:30.781553+00'),
	(35, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 6, '95e414a0-240b-5595-a864-5ad9e1ab7916', 'call.hosted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"assets":[{"pointer":"/result/url","asset":"26ebe929-62e6-4664-ad0d-f8d386a8722b","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:eaef217dcef396aa5a457345cde0b0e7982cdd17ff8ca65ce6036881888ce375","size":355,"content_type":"application/json"}}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:30.793723+00'),
	(36, 'call-9315189b-4547-4ca0-99b4-5c150647125c', 7, 'a7d0825a-b686-5386-afae-498c05ad3398', 'call.succeeded.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"model":"sim/image","answer":{"ref":"blake3:eaef217dcef396aa5a457345cde0b0e7982cdd17ff8ca65ce6036881888ce375","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:30.793759+00'),
	(37, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 6, '5a98d841-be06-5aa4-9001-bf918fcde211', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1161,"waited_millis":70}', '{"actor":"vm/1075"}', '2026-11-24 19:13:30.820504+00'),
	(38, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 7, '7027fbbd-61a4-516a-94f2-d1f192b71813', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:30.84826+00'),
	(39, 'asset-2e0c16cc-3cf1-5e40-abc3-345933dcd2ab', 1, '65b5583f-bcb1-5a8e-bb0b-e8b48de14b5c', 'asset.created.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"6b8f538d-0432-4646-a0bb-15c3f01433da","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:13:30.85Z"}', '{"actor":"job 6b8f538d-0432-4646-a0bb-15c3f01433da"}', '2026-11-24 19:13:30.854665+00'),
	(40, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 8, 'e6492402-db3d-5809-a815-5ce497285850', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2e0c16cc-3cf1-5e40-abc3-345933dcd2ab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:30.852561Z"}],"millis":5}', '{"actor":"vm/1075"}', '2026-11-24 19:13:30.858793+00'),
	(41, 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 9, '9ee1b38d-a2d1-5c52-bf99-6a2dccc6b474', 'job.succeeded.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:30.875906+00'),
	(42, 'account-99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '24e6a049-be0a-415e-8144-eac68d8d68b3', 'account.created.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 19:13:30.968269+00'),
	(43, 'account-99e9097e-87d1-4589-a22a-d50c9b1f9878', 2, 'b290f3b2-978a-48da-a577-7723633974de', 'account.key_issued.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"key":"474b59e8-f998-4e23-be96-7b982d4ef881","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 19:13:31.055624+00'),
	(48, 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 3, '8784c01a-2405-553a-ada4-c6f9b4b652bc', 'call.dispatching.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"token":"79312844-7bb4-4c51-81df-c937b30d7cb2","worker":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:31.109417+00'),
	(49, 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 4, '19b55f10-d64b-5370-a781-8c975c30e5d8', 'call.answered.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:31.112938+00'),
	(77, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 6, 'ae71fb79-56fe-57f0-a59f-d50c43e9306a', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1073,"waited_millis":24}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.401443+00'),
	(50, 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 5, 'e0c18bbf-c31b-5c9d-922b-3b6b3c377435', 'call.succeeded.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f"}', '2026-11-24 19:13:31.112961+00'),
	(53, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 3, 'aa5aa46d-a958-5b9f-b70f-0150ed313789', 'job.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes_total":3,"worker":"vm/1073","execution":"01a20efa-4013-785b-9c3e-077a70eac3e5"}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172455+00'),
	(54, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 4, '00f4ece7-d5cc-5b19-aeda-752e0c0a96c9', 'job.nodes_cached.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes":null}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172532+00'),
	(55, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 5, 'd3137a45-df5b-5e6c-95dd-02013ecdf802', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172539+00'),
	(56, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 6, '304cf7e2-32b4-5e85-ae73-8bce9abaeccc', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172545+00'),
	(57, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 7, '280adf88-654b-57a9-9f8e-787eaa95d9c9', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172548+00'),
	(58, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 8, 'a4799a45-4b0a-5e91-83c7-857866360222', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172551+00'),
	(59, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 9, '00abe0ad-db2a-549e-b632-6256a40376ce', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.172554+00'),
	(60, 'asset-b54a844e-f6b9-557d-be84-8764cd004891', 1, 'eb7e7191-f003-5732-817d-01e1fcd3589a', 'asset.created.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"f55e83b2-a329-4f13-b382-5cbe96a0db99","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:13:31.178Z"}', '{"actor":"job f55e83b2-a329-4f13-b382-5cbe96a0db99"}', '2026-11-24 19:13:31.187009+00'),
	(61, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 10, 'be039912-2ab4-5bdd-ab0b-d9ba46927655', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b54a844e-f6b9-557d-be84-8764cd004891","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:31.181949Z"}],"millis":12}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.194846+00'),
	(62, 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 11, '9b1dad07-0047-5425-85a2-c7da2ac3c660', 'job.succeeded.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.194864+00'),
	(65, 'asset-9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa', 2, '2174ffab-dc24-5fae-8189-d0d0e0a562a4', 'asset.verified.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 19:13:31.218466+00'),
	(66, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 3, 'b291d5b5-5829-5709-b16c-da1a6d3d37db', 'job.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes_total":2,"worker":"vm/1073","execution":"01a20efa-4052-7276-a30f-e92ddc7766d4"}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.300176+00'),
	(67, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 4, 'ebbf675c-137b-5b5f-8779-aa9d579a9282', 'job.nodes_cached.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes":null}', '{"actor":"vm/1073"}', '2026-11-24 19:13:31.300201+00'),
	(68, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 5, '77e15ce2-1708-5e72-92a8-fbbdf0361430', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:31.320822+00'),
	(69, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 1, 'd7efde99-4361-4d8f-8a08-10ec8e29f802', 'call.accepted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"572337e215a6bcefe6877ef9f24ad551c6705c168bb553c95e344c8ee46f7150","base":"http://127.0.0.1:8188"}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"2e6b839e-9631-4ab1-96e3-ac2801728f07"}', '2026-11-24 19:13:31.326452+00'),
	(70, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 2, '6cd5ef0b-93a1-59d4-9fe1-9180474f88a4', 'call.admitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"2e6b839e-9631-4ab1-96e3-ac2801728f07"}', '2026-11-24 19:13:31.326472+00'),
	(71, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 3, '4dcee565-b6e4-5441-9574-f3e520efda58', 'call.dispatching.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"token":"cf056b2a-a400-4f64-99ce-d27d6bd3b940","worker":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '{"actor":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '2026-11-24 19:13:31.340969+00'),
	(72, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 4, '69b4cf5c-bc95-5215-869c-312ba1bdafc4', 'call.provider_accepted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"handle":"sim-eyJyIjoxNzk1NTQ3NjExMzkzLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '2026-11-24 19:13:31.344074+00'),
	(73, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 5, 'cc4a56e3-da35-52c1-868f-93f595df47e3', 'call.answered.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"answer":{"ref":"blake3:b3356e73eb4d960653455fb80891ad1589c1ef1a354ce609ac8f0fc9749703f2","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '2026-11-24 19:13:32.353346+00'),
	(74, 'asset-4255116d-93c5-460a-9bf4-f6a3aba40234', 1, '06306fea-ce51-46a8-a50e-0626068913fe', 'asset.created.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/2e6b839e-9631-4ab1-96e3-ac2801728f07/0-f1b14e28.png","created_at":"2026-11-24T19:13:32.371Z","expires_at":"2026-11-25T19:13:32.371Z"}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"2e6b839e-9631-4ab1-96e3-ac2801728f07"}', '2026-11-24 19:13:32.375851+00'),
	(75, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 6, '1347b6b6-2406-50b5-b9d1-398ad2c9d72c', 'call.hosted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"assets":[{"pointer":"/result/url","asset":"4255116d-93c5-460a-9bf4-f6a3aba40234","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:f00c6faabffb6c13d2180bb040caf62cbc2d53b925bd6438e89d48dc5357e0ef","size":355,"content_type":"application/json"}}', '{"actor":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '2026-11-24 19:13:32.386113+00'),
	(79, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 7, '7636a963-570b-59cb-859e-ffdd15acb510', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.43202+00'),
	(76, 'call-2e6b839e-9631-4ab1-96e3-ac2801728f07', 7, 'edf16b20-ac55-5da4-a37a-2e2ade6a4a07', 'call.succeeded.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"model":"sim/image","answer":{"ref":"blake3:f00c6faabffb6c13d2180bb040caf62cbc2d53b925bd6438e89d48dc5357e0ef","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2"}', '2026-11-24 19:13:32.386141+00'),
	(78, 'asset-4255116d-93c5-460a-9bf4-f6a3aba40234', 2, '1b8fbbba-6299-5ea1-9230-cc3b2426d436', 'asset.verified.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-24 19:13:32.40922+00'),
	(82, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 9, 'b7b7c14a-de95-55e4-b259-569ec6d86afb', 'job.succeeded.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:32.471077+00'),
	(95, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 7, 'edb52123-2441-5359-b9a1-d0c5a5f7a8f2', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/1073"}', '2026-11-24 19:13:32.66773+00'),
	(80, 'asset-be54efaf-1e62-5192-852e-fe0eadacd24f', 1, '54dd88d8-88b3-556a-b8e7-c1eef9fbbba7', 'asset.created.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"3d92da35-1815-4dd5-ba68-dd01b129d11d","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:13:32.434Z"}', '{"actor":"job 3d92da35-1815-4dd5-ba68-dd01b129d11d"}', '2026-11-24 19:13:32.449902+00'),
	(81, 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 8, '6073d94b-d42d-56cb-aa9d-b412d58fadf0', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be54efaf-1e62-5192-852e-fe0eadacd24f","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:32.437579Z"}],"millis":19}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.455499+00'),
	(83, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 1, '52c7ce16-32cc-473d-be46-70bfc625b0d2', 'job.submitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795547612519}}"},"targets":["6"],"nodes_total":6}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"f8a6b857-6fae-4337-8498-c48dba8a58ea"}', '2026-11-24 19:13:32.524066+00'),
	(84, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 2, '856924f8-4b5c-50a6-b74a-23fa0df15a76', 'job.admitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"f8a6b857-6fae-4337-8498-c48dba8a58ea"}', '2026-11-24 19:13:32.524394+00'),
	(85, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 1, 'c6d77e45-9dff-4b7c-9577-ef3c13420747', 'job.submitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795547612529}}"},"targets":["6"],"nodes_total":6}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"43488ee3-a6f3-4d20-9d35-7339dc651a76"}', '2026-11-24 19:13:32.530441+00'),
	(86, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 2, 'de446c1b-7baf-5561-b0cc-9bc637fdec7c', 'job.admitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"43488ee3-a6f3-4d20-9d35-7339dc651a76"}', '2026-11-24 19:13:32.530482+00'),
	(87, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 3, '33299ac3-5f52-5ce2-affa-540cf471ae92', 'job.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes_total":6,"worker":"vm/1075","execution":"01a20efa-457f-7108-b95b-15292195f4c8"}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.593248+00'),
	(88, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 4, '5fe3d456-8f09-5438-ba6b-606d9d95ff20', 'job.nodes_cached.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"nodes":null}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.593279+00'),
	(89, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 5, 'ebdd95b5-de5d-54b9-b7a2-94653292346a', 'node.started.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.593284+00'),
	(90, 'job-965b5076-d95e-4855-9d05-a47f010f7427', 6, 'fbd9be4d-f4f5-541a-8cf1-1e531c3884a2', 'node.executed.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"run":1,"node":"1","class":"EmptyImage","millis":7}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.593287+00'),
	(96, 'job-6b262509-a9c7-4f70-8d6e-fcc5fea8b0c6', 1, '66ae18fc-e88a-483b-aad5-9b6b20f55b7e', 'job.submitted.v1', '2715e985-f2a5-4199-b014-91b3a950b770', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795547612711}}"},"targets":["3"],"nodes_total":3}', '{"actor":"2715e985-f2a5-4199-b014-91b3a950b770","request_id":"5deedae1-9bdb-4279-8b81-9e72b0e95a08"}', '2026-11-24 19:13:32.713166+00'),
	(97, 'job-ac104391-f3bf-47db-a53c-2d09f67d0757', 1, 'f2c1cc81-c129-48c5-9878-2fc383400ffd', 'job.submitted.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795547612714}}"},"targets":["3"],"nodes_total":3}', '{"actor":"99e9097e-87d1-4589-a22a-d50c9b1f9878","request_id":"07d8d67c-d4db-4cca-ad3f-fe7cf49dbce9"}', '2026-11-24 19:13:32.715746+00'),
	(91, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 3, 'a860bb2d-7ee9-5fb0-83c2-f972d8076851', 'job.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes_total":6,"worker":"vm/1075","execution":"01a20efa-457f-7aa9-bcee-c29fc424f161"}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.662918+00'),
	(92, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 4, '3dab34e6-b2b7-5328-85d3-83b464ec2435', 'job.nodes_cached.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"nodes":null}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.662988+00'),
	(93, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 5, '9ec52ac4-a87d-5180-8070-151b7c4b34e5', 'node.started.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.662993+00'),
	(94, 'job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', 6, '24998785-4ad7-51ce-a0db-0d7611e58e54', 'node.executed.v1', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '{"run":1,"node":"1","class":"EmptyImage","millis":10}', '{"actor":"vm/1075"}', '2026-11-24 19:13:32.662996+00');
INSERT INTO public.file_counters VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', '', 'done-acme', 1),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'output', '', 'painted', 1),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', '', 'done-umbrella', 1),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'output', '', 'painted', 1);
INSERT INTO public.files VALUES
	('f59d0758-7eaa-4a0b-b403-5406a278adfc', '2715e985-f2a5-4199-b014-91b3a950b770', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 19:13:28.818447+00', NULL, NULL, NULL),
	('20e5ca21-d983-559a-9b6a-27a75c55044e', '2715e985-f2a5-4199-b014-91b3a950b770', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, '849cc059-0f66-4289-af1d-d1cc191ee068', 1, '3', 0, false, '2026-11-24 19:13:29.485+00', '2027-01-25 19:13:29.482+00', NULL, NULL),
	('26ebe929-62e6-4664-ad0d-f8d386a8722b', '2715e985-f2a5-4199-b014-91b3a950b770', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/9315189b-4547-4ca0-99b4-5c150647125c/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 19:13:30.745124+00', '2026-11-25 19:13:30.742+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL),
	('2e0c16cc-3cf1-5e40-abc3-345933dcd2ab', '2715e985-f2a5-4199-b014-91b3a950b770', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '6b8f538d-0432-4646-a0bb-15c3f01433da', 1, '2', 0, false, '2026-11-24 19:13:30.852561+00', '2027-01-25 19:13:30.85+00', NULL, NULL),
	('b54a844e-f6b9-557d-be84-8764cd004891', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, 'f55e83b2-a329-4f13-b382-5cbe96a0db99', 1, '3', 0, false, '2026-11-24 19:13:31.181949+00', '2027-01-25 19:13:31.178+00', NULL, NULL),
	('9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 19:13:31.087625+00', NULL, NULL, NULL),
	('4255116d-93c5-460a-9bf4-f6a3aba40234', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/2e6b839e-9631-4ab1-96e3-ac2801728f07/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 19:13:32.373756+00', '2026-11-25 19:13:32.371+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL),
	('be54efaf-1e62-5192-852e-fe0eadacd24f', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '3d92da35-1815-4dd5-ba68-dd01b129d11d', 1, '2', 0, false, '2026-11-24 19:13:32.437579+00', '2027-01-25 19:13:32.434+00', NULL, NULL);
INSERT INTO public.job_admissions VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 3, 1, 1, 0, 'open'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 3, 1, 1, 0, 'open');
INSERT INTO public.job_index_v1 VALUES
	('849cc059-0f66-4289-af1d-d1cc191ee068', '2715e985-f2a5-4199-b014-91b3a950b770', 11, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('6b8f538d-0432-4646-a0bb-15c3f01433da', '2715e985-f2a5-4199-b014-91b3a950b770', 23, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('f55e83b2-a329-4f13-b382-5cbe96a0db99', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 51, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('3d92da35-1815-4dd5-ba68-dd01b129d11d', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 63, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('965b5076-d95e-4855-9d05-a47f010f7427', '2715e985-f2a5-4199-b014-91b3a950b770', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8'),
	('6cfa6e05-2125-490f-809b-2e0a617d0b1b', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('6b262509-a9c7-4f70-8d6e-fcc5fea8b0c6', '2715e985-f2a5-4199-b014-91b3a950b770', 3, 1),
	('ac104391-f3bf-47db-a53c-2d09f67d0757', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 3, 2);
INSERT INTO public.job_slots VALUES
	('965b5076-d95e-4855-9d05-a47f010f7427', '2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:13:32.519984+00', NULL, NULL),
	('6cfa6e05-2125-490f-809b-2e0a617d0b1b', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:13:32.529723+00', NULL, NULL);
INSERT INTO public.jobs_v1 VALUES
	('849cc059-0f66-4289-af1d-d1cc191ee068', '2715e985-f2a5-4199-b014-91b3a950b770', 'succeeded', 0, 11, 11, '2026-11-24 19:13:29.451649+00', '{}', '{"id":"849cc059-0f66-4289-af1d-d1cc191ee068","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"succeeded","version":11,"position":22,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20efa-3977-7bec-b654-97433eeafa5d","submitted_at":"2026-11-24T19:13:29.451649Z","admitted_at":"2026-11-24T19:13:29.451973Z","started_at":"2026-11-24T19:13:29.480715Z","ended_at":"2026-11-24T19:13:29.510127Z","updated_at":"2026-11-24T19:13:29.510127Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"20e5ca21-d983-559a-9b6a-27a75c55044e","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:29.485Z"}]}]}', NULL),
	('f55e83b2-a329-4f13-b382-5cbe96a0db99', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'succeeded', 0, 51, 11, '2026-11-24 19:13:31.148512+00', '{}', '{"id":"f55e83b2-a329-4f13-b382-5cbe96a0db99","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"succeeded","version":11,"position":62,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20efa-4013-785b-9c3e-077a70eac3e5","submitted_at":"2026-11-24T19:13:31.148512Z","admitted_at":"2026-11-24T19:13:31.148592Z","started_at":"2026-11-24T19:13:31.172455Z","ended_at":"2026-11-24T19:13:31.194864Z","updated_at":"2026-11-24T19:13:31.194864Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b54a844e-f6b9-557d-be84-8764cd004891","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:31.181949Z"}]}]}', NULL),
	('6b8f538d-0432-4646-a0bb-15c3f01433da', '2715e985-f2a5-4199-b014-91b3a950b770', 'succeeded', 1, 23, 9, '2026-11-24 19:13:29.566371+00', '{}', '{"id":"6b8f538d-0432-4646-a0bb-15c3f01433da","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"succeeded","version":9,"position":41,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20efa-39e9-7a01-a68f-16ce6d3e2d19","submitted_at":"2026-11-24T19:13:29.566371Z","admitted_at":"2026-11-24T19:13:29.567103Z","started_at":"2026-11-24T19:13:29.593392Z","ended_at":"2026-11-24T19:13:30.875906Z","updated_at":"2026-11-24T19:13:30.875906Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2e0c16cc-3cf1-5e40-abc3-345933dcd2ab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:30.852561Z"}]}]}', NULL),
	('3d92da35-1815-4dd5-ba68-dd01b129d11d', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'succeeded', 1, 63, 9, '2026-11-24 19:13:31.215699+00', '{}', '{"id":"3d92da35-1815-4dd5-ba68-dd01b129d11d","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20efa-4052-7276-a30f-e92ddc7766d4","submitted_at":"2026-11-24T19:13:31.215699Z","admitted_at":"2026-11-24T19:13:31.215733Z","started_at":"2026-11-24T19:13:31.300176Z","ended_at":"2026-11-24T19:13:32.471077Z","updated_at":"2026-11-24T19:13:32.471077Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be54efaf-1e62-5192-852e-fe0eadacd24f","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:32.437579Z"}]}]}', NULL),
	('6cfa6e05-2125-490f-809b-2e0a617d0b1b', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'running', 2, 85, 6, '2026-11-24 19:13:32.530441+00', '{}', '{"id":"6cfa6e05-2125-490f-809b-2e0a617d0b1b","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"running","version":6,"position":94,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20efa-457f-7aa9-bcee-c29fc424f161","submitted_at":"2026-11-24T19:13:32.530441Z","admitted_at":"2026-11-24T19:13:32.530482Z","started_at":"2026-11-24T19:13:32.662918Z","updated_at":"2026-11-24T19:13:32.662996Z","nodes_done":1,"executed":["1"]}', NULL),
	('965b5076-d95e-4855-9d05-a47f010f7427', '2715e985-f2a5-4199-b014-91b3a950b770', 'running', 2, 83, 7, '2026-11-24 19:13:32.524066+00', '{}', '{"id":"965b5076-d95e-4855-9d05-a47f010f7427","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"running","version":7,"position":95,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20efa-457f-7108-b95b-15292195f4c8","submitted_at":"2026-11-24T19:13:32.524066Z","admitted_at":"2026-11-24T19:13:32.524394Z","started_at":"2026-11-24T19:13:32.593248Z","updated_at":"2026-11-24T19:13:32.66773Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}', NULL),
	('6b262509-a9c7-4f70-8d6e-fcc5fea8b0c6', '2715e985-f2a5-4199-b014-91b3a950b770', 'queued', 3, 96, 1, '2026-11-24 19:13:32.713166+00', '{}', '{"id":"6b262509-a9c7-4f70-8d6e-fcc5fea8b0c6","account":"2715e985-f2a5-4199-b014-91b3a950b770","state":"queued","version":1,"position":96,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T19:13:32.713166Z","updated_at":"2026-11-24T19:13:32.713166Z","nodes_done":0}', NULL),
	('ac104391-f3bf-47db-a53c-2d09f67d0757', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'queued', 3, 97, 1, '2026-11-24 19:13:32.715746+00', '{}', '{"id":"ac104391-f3bf-47db-a53c-2d09f67d0757","account":"99e9097e-87d1-4589-a22a-d50c9b1f9878","state":"queued","version":1,"position":97,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T19:13:32.715746Z","updated_at":"2026-11-24T19:13:32.715746Z","nodes_done":0}', NULL);
INSERT INTO public.node_cache VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', '\x71436efba74ac8fb4733d28998a066eb3cbdf157eeeeba94a013f176396353c9', '{"class":"SaveImage","job":"849cc059-0f66-4289-af1d-d1cc191ee068","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"20e5ca21-d983-559a-9b6a-27a75c55044e","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:29.485Z"}]}', '{20e5ca21-d983-559a-9b6a-27a75c55044e}', 434, '2026-11-24 19:13:29.503908+00', '2026-11-24 19:13:29.503908+00'),
	('2715e985-f2a5-4199-b014-91b3a950b770', '\x95e1b74a3bfc44a935fed911aed593e5a2c3cdf01872985661efe16838215ba9', '{"class":"Partner_sim_image","job":"6b8f538d-0432-4646-a0bb-15c3f01433da","values":["cached:blake3:1859f19a5ed318ba4d18e3ff7fdf3a7fbe095679742c02ae294dd78107d3b0ef"]}', '{}', 12495, '2026-11-24 19:13:30.819446+00', '2026-11-24 19:13:30.819446+00'),
	('2715e985-f2a5-4199-b014-91b3a950b770', '\xfb4351bfe93f25a0f881ccdde658a0b60893f1a891a129f537aee9b9f5c986a0', '{"class":"SaveImage","job":"6b8f538d-0432-4646-a0bb-15c3f01433da","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2e0c16cc-3cf1-5e40-abc3-345933dcd2ab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:30.852561Z"}]}', '{2e0c16cc-3cf1-5e40-abc3-345933dcd2ab}', 433, '2026-11-24 19:13:30.857633+00', '2026-11-24 19:13:30.857633+00'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x397e0b126e64e0606f028dad85e6649741cb378f77f60b044e66cd4c845e7cbd', '{"class":"SaveImage","job":"f55e83b2-a329-4f13-b382-5cbe96a0db99","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b54a844e-f6b9-557d-be84-8764cd004891","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:31.181949Z"}]}', '{b54a844e-f6b9-557d-be84-8764cd004891}', 445, '2026-11-24 19:13:31.191709+00', '2026-11-24 19:13:31.191709+00'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x65a53677758c8978ca312eae4643b2935c3ea4bbb504a7149463c27f6d30f7c6', '{"class":"Partner_sim_image","job":"3d92da35-1815-4dd5-ba68-dd01b129d11d","values":["cached:blake3:47281f7ab1d7caa9c78a17699cace3769c31a7c8cca3a117442177105d039458"]}', '{}', 12495, '2026-11-24 19:13:32.398279+00', '2026-11-24 19:13:32.398279+00'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x35e1099b178c8dcba07b3a0a1c758af91676ad8245241b3584382f6243d122b6', '{"class":"SaveImage","job":"3d92da35-1815-4dd5-ba68-dd01b129d11d","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"be54efaf-1e62-5192-852e-fe0eadacd24f","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:13:32.437579Z"}]}', '{be54efaf-1e62-5192-852e-fe0eadacd24f}', 433, '2026-11-24 19:13:32.455102+00', '2026-11-24 19:13:32.455102+00');
INSERT INTO public.replicas VALUES
	('f7c68868-7328-42e3-833e-f7dde49b70d5', 'http://127.0.0.1:32921', '2026-11-24 19:13:31.167277+00'),
	('c7379534-ce92-46e7-ab73-83abc01d387d', 'http://127.0.0.1:39041', '2026-11-24 19:13:31.860818+00'),
	('742e0ce3-ca2d-4c93-9b80-8b7d46f38a78', 'http://127.0.0.1:36091', '2026-11-24 19:13:31.938916+00'),
	('4815658a-2dda-4c5d-a464-df7d3f43b7de', 'http://127.0.0.1:38845', '2026-11-24 19:13:32.07891+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-24 19:13:26.502423+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-24 19:13:26.562992+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-24 19:13:26.581912+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-24 19:13:26.621937+00'),
	(105, '0105_jobs.sql', '4d4dfbd3c5624be873b46cf032d7cd24b0cac1b1ca4cf3481f1ec48f9f98e6dc', 'dev', '2026-11-24 19:13:26.645895+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-24 19:13:26.791119+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-24 19:13:26.869921+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-24 19:13:27.07791+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-24 19:13:27.092275+00'),
	(110, '0110_calls.sql', '21ef5aca11e7bd47b43bc7369049eedbf770875636a40da84e96933644a02b59', 'dev', '2026-11-24 19:13:27.113837+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-24 19:13:27.209028+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-24 19:13:27.259433+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-24 19:13:27.334113+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-24 19:13:27.353824+00'),
	(115, '0115_deployments.sql', '1ac013fd1680734f84555c248ec6c7151531094858a6792674aefaed6a2ae2a9', 'dev', '2026-11-24 19:13:27.377845+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 67, '2026-11-24 19:00:00+00');
INSERT INTO public.stats_open_v1 VALUES
	('job-3d92da35-1815-4dd5-ba68-dd01b129d11d', '2026-11-24 19:13:31.215699+00');
INSERT INTO public.stats_v1 VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'calls', 'sim/echo', 1, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 1, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'submitted', '', 2, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'submitted', '', 2, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'waited', '019', 2, 56),
	('', 0, '2026-11-24 19:13:00+00', 'waited', '019', 2, 56),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'waited', '019', 2, 56),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '019', 2, 56),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'took', '023', 1, 58),
	('', 0, '2026-11-24 19:13:00+00', 'took', '023', 1, 58),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'took', '023', 1, 58),
	('', 1, '2026-11-24 19:00:00+00', 'took', '023', 1, 58),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-24 19:13:00+00', 'calls', 'sim/image', 1, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/image', 1, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'nodes', 'executed', 5, 1185),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 5, 1185),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'took', '041', 1, 1309),
	('', 0, '2026-11-24 19:13:00+00', 'took', '041', 1, 1309),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'took', '041', 1, 1309),
	('', 1, '2026-11-24 19:00:00+00', 'took', '041', 1, 1309),
	('2715e985-f2a5-4199-b014-91b3a950b770', 0, '2026-11-24 19:13:00+00', 'ended', 'succeeded', 2, 1367),
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 2, 1367),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-24 19:13:00+00', 'calls', 'sim/echo', 2, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 2, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'waited', '018', 1, 23),
	('', 0, '2026-11-24 19:13:00+00', 'waited', '018', 1, 23),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'waited', '018', 1, 23),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '018', 1, 23),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'nodes', 'executed', 3, 12),
	('', 0, '2026-11-24 19:13:00+00', 'nodes', 'executed', 8, 1197),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 3, 12),
	('', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 8, 1197),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'took', '022', 1, 46),
	('', 0, '2026-11-24 19:13:00+00', 'took', '022', 1, 46),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'took', '022', 1, 46),
	('', 1, '2026-11-24 19:00:00+00', 'took', '022', 1, 46),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'ended', 'succeeded', 1, 46),
	('', 0, '2026-11-24 19:13:00+00', 'ended', 'succeeded', 3, 1413),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 1, 46),
	('', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 3, 1413),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'submitted', '', 2, 0),
	('', 0, '2026-11-24 19:13:00+00', 'submitted', '', 4, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'submitted', '', 2, 0),
	('', 1, '2026-11-24 19:00:00+00', 'submitted', '', 4, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 0, '2026-11-24 19:13:00+00', 'waited', '026', 1, 84),
	('', 0, '2026-11-24 19:13:00+00', 'waited', '026', 1, 84),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '2026-11-24 19:00:00+00', 'waited', '026', 1, 84),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '026', 1, 84);
INSERT INTO public.streams VALUES
	('account-2715e985-f2a5-4199-b014-91b3a950b770', '2715e985-f2a5-4199-b014-91b3a950b770', 2, false),
	('webhooks-2715e985-f2a5-4199-b014-91b3a950b770', '2715e985-f2a5-4199-b014-91b3a950b770', 1, false),
	('asset-f59d0758-7eaa-4a0b-b403-5406a278adfc', '2715e985-f2a5-4199-b014-91b3a950b770', 2, false),
	('job-6b262509-a9c7-4f70-8d6e-fcc5fea8b0c6', '2715e985-f2a5-4199-b014-91b3a950b770', 1, false),
	('call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', '2715e985-f2a5-4199-b014-91b3a950b770', 5, true),
	('job-ac104391-f3bf-47db-a53c-2d09f67d0757', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, false),
	('asset-20e5ca21-d983-559a-9b6a-27a75c55044e', '2715e985-f2a5-4199-b014-91b3a950b770', 1, false),
	('job-849cc059-0f66-4289-af1d-d1cc191ee068', '2715e985-f2a5-4199-b014-91b3a950b770', 11, true),
	('asset-26ebe929-62e6-4664-ad0d-f8d386a8722b', '2715e985-f2a5-4199-b014-91b3a950b770', 2, false),
	('call-9315189b-4547-4ca0-99b4-5c150647125c', '2715e985-f2a5-4199-b014-91b3a950b770', 7, true),
	('asset-2e0c16cc-3cf1-5e40-abc3-345933dcd2ab', '2715e985-f2a5-4199-b014-91b3a950b770', 1, false),
	('job-6b8f538d-0432-4646-a0bb-15c3f01433da', '2715e985-f2a5-4199-b014-91b3a950b770', 9, true),
	('account-99e9097e-87d1-4589-a22a-d50c9b1f9878', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 2, false),
	('webhooks-99e9097e-87d1-4589-a22a-d50c9b1f9878', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, false),
	('call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 5, true),
	('asset-b54a844e-f6b9-557d-be84-8764cd004891', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, false),
	('job-f55e83b2-a329-4f13-b382-5cbe96a0db99', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 11, true),
	('asset-9150b9bb-40e2-4c4a-8e4f-5101b8c68eaa', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 2, false),
	('call-2e6b839e-9631-4ab1-96e3-ac2801728f07', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 7, true),
	('asset-4255116d-93c5-460a-9bf4-f6a3aba40234', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 2, false),
	('asset-be54efaf-1e62-5192-852e-fe0eadacd24f', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, false),
	('job-3d92da35-1815-4dd5-ba68-dd01b129d11d', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 9, true),
	('job-6cfa6e05-2125-490f-809b-2e0a617d0b1b', '99e9097e-87d1-4589-a22a-d50c9b1f9878', 6, false),
	('job-965b5076-d95e-4855-9d05-a47f010f7427', '2715e985-f2a5-4199-b014-91b3a950b770', 7, false);
INSERT INTO public.usage_calls_v1 VALUES
	('4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 5),
	('9315189b-4547-4ca0-99b4-5c150647125c', 7),
	('d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 5),
	('2e6b839e-9631-4ab1-96e3-ac2801728f07', 7);
INSERT INTO public.usage_v1 VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('2715e985-f2a5-4199-b014-91b3a950b770', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 19:13:28.671796+00', '2026-11-24 19:13:28.671796+00'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 19:13:31.083539+00', '2026-11-24 19:13:31.083539+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('d409b7f8-1244-5a07-8869-4863f725e71a', 1, '2715e985-f2a5-4199-b014-91b3a950b770', '322140a4-bde7-4d0d-9351-68f47eedba79', 'call-4cd23c2c-8567-4dfa-bdfd-43c62af468cf', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T19:13:29.396871Z","data":{"object":"call","id":"4cd23c2c-8567-4dfa-bdfd-43c62af468cf","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T19:13:28.852636Z","completed_at":"2026-11-24T19:13:29.396871Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/4cd23c2c-8567-4dfa-bdfd-43c62af468cf"}}}', 'pending', 1, 0, '2026-11-24 19:13:29.431143+00', '2026-11-24 19:13:29.431143+00', '2026-11-24 19:13:35.20514+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:29.658582806Z", "error": "name_not_found", "millis": 0}]'),
	('e60ca8ab-a5d3-5632-b64b-4cd9c168ef1c', 2, '2715e985-f2a5-4199-b014-91b3a950b770', '322140a4-bde7-4d0d-9351-68f47eedba79', 'job-849cc059-0f66-4289-af1d-d1cc191ee068', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:13:29.510127Z","data":{"object":"job","id":"849cc059-0f66-4289-af1d-d1cc191ee068","status":"succeeded","created_at":"2026-11-24T19:13:29.451649Z","completed_at":"2026-11-24T19:13:29.510127Z","error":null,"urls":{"self":"/api/v2/jobs/849cc059-0f66-4289-af1d-d1cc191ee068"}}}', 'pending', 1, 0, '2026-11-24 19:13:29.536755+00', '2026-11-24 19:13:29.536755+00', '2026-11-24 19:13:35.051054+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:29.658949141Z", "error": "name_not_found", "millis": 0}]'),
	('7182be66-f401-5bbf-ad86-b1bb240d6b2f', 3, '2715e985-f2a5-4199-b014-91b3a950b770', '322140a4-bde7-4d0d-9351-68f47eedba79', 'job-6b8f538d-0432-4646-a0bb-15c3f01433da', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:13:30.875906Z","data":{"object":"job","id":"6b8f538d-0432-4646-a0bb-15c3f01433da","status":"succeeded","created_at":"2026-11-24T19:13:29.566371Z","completed_at":"2026-11-24T19:13:30.875906Z","error":null,"urls":{"self":"/api/v2/jobs/6b8f538d-0432-4646-a0bb-15c3f01433da"}}}', 'pending', 1, 0, '2026-11-24 19:13:30.902861+00', '2026-11-24 19:13:30.902861+00', '2026-11-24 19:13:36.857155+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:31.032216368Z", "error": "name_not_found", "millis": 7}]'),
	('70e2d444-a741-542d-b065-429f6f143b0f', 4, '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'd73261c4-14a3-4c2e-b764-239e9b2144c6', 'call-d9bdd54d-3c6b-4131-9ee3-76bb5613feac', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T19:13:31.112961Z","data":{"object":"call","id":"d9bdd54d-3c6b-4131-9ee3-76bb5613feac","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T19:13:31.09452Z","completed_at":"2026-11-24T19:13:31.112961Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/d9bdd54d-3c6b-4131-9ee3-76bb5613feac"}}}', 'pending', 1, 0, '2026-11-24 19:13:31.136441+00', '2026-11-24 19:13:31.136441+00', '2026-11-24 19:13:36.652861+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:31.433556553Z", "error": "name_not_found", "millis": 1}]'),
	('3f6b3f46-42f7-5c47-88c5-24bde0633b3d', 5, '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'd73261c4-14a3-4c2e-b764-239e9b2144c6', 'job-f55e83b2-a329-4f13-b382-5cbe96a0db99', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:13:31.194864Z","data":{"object":"job","id":"f55e83b2-a329-4f13-b382-5cbe96a0db99","status":"succeeded","created_at":"2026-11-24T19:13:31.148512Z","completed_at":"2026-11-24T19:13:31.194864Z","error":null,"urls":{"self":"/api/v2/jobs/f55e83b2-a329-4f13-b382-5cbe96a0db99"}}}', 'pending', 1, 0, '2026-11-24 19:13:31.236373+00', '2026-11-24 19:13:31.236373+00', '2026-11-24 19:13:37.012179+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:31.43352154Z", "error": "name_not_found", "millis": 1}]'),
	('6030faf7-cec0-5e89-a53a-38b82c556673', 6, '99e9097e-87d1-4589-a22a-d50c9b1f9878', 'd73261c4-14a3-4c2e-b764-239e9b2144c6', 'job-3d92da35-1815-4dd5-ba68-dd01b129d11d', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:13:32.471077Z","data":{"object":"job","id":"3d92da35-1815-4dd5-ba68-dd01b129d11d","status":"succeeded","created_at":"2026-11-24T19:13:31.215699Z","completed_at":"2026-11-24T19:13:32.471077Z","error":null,"urls":{"self":"/api/v2/jobs/3d92da35-1815-4dd5-ba68-dd01b129d11d"}}}', 'pending', 1, 0, '2026-11-24 19:13:32.487099+00', '2026-11-24 19:13:32.487099+00', '2026-11-24 19:13:37.569175+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:13:32.670664226Z", "error": "name_not_found", "millis": 0}]');
INSERT INTO public.webhook_endpoints VALUES
	('322140a4-bde7-4d0d-9351-68f47eedba79', '2715e985-f2a5-4199-b014-91b3a950b770', '\x8600163aa82703ef8cf1b7742160416bd58c568b8b3d11e43a33759a9b344888952d4786c582849d452a1f6d298d8676b123209454b55fc67e6519feca09e1b109e2b2f9fa5a9365093f82c8cef7780c617b7bb71a622841ad2df002b7109ec3b36098473739a98b06ba877395b780d1ed3e2d820f0259cd5b263f', false, '2026-11-24 19:13:29.659962+00'),
	('d73261c4-14a3-4c2e-b764-239e9b2144c6', '99e9097e-87d1-4589-a22a-d50c9b1f9878', '\x2c7417957557f390924a7faf6d1879232737b2b24fada1f1f3be62315ad4342cf11c7a7b00936d9eb33e870ced57360af7941f993b95a0432a27310b18ae0a3f8603391dae516cc741b4c163667b883234dfe511aae154c56c32410981ea8ecf4b5a132037e83b961a20dc57fb3cd6d6dab0ab3a8939cd557156a0', false, '2026-11-24 19:13:31.436704+00');
INSERT INTO public.webhooks_v1 VALUES
	('2715e985-f2a5-4199-b014-91b3a950b770', 1, '[{"id":"322140a4-bde7-4d0d-9351-68f47eedba79","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-24T19:13:28.749904Z"}]'),
	('99e9097e-87d1-4589-a22a-d50c9b1f9878', 1, '[{"id":"d73261c4-14a3-4c2e-b764-239e9b2144c6","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-24T19:13:31.085417Z"}]');
INSERT INTO public.workers VALUES
	('vm/1075/ea85ba22-7500-4b96-a6dd-9e21eabe5b2f', '2026-11-24 19:13:28.900056+00', '{"absent": [], "webhook_allow": null}'),
	('vm/1073/81a82cf7-963d-497b-aedb-4d642f5043a2', '2026-11-24 19:13:28.990892+00', '{"absent": [], "webhook_allow": null}');
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
ALTER TABLE ONLY public.call_admissions
    ADD CONSTRAINT call_admissions_pkey PRIMARY KEY (account);
ALTER TABLE ONLY public.call_blobs
    ADD CONSTRAINT call_blobs_pkey PRIMARY KEY (call_id, ref);
ALTER TABLE ONLY public.call_keys
    ADD CONSTRAINT call_keys_pkey PRIMARY KEY (account, key);
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
ALTER TABLE ONLY public.job_admissions
    ADD CONSTRAINT job_admissions_pkey PRIMARY KEY (account);
ALTER TABLE ONLY public.job_archives
    ADD CONSTRAINT job_archives_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY public.job_index_v1
    ADD CONSTRAINT job_index_v1_id PRIMARY KEY (id);
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
