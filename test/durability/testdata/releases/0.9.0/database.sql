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
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 58, 469, 3),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 26, 1134, 2),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 54, 23, 2),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 26, 453, 1),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 56, 821, 2);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-24 18:37:28.66298+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'acme', 'standard', true, '2026-11-24 18:37:29.09264+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'umbrella', 'standard', true, '2026-11-24 18:37:31.010973+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('2e3d6aaf-6d86-4cbc-a03e-8b0ea96a7b1a', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x6bcaa153773651ae5cd5b6b5f4b181e49c1bd2d3456a63f373d670dd13b263c1', 'millrace-g5hb6s', '{read,write}', '2026-11-24 18:37:29.175941+00', NULL, '2026-11-24 18:37:29.202841+00'),
	('d79ee2b0-3eba-459f-87c4-9998857785dd', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\x5ad26cef0cfe541f8629b81cc6c78488a01b3cb8c6c861ef969aaf9d40625aae', 'millrace-hxdzrg', '{read,write}', '2026-11-24 18:37:31.046061+00', NULL, '2026-11-24 18:37:31.054647+00');
INSERT INTO public.assets_v1 VALUES
	('76880511-7472-435e-9754-7efac46547bb', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"76880511-7472-435e-9754-7efac46547bb","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"live","version":2,"position":7,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T18:37:29.248Z","verified_at":"2026-11-24T18:37:29.75011Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('2b23b009-2706-5d64-8fa5-5fbe8eeab9d1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'live', 20, 20, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-25 18:37:29.797+00', '{"id":"2b23b009-2706-5d64-8fa5-5fbe8eeab9d1","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"live","version":1,"position":20,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"0b2203ae-a4fc-4058-ac46-5c076330ac27","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T18:37:29.801954Z","expires_at":"2027-01-25T18:37:29.797Z"}'),
	('2f3b8dc8-8385-4328-8f42-a5d158f3ac4f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'live', 33, 33, 2, 'calls/60763417-a950-4a50-be68-097173cd975c/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-25 18:37:30.895+00', '{"id":"2f3b8dc8-8385-4328-8f42-a5d158f3ac4f","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"live","version":2,"position":37,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/60763417-a950-4a50-be68-097173cd975c/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-24T18:37:30.895Z","expires_at":"2026-11-25T18:37:30.895Z","verified_at":"2026-11-24T18:37:30.918995Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('bb69500d-a418-5694-a480-d85dbef5ca96', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'live', 39, 39, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-25 18:37:30.942+00', '{"id":"bb69500d-a418-5694-a480-d85dbef5ca96","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"285d717b-d5c0-4155-b803-e4eab939c869","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T18:37:30.946149Z","expires_at":"2027-01-25T18:37:30.942Z"}'),
	('61a7c040-1e67-561d-ae4f-a4d969634ad7', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'live', 60, 60, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-25 18:37:31.132+00', '{"id":"61a7c040-1e67-561d-ae4f-a4d969634ad7","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"live","version":1,"position":60,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"47c8509b-7c0c-4af6-b96e-7cf46468a453","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T18:37:31.135084Z","expires_at":"2027-01-25T18:37:31.132Z"}'),
	('e748d936-ee44-4223-a2cf-f2cdda39ee4c', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"e748d936-ee44-4223-a2cf-f2cdda39ee4c","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"live","version":2,"position":63,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T18:37:31.061Z","verified_at":"2026-11-24T18:37:31.174034Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('fb2724dc-b10b-4aa7-b668-7f663c8cb2dd', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'live', 74, 74, 2, 'calls/a416696d-d461-445c-84f2-c091ea03507e/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-25 18:37:32.226+00', '{"id":"fb2724dc-b10b-4aa7-b668-7f663c8cb2dd","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"live","version":2,"position":78,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/a416696d-d461-445c-84f2-c091ea03507e/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-24T18:37:32.226Z","expires_at":"2026-11-25T18:37:32.226Z","verified_at":"2026-11-24T18:37:32.249771Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('d2382571-601e-5859-98a1-de17e8917742', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'live', 80, 80, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-25 18:37:32.264+00', '{"id":"d2382571-601e-5859-98a1-de17e8917742","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"live","version":1,"position":80,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"d53bcd7c-645b-4e2b-b331-514083729b10","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T18:37:32.2682Z","expires_at":"2027-01-25T18:37:32.264Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'input', 1),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', 3),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', '', 4),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'input', 1),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', 3),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'input', 4, '76880511-7472-435e-9754-7efac46547bb'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', 20, '2b23b009-2706-5d64-8fa5-5fbe8eeab9d1'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', 33, '2f3b8dc8-8385-4328-8f42-a5d158f3ac4f'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', 39, 'bb69500d-a418-5694-a480-d85dbef5ca96'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'input', 45, 'e748d936-ee44-4223-a2cf-f2cdda39ee4c'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', 60, '61a7c040-1e67-561d-ae4f-a4d969634ad7'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', 74, 'fb2724dc-b10b-4aa7-b668-7f663c8cb2dd'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', 80, 'd2382571-601e-5859-98a1-de17e8917742');
INSERT INTO public.call_admissions VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, 0, 0, 0, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, 0, 0, 0, 0);
INSERT INTO public.call_blobs VALUES
	('70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 18:37:29.755979+00'),
	('70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 18:37:29.755979+00'),
	('60763417-a950-4a50-be68-097173cd975c', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-25 18:37:30.900818+00'),
	('60763417-a950-4a50-be68-097173cd975c', '\x666868f4a3010f7101c2326e9865294d1baead677b7901e4f09a22518b4a9174', '2026-11-25 18:37:30.900818+00'),
	('b137865c-858a-4c07-809e-c446d4807be3', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 18:37:31.083797+00'),
	('b137865c-858a-4c07-809e-c446d4807be3', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 18:37:31.083797+00'),
	('a416696d-d461-445c-84f2-c091ea03507e', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-25 18:37:32.232634+00'),
	('a416696d-d461-445c-84f2-c091ea03507e', '\xffa6ad9bb319196ced6c1a111b7c3d1821d8d77e76802a6077ab91a0086324bb', '2026-11-25 18:37:32.232634+00');
INSERT INTO public.call_keys VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'node:285d717b-d5c0-4155-b803-e4eab939c869:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', '60763417-a950-4a50-be68-097173cd975c', '2026-11-25 18:37:29.865612+00', NULL),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'node:d53bcd7c-645b-4e2b-b331-514083729b10:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', 'a416696d-d461-445c-84f2-c091ea03507e', '2026-11-25 18:37:31.20308+00', NULL);
INSERT INTO public.call_workers VALUES
	('vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d', '2026-11-24 18:37:29.479958+00'),
	('vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3', '2026-11-24 18:37:29.51377+00');
INSERT INTO public.calls_v1 VALUES
	('70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'succeeded', 'sim/echo', 5, 5, '{"id":"70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"succeeded","version":5,"position":10,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:19690","held_micros":0,"charged_micros":0,"run":1,"token":"245e25d4-e990-497b-bed3-e71650c58a70","worker":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T18:37:29.260641Z","admitted_at":"2026-11-24T18:37:29.26066Z","sent_at":"2026-11-24T18:37:29.752537Z","ended_at":"2026-11-24T18:37:29.758141Z","updated_at":"2026-11-24T18:37:29.758141Z"}'),
	('60763417-a950-4a50-be68-097173cd975c', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'succeeded', 'sim/image', 28, 7, '{"id":"60763417-a950-4a50-be68-097173cd975c","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"succeeded","version":7,"position":35,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"ec36a80c-7d2a-438c-87f2-b234458b43bd","worker":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d","handle":"sim-eyJyIjoxNzk1NTQ1NDQ5OTMwLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:666868f4a3010f7101c2326e9865294d1baead677b7901e4f09a22518b4a9174","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T18:37:29.868134Z","admitted_at":"2026-11-24T18:37:29.868159Z","sent_at":"2026-11-24T18:37:29.87849Z","ended_at":"2026-11-24T18:37:30.902029Z","updated_at":"2026-11-24T18:37:30.902029Z"}'),
	('b137865c-858a-4c07-809e-c446d4807be3', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'succeeded', 'sim/echo', 46, 5, '{"id":"b137865c-858a-4c07-809e-c446d4807be3","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"succeeded","version":5,"position":50,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:19690","held_micros":0,"charged_micros":0,"run":1,"token":"b6e7ae2d-fe0d-4346-bc2d-417efa3f6a27","worker":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T18:37:31.068389Z","admitted_at":"2026-11-24T18:37:31.068406Z","sent_at":"2026-11-24T18:37:31.080596Z","ended_at":"2026-11-24T18:37:31.084885Z","updated_at":"2026-11-24T18:37:31.084885Z"}'),
	('a416696d-d461-445c-84f2-c091ea03507e', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'succeeded', 'sim/image', 69, 7, '{"id":"a416696d-d461-445c-84f2-c091ea03507e","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"succeeded","version":7,"position":76,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"bca3d94a-df09-467c-854b-c707a3992763","worker":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3","handle":"sim-eyJyIjoxNzk1NTQ1NDUxMjYzLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:ffa6ad9bb319196ced6c1a111b7c3d1821d8d77e76802a6077ab91a0086324bb","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T18:37:31.203918Z","admitted_at":"2026-11-24T18:37:31.203969Z","sent_at":"2026-11-24T18:37:31.211481Z","ended_at":"2026-11-24T18:37:32.234727Z","updated_at":"2026-11-24T18:37:32.234727Z"}');
INSERT INTO public.checkpoints VALUES
	('stats_v1', 72, '2026-11-24 18:37:31.582409+00'),
	('server_usage_v1', 72, '2026-11-24 18:37:31.620067+00'),
	('calls_v1', 77, '2026-11-24 18:37:32.243444+00'),
	('webhooks_outgoing', 82, '2026-11-24 18:37:32.284904+00'),
	('assets_v1', 82, '2026-11-24 18:37:32.287942+00'),
	('history_v1', 95, '2026-11-24 18:37:32.459286+00'),
	('webhooks_v1', 95, '2026-11-24 18:37:32.462714+00'),
	('usage_v1', 95, '2026-11-24 18:37:32.470888+00'),
	('job_index_v1', 95, '2026-11-24 18:37:32.47209+00'),
	('jobs_v1', 98, '2026-11-24 18:37:32.489421+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '6434caeb-0fc1-4162-8bc0-f23e809d8c1d', 'account.created.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 18:37:29.099785+00'),
	(2, 'account-a2bce4ef-ccff-46fa-9ce1-d957f2896902', 2, '507e56a8-8f44-4da5-841e-0f47c19cd947', 'account.key_issued.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"key":"2e3d6aaf-6d86-4cbc-a03e-8b0ea96a7b1a","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 18:37:29.18425+00'),
	(3, 'webhooks-a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, 'dadd244c-a2f8-4d9e-9af8-6ad399f10cd4', 'webhook.registered.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"webhook":"463bcefe-7b5e-494a-b344-8725b40e6e59","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"015c6358-e4c9-4f88-93a7-93d9fd469c86"}', '2026-11-24 18:37:29.226822+00'),
	(4, 'asset-76880511-7472-435e-9754-7efac46547bb', 1, '11d21b7a-d889-4f50-a6a8-0d410e0f0ca4', 'asset.created.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T18:37:29.248Z"}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"4cec9836-5999-448e-bc76-bf8e7f589214"}', '2026-11-24 18:37:29.255226+00'),
	(5, 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 1, '176bf0a1-b922-48f0-9c59-644b6b63ba56', 'call.accepted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"c15d42ea0266abb25899673c8c6c5280c0197d6258bed5001f417c88fe0e28ce","base":"http://127.0.0.1:19690","fallback":"runware"}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8"}', '2026-11-24 18:37:29.260641+00'),
	(6, 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 2, 'fcc5b70b-8f4d-547b-a60f-20ea7de84b06', 'call.admitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8"}', '2026-11-24 18:37:29.26066+00'),
	(7, 'asset-76880511-7472-435e-9754-7efac46547bb', 2, '688f92b5-965b-5cf6-b5d7-8ab3c0444205', 'asset.verified.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 18:37:29.75011+00'),
	(8, 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 3, '9ee9a0d2-d0a6-5051-9659-3bf9b41d84e7', 'call.dispatching.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"token":"245e25d4-e990-497b-bed3-e71650c58a70","worker":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:29.752537+00'),
	(9, 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 4, 'c31e90f0-a1bf-5e1f-a9ac-543651d777fa', 'call.answered.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:29.758116+00'),
	(10, 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 5, 'dbe86998-d84d-5373-8e6b-eb73177bff18', 'call.succeeded.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:29.758141+00'),
	(11, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 1, 'c44be412-8684-4124-a967-3bcbdef6d069', 'job.submitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795545449771}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"3214880e-eab9-4801-86d0-455573040780"}', '2026-11-24 18:37:29.777168+00'),
	(12, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 2, '10f08488-f25b-5fae-8515-9df602203a1f', 'job.admitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"3214880e-eab9-4801-86d0-455573040780"}', '2026-11-24 18:37:29.777484+00'),
	(13, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 3, 'a4756091-af93-534a-88e5-b953bf529020', 'job.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes_total":3,"worker":"vm/19323","execution":"01a20ed9-4535-79e4-ace5-d1446a234411"}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.796966+00'),
	(14, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 4, 'f2b8dc14-2b87-54a5-8e98-8f626157fe38', 'job.nodes_cached.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes":null}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.797047+00'),
	(15, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 5, 'c104b798-d241-5bdd-9892-b2c54fac4c8f', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.797051+00'),
	(16, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 6, '7d9e2378-04c2-5af5-b4b8-aab96dfc64c3', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.797054+00'),
	(17, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 7, '6b9c0578-9e08-5458-8bcf-7e3fff3fed38', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.797057+00'),
	(18, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 8, '11c932f6-18f1-51f2-9a3c-d0ed31de0048', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.79706+00'),
	(19, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 9, '206cab25-f6d9-5ed9-91da-254c14f01694', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.797062+00'),
	(20, 'asset-2b23b009-2706-5d64-8fa5-5fbe8eeab9d1', 1, '3f518fff-bbf8-573c-af22-c335a683c340', 'asset.created.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"0b2203ae-a4fc-4058-ac46-5c076330ac27","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T18:37:29.797Z"}', '{"actor":"job 0b2203ae-a4fc-4058-ac46-5c076330ac27"}', '2026-11-24 18:37:29.801954+00'),
	(21, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 10, 'b1398ce2-83b0-5f1b-be62-caa31fb03d1d', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2b23b009-2706-5d64-8fa5-5fbe8eeab9d1","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:29.798948Z"}],"millis":5}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.804568+00'),
	(22, 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 11, 'afc1619a-ec01-52a7-b529-6e980b5774fa', 'job.succeeded.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.804587+00'),
	(23, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 1, '713df360-a2b4-474d-94bf-1862b0b8316b', 'job.submitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795545449830}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"a619907b-0e54-49c3-9a0b-b0a55339f5ab"}', '2026-11-24 18:37:29.831985+00'),
	(24, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 2, '83fc8aee-696e-5bad-a019-a3ed59e947a0', 'job.admitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"a619907b-0e54-49c3-9a0b-b0a55339f5ab"}', '2026-11-24 18:37:29.832137+00'),
	(25, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 3, 'ba8d6367-f8a0-5b0a-8a8d-3c4169448678', 'job.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes_total":2,"worker":"vm/19323","execution":"01a20ed9-456b-736a-86b3-696ce3518500"}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.848506+00'),
	(26, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 4, '02c68409-0c22-5037-9eba-dd1d6a0839ef', 'job.nodes_cached.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes":null}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.848571+00'),
	(27, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 5, 'a68f4819-c5a5-59ea-8639-68f194453dfc', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:29.861412+00'),
	(28, 'call-60763417-a950-4a50-be68-097173cd975c', 1, 'f1f8e5a2-db93-4d50-8593-d65329e84e23', 'call.accepted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"c15d42ea0266abb25899673c8c6c5280c0197d6258bed5001f417c88fe0e28ce","base":"http://127.0.0.1:8188"}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"60763417-a950-4a50-be68-097173cd975c"}', '2026-11-24 18:37:29.868134+00'),
	(29, 'call-60763417-a950-4a50-be68-097173cd975c', 2, '69a9aeef-a1bd-53c5-b427-a1cfda318b0e', 'call.admitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"60763417-a950-4a50-be68-097173cd975c"}', '2026-11-24 18:37:29.868159+00'),
	(36, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 6, '30b3affa-8bca-505a-855d-84b0e9a27686', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1043,"waited_millis":17}', '{"actor":"vm/19323"}', '2026-11-24 18:37:30.910063+00'),
	(44, 'webhooks-cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '43dd82f8-5c8d-47dd-80b6-7850112ce8af', 'webhook.registered.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"webhook":"26c3968b-5c97-4264-97fa-11998ebd31db","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"59fa856d-3711-4e0a-a040-d3abe9c3362d"}', '2026-11-24 18:37:31.059982+00'),
	(45, 'asset-e748d936-ee44-4223-a2cf-f2cdda39ee4c', 1, '0c32b3c0-c01a-443e-b78e-ad714fd23be1', 'asset.created.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T18:37:31.061Z"}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"be1f63af-8fed-4431-b36f-7ec9c436d036"}', '2026-11-24 18:37:31.064603+00'),
	(46, 'call-b137865c-858a-4c07-809e-c446d4807be3', 1, '2408846e-06c5-449a-9457-cf71f6fb320d', 'call.accepted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"c15d42ea0266abb25899673c8c6c5280c0197d6258bed5001f417c88fe0e28ce","base":"http://127.0.0.1:19690","fallback":"runware"}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"b137865c-858a-4c07-809e-c446d4807be3"}', '2026-11-24 18:37:31.068389+00'),
	(47, 'call-b137865c-858a-4c07-809e-c446d4807be3', 2, '513c4df3-dd3a-58e3-b0da-6a8c6507d923', 'call.admitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"b137865c-858a-4c07-809e-c446d4807be3"}', '2026-11-24 18:37:31.068406+00'),
	(48, 'call-b137865c-858a-4c07-809e-c446d4807be3', 3, 'dc483e64-2384-5cd3-9de2-e0c93874fd04', 'call.dispatching.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"token":"b6e7ae2d-fe0d-4346-bc2d-417efa3f6a27","worker":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:31.080596+00'),
	(49, 'call-b137865c-858a-4c07-809e-c446d4807be3', 4, 'c782dbc3-9422-5a52-9b6e-071ff74c9c71', 'call.answered.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:31.084866+00'),
	(50, 'call-b137865c-858a-4c07-809e-c446d4807be3', 5, '585a845f-3de3-5b6d-9082-eefcc8abc4ac', 'call.succeeded.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:31.084885+00'),
	(51, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 1, '6cf1b0b0-500a-44d7-9a04-942f9e27bb3e', 'job.submitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795545451120}}"},"targets":["3"],"nodes_total":3}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"f4509e0d-5763-4145-a099-b06ff41c0208"}', '2026-11-24 18:37:31.121735+00'),
	(52, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 2, 'c91e7fc7-f6f2-58b2-ba9f-b03a8925fd3a', 'job.admitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"f4509e0d-5763-4145-a099-b06ff41c0208"}', '2026-11-24 18:37:31.121794+00'),
	(64, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 1, '88a01b43-145d-4e7a-b5ae-cce877069e08', 'job.submitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795545451175}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"bbe331d1-9c83-4c18-be12-1f953254e3b4"}', '2026-11-24 18:37:31.176933+00'),
	(65, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 2, 'b9026783-643b-5471-b050-beb4c3ab369a', 'job.admitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"bbe331d1-9c83-4c18-be12-1f953254e3b4"}', '2026-11-24 18:37:31.177012+00'),
	(68, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 5, '9f1d07cc-aa07-51a0-af8c-baa7f0532ad2', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:31.200698+00'),
	(30, 'call-60763417-a950-4a50-be68-097173cd975c', 3, 'f73c24db-e13b-54b8-8cea-8b6caa164e67', 'call.dispatching.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"token":"ec36a80c-7d2a-438c-87f2-b234458b43bd","worker":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:29.87849+00'),
	(31, 'call-60763417-a950-4a50-be68-097173cd975c', 4, 'a4caa600-208c-54bf-9a1d-9d2f4f1c13f8', 'call.provider_accepted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"handle":"sim-eyJyIjoxNzk1NTQ1NDQ5OTMwLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:29.880963+00'),
	(32, 'call-60763417-a950-4a50-be68-097173cd975c', 5, 'a54ae8b7-17e0-5f98-a8da-fc0d789aada2', 'call.answered.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"answer":{"ref":"blake3:2cb9414e0c3f0c283f773e55eae11f918633833699993d7433adf09dd0f7c220","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:30.884098+00'),
	(33, 'asset-2f3b8dc8-8385-4328-8f42-a5d158f3ac4f', 1, 'e163ef43-9d89-4eb8-8242-b5b54a04891a', 'asset.created.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/60763417-a950-4a50-be68-097173cd975c/0-b008fe36.png","created_at":"2026-11-24T18:37:30.895Z","expires_at":"2026-11-25T18:37:30.895Z"}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"60763417-a950-4a50-be68-097173cd975c"}', '2026-11-24 18:37:30.89931+00'),
	(34, 'call-60763417-a950-4a50-be68-097173cd975c', 6, '84c20274-ae51-5858-b5c2-5d2efb7e0544', 'call.hosted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"assets":[{"pointer":"/result/url","asset":"2f3b8dc8-8385-4328-8f42-a5d158f3ac4f","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:666868f4a3010f7101c2326e9865294d1baead677b7901e4f09a22518b4a9174","size":355,"content_type":"application/json"}}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:30.902015+00'),
	(35, 'call-60763417-a950-4a50-be68-097173cd975c', 7, '4140c51d-f279-5faa-8dd2-5c0dc256efcd', 'call.succeeded.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"model":"sim/image","answer":{"ref":"blake3:666868f4a3010f7101c2326e9865294d1baead677b7901e4f09a22518b4a9174","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d"}', '2026-11-24 18:37:30.902029+00'),
	(37, 'asset-2f3b8dc8-8385-4328-8f42-a5d158f3ac4f', 2, 'd408ac42-3d58-502c-8ae2-da4eecc70a64', 'asset.verified.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-24 18:37:30.918995+00'),
	(38, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 7, '49a51941-10ae-5411-b17e-c74c5040c0f7', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:30.941074+00'),
	(39, 'asset-bb69500d-a418-5694-a480-d85dbef5ca96', 1, 'b98ce165-e786-5045-9ff6-5813f40191cc', 'asset.created.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"285d717b-d5c0-4155-b803-e4eab939c869","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T18:37:30.942Z"}', '{"actor":"job 285d717b-d5c0-4155-b803-e4eab939c869"}', '2026-11-24 18:37:30.946149+00'),
	(40, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 8, 'd19b276c-748c-53db-9868-4eb79ad9ecda', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"bb69500d-a418-5694-a480-d85dbef5ca96","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:30.944229Z"}],"millis":3}', '{"actor":"vm/19324"}', '2026-11-24 18:37:30.948013+00'),
	(41, 'job-285d717b-d5c0-4155-b803-e4eab939c869', 9, 'e1876d00-42fa-5077-9496-bbdfb3b5d487', 'job.succeeded.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:30.959079+00'),
	(42, 'account-cf92471e-7a59-4364-896a-e62ccf9488b8', 1, 'a1ad0352-79cc-4ef1-8767-9bca1af78cec', 'account.created.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 18:37:31.015891+00'),
	(43, 'account-cf92471e-7a59-4364-896a-e62ccf9488b8', 2, 'f6a850ed-a13b-4551-94e5-83e66a1dbbd4', 'account.key_issued.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"key":"d79ee2b0-3eba-459f-87c4-9998857785dd","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 18:37:31.050126+00'),
	(53, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 3, '184d29d2-b369-59ef-880e-b75867f8bd48', 'job.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes_total":3,"worker":"vm/19324","execution":"01a20ed9-4a73-7dde-ba96-73469ae8643c"}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132371+00'),
	(54, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 4, 'ac501272-0ef2-5914-891e-e8951bd75d8c', 'job.nodes_cached.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes":null}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132392+00'),
	(55, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 5, '55089c2f-f812-50d4-aca4-3d28a4559352', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132397+00'),
	(56, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 6, 'b25ea1a6-3d98-5bd0-a032-8f3b51be43c8', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132401+00'),
	(57, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 7, '6fb59342-4023-556e-a9f4-0332f30137c1', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132403+00'),
	(58, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 8, 'ec96e148-6cc5-51a2-89a5-3f476a40bb95', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132408+00'),
	(59, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 9, '83765a55-8128-5aa2-b388-c1ee0e85e394', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.132411+00'),
	(60, 'asset-61a7c040-1e67-561d-ae4f-a4d969634ad7', 1, '11ccf7c2-629f-543f-a363-f560d605d744', 'asset.created.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"47c8509b-7c0c-4af6-b96e-7cf46468a453","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T18:37:31.132Z"}', '{"actor":"job 47c8509b-7c0c-4af6-b96e-7cf46468a453"}', '2026-11-24 18:37:31.135084+00'),
	(66, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 3, '3393f953-7e8a-537c-898e-2513e74fa58f', 'job.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes_total":2,"worker":"vm/19324","execution":"01a20ed9-4aaa-7de5-a7bd-0af5f1dc16f3"}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.191002+00'),
	(67, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 4, '6f3cbb70-9fba-516f-80a4-1689245b6ec0', 'job.nodes_cached.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes":null}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.191039+00'),
	(61, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 10, '26425dac-961b-5445-a864-0d5829d9fdd2', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"61a7c040-1e67-561d-ae4f-a4d969634ad7","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:31.133837Z"}],"millis":2}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.13689+00'),
	(62, 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 11, '09291996-640f-5881-a3fa-a2464cae488a', 'job.succeeded.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:31.136972+00'),
	(63, 'asset-e748d936-ee44-4223-a2cf-f2cdda39ee4c', 2, '524ecad8-4698-52f9-a2af-77c952160966', 'asset.verified.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 18:37:31.174034+00'),
	(69, 'call-a416696d-d461-445c-84f2-c091ea03507e', 1, '4ea79193-7a93-4e23-8ebf-759548f2342e', 'call.accepted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"c15d42ea0266abb25899673c8c6c5280c0197d6258bed5001f417c88fe0e28ce","base":"http://127.0.0.1:8188"}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"a416696d-d461-445c-84f2-c091ea03507e"}', '2026-11-24 18:37:31.203918+00'),
	(70, 'call-a416696d-d461-445c-84f2-c091ea03507e', 2, 'ebb6754d-727b-5b62-9271-63607ad1ae5c', 'call.admitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"a416696d-d461-445c-84f2-c091ea03507e"}', '2026-11-24 18:37:31.203969+00'),
	(71, 'call-a416696d-d461-445c-84f2-c091ea03507e', 3, '258d9712-9059-5e89-abc1-a7068c25afd3', 'call.dispatching.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"token":"bca3d94a-df09-467c-854b-c707a3992763","worker":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:31.211481+00'),
	(72, 'call-a416696d-d461-445c-84f2-c091ea03507e', 4, '05629df9-712f-5d56-b107-23a42f2d11d7', 'call.provider_accepted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"handle":"sim-eyJyIjoxNzk1NTQ1NDUxMjYzLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:31.213615+00'),
	(73, 'call-a416696d-d461-445c-84f2-c091ea03507e', 5, '662e03e0-c631-5ae4-b91c-0e831f521f14', 'call.answered.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"answer":{"ref":"blake3:5628a4802159e0439ed6d8be15cdd5b8d85b3a78f388190edf0ac72726eb7d82","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:32.217876+00'),
	(74, 'asset-fb2724dc-b10b-4aa7-b668-7f663c8cb2dd', 1, 'bc3e220d-508f-41ed-ab4e-a4fbe684ff2b', 'asset.created.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/a416696d-d461-445c-84f2-c091ea03507e/0-f1b14e28.png","created_at":"2026-11-24T18:37:32.226Z","expires_at":"2026-11-25T18:37:32.226Z"}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"a416696d-d461-445c-84f2-c091ea03507e"}', '2026-11-24 18:37:32.231208+00'),
	(75, 'call-a416696d-d461-445c-84f2-c091ea03507e', 6, 'b059d56e-3ed6-5dab-87fc-e37f4bc9ce90', 'call.hosted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"assets":[{"pointer":"/result/url","asset":"fb2724dc-b10b-4aa7-b668-7f663c8cb2dd","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:ffa6ad9bb319196ced6c1a111b7c3d1821d8d77e76802a6077ab91a0086324bb","size":355,"content_type":"application/json"}}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:32.234708+00'),
	(76, 'call-a416696d-d461-445c-84f2-c091ea03507e', 7, 'e71c621d-2ef2-50c2-9a4d-ae9aa1208da2', 'call.succeeded.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"model":"sim/image","answer":{"ref":"blake3:ffa6ad9bb319196ced6c1a111b7c3d1821d8d77e76802a6077ab91a0086324bb","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3"}', '2026-11-24 18:37:32.234727+00'),
	(77, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 6, '1a08d770-aa43-5187-ab82-189a0d93dc1c', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1035,"waited_millis":11}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.236982+00'),
	(78, 'asset-fb2724dc-b10b-4aa7-b668-7f663c8cb2dd', 2, '67090152-b728-5d85-86b7-4ad44b9e06a9', 'asset.verified.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-24 18:37:32.249771+00'),
	(79, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 7, '7cc1c27d-3aa4-50bc-b42e-5859f59a9237', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.262025+00'),
	(80, 'asset-d2382571-601e-5859-98a1-de17e8917742', 1, 'daba0981-d870-5f8a-b293-80afa5c5d097', 'asset.created.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"d53bcd7c-645b-4e2b-b331-514083729b10","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T18:37:32.264Z"}', '{"actor":"job d53bcd7c-645b-4e2b-b331-514083729b10"}', '2026-11-24 18:37:32.2682+00'),
	(81, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 8, 'c34f6178-963e-5cf3-ae08-f4c6696051e6', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d2382571-601e-5859-98a1-de17e8917742","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:32.266341Z"}],"millis":3}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.269855+00'),
	(82, 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 9, 'c3adf57b-062f-58d2-8d86-1c7d4cac55b2', 'job.succeeded.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.279529+00'),
	(83, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 1, 'd567ebe7-342f-4970-9ff6-88e8c7f0391e', 'job.submitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795545452329}}"},"targets":["6"],"nodes_total":6}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"21024e7c-f079-470e-ac70-036a7e1898f4"}', '2026-11-24 18:37:32.330501+00'),
	(84, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 2, 'e06649ec-be5f-5121-84db-a8ff6175988c', 'job.admitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"21024e7c-f079-470e-ac70-036a7e1898f4"}', '2026-11-24 18:37:32.330604+00'),
	(85, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 1, 'd7803548-9bed-4a1c-86b1-7f58557e983d', 'job.submitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795545452331}}"},"targets":["6"],"nodes_total":6}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"d83dfcf1-b269-4d33-bdc7-89089039e93d"}', '2026-11-24 18:37:32.333298+00'),
	(86, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 2, '135ab6ba-557b-50b5-bea4-021981d04803', 'job.admitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"d83dfcf1-b269-4d33-bdc7-89089039e93d"}', '2026-11-24 18:37:32.333335+00'),
	(97, 'job-84f1d1cc-2800-46be-bf27-6ab24a95baa9', 1, '9611d703-2b47-4a57-80ac-c671eef9c866', 'job.submitted.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795545452482}}"},"targets":["3"],"nodes_total":3}', '{"actor":"cf92471e-7a59-4364-896a-e62ccf9488b8","request_id":"76af5cec-b7a5-4229-afc1-663e3e964a86"}', '2026-11-24 18:37:32.483902+00'),
	(98, 'job-dd647b8a-0f3f-452e-a456-b562cd1e73b1', 1, 'c571df68-ae21-4d9d-b210-dcfd364200b5', 'job.submitted.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795545452485}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","request_id":"96955157-5f82-42e1-8012-689e6ac55c2e"}', '2026-11-24 18:37:32.486043+00'),
	(87, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 3, '7961870c-b634-5b00-ab6c-c95cbbf4b000', 'job.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes_total":6,"worker":"vm/19323","execution":"01a20ed9-4f2e-74b9-98c5-30af20c73876"}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.406109+00'),
	(88, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 4, '5e3c99a1-c8c0-5e8b-abab-ed8a1354c5e4', 'job.nodes_cached.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"nodes":null}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.406212+00'),
	(89, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 5, 'f5a6413d-d085-5c23-9770-2c4d76c2f5fe', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.406216+00'),
	(90, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 6, '65f7601f-77e9-59d9-8ffd-ac1bc16ec042', 'node.executed.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"1","class":"EmptyImage","millis":11}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.40622+00'),
	(91, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 3, '2b020a8c-2812-54c8-9d17-38331743c59e', 'job.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes_total":6,"worker":"vm/19323","execution":"01a20ed9-4f2f-749b-b56e-0dbbc7771714"}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.423553+00'),
	(92, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 4, '7a33a0f8-37ac-5c20-8b68-7fc4e54b6233', 'job.nodes_cached.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"nodes":null}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.423579+00'),
	(93, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 5, '15e73edc-e813-5856-9aad-a705f422682a', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.423584+00'),
	(94, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 6, '6ae2be90-282f-5104-8d47-4ab5cae66fd9', 'node.executed.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"1","class":"EmptyImage","millis":11}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.423587+00'),
	(95, 'job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 7, 'fae14119-9cc1-5063-a4fd-94aa68dad93f', 'node.started.v1', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/19323"}', '2026-11-24 18:37:32.441943+00'),
	(96, 'job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 7, '50650e9b-c83b-56bd-8c0f-9c9428a72da1', 'node.started.v1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/19324"}', '2026-11-24 18:37:32.447386+00');
INSERT INTO public.file_counters VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', '', 'done-acme', 1),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'output', '', 'painted', 1),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', '', 'done-umbrella', 1),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'output', '', 'painted', 1);
INSERT INTO public.files VALUES
	('76880511-7472-435e-9754-7efac46547bb', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 18:37:29.252371+00', NULL, NULL, NULL),
	('2b23b009-2706-5d64-8fa5-5fbe8eeab9d1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, '0b2203ae-a4fc-4058-ac46-5c076330ac27', 1, '3', 0, false, '2026-11-24 18:37:29.798948+00', '2027-01-25 18:37:29.797+00', NULL, NULL),
	('2f3b8dc8-8385-4328-8f42-a5d158f3ac4f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/60763417-a950-4a50-be68-097173cd975c/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 18:37:30.897543+00', '2026-11-25 18:37:30.895+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL),
	('bb69500d-a418-5694-a480-d85dbef5ca96', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '285d717b-d5c0-4155-b803-e4eab939c869', 1, '2', 0, false, '2026-11-24 18:37:30.944229+00', '2027-01-25 18:37:30.942+00', NULL, NULL),
	('61a7c040-1e67-561d-ae4f-a4d969634ad7', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, '47c8509b-7c0c-4af6-b96e-7cf46468a453', 1, '3', 0, false, '2026-11-24 18:37:31.133837+00', '2027-01-25 18:37:31.132+00', NULL, NULL),
	('e748d936-ee44-4223-a2cf-f2cdda39ee4c', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 18:37:31.062659+00', NULL, NULL, NULL),
	('fb2724dc-b10b-4aa7-b668-7f663c8cb2dd', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/a416696d-d461-445c-84f2-c091ea03507e/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 18:37:32.229478+00', '2026-11-25 18:37:32.226+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL),
	('d2382571-601e-5859-98a1-de17e8917742', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, 'd53bcd7c-645b-4e2b-b331-514083729b10', 1, '2', 0, false, '2026-11-24 18:37:32.266341+00', '2027-01-25 18:37:32.264+00', NULL, NULL);
INSERT INTO public.job_admissions VALUES
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 3, 1, 1, 'open'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 3, 1, 1, 'open');
INSERT INTO public.job_index_v1 VALUES
	('0b2203ae-a4fc-4058-ac46-5c076330ac27', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 11, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('285d717b-d5c0-4155-b803-e4eab939c869', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 23, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('47c8509b-7c0c-4af6-b96e-7cf46468a453', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 51, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('d53bcd7c-645b-4e2b-b331-514083729b10', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 64, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('c26418f2-6f3e-43d5-9470-5114c68fcc3f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8'),
	('a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('84f1d1cc-2800-46be-bf27-6ab24a95baa9', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 3, 1),
	('dd647b8a-0f3f-452e-a456-b562cd1e73b1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 3, 2);
INSERT INTO public.job_slots VALUES
	('c26418f2-6f3e-43d5-9470-5114c68fcc3f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:37:32.329828+00'),
	('a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:37:32.331992+00');
INSERT INTO public.jobs_v1 VALUES
	('0b2203ae-a4fc-4058-ac46-5c076330ac27', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'succeeded', 0, 11, 11, '2026-11-24 18:37:29.777168+00', '{}', '{"id":"0b2203ae-a4fc-4058-ac46-5c076330ac27","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"succeeded","version":11,"position":22,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20ed9-4535-79e4-ace5-d1446a234411","submitted_at":"2026-11-24T18:37:29.777168Z","admitted_at":"2026-11-24T18:37:29.777484Z","started_at":"2026-11-24T18:37:29.796966Z","ended_at":"2026-11-24T18:37:29.804587Z","updated_at":"2026-11-24T18:37:29.804587Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2b23b009-2706-5d64-8fa5-5fbe8eeab9d1","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:29.798948Z"}]}]}', NULL),
	('285d717b-d5c0-4155-b803-e4eab939c869', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'succeeded', 1, 23, 9, '2026-11-24 18:37:29.831985+00', '{}', '{"id":"285d717b-d5c0-4155-b803-e4eab939c869","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"succeeded","version":9,"position":41,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20ed9-456b-736a-86b3-696ce3518500","submitted_at":"2026-11-24T18:37:29.831985Z","admitted_at":"2026-11-24T18:37:29.832137Z","started_at":"2026-11-24T18:37:29.848506Z","ended_at":"2026-11-24T18:37:30.959079Z","updated_at":"2026-11-24T18:37:30.959079Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"bb69500d-a418-5694-a480-d85dbef5ca96","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:30.944229Z"}]}]}', NULL),
	('47c8509b-7c0c-4af6-b96e-7cf46468a453', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'succeeded', 0, 51, 11, '2026-11-24 18:37:31.121735+00', '{}', '{"id":"47c8509b-7c0c-4af6-b96e-7cf46468a453","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"succeeded","version":11,"position":62,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20ed9-4a73-7dde-ba96-73469ae8643c","submitted_at":"2026-11-24T18:37:31.121735Z","admitted_at":"2026-11-24T18:37:31.121794Z","started_at":"2026-11-24T18:37:31.132371Z","ended_at":"2026-11-24T18:37:31.136972Z","updated_at":"2026-11-24T18:37:31.136972Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"61a7c040-1e67-561d-ae4f-a4d969634ad7","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:31.133837Z"}]}]}', NULL),
	('d53bcd7c-645b-4e2b-b331-514083729b10', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'succeeded', 1, 64, 9, '2026-11-24 18:37:31.176933+00', '{}', '{"id":"d53bcd7c-645b-4e2b-b331-514083729b10","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20ed9-4aaa-7de5-a7bd-0af5f1dc16f3","submitted_at":"2026-11-24T18:37:31.176933Z","admitted_at":"2026-11-24T18:37:31.177012Z","started_at":"2026-11-24T18:37:31.191002Z","ended_at":"2026-11-24T18:37:32.279529Z","updated_at":"2026-11-24T18:37:32.279529Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d2382571-601e-5859-98a1-de17e8917742","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:32.266341Z"}]}]}', NULL),
	('a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'running', 2, 85, 7, '2026-11-24 18:37:32.333298+00', '{}', '{"id":"a447cdb6-f9ff-48a1-b5e1-954c960d4ca2","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"running","version":7,"position":95,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20ed9-4f2f-749b-b56e-0dbbc7771714","submitted_at":"2026-11-24T18:37:32.333298Z","admitted_at":"2026-11-24T18:37:32.333335Z","started_at":"2026-11-24T18:37:32.423553Z","updated_at":"2026-11-24T18:37:32.441943Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}', NULL),
	('c26418f2-6f3e-43d5-9470-5114c68fcc3f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'running', 2, 83, 7, '2026-11-24 18:37:32.330501+00', '{}', '{"id":"c26418f2-6f3e-43d5-9470-5114c68fcc3f","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"running","version":7,"position":96,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20ed9-4f2e-74b9-98c5-30af20c73876","submitted_at":"2026-11-24T18:37:32.330501Z","admitted_at":"2026-11-24T18:37:32.330604Z","started_at":"2026-11-24T18:37:32.406109Z","updated_at":"2026-11-24T18:37:32.447386Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}', NULL),
	('84f1d1cc-2800-46be-bf27-6ab24a95baa9', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 'queued', 3, 97, 1, '2026-11-24 18:37:32.483902+00', '{}', '{"id":"84f1d1cc-2800-46be-bf27-6ab24a95baa9","account":"cf92471e-7a59-4364-896a-e62ccf9488b8","state":"queued","version":1,"position":97,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T18:37:32.483902Z","updated_at":"2026-11-24T18:37:32.483902Z","nodes_done":0}', NULL),
	('dd647b8a-0f3f-452e-a456-b562cd1e73b1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'queued', 3, 98, 1, '2026-11-24 18:37:32.486043+00', '{}', '{"id":"dd647b8a-0f3f-452e-a456-b562cd1e73b1","account":"a2bce4ef-ccff-46fa-9ce1-d957f2896902","state":"queued","version":1,"position":98,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T18:37:32.486043Z","updated_at":"2026-11-24T18:37:32.486043Z","nodes_done":0}', NULL);
INSERT INTO public.node_cache VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x48cdf119c07b70f2847e3210cb5e226e9e9008fa6d72e57f4910f2b5ea9cfeb0', '{"class":"SaveImage","job":"0b2203ae-a4fc-4058-ac46-5c076330ac27","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"2b23b009-2706-5d64-8fa5-5fbe8eeab9d1","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:29.798948Z"}]}', '{2b23b009-2706-5d64-8fa5-5fbe8eeab9d1}', 437, '2026-11-24 18:37:29.80287+00', '2026-11-24 18:37:29.80287+00'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\xbe21bc9e5395247d639346579f30c59509bcd056b8a8b816bbb6b7c3a7c1f9c4', '{"class":"Partner_sim_image","job":"285d717b-d5c0-4155-b803-e4eab939c869","values":["cached:blake3:4b69d863ed0a1b8578eaf7e04c2af133d1462843b6c860b623af812ec045c07d"]}', '{}', 12495, '2026-11-24 18:37:30.907051+00', '2026-11-24 18:37:30.907051+00'),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x2e4bdc7a2d0eeaa9c5021028e8e1cf37dbe599247437220c856770ade6596f28', '{"class":"SaveImage","job":"285d717b-d5c0-4155-b803-e4eab939c869","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"bb69500d-a418-5694-a480-d85dbef5ca96","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:30.944229Z"}]}', '{bb69500d-a418-5694-a480-d85dbef5ca96}', 433, '2026-11-24 18:37:30.94759+00', '2026-11-24 18:37:30.94759+00'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', '\x62faedb37120daf01f2ef32462e581d9b04afe363205958021bf04b086b61df9', '{"class":"SaveImage","job":"47c8509b-7c0c-4af6-b96e-7cf46468a453","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"61a7c040-1e67-561d-ae4f-a4d969634ad7","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:31.133837Z"}]}', '{61a7c040-1e67-561d-ae4f-a4d969634ad7}', 445, '2026-11-24 18:37:31.135528+00', '2026-11-24 18:37:31.135528+00'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', '\x8263f9e23c98756861032e44090b8b5644378ec4c40ed52e7e7887d428d626b3', '{"class":"Partner_sim_image","job":"d53bcd7c-645b-4e2b-b331-514083729b10","values":["cached:blake3:16d4d1aa27e408e86c56ef958df07bd90d431654c1c5b60d64a2a4b4c4cf74e9"]}', '{}', 12495, '2026-11-24 18:37:32.236374+00', '2026-11-24 18:37:32.236374+00'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', '\x90ac9709dd69d3ad723f1af8e30ad6e2538e3f057231ddf375c93ab8739cecdb', '{"class":"SaveImage","job":"d53bcd7c-645b-4e2b-b331-514083729b10","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"d2382571-601e-5859-98a1-de17e8917742","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T18:37:32.266341Z"}]}', '{d2382571-601e-5859-98a1-de17e8917742}', 433, '2026-11-24 18:37:32.269325+00', '2026-11-24 18:37:32.269325+00');
INSERT INTO public.replicas VALUES
	('6026715f-3603-42a7-b217-806955b5d524', 'http://127.0.0.1:42191', '2026-11-24 18:37:29.513102+00'),
	('bdf0c88c-e792-4a97-be61-be772840a4fb', 'http://127.0.0.1:32825', '2026-11-24 18:37:29.541075+00'),
	('a2c0b26e-0ddc-4030-a8ac-35bdae223047', 'http://127.0.0.1:44423', '2026-11-24 18:37:31.965821+00'),
	('60147074-f293-4785-8d72-e43371a1fd69', 'http://127.0.0.1:40363', '2026-11-24 18:37:32.442673+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-24 18:37:28.650543+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-24 18:37:28.660255+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-24 18:37:28.66298+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-24 18:37:28.669214+00'),
	(105, '0105_jobs.sql', '2dbb1ea7de9abdcca5189532685d01b126fd8e248a8d57ae45996c753bdbff3b', 'dev', '2026-11-24 18:37:28.672798+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-24 18:37:28.694559+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-24 18:37:28.700577+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-24 18:37:28.721987+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-24 18:37:28.724357+00'),
	(110, '0110_calls.sql', '21ef5aca11e7bd47b43bc7369049eedbf770875636a40da84e96933644a02b59', 'dev', '2026-11-24 18:37:28.726819+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-24 18:37:28.74415+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-24 18:37:28.752471+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-24 18:37:28.767168+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-24 18:37:28.76993+00'),
	(115, '0115_deployments.sql', '1ac013fd1680734f84555c248ec6c7151531094858a6792674aefaed6a2ae2a9', 'dev', '2026-11-24 18:37:28.77363+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 67, '2026-11-24 18:00:00+00');
INSERT INTO public.stats_open_v1 VALUES
	('job-d53bcd7c-645b-4e2b-b331-514083729b10', '2026-11-24 18:37:31.176933+00');
INSERT INTO public.stats_v1 VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'calls', 'sim/echo', 1, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'calls', 'sim/echo', 1, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'submitted', '', 2, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'submitted', '', 2, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'waited', '017', 1, 19),
	('', 0, '2026-11-24 18:37:00+00', 'waited', '017', 1, 19),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'waited', '017', 1, 19),
	('', 1, '2026-11-24 18:00:00+00', 'waited', '017', 1, 19),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'took', '019', 1, 27),
	('', 0, '2026-11-24 18:37:00+00', 'took', '019', 1, 27),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'took', '019', 1, 27),
	('', 1, '2026-11-24 18:00:00+00', 'took', '019', 1, 27),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'waited', '016', 1, 16),
	('', 0, '2026-11-24 18:37:00+00', 'waited', '016', 1, 16),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'waited', '016', 1, 16),
	('', 1, '2026-11-24 18:00:00+00', 'waited', '016', 1, 16),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-24 18:37:00+00', 'calls', 'sim/image', 1, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-24 18:00:00+00', 'calls', 'sim/image', 1, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'nodes', 'executed', 5, 1051),
	('', 0, '2026-11-24 18:37:00+00', 'nodes', 'executed', 8, 1053),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'nodes', 'executed', 5, 1051),
	('', 1, '2026-11-24 18:00:00+00', 'nodes', 'executed', 8, 1053),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'took', '041', 1, 1127),
	('', 0, '2026-11-24 18:37:00+00', 'took', '041', 1, 1127),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'took', '041', 1, 1127),
	('', 1, '2026-11-24 18:00:00+00', 'took', '041', 1, 1127),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 0, '2026-11-24 18:37:00+00', 'ended', 'succeeded', 2, 1154),
	('', 0, '2026-11-24 18:37:00+00', 'ended', 'succeeded', 3, 1169),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '2026-11-24 18:00:00+00', 'ended', 'succeeded', 2, 1154),
	('', 1, '2026-11-24 18:00:00+00', 'ended', 'succeeded', 3, 1169),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-24 18:37:00+00', 'calls', 'sim/echo', 2, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-24 18:00:00+00', 'calls', 'sim/echo', 2, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'submitted', '', 2, 0),
	('', 0, '2026-11-24 18:37:00+00', 'submitted', '', 4, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'submitted', '', 2, 0),
	('', 1, '2026-11-24 18:00:00+00', 'submitted', '', 4, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'waited', '013', 1, 10),
	('', 0, '2026-11-24 18:37:00+00', 'waited', '013', 1, 10),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'waited', '013', 1, 10),
	('', 1, '2026-11-24 18:00:00+00', 'waited', '013', 1, 10),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'nodes', 'executed', 3, 2),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'nodes', 'executed', 3, 2),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'took', '016', 1, 15),
	('', 0, '2026-11-24 18:37:00+00', 'took', '016', 1, 15),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'took', '016', 1, 15),
	('', 1, '2026-11-24 18:00:00+00', 'took', '016', 1, 15),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'ended', 'succeeded', 1, 15),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'ended', 'succeeded', 1, 15),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 0, '2026-11-24 18:37:00+00', 'waited', '015', 1, 14),
	('', 0, '2026-11-24 18:37:00+00', 'waited', '015', 1, 14),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '2026-11-24 18:00:00+00', 'waited', '015', 1, 14),
	('', 1, '2026-11-24 18:00:00+00', 'waited', '015', 1, 14);
INSERT INTO public.streams VALUES
	('account-a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 2, false),
	('webhooks-a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, false),
	('asset-76880511-7472-435e-9754-7efac46547bb', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 2, false),
	('job-c26418f2-6f3e-43d5-9470-5114c68fcc3f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 7, false),
	('call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 5, true),
	('job-84f1d1cc-2800-46be-bf27-6ab24a95baa9', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 1, false),
	('asset-2b23b009-2706-5d64-8fa5-5fbe8eeab9d1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, false),
	('job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 11, true),
	('job-dd647b8a-0f3f-452e-a456-b562cd1e73b1', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, false),
	('call-60763417-a950-4a50-be68-097173cd975c', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 7, true),
	('asset-2f3b8dc8-8385-4328-8f42-a5d158f3ac4f', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 2, false),
	('asset-bb69500d-a418-5694-a480-d85dbef5ca96', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, false),
	('job-285d717b-d5c0-4155-b803-e4eab939c869', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', 9, true),
	('account-cf92471e-7a59-4364-896a-e62ccf9488b8', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 2, false),
	('webhooks-cf92471e-7a59-4364-896a-e62ccf9488b8', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 1, false),
	('call-b137865c-858a-4c07-809e-c446d4807be3', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 5, true),
	('asset-61a7c040-1e67-561d-ae4f-a4d969634ad7', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 1, false),
	('job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 11, true),
	('asset-e748d936-ee44-4223-a2cf-f2cdda39ee4c', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 2, false),
	('call-a416696d-d461-445c-84f2-c091ea03507e', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 7, true),
	('asset-fb2724dc-b10b-4aa7-b668-7f663c8cb2dd', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 2, false),
	('asset-d2382571-601e-5859-98a1-de17e8917742', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 1, false),
	('job-d53bcd7c-645b-4e2b-b331-514083729b10', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 9, true),
	('job-a447cdb6-f9ff-48a1-b5e1-954c960d4ca2', 'cf92471e-7a59-4364-896a-e62ccf9488b8', 7, false);
INSERT INTO public.usage_calls_v1 VALUES
	('70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 5),
	('60763417-a950-4a50-be68-097173cd975c', 7),
	('b137865c-858a-4c07-809e-c446d4807be3', 5),
	('a416696d-d461-445c-84f2-c091ea03507e', 7);
INSERT INTO public.usage_v1 VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 18:37:29.207385+00', '2026-11-24 18:37:29.207385+00'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 18:37:31.056722+00', '2026-11-24 18:37:31.056722+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('38b13d6a-7716-5624-b2f4-b01d613521b3', 1, 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '463bcefe-7b5e-494a-b344-8725b40e6e59', 'call-70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T18:37:29.758141Z","data":{"object":"call","id":"70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T18:37:29.260641Z","completed_at":"2026-11-24T18:37:29.758141Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/70ea10b2-1a6f-4c28-a693-e3a48ebbf8f8"}}}', 'pending', 1, 0, '2026-11-24 18:37:29.764431+00', '2026-11-24 18:37:29.764431+00', '2026-11-24 18:37:35.134295+00', NULL, NULL, NULL, '[{"at": "2026-11-24T18:37:29.791193026Z", "error": "name_not_found", "millis": 1}]'),
	('4b7dd2b0-d177-525b-981b-26a48ef7a9a4', 2, 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '463bcefe-7b5e-494a-b344-8725b40e6e59', 'job-0b2203ae-a4fc-4058-ac46-5c076330ac27', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T18:37:29.804587Z","data":{"object":"job","id":"0b2203ae-a4fc-4058-ac46-5c076330ac27","status":"succeeded","created_at":"2026-11-24T18:37:29.777168Z","completed_at":"2026-11-24T18:37:29.804587Z","error":null,"urls":{"self":"/api/v2/jobs/0b2203ae-a4fc-4058-ac46-5c076330ac27"}}}', 'pending', 1, 0, '2026-11-24 18:37:29.814869+00', '2026-11-24 18:37:29.814869+00', '2026-11-24 18:37:34.94518+00', NULL, NULL, NULL, '[{"at": "2026-11-24T18:37:29.820347376Z", "error": "name_not_found", "millis": 0}]'),
	('a9ddab34-7aa5-5eaf-bab5-164b26853526', 4, 'cf92471e-7a59-4364-896a-e62ccf9488b8', '26c3968b-5c97-4264-97fa-11998ebd31db', 'call-b137865c-858a-4c07-809e-c446d4807be3', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T18:37:31.084885Z","data":{"object":"call","id":"b137865c-858a-4c07-809e-c446d4807be3","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T18:37:31.068389Z","completed_at":"2026-11-24T18:37:31.084885Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/b137865c-858a-4c07-809e-c446d4807be3"}}}', 'pending', 1, 0, '2026-11-24 18:37:31.092838+00', '2026-11-24 18:37:31.092838+00', '2026-11-24 18:37:36.032344+00', NULL, NULL, NULL, '[{"at": "2026-11-24T18:37:31.187649971Z", "error": "name_not_found", "millis": 1}]'),
	('b555db4f-992e-5465-87a5-571563864707', 5, 'cf92471e-7a59-4364-896a-e62ccf9488b8', '26c3968b-5c97-4264-97fa-11998ebd31db', 'job-47c8509b-7c0c-4af6-b96e-7cf46468a453', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T18:37:31.136972Z","data":{"object":"job","id":"47c8509b-7c0c-4af6-b96e-7cf46468a453","status":"succeeded","created_at":"2026-11-24T18:37:31.121735Z","completed_at":"2026-11-24T18:37:31.136972Z","error":null,"urls":{"self":"/api/v2/jobs/47c8509b-7c0c-4af6-b96e-7cf46468a453"}}}', 'pending', 1, 0, '2026-11-24 18:37:31.144289+00', '2026-11-24 18:37:31.144289+00', '2026-11-24 18:37:35.71929+00', NULL, NULL, NULL, '[{"at": "2026-11-24T18:37:31.187914675Z", "error": "name_not_found", "millis": 0}]'),
	('2deb8abb-6717-56e4-a82c-827655daeb81', 3, 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '463bcefe-7b5e-494a-b344-8725b40e6e59', 'job-285d717b-d5c0-4155-b803-e4eab939c869', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T18:37:30.959079Z","data":{"object":"job","id":"285d717b-d5c0-4155-b803-e4eab939c869","status":"succeeded","created_at":"2026-11-24T18:37:29.831985Z","completed_at":"2026-11-24T18:37:30.959079Z","error":null,"urls":{"self":"/api/v2/jobs/285d717b-d5c0-4155-b803-e4eab939c869"}}}', 'pending', 1, 0, '2026-11-24 18:37:30.970402+00', '2026-11-24 18:37:30.970402+00', '2026-11-24 18:37:35.61937+00', NULL, NULL, NULL, '[{"at": "2026-11-24T18:37:31.187874505Z", "error": "name_not_found", "millis": 1}]'),
	('4efd1c11-e53a-56ee-84ca-44f75a57e5bb', 6, 'cf92471e-7a59-4364-896a-e62ccf9488b8', '26c3968b-5c97-4264-97fa-11998ebd31db', 'job-d53bcd7c-645b-4e2b-b331-514083729b10', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T18:37:32.279529Z","data":{"object":"job","id":"d53bcd7c-645b-4e2b-b331-514083729b10","status":"succeeded","created_at":"2026-11-24T18:37:31.176933Z","completed_at":"2026-11-24T18:37:32.279529Z","error":null,"urls":{"self":"/api/v2/jobs/d53bcd7c-645b-4e2b-b331-514083729b10"}}}', 'pending', 0, 0, '2026-11-24 18:37:32.284115+00', '2026-11-24 18:37:32.284115+00', '2026-11-24 18:37:32.284115+00', NULL, NULL, NULL, '[]');
INSERT INTO public.webhook_endpoints VALUES
	('26c3968b-5c97-4264-97fa-11998ebd31db', 'cf92471e-7a59-4364-896a-e62ccf9488b8', '\xec22d510262b62fd4a42a82c059b2c7979d777c840eaaa39b8d1b42c6d9b074106c012592cf7cceaa9369604ff8044594947347e0afe92648543c59a8090ebe0b54568ed0ad3e8b20d9a4e0e94aae571e4ffa4ba59ad70263c9a2a2e7f00d0bf596786c155169031e4203f331498f5d749242da5610ca65ad13260', false, '2026-11-24 18:37:31.189872+00'),
	('463bcefe-7b5e-494a-b344-8725b40e6e59', 'a2bce4ef-ccff-46fa-9ce1-d957f2896902', '\x9c44d5a85c52c7847911dc6b6a2d8b3742db8d035def1c2316145e5a5b6ff0e2b0c4632b91cb0b3843f0f33c8e8bdef95df07e9787365b30225340be6ab18c1e7211c3e2f98801c3968dd6c5230ed4ec299391a43f1394c9f5c185043d765ba178126bfbe986494c889cda772fcb0a4d05672101d02b0b4178deaa', false, '2026-11-24 18:37:29.793264+00');
INSERT INTO public.webhooks_v1 VALUES
	('a2bce4ef-ccff-46fa-9ce1-d957f2896902', 1, '[{"id":"463bcefe-7b5e-494a-b344-8725b40e6e59","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-24T18:37:29.226822Z"}]'),
	('cf92471e-7a59-4364-896a-e62ccf9488b8', 1, '[{"id":"26c3968b-5c97-4264-97fa-11998ebd31db","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-24T18:37:31.059982Z"}]');
INSERT INTO public.workers VALUES
	('vm/19323/dff4a1c7-27b6-4c90-a78b-feae98523ce3', '2026-11-24 18:37:29.510135+00', '{"absent": [], "webhook_allow": null}'),
	('vm/19324/2444cf14-0a8b-480d-9cdf-1d0bae66073d', '2026-11-24 18:37:29.525707+00', '{"absent": [], "webhook_allow": null}');
SELECT pg_catalog.setval('public.call_queue_seq_seq', 1, false);
SELECT pg_catalog.setval('public.comfyui_fences', 1, false);
SELECT pg_catalog.setval('public.events_position_seq', 98, true);
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
