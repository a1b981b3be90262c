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
CREATE TABLE public.comfyui_copies (
    target text NOT NULL,
    folder text NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL,
    state text NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    brought boolean DEFAULT false NOT NULL,
    problem text DEFAULT ''::text NOT NULL,
    holder text NOT NULL,
    until timestamp with time zone NOT NULL,
    since timestamp with time zone NOT NULL,
    used_at timestamp with time zone NOT NULL,
    CONSTRAINT comfyui_copies_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT comfyui_copies_state_check CHECK ((state = ANY (ARRAY['copying'::text, 'ready'::text, 'failed'::text])))
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
    models_folder text DEFAULT ''::text NOT NULL,
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
    pool text DEFAULT ''::text NOT NULL,
    labels text[] DEFAULT '{}'::text[] NOT NULL,
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
    operators boolean DEFAULT false NOT NULL,
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
CREATE TABLE public.people (
    id text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    role text DEFAULT ''::text NOT NULL,
    account text DEFAULT ''::text NOT NULL,
    signed_in_at timestamp with time zone
);
CREATE TABLE public.pools (
    name text NOT NULL,
    commands jsonb NOT NULL,
    state jsonb NOT NULL
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
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    person text NOT NULL,
    hash bytea NOT NULL,
    role text NOT NULL,
    account text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT sessions_hash_check CHECK ((length(hash) = 32))
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
CREATE TABLE public.uploads (
    account text NOT NULL,
    id uuid NOT NULL,
    size bigint NOT NULL,
    received bigint DEFAULT 0 NOT NULL,
    fields jsonb NOT NULL,
    pieces bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    made boolean DEFAULT false NOT NULL,
    expires_at timestamp with time zone NOT NULL
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
	('cee68bab-911a-4702-a057-ee666f84784b', 32, 19, 2),
	('cee68bab-911a-4702-a057-ee666f84784b', 27, 843, 2),
	('cee68bab-911a-4702-a057-ee666f84784b', 34, 741, 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 28, 23, 2),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 34, 453, 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 60, 279, 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 27, 542, 1);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-28 08:39:51.83458+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('cee68bab-911a-4702-a057-ee666f84784b', 'acme', 'standard', true, '2026-11-28 08:39:54.410989+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'umbrella', 'standard', true, '2026-11-28 08:39:57.504904+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('292b7772-91af-4c8f-b10e-e4cc7db94356', 'cee68bab-911a-4702-a057-ee666f84784b', '\xc4ae862ea62deb515bffcecec83c70df41d48894824e7cfd57f65665d753cb37', 'millrace-wee6vm', '{read,write}', '2026-11-28 08:39:54.637145+00', NULL, '2026-11-28 08:39:54.689244+00'),
	('58950718-cf58-421f-bc95-55cdc6527f58', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\xfb12dae428d9d26cc4f220faa83de1b38d839f10f3df33ef5b32508670079300', 'millrace-upeerf', '{read,write}', '2026-11-28 08:39:57.580532+00', NULL, '2026-11-28 08:39:57.604722+00');
INSERT INTO public.assets_v1 VALUES
	('8b2dd3c7-0997-4eb3-8879-fa97c599e522', 'cee68bab-911a-4702-a057-ee666f84784b', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"8b2dd3c7-0997-4eb3-8879-fa97c599e522","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"live","version":2,"position":7,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-28T08:39:54.971Z","verified_at":"2026-11-28T08:39:55.633503Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('5d42dfef-7fbf-5f38-8241-9534c7a31846', 'cee68bab-911a-4702-a057-ee666f84784b', 'live', 20, 20, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-29 08:39:55.802+00', '{"id":"5d42dfef-7fbf-5f38-8241-9534c7a31846","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"live","version":1,"position":20,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"a1da57e4-2817-485c-89e4-b9e5238a084d","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-28T08:39:55.826042Z","expires_at":"2027-01-29T08:39:55.802Z"}'),
	('f36a9aac-8b57-4cac-8075-21bf2e076296', 'cee68bab-911a-4702-a057-ee666f84784b', 'live', 33, 33, 2, 'calls/6702dc16-0cc8-4fe0-918c-5c3dc6d6338d/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-29 08:39:57.236+00', '{"id":"f36a9aac-8b57-4cac-8075-21bf2e076296","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"live","version":2,"position":37,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/6702dc16-0cc8-4fe0-918c-5c3dc6d6338d/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-28T08:39:57.236Z","expires_at":"2026-11-29T08:39:57.236Z","verified_at":"2026-11-28T08:39:57.300189Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('96e72147-1110-5793-8d71-d012f0a50bab', 'cee68bab-911a-4702-a057-ee666f84784b', 'live', 39, 39, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-29 08:39:57.349+00', '{"id":"96e72147-1110-5793-8d71-d012f0a50bab","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"57012828-b950-4774-abeb-1753a4ec5cf2","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-28T08:39:57.355254Z","expires_at":"2027-01-29T08:39:57.349Z"}'),
	('bfbcd9c8-b1a8-4340-90fd-13b720658725', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"bfbcd9c8-b1a8-4340-90fd-13b720658725","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"live","version":2,"position":60,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-28T08:39:57.646Z","verified_at":"2026-11-28T08:39:57.806549Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('e6b092d7-c995-541f-858c-375e03e1d5dd', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'live', 61, 61, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-29 08:39:57.797+00', '{"id":"e6b092d7-c995-541f-858c-375e03e1d5dd","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"live","version":1,"position":61,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"e3be5abf-d0e6-46d3-93a0-307d0437e9c8","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-28T08:39:57.831353Z","expires_at":"2027-01-29T08:39:57.797Z"}'),
	('7e932c0d-d8e1-43c5-a6f9-c0dce6119553', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'live', 74, 74, 2, 'calls/8f13c408-a620-4639-996d-420ea4f02150/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-29 08:39:59.074+00', '{"id":"7e932c0d-d8e1-43c5-a6f9-c0dce6119553","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"live","version":2,"position":81,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/8f13c408-a620-4639-996d-420ea4f02150/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-28T08:39:59.074Z","expires_at":"2026-11-29T08:39:59.074Z","verified_at":"2026-11-28T08:39:59.175333Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('667e6268-e521-5587-9d64-e1e5236882a8', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'live', 79, 79, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-29 08:39:59.159+00', '{"id":"667e6268-e521-5587-9d64-e1e5236882a8","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"live","version":1,"position":79,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"5e3995b6-8c5b-4277-95d1-966470ca1053","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-28T08:39:59.162487Z","expires_at":"2027-01-29T08:39:59.159Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'input', 1),
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', 3),
	('cee68bab-911a-4702-a057-ee666f84784b', '', 4),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'input', 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', 3),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'input', 4, '8b2dd3c7-0997-4eb3-8879-fa97c599e522'),
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', 20, '5d42dfef-7fbf-5f38-8241-9534c7a31846'),
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', 33, 'f36a9aac-8b57-4cac-8075-21bf2e076296'),
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', 39, '96e72147-1110-5793-8d71-d012f0a50bab'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'input', 45, 'bfbcd9c8-b1a8-4340-90fd-13b720658725'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', 61, 'e6b092d7-c995-541f-858c-375e03e1d5dd'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', 74, '7e932c0d-d8e1-43c5-a6f9-c0dce6119553'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', 79, '667e6268-e521-5587-9d64-e1e5236882a8');
INSERT INTO public.call_admissions VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 0, 0, 0, 0, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, 0, 0, 0, 0);
INSERT INTO public.call_blobs VALUES
	('61c56af4-af66-478c-aaae-1f7a37c9de81', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-29 08:39:55.672093+00'),
	('61c56af4-af66-478c-aaae-1f7a37c9de81', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-29 08:39:55.672093+00'),
	('6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-29 08:39:57.256105+00'),
	('6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', '\x86889f89ca7be0edc357718f76c5e17a6ea157c0ba0f03b966f51359c602dfd3', '2026-11-29 08:39:57.256105+00'),
	('19dc44b0-4589-4f14-8c8f-431449f42bbf', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-29 08:39:57.699108+00'),
	('19dc44b0-4589-4f14-8c8f-431449f42bbf', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-29 08:39:57.699108+00'),
	('8f13c408-a620-4639-996d-420ea4f02150', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-29 08:39:59.103517+00'),
	('8f13c408-a620-4639-996d-420ea4f02150', '\x94d29d2426448682a371a330231ee1349edd0ef09a04ef0d610360ea5df5407c', '2026-11-29 08:39:59.103517+00');
INSERT INTO public.call_keys VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'node:57012828-b950-4774-abeb-1753a4ec5cf2:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', '6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', '2026-11-29 08:39:55.98047+00', NULL),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'node:5e3995b6-8c5b-4277-95d1-966470ca1053:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', '8f13c408-a620-4639-996d-420ea4f02150', '2026-11-29 08:39:57.923301+00', NULL);
INSERT INTO public.call_workers VALUES
	('vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32', '2026-11-28 08:39:55.791862+00'),
	('vm/9762/8b5008bf-8162-484a-973b-77372f8e9141', '2026-11-28 08:39:59.265401+00');
INSERT INTO public.calls_v1 VALUES
	('61c56af4-af66-478c-aaae-1f7a37c9de81', 'cee68bab-911a-4702-a057-ee666f84784b', 'succeeded', 'sim/echo', 5, 5, '{"id":"61c56af4-af66-478c-aaae-1f7a37c9de81","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"succeeded","version":5,"position":10,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:30897","held_micros":0,"charged_micros":0,"run":1,"token":"0dc05e95-a4fd-4da2-8d41-ea3088df28ac","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-28T08:39:55.085915Z","admitted_at":"2026-11-28T08:39:55.08594Z","sent_at":"2026-11-28T08:39:55.655395Z","ended_at":"2026-11-28T08:39:55.676018Z","updated_at":"2026-11-28T08:39:55.676018Z"}'),
	('6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 'cee68bab-911a-4702-a057-ee666f84784b', 'succeeded', 'sim/image', 28, 7, '{"id":"6702dc16-0cc8-4fe0-918c-5c3dc6d6338d","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"succeeded","version":7,"position":35,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"06d64331-7609-4cc4-be51-13e06b5a5f52","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141","handle":"sim-eyJyIjoxNzk1ODU1MTk2MDY0LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:86889f89ca7be0edc357718f76c5e17a6ea157c0ba0f03b966f51359c602dfd3","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-28T08:39:55.9883Z","admitted_at":"2026-11-28T08:39:55.988324Z","sent_at":"2026-11-28T08:39:56.013385Z","ended_at":"2026-11-28T08:39:57.257678Z","updated_at":"2026-11-28T08:39:57.257678Z"}'),
	('19dc44b0-4589-4f14-8c8f-431449f42bbf', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'succeeded', 'sim/echo', 46, 5, '{"id":"19dc44b0-4589-4f14-8c8f-431449f42bbf","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"succeeded","version":5,"position":50,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:30897","held_micros":0,"charged_micros":0,"run":1,"token":"bca03839-876e-4853-930d-09bbb097bdf4","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-28T08:39:57.676774Z","admitted_at":"2026-11-28T08:39:57.676793Z","sent_at":"2026-11-28T08:39:57.696723Z","ended_at":"2026-11-28T08:39:57.700444Z","updated_at":"2026-11-28T08:39:57.700444Z"}'),
	('8f13c408-a620-4639-996d-420ea4f02150', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'succeeded', 'sim/image', 69, 7, '{"id":"8f13c408-a620-4639-996d-420ea4f02150","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"succeeded","version":7,"position":76,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"91d3364f-9ef8-4e54-88f6-a34c7c41b245","worker":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32","handle":"sim-eyJyIjoxNzk1ODU1MTk4MDEwLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:94d29d2426448682a371a330231ee1349edd0ef09a04ef0d610360ea5df5407c","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-28T08:39:57.925Z","admitted_at":"2026-11-28T08:39:57.925022Z","sent_at":"2026-11-28T08:39:57.951728Z","ended_at":"2026-11-28T08:39:59.111374Z","updated_at":"2026-11-28T08:39:59.111374Z"}');
INSERT INTO public.checkpoints VALUES
	('usage_v1', 86, '2026-11-28 08:39:59.332044+00'),
	('server_usage_v1', 86, '2026-11-28 08:39:59.38445+00'),
	('stats_v1', 86, '2026-11-28 08:39:59.390942+00'),
	('assets_v1', 86, '2026-11-28 08:39:59.483179+00'),
	('webhooks_outgoing', 86, '2026-11-28 08:39:59.483765+00'),
	('webhooks_v1', 86, '2026-11-28 08:39:59.484658+00'),
	('history_v1', 86, '2026-11-28 08:39:59.484762+00'),
	('calls_v1', 86, '2026-11-28 08:39:59.485106+00'),
	('jobs_v1', 95, '2026-11-28 08:39:59.556358+00'),
	('job_index_v1', 97, '2026-11-28 08:39:59.588511+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-cee68bab-911a-4702-a057-ee666f84784b', 1, '62c7bf0f-8ff7-4748-8270-1da2f617f065', 'account.created.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-28 08:39:54.438048+00'),
	(2, 'account-cee68bab-911a-4702-a057-ee666f84784b', 2, '47135071-7aa7-491a-995e-ccf4e4ad7849', 'account.key_issued.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"key":"292b7772-91af-4c8f-b10e-e4cc7db94356","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-28 08:39:54.654592+00'),
	(3, 'webhooks-cee68bab-911a-4702-a057-ee666f84784b', 1, '5ce14fe9-5e22-4207-b9f9-abf304d065b4', 'webhook.registered.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"webhook":"5bdac64d-d7de-4633-bbd2-5c8132bd1de1","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"bb76052c-90be-4501-a845-f8b55d0d39db"}', '2026-11-28 08:39:54.91031+00'),
	(4, 'asset-8b2dd3c7-0997-4eb3-8879-fa97c599e522', 1, '3da2ddbf-4ded-4661-9424-200244095118', 'asset.created.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-28T08:39:54.971Z"}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"7e83dcfc-fa64-4777-86a7-3ff72fcd7d3b"}', '2026-11-28 08:39:55.014233+00'),
	(5, 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 1, '49753bd8-8e8d-402c-97a9-c7b5b630c5bb', 'call.accepted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"f8110153ce0686352c2f10f827bb264ac995c0b4338dcf065a564d14e343bae5","base":"http://127.0.0.1:30897","fallback":"runware"}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"61c56af4-af66-478c-aaae-1f7a37c9de81"}', '2026-11-28 08:39:55.085915+00'),
	(6, 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 2, '5429a643-be61-58ac-a065-ef94d0005e9e', 'call.admitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"61c56af4-af66-478c-aaae-1f7a37c9de81"}', '2026-11-28 08:39:55.08594+00'),
	(7, 'asset-8b2dd3c7-0997-4eb3-8879-fa97c599e522', 2, '17444582-fc57-5a3c-a6c0-aa56a4464513', 'asset.verified.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-28 08:39:55.633503+00'),
	(8, 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 3, '2914bcea-b39b-5ecd-8744-b5235140883b', 'call.dispatching.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"token":"0dc05e95-a4fd-4da2-8d41-ea3088df28ac","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:55.655395+00'),
	(9, 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 4, '8aed5f06-d972-5641-860a-ffd2cfd1a9c5', 'call.answered.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:55.675988+00'),
	(10, 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 5, '26f8d0ce-39f1-517d-90db-6b33421cf34a', 'call.succeeded.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:55.676018+00'),
	(11, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 1, '1c85d19e-dc1b-43b5-a081-94daef56f3f4', 'job.submitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795855195698}}"},"targets":["3"],"nodes_total":3}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"8ad42034-11bc-477c-b317-0214e77edfb7"}', '2026-11-28 08:39:55.707494+00'),
	(12, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 2, 'd63b46a9-a6aa-5282-b663-791a994b6ebc', 'job.admitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"8ad42034-11bc-477c-b317-0214e77edfb7"}', '2026-11-28 08:39:55.71988+00'),
	(13, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 3, 'd6eb9520-3b67-51bc-9b30-deb9d8342390', 'job.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes_total":3,"worker":"vm/9762","execution":"01a2214f-9e4e-7506-a0d8-1410c6814660"}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786614+00'),
	(14, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 4, '72eb8d92-b143-5d4a-8b65-fee6f359d288', 'job.nodes_cached.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes":null}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786637+00'),
	(15, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 5, '4ac40218-beef-51ff-b185-a306dabc1ac2', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786641+00'),
	(16, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 6, 'd9f32191-9a90-52a3-b226-b3df372f0eb2', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786644+00'),
	(17, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 7, 'fe3f63f5-934c-5054-ae79-caab764a1533', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786647+00'),
	(18, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 8, 'f067f4df-d7f4-5bc0-8cd5-b292256dc9e1', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786656+00'),
	(19, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 9, '1285fda4-2cca-5a89-8456-94dd00fa17d7', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.786659+00'),
	(20, 'asset-5d42dfef-7fbf-5f38-8241-9534c7a31846', 1, '02fb1004-d2df-597c-8e6f-a8efb004af54', 'asset.created.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"a1da57e4-2817-485c-89e4-b9e5238a084d","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-29T08:39:55.802Z"}', '{"actor":"job a1da57e4-2817-485c-89e4-b9e5238a084d"}', '2026-11-28 08:39:55.826042+00'),
	(21, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 10, 'a0e27e02-9980-5685-8983-9f667b9abd7b', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"5d42dfef-7fbf-5f38-8241-9534c7a31846","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:55.816258Z"}],"millis":50}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.86245+00'),
	(22, 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 11, 'f390afd3-67ad-5d47-b4a3-8b60ce1b7f94', 'job.succeeded.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.862485+00'),
	(23, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 1, 'ffad7cd0-0989-4b6e-84f3-39c5d5d11156', 'job.submitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795855195882}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"55c03371-50bb-4f96-8334-c8965271d658"}', '2026-11-28 08:39:55.886087+00'),
	(24, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 2, 'c8338b8a-b8f9-58ef-96ee-9cb6855d5eef', 'job.admitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"55c03371-50bb-4f96-8334-c8965271d658"}', '2026-11-28 08:39:55.886271+00'),
	(44, 'webhooks-703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '1dcc8bdc-f3cc-46d7-9307-2602b39cd6b7', 'webhook.registered.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"webhook":"4d58863b-6081-41fb-ad2c-896cea651401","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"a7d156f5-799b-4348-8f7a-5877966ea75a"}', '2026-11-28 08:39:57.64104+00'),
	(45, 'asset-bfbcd9c8-b1a8-4340-90fd-13b720658725', 1, 'd7f9721e-e53a-4f2b-aef0-7fb54bd6ce7c', 'asset.created.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-28T08:39:57.646Z"}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"17955bb2-7c64-4cdb-8ecd-adf53a811ce1"}', '2026-11-28 08:39:57.657807+00'),
	(46, 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 1, '67c059d3-b00e-4102-8992-3766354b2d79', 'call.accepted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"f8110153ce0686352c2f10f827bb264ac995c0b4338dcf065a564d14e343bae5","base":"http://127.0.0.1:30897","fallback":"runware"}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"19dc44b0-4589-4f14-8c8f-431449f42bbf"}', '2026-11-28 08:39:57.676774+00'),
	(47, 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 2, 'e71f4e7c-76d0-5f5b-a6f7-0e7356e58c30', 'call.admitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"19dc44b0-4589-4f14-8c8f-431449f42bbf"}', '2026-11-28 08:39:57.676793+00'),
	(51, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 1, 'b2edb7b1-fb95-4af7-92b2-2feace2e0e79', 'job.submitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795855197738}}"},"targets":["3"],"nodes_total":3}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"71cd27be-d8d1-4ddf-a822-04fd59712af2"}', '2026-11-28 08:39:57.739988+00'),
	(52, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 2, 'b8c36cef-131a-56a4-8bc7-f71005d126bb', 'job.admitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"71cd27be-d8d1-4ddf-a822-04fd59712af2"}', '2026-11-28 08:39:57.740044+00'),
	(25, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 3, '3c93cd4f-17f1-58e8-9d4a-8336805af7ee', 'job.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes_total":2,"worker":"vm/9762","execution":"01a2214f-9ef1-7bb8-b4da-c8a2e69ce472"}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.916304+00'),
	(26, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 4, 'f747ec2f-7295-5786-a09d-535960550989', 'job.nodes_cached.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes":null}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.916385+00'),
	(27, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 5, '71acb80f-7def-59ab-b3ee-fba70eca0423', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:55.974225+00'),
	(28, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 1, 'ad224337-eaa7-4420-9bac-97231eb13db1', 'call.accepted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"f8110153ce0686352c2f10f827bb264ac995c0b4338dcf065a564d14e343bae5","base":"http://127.0.0.1:8188"}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"6702dc16-0cc8-4fe0-918c-5c3dc6d6338d"}', '2026-11-28 08:39:55.9883+00'),
	(29, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 2, '33f35d07-eacc-57c2-a737-9148cda73231', 'call.admitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"6702dc16-0cc8-4fe0-918c-5c3dc6d6338d"}', '2026-11-28 08:39:55.988324+00'),
	(30, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 3, '03bdc8c9-dd5c-5227-ac7f-569952a21ad4', 'call.dispatching.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"token":"06d64331-7609-4cc4-be51-13e06b5a5f52","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:56.013385+00'),
	(31, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 4, '19da1d27-e38c-5c14-a0b7-ec4634d5cf00', 'call.provider_accepted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"handle":"sim-eyJyIjoxNzk1ODU1MTk2MDY0LCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:56.0163+00'),
	(32, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 5, '7e3c30e6-915e-593e-8a6b-bc8329498339', 'call.answered.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"answer":{"ref":"blake3:bac842e271883247d0427a25dc08e1e833f42026852375ede39cb0b11500d975","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.138745+00'),
	(33, 'asset-f36a9aac-8b57-4cac-8075-21bf2e076296', 1, 'e2c399a8-6835-4564-bfa3-20b002aaf807', 'asset.created.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/6702dc16-0cc8-4fe0-918c-5c3dc6d6338d/0-b008fe36.png","created_at":"2026-11-28T08:39:57.236Z","expires_at":"2026-11-29T08:39:57.236Z"}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"6702dc16-0cc8-4fe0-918c-5c3dc6d6338d"}', '2026-11-28 08:39:57.239752+00'),
	(34, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 6, '390f2711-7f5f-59da-8da7-30db3757cb3d', 'call.hosted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"assets":[{"pointer":"/result/url","asset":"f36a9aac-8b57-4cac-8075-21bf2e076296","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:86889f89ca7be0edc357718f76c5e17a6ea157c0ba0f03b966f51359c602dfd3","size":355,"content_type":"application/json"}}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.257502+00'),
	(35, 'call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 7, 'b6cbcccd-c71a-549f-b618-3e147f621c94', 'call.succeeded.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"model":"sim/image","answer":{"ref":"blake3:86889f89ca7be0edc357718f76c5e17a6ea157c0ba0f03b966f51359c602dfd3","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.257678+00'),
	(36, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 6, '0838456c-8573-5561-bbb4-9d3fd2bf011f', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1311,"waited_millis":65}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.289017+00'),
	(37, 'asset-f36a9aac-8b57-4cac-8075-21bf2e076296', 2, 'a3a3deb2-31c9-57e7-afa7-26f85fd6e323', 'asset.verified.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-28 08:39:57.300189+00'),
	(38, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 7, 'ab03ac78-4e4c-5ae4-8b7d-0821cc699cbd', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.343115+00'),
	(39, 'asset-96e72147-1110-5793-8d71-d012f0a50bab', 1, 'ad3ff010-92d0-5cc9-96e7-4649332f37e2', 'asset.created.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"57012828-b950-4774-abeb-1753a4ec5cf2","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-29T08:39:57.349Z"}', '{"actor":"job 57012828-b950-4774-abeb-1753a4ec5cf2"}', '2026-11-28 08:39:57.355254+00'),
	(40, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 8, '8d7f0a46-10db-51f4-9dbc-d0fd836cc5d8', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"96e72147-1110-5793-8d71-d012f0a50bab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.352436Z"}],"millis":7}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.360801+00'),
	(41, 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 9, '9065ac1e-bee9-5827-bc2e-c44254b690fd', 'job.succeeded.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.398185+00'),
	(42, 'account-703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '31e61a7d-be5c-4d0b-b81d-68280efbc233', 'account.created.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-28 08:39:57.517412+00'),
	(43, 'account-703554a8-411c-451e-b93c-fd3dce5a64e9', 2, '6629668f-dcc2-450e-806f-26405fd89dc5', 'account.key_issued.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"key":"58950718-cf58-421f-bc95-55cdc6527f58","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-28 08:39:57.593027+00'),
	(48, 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 3, 'a8b2b82d-fac7-5132-8167-c9ec86b25272', 'call.dispatching.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"token":"bca03839-876e-4853-930d-09bbb097bdf4","worker":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.696723+00'),
	(49, 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 4, 'e113c9b4-0854-5a32-b494-5c3c6bc5d953', 'call.answered.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.700416+00'),
	(50, 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 5, 'a992eb06-1c1a-52f5-9359-64e63645f00f', 'call.succeeded.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/9762/8b5008bf-8162-484a-973b-77372f8e9141"}', '2026-11-28 08:39:57.700444+00'),
	(53, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 3, '3727f8e4-66f7-556b-955a-eb176c417e98', 'job.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes_total":3,"worker":"vm/9762","execution":"01a2214f-a634-7c23-92f4-c2a8b606265b"}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779614+00'),
	(54, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 4, 'b23caef0-1fd9-54a9-b624-7ec36b0131d6', 'job.nodes_cached.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes":null}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779644+00'),
	(55, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 5, '6438667b-0d5e-5852-b04d-3ef383cbefb5', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779649+00'),
	(56, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 6, '6f5923a5-2ca9-5aae-9c2f-0c6a0b179c79', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779653+00'),
	(57, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 7, 'cbd8e6fd-c5ad-5e4f-a810-ce167277ec32', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779656+00'),
	(58, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 8, '6ec563b4-02f9-52db-bed7-4327be4b0126', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779658+00'),
	(59, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 9, '47b7e1fd-2728-5aeb-bd00-fd54d9f33973', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.779661+00'),
	(61, 'asset-e6b092d7-c995-541f-858c-375e03e1d5dd', 1, '115f427b-1612-50e8-b3f6-ae7bda36a2e0', 'asset.created.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"e3be5abf-d0e6-46d3-93a0-307d0437e9c8","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-29T08:39:57.797Z"}', '{"actor":"job e3be5abf-d0e6-46d3-93a0-307d0437e9c8"}', '2026-11-28 08:39:57.831353+00'),
	(62, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 10, 'ebb01fd5-e5e6-5e4c-9758-52b9eb722067', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e6b092d7-c995-541f-858c-375e03e1d5dd","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.80419Z"}],"millis":35}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.835763+00'),
	(63, 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 11, 'ecb3813d-3df7-5f05-b0f1-48c5425362dc', 'job.succeeded.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.835787+00'),
	(68, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 5, 'e9b6c7f0-794a-5bce-8e96-4582a394364b', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.91308+00'),
	(69, 'call-8f13c408-a620-4639-996d-420ea4f02150', 1, '554a0c58-e6ac-4f28-967c-67d1f9fec40f', 'call.accepted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"f8110153ce0686352c2f10f827bb264ac995c0b4338dcf065a564d14e343bae5","base":"http://127.0.0.1:8188"}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"8f13c408-a620-4639-996d-420ea4f02150"}', '2026-11-28 08:39:57.925+00'),
	(70, 'call-8f13c408-a620-4639-996d-420ea4f02150', 2, 'b294ed7f-f7bb-5630-b029-cb2ed6bca0ea', 'call.admitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"8f13c408-a620-4639-996d-420ea4f02150"}', '2026-11-28 08:39:57.925022+00'),
	(60, 'asset-bfbcd9c8-b1a8-4340-90fd-13b720658725', 2, 'c353cf80-a2fd-5b1d-a4da-dda12e837ddf', 'asset.verified.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-28 08:39:57.806549+00'),
	(66, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 3, '52d84303-bd58-5888-b83e-e1f160707f69', 'job.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes_total":2,"worker":"vm/9762","execution":"01a2214f-a6b7-7705-9fe0-bb056c073ad9"}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.898258+00'),
	(67, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 4, '2014de2a-dc06-5629-b00a-16c10391ac89', 'job.nodes_cached.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes":null}', '{"actor":"vm/9762"}', '2026-11-28 08:39:57.898282+00'),
	(77, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 6, 'cf9be4b9-5123-5c92-8653-297970291d87', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1199,"waited_millis":34}', '{"actor":"vm/9762"}', '2026-11-28 08:39:59.115141+00'),
	(78, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 7, '7c3d7de7-86b8-5b32-88e7-90fe44972a8b', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/9762"}', '2026-11-28 08:39:59.150508+00'),
	(79, 'asset-667e6268-e521-5587-9d64-e1e5236882a8', 1, 'f1d3af7e-37ee-55e0-8d62-a5a6a306513e', 'asset.created.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"5e3995b6-8c5b-4277-95d1-966470ca1053","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-29T08:39:59.159Z"}', '{"actor":"job 5e3995b6-8c5b-4277-95d1-966470ca1053"}', '2026-11-28 08:39:59.162487+00'),
	(80, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 8, '45fe744f-cc00-5069-8ebc-34903ad3b792', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"667e6268-e521-5587-9d64-e1e5236882a8","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:59.160816Z"}],"millis":6}', '{"actor":"vm/9762"}', '2026-11-28 08:39:59.167621+00'),
	(64, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 1, '30de1cc8-08a6-4ac7-9221-527dbeeeb45e', 'job.submitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795855197868}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"8b318f8e-7072-497b-9873-80a397400022"}', '2026-11-28 08:39:57.874026+00'),
	(65, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 2, 'fe6ff8b4-b086-527b-a7b8-4c53114d20ab', 'job.admitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"8b318f8e-7072-497b-9873-80a397400022"}', '2026-11-28 08:39:57.874468+00'),
	(71, 'call-8f13c408-a620-4639-996d-420ea4f02150', 3, 'a497b23d-c847-55e3-a288-2d765366a16c', 'call.dispatching.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"token":"91d3364f-9ef8-4e54-88f6-a34c7c41b245","worker":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '{"actor":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '2026-11-28 08:39:57.951728+00'),
	(72, 'call-8f13c408-a620-4639-996d-420ea4f02150', 4, '85eeb264-a020-54d6-9b5e-fe93c5219550', 'call.provider_accepted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"handle":"sim-eyJyIjoxNzk1ODU1MTk4MDEwLCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '2026-11-28 08:39:57.964606+00'),
	(73, 'call-8f13c408-a620-4639-996d-420ea4f02150', 5, 'a9f0d7d2-fae7-546f-beb2-d48aa481239d', 'call.answered.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"answer":{"ref":"blake3:99738edcb33be501fdf9d33afafcd24eeb7dc4cc6b8079bc778296bec69a10f0","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '2026-11-28 08:39:59.058276+00'),
	(74, 'asset-7e932c0d-d8e1-43c5-a6f9-c0dce6119553', 1, '967ca757-5774-4bbc-a823-56b637f4671c', 'asset.created.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/8f13c408-a620-4639-996d-420ea4f02150/0-f1b14e28.png","created_at":"2026-11-28T08:39:59.074Z","expires_at":"2026-11-29T08:39:59.074Z"}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"8f13c408-a620-4639-996d-420ea4f02150"}', '2026-11-28 08:39:59.0902+00'),
	(75, 'call-8f13c408-a620-4639-996d-420ea4f02150', 6, 'ee512838-41ed-5c6d-962f-cdcaf1d4649e', 'call.hosted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"assets":[{"pointer":"/result/url","asset":"7e932c0d-d8e1-43c5-a6f9-c0dce6119553","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:94d29d2426448682a371a330231ee1349edd0ef09a04ef0d610360ea5df5407c","size":355,"content_type":"application/json"}}', '{"actor":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '2026-11-28 08:39:59.111345+00'),
	(76, 'call-8f13c408-a620-4639-996d-420ea4f02150', 7, '1bdead5c-0b08-5c60-bf0e-bb3b0f0e93f6', 'call.succeeded.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"model":"sim/image","answer":{"ref":"blake3:94d29d2426448682a371a330231ee1349edd0ef09a04ef0d610360ea5df5407c","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32"}', '2026-11-28 08:39:59.111374+00'),
	(81, 'asset-7e932c0d-d8e1-43c5-a6f9-c0dce6119553', 2, '1965543a-0975-55e5-911b-e9d382daffcf', 'asset.verified.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-28 08:39:59.175333+00'),
	(82, 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 9, '07ad13b2-8bd9-51a8-964c-b7458eb0330c', 'job.succeeded.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.1852+00'),
	(83, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 1, '6dca0030-0742-4c50-926e-9464f195aea7', 'job.submitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795855199230}}"},"targets":["6"],"nodes_total":6}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"197f9d50-e355-437b-9591-d9b7f3b888e8"}', '2026-11-28 08:39:59.232355+00'),
	(84, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 2, '5c91c3e8-171c-5825-8c58-208f89e939f8', 'job.admitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"197f9d50-e355-437b-9591-d9b7f3b888e8"}', '2026-11-28 08:39:59.232442+00'),
	(85, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 1, '6a3eedd0-ef33-43bf-9eb8-c24dcc69312d', 'job.submitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795855199240}}"},"targets":["6"],"nodes_total":6}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"ee40068a-1170-4a53-a89b-cffef5561629"}', '2026-11-28 08:39:59.241696+00'),
	(86, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 2, '4915ce12-8721-5111-952c-d5e22061d305', 'job.admitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"ee40068a-1170-4a53-a89b-cffef5561629"}', '2026-11-28 08:39:59.24174+00'),
	(87, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 3, '2a4d3854-9618-5a2a-bace-0584044a7a8b', 'job.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes_total":6,"worker":"vm/9761","execution":"01a2214f-ac16-76e5-a15a-18991f208b79"}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.472721+00'),
	(88, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 4, '52c1bb28-cc3e-572a-95b2-3670d8428e7c', 'job.nodes_cached.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"nodes":null}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.472752+00'),
	(89, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 5, '633675aa-ec8b-5820-ac0b-d8fa5bfcc918', 'node.started.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.472756+00'),
	(90, 'job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', 6, '10473fa9-222a-57c6-a675-6a2c33ff15c2', 'node.executed.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"run":1,"node":"1","class":"EmptyImage","millis":11}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.47276+00'),
	(91, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 3, 'f2b7939d-407a-5ccd-90a1-fceadb03508e', 'job.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes_total":6,"worker":"vm/9761","execution":"01a2214f-ac03-7950-94e9-c75cada36ba9"}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.500349+00'),
	(92, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 4, '6752df11-4a5e-5717-9060-2566d6e3cde0', 'job.nodes_cached.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"nodes":null}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.500432+00'),
	(93, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 5, 'c57bcef7-71a4-55ca-9d12-4fa2cf385b03', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.500438+00'),
	(94, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 6, 'c91514c3-8136-579d-8d75-83728db6642a', 'node.executed.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"1","class":"EmptyImage","millis":7}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.500443+00'),
	(95, 'job-f2420d17-a984-4107-ac6d-64e731c81400', 7, '545af39f-23ea-5fb2-9be0-c21ca3861689', 'node.started.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/9761"}', '2026-11-28 08:39:59.518812+00'),
	(96, 'job-964a57be-ad6a-4553-9f0b-1d06ce230c57', 1, '4e0fce8d-36ba-4b34-8681-5e0e81564a19', 'job.submitted.v1', 'cee68bab-911a-4702-a057-ee666f84784b', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795855199564}}"},"targets":["3"],"nodes_total":3}', '{"actor":"cee68bab-911a-4702-a057-ee666f84784b","request_id":"b151f25f-0f2b-4fc7-a0e8-c7ca5e7e08d9"}', '2026-11-28 08:39:59.56655+00'),
	(97, 'job-822a40bf-8775-4bab-bf8c-dddb797e17e1', 1, 'e35ce056-e5e4-4e74-a548-d767c1e466c6', 'job.submitted.v1', '703554a8-411c-451e-b93c-fd3dce5a64e9', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795855199567}}"},"targets":["3"],"nodes_total":3}', '{"actor":"703554a8-411c-451e-b93c-fd3dce5a64e9","request_id":"4b2b6b19-55d4-4595-b478-de62c3248a89"}', '2026-11-28 08:39:59.568875+00');
INSERT INTO public.file_counters VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', '', 'done-acme', 1),
	('cee68bab-911a-4702-a057-ee666f84784b', 'output', '', 'painted', 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', '', 'done-umbrella', 1),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'output', '', 'painted', 1);
INSERT INTO public.files VALUES
	('8b2dd3c7-0997-4eb3-8879-fa97c599e522', 'cee68bab-911a-4702-a057-ee666f84784b', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-28 08:39:55.001973+00', NULL, NULL, NULL, false),
	('5d42dfef-7fbf-5f38-8241-9534c7a31846', 'cee68bab-911a-4702-a057-ee666f84784b', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, 'a1da57e4-2817-485c-89e4-b9e5238a084d', 1, '3', 0, false, '2026-11-28 08:39:55.816258+00', '2027-01-29 08:39:55.802+00', NULL, NULL, false),
	('f36a9aac-8b57-4cac-8075-21bf2e076296', 'cee68bab-911a-4702-a057-ee666f84784b', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/6702dc16-0cc8-4fe0-918c-5c3dc6d6338d/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-28 08:39:57.238726+00', '2026-11-29 08:39:57.236+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL, false),
	('96e72147-1110-5793-8d71-d012f0a50bab', 'cee68bab-911a-4702-a057-ee666f84784b', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '57012828-b950-4774-abeb-1753a4ec5cf2', 1, '2', 0, false, '2026-11-28 08:39:57.352436+00', '2027-01-29 08:39:57.349+00', NULL, NULL, false),
	('bfbcd9c8-b1a8-4340-90fd-13b720658725', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-28 08:39:57.64862+00', NULL, NULL, NULL, false),
	('e6b092d7-c995-541f-858c-375e03e1d5dd', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, 'e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 1, '3', 0, false, '2026-11-28 08:39:57.80419+00', '2027-01-29 08:39:57.797+00', NULL, NULL, false),
	('7e932c0d-d8e1-43c5-a6f9-c0dce6119553', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/8f13c408-a620-4639-996d-420ea4f02150/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-28 08:39:59.080292+00', '2026-11-29 08:39:59.074+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL, false),
	('667e6268-e521-5587-9d64-e1e5236882a8', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '5e3995b6-8c5b-4277-95d1-966470ca1053', 1, '2', 0, false, '2026-11-28 08:39:59.160816+00', '2027-01-29 08:39:59.159+00', NULL, NULL, false);
INSERT INTO public.job_admissions VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 3, 1, 1, 0, 'open'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 3, 1, 1, 0, 'open');
INSERT INTO public.job_index_v1 VALUES
	('a1da57e4-2817-485c-89e4-b9e5238a084d', 'cee68bab-911a-4702-a057-ee666f84784b', 11, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('57012828-b950-4774-abeb-1753a4ec5cf2', 'cee68bab-911a-4702-a057-ee666f84784b', 23, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('e3be5abf-d0e6-46d3-93a0-307d0437e9c8', '703554a8-411c-451e-b93c-fd3dce5a64e9', 51, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('5e3995b6-8c5b-4277-95d1-966470ca1053', '703554a8-411c-451e-b93c-fd3dce5a64e9', 64, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('f2420d17-a984-4107-ac6d-64e731c81400', 'cee68bab-911a-4702-a057-ee666f84784b', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8'),
	('f8db90a2-dfee-48c1-a5c2-6b3108f10173', '703554a8-411c-451e-b93c-fd3dce5a64e9', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11'),
	('964a57be-ad6a-4553-9f0b-1d06ce230c57', 'cee68bab-911a-4702-a057-ee666f84784b', 96, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''waiting'':5 ''waiting-acme'':4'),
	('822a40bf-8775-4bab-bf8c-dddb797e17e1', '703554a8-411c-451e-b93c-fd3dce5a64e9', 97, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6 ''waiting'':5 ''waiting-umbrella'':4');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('964a57be-ad6a-4553-9f0b-1d06ce230c57', 'cee68bab-911a-4702-a057-ee666f84784b', 3, 1),
	('822a40bf-8775-4bab-bf8c-dddb797e17e1', '703554a8-411c-451e-b93c-fd3dce5a64e9', 3, 2);
INSERT INTO public.job_slots VALUES
	('f2420d17-a984-4107-ac6d-64e731c81400', 'cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:39:59.231068+00', NULL, NULL),
	('f8db90a2-dfee-48c1-a5c2-6b3108f10173', '703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:39:59.240782+00', NULL, NULL);
INSERT INTO public.jobs_v1 VALUES
	('a1da57e4-2817-485c-89e4-b9e5238a084d', 'cee68bab-911a-4702-a057-ee666f84784b', 'succeeded', 0, 11, 11, '2026-11-28 08:39:55.707494+00', '{}', '{"id":"a1da57e4-2817-485c-89e4-b9e5238a084d","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"succeeded","version":11,"position":22,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a2214f-9e4e-7506-a0d8-1410c6814660","submitted_at":"2026-11-28T08:39:55.707494Z","admitted_at":"2026-11-28T08:39:55.71988Z","started_at":"2026-11-28T08:39:55.786614Z","ended_at":"2026-11-28T08:39:55.862485Z","updated_at":"2026-11-28T08:39:55.862485Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"5d42dfef-7fbf-5f38-8241-9534c7a31846","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:55.816258Z"}]}]}', NULL),
	('e3be5abf-d0e6-46d3-93a0-307d0437e9c8', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'succeeded', 0, 51, 11, '2026-11-28 08:39:57.739988+00', '{}', '{"id":"e3be5abf-d0e6-46d3-93a0-307d0437e9c8","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"succeeded","version":11,"position":63,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a2214f-a634-7c23-92f4-c2a8b606265b","submitted_at":"2026-11-28T08:39:57.739988Z","admitted_at":"2026-11-28T08:39:57.740044Z","started_at":"2026-11-28T08:39:57.779614Z","ended_at":"2026-11-28T08:39:57.835787Z","updated_at":"2026-11-28T08:39:57.835787Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e6b092d7-c995-541f-858c-375e03e1d5dd","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.80419Z"}]}]}', NULL),
	('5e3995b6-8c5b-4277-95d1-966470ca1053', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'succeeded', 1, 64, 9, '2026-11-28 08:39:57.874026+00', '{}', '{"id":"5e3995b6-8c5b-4277-95d1-966470ca1053","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a2214f-a6b7-7705-9fe0-bb056c073ad9","submitted_at":"2026-11-28T08:39:57.874026Z","admitted_at":"2026-11-28T08:39:57.874468Z","started_at":"2026-11-28T08:39:57.898258Z","ended_at":"2026-11-28T08:39:59.1852Z","updated_at":"2026-11-28T08:39:59.1852Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"667e6268-e521-5587-9d64-e1e5236882a8","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:59.160816Z"}]}]}', NULL),
	('57012828-b950-4774-abeb-1753a4ec5cf2', 'cee68bab-911a-4702-a057-ee666f84784b', 'succeeded', 1, 23, 9, '2026-11-28 08:39:55.886087+00', '{}', '{"id":"57012828-b950-4774-abeb-1753a4ec5cf2","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"succeeded","version":9,"position":41,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a2214f-9ef1-7bb8-b4da-c8a2e69ce472","submitted_at":"2026-11-28T08:39:55.886087Z","admitted_at":"2026-11-28T08:39:55.886271Z","started_at":"2026-11-28T08:39:55.916304Z","ended_at":"2026-11-28T08:39:57.398185Z","updated_at":"2026-11-28T08:39:57.398185Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"96e72147-1110-5793-8d71-d012f0a50bab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.352436Z"}]}]}', NULL),
	('f8db90a2-dfee-48c1-a5c2-6b3108f10173', '703554a8-411c-451e-b93c-fd3dce5a64e9', 'running', 2, 85, 6, '2026-11-28 08:39:59.241696+00', '{}', '{"id":"f8db90a2-dfee-48c1-a5c2-6b3108f10173","account":"703554a8-411c-451e-b93c-fd3dce5a64e9","state":"running","version":6,"position":90,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a2214f-ac16-76e5-a15a-18991f208b79","submitted_at":"2026-11-28T08:39:59.241696Z","admitted_at":"2026-11-28T08:39:59.24174Z","started_at":"2026-11-28T08:39:59.472721Z","updated_at":"2026-11-28T08:39:59.47276Z","nodes_done":1,"executed":["1"]}', NULL),
	('f2420d17-a984-4107-ac6d-64e731c81400', 'cee68bab-911a-4702-a057-ee666f84784b', 'running', 2, 83, 7, '2026-11-28 08:39:59.232355+00', '{}', '{"id":"f2420d17-a984-4107-ac6d-64e731c81400","account":"cee68bab-911a-4702-a057-ee666f84784b","state":"running","version":7,"position":95,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a2214f-ac03-7950-94e9-c75cada36ba9","submitted_at":"2026-11-28T08:39:59.232355Z","admitted_at":"2026-11-28T08:39:59.232442Z","started_at":"2026-11-28T08:39:59.500349Z","updated_at":"2026-11-28T08:39:59.518812Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}', NULL);
INSERT INTO public.node_cache VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', '\x7e2206b061cedb93d0bd9b4b9cab0457c01299d66efd6cdb214e849456561fc6', '{"class":"SaveImage","job":"a1da57e4-2817-485c-89e4-b9e5238a084d","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"5d42dfef-7fbf-5f38-8241-9534c7a31846","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:55.816258Z"}],"values":["cached:blake3:f4f956fbfe33b72319449b80af5783a9cb72ddfc9769162f4fd1e0f01f64388a"]}', '{5d42dfef-7fbf-5f38-8241-9534c7a31846}', 49722, '2026-11-28 08:39:55.853541+00', '2026-11-28 08:39:55.853541+00'),
	('cee68bab-911a-4702-a057-ee666f84784b', '\xcf3bb3c260a1294935c6419cffe1a2d3b9d88e698215970fe1fee94ca31d8aca', '{"class":"Partner_sim_image","job":"57012828-b950-4774-abeb-1753a4ec5cf2","values":["cached:blake3:4b2bc26d7c6f0d28ce28cbecfb1cefa633a6af1eec6d33b2ab805e874c806125"]}', '{}', 12495, '2026-11-28 08:39:57.288535+00', '2026-11-28 08:39:57.288535+00'),
	('cee68bab-911a-4702-a057-ee666f84784b', '\x83267269721a2b679cfa1c4b387fa4cfa4908745d52960696788d246d540d881', '{"class":"SaveImage","job":"57012828-b950-4774-abeb-1753a4ec5cf2","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"96e72147-1110-5793-8d71-d012f0a50bab","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.352436Z"}]}', '{96e72147-1110-5793-8d71-d012f0a50bab}', 433, '2026-11-28 08:39:57.359244+00', '2026-11-28 08:39:57.359244+00'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', '\xe6b09f5c39f2d9c49c4e0a19bce0d384a78087c57bdbad4a366f588dee5dd31a', '{"class":"SaveImage","job":"e3be5abf-d0e6-46d3-93a0-307d0437e9c8","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"e6b092d7-c995-541f-858c-375e03e1d5dd","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:57.80419Z"}]}', '{e6b092d7-c995-541f-858c-375e03e1d5dd}', 444, '2026-11-28 08:39:57.833895+00', '2026-11-28 08:39:57.833895+00'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', '\x9b3251dbc351bb0622b0fc63c67580ed366ccf392b85c6a707edad56a4da73f6', '{"class":"Partner_sim_image","job":"5e3995b6-8c5b-4277-95d1-966470ca1053","values":["cached:blake3:8397c406a43126447cfddf8bc540d2986f08b0d85a4112fa86799c4a211101a7"]}', '{}', 12495, '2026-11-28 08:39:59.114576+00', '2026-11-28 08:39:59.114576+00'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', '\x5d01a4e5e5a80715e712e02466232523d15522004fae58a81d1ee9ff269d52e0', '{"class":"SaveImage","job":"5e3995b6-8c5b-4277-95d1-966470ca1053","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"667e6268-e521-5587-9d64-e1e5236882a8","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-28T08:39:59.160816Z"}]}', '{667e6268-e521-5587-9d64-e1e5236882a8}', 433, '2026-11-28 08:39:59.167012+00', '2026-11-28 08:39:59.167012+00');
INSERT INTO public.replicas VALUES
	('3060c977-6557-4960-adc6-a022e2e0f896', 'http://127.0.0.1:43597', '2026-11-28 08:39:56.869137+00'),
	('49a47ecd-d8c8-4e31-aba8-8ecf06aa3342', 'http://127.0.0.1:42489', '2026-11-28 08:39:58.110836+00'),
	('d5270bea-9cad-4ace-8421-979107dfe88f', 'http://127.0.0.1:39839', '2026-11-28 08:39:58.2193+00'),
	('3961ed1e-3635-40c9-8907-d194eccd1d4b', 'http://127.0.0.1:35831', '2026-11-28 08:39:58.604963+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-28 08:39:51.814807+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-28 08:39:51.830655+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-28 08:39:51.83458+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-28 08:39:51.846508+00'),
	(105, '0105_jobs.sql', '4d4dfbd3c5624be873b46cf032d7cd24b0cac1b1ca4cf3481f1ec48f9f98e6dc', 'dev', '2026-11-28 08:39:51.855436+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-28 08:39:52.025678+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-28 08:39:52.066581+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-28 08:39:52.212007+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-28 08:39:52.217466+00'),
	(110, '0110_calls.sql', '21ef5aca11e7bd47b43bc7369049eedbf770875636a40da84e96933644a02b59', 'dev', '2026-11-28 08:39:52.224036+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-28 08:39:52.251636+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-28 08:39:52.267405+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-28 08:39:52.399675+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-28 08:39:52.447916+00'),
	(115, '0115_deployments.sql', '54e76fff1fc9edb0533122d82852fcc09d61704c44ea34e8833e9714ff5696f6', 'dev', '2026-11-28 08:39:52.508449+00'),
	(116, '0116_sessions.sql', 'f70a145d124abb39afb9a3de82e9e972b478c97838695c42707dad52856ad17c', 'dev', '2026-11-28 08:39:52.539027+00'),
	(117, '0117_copies.sql', '00dcece8d9c98c3898e56d250ac9162cf5df17f282a7c9a4fadf72977ec153bc', 'dev', '2026-11-28 08:39:52.576061+00'),
	(118, '0118_pools.sql', '6b8e90872f785643a2088bd4e352117796e46de96772992d57e271cb55598d92', 'dev', '2026-11-28 08:39:52.592021+00'),
	(119, '0119_console.sql', '285f5e676684c419bd746a90a9956e8237eb3ff8ecd594d1752441cc201c1ca1', 'dev', '2026-11-28 08:39:52.607973+00'),
	(120, '0120_uploads.sql', '7ec8eb90e839d0387610c1e761ed26e2dda9f12dc34252b255be1a295daf76bd', 'dev', '2026-11-28 08:39:52.63047+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 85, '2026-11-28 08:00:00+00');
INSERT INTO public.stats_open_v1 VALUES
	('job-f2420d17-a984-4107-ac6d-64e731c81400', '2026-11-28 08:39:59.232355+00'),
	('job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', '2026-11-28 08:39:59.241696+00');
INSERT INTO public.stats_v1 VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/echo', 1, 0),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/echo', 1, 0),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'waited', '025', 1, 79),
	('', 0, '2026-11-28 08:39:00+00', 'waited', '025', 1, 79),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'waited', '025', 1, 79),
	('', 1, '2026-11-28 08:00:00+00', 'waited', '025', 1, 79),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'took', '029', 1, 154),
	('', 0, '2026-11-28 08:39:00+00', 'took', '029', 1, 154),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'took', '029', 1, 154),
	('', 1, '2026-11-28 08:00:00+00', 'took', '029', 1, 154),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'waited', '020', 1, 30),
	('', 0, '2026-11-28 08:39:00+00', 'waited', '020', 1, 30),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'waited', '020', 1, 30),
	('', 1, '2026-11-28 08:00:00+00', 'waited', '020', 1, 30),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/image', 1, 0),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-28 08:00:00+00', 'nodes', 'executed', 10, 2608),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'took', '041', 1, 1311),
	('', 0, '2026-11-28 08:39:00+00', 'took', '041', 1, 1311),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'took', '041', 1, 1311),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'nodes', 'executed', 5, 1368),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'nodes', 'executed', 5, 1368),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'took', '042', 1, 1512),
	('', 0, '2026-11-28 08:39:00+00', 'took', '042', 1, 1512),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'took', '042', 1, 1512),
	('', 1, '2026-11-28 08:00:00+00', 'took', '042', 1, 1512),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'ended', 'succeeded', 2, 1666),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'ended', 'succeeded', 2, 1666),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/echo', 2, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/echo', 2, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'waited', '021', 1, 39),
	('', 0, '2026-11-28 08:39:00+00', 'waited', '021', 1, 39),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'waited', '021', 1, 39),
	('', 1, '2026-11-28 08:00:00+00', 'waited', '021', 1, 39),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'took', '026', 1, 95),
	('', 0, '2026-11-28 08:39:00+00', 'took', '026', 1, 95),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'took', '026', 1, 95),
	('', 1, '2026-11-28 08:00:00+00', 'took', '026', 1, 95),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'waited', '018', 1, 24),
	('', 0, '2026-11-28 08:39:00+00', 'waited', '018', 1, 24),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'waited', '018', 1, 24),
	('', 1, '2026-11-28 08:00:00+00', 'waited', '018', 1, 24),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-28 08:39:00+00', 'calls', 'sim/image', 2, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-28 08:00:00+00', 'calls', 'sim/image', 2, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'nodes', 'executed', 5, 1240),
	('', 0, '2026-11-28 08:39:00+00', 'nodes', 'executed', 10, 2608),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'nodes', 'executed', 5, 1240),
	('', 1, '2026-11-28 08:00:00+00', 'took', '041', 1, 1311),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'ended', 'succeeded', 2, 1406),
	('', 0, '2026-11-28 08:39:00+00', 'ended', 'succeeded', 4, 3072),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'ended', 'succeeded', 2, 1406),
	('', 1, '2026-11-28 08:00:00+00', 'ended', 'succeeded', 4, 3072),
	('cee68bab-911a-4702-a057-ee666f84784b', 0, '2026-11-28 08:39:00+00', 'submitted', '', 3, 0),
	('', 0, '2026-11-28 08:39:00+00', 'submitted', '', 6, 0),
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '2026-11-28 08:00:00+00', 'submitted', '', 3, 0),
	('', 1, '2026-11-28 08:00:00+00', 'submitted', '', 6, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 0, '2026-11-28 08:39:00+00', 'submitted', '', 3, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '2026-11-28 08:00:00+00', 'submitted', '', 3, 0);
INSERT INTO public.streams VALUES
	('account-cee68bab-911a-4702-a057-ee666f84784b', 'cee68bab-911a-4702-a057-ee666f84784b', 2, false),
	('webhooks-cee68bab-911a-4702-a057-ee666f84784b', 'cee68bab-911a-4702-a057-ee666f84784b', 1, false),
	('asset-8b2dd3c7-0997-4eb3-8879-fa97c599e522', 'cee68bab-911a-4702-a057-ee666f84784b', 2, false),
	('job-964a57be-ad6a-4553-9f0b-1d06ce230c57', 'cee68bab-911a-4702-a057-ee666f84784b', 1, false),
	('call-61c56af4-af66-478c-aaae-1f7a37c9de81', 'cee68bab-911a-4702-a057-ee666f84784b', 5, true),
	('job-822a40bf-8775-4bab-bf8c-dddb797e17e1', '703554a8-411c-451e-b93c-fd3dce5a64e9', 1, false),
	('asset-5d42dfef-7fbf-5f38-8241-9534c7a31846', 'cee68bab-911a-4702-a057-ee666f84784b', 1, false),
	('job-a1da57e4-2817-485c-89e4-b9e5238a084d', 'cee68bab-911a-4702-a057-ee666f84784b', 11, true),
	('call-6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 'cee68bab-911a-4702-a057-ee666f84784b', 7, true),
	('asset-f36a9aac-8b57-4cac-8075-21bf2e076296', 'cee68bab-911a-4702-a057-ee666f84784b', 2, false),
	('asset-96e72147-1110-5793-8d71-d012f0a50bab', 'cee68bab-911a-4702-a057-ee666f84784b', 1, false),
	('job-57012828-b950-4774-abeb-1753a4ec5cf2', 'cee68bab-911a-4702-a057-ee666f84784b', 9, true),
	('account-703554a8-411c-451e-b93c-fd3dce5a64e9', '703554a8-411c-451e-b93c-fd3dce5a64e9', 2, false),
	('webhooks-703554a8-411c-451e-b93c-fd3dce5a64e9', '703554a8-411c-451e-b93c-fd3dce5a64e9', 1, false),
	('call-19dc44b0-4589-4f14-8c8f-431449f42bbf', '703554a8-411c-451e-b93c-fd3dce5a64e9', 5, true),
	('asset-bfbcd9c8-b1a8-4340-90fd-13b720658725', '703554a8-411c-451e-b93c-fd3dce5a64e9', 2, false),
	('asset-e6b092d7-c995-541f-858c-375e03e1d5dd', '703554a8-411c-451e-b93c-fd3dce5a64e9', 1, false),
	('job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', '703554a8-411c-451e-b93c-fd3dce5a64e9', 11, true),
	('call-8f13c408-a620-4639-996d-420ea4f02150', '703554a8-411c-451e-b93c-fd3dce5a64e9', 7, true),
	('asset-667e6268-e521-5587-9d64-e1e5236882a8', '703554a8-411c-451e-b93c-fd3dce5a64e9', 1, false),
	('asset-7e932c0d-d8e1-43c5-a6f9-c0dce6119553', '703554a8-411c-451e-b93c-fd3dce5a64e9', 2, false),
	('job-5e3995b6-8c5b-4277-95d1-966470ca1053', '703554a8-411c-451e-b93c-fd3dce5a64e9', 9, true),
	('job-f8db90a2-dfee-48c1-a5c2-6b3108f10173', '703554a8-411c-451e-b93c-fd3dce5a64e9', 6, false),
	('job-f2420d17-a984-4107-ac6d-64e731c81400', 'cee68bab-911a-4702-a057-ee666f84784b', 7, false);
INSERT INTO public.usage_calls_v1 VALUES
	('61c56af4-af66-478c-aaae-1f7a37c9de81', 5),
	('6702dc16-0cc8-4fe0-918c-5c3dc6d6338d', 7),
	('19dc44b0-4589-4f14-8c8f-431449f42bbf', 5),
	('8f13c408-a620-4639-996d-420ea4f02150', 7);
INSERT INTO public.usage_v1 VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'sim/echo', '2026-11-28', 1, 0, 0, 0, 0, 60, 0),
	('cee68bab-911a-4702-a057-ee666f84784b', 'sim/image', '2026-11-28', 1, 0, 0, 0, 0, 355, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'sim/echo', '2026-11-28', 1, 0, 0, 0, 0, 60, 0),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'sim/image', '2026-11-28', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-28 08:39:54.799896+00', '2026-11-28 08:39:54.799896+00'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-28 08:39:57.607303+00', '2026-11-28 08:39:57.607303+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('231b6c1b-c040-5577-a53c-a0b8c804ee2c', 1, 'cee68bab-911a-4702-a057-ee666f84784b', '5bdac64d-d7de-4633-bbd2-5c8132bd1de1', 'call-61c56af4-af66-478c-aaae-1f7a37c9de81', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-28T08:39:55.676018Z","data":{"object":"call","id":"61c56af4-af66-478c-aaae-1f7a37c9de81","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-28T08:39:55.085915Z","completed_at":"2026-11-28T08:39:55.676018Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/61c56af4-af66-478c-aaae-1f7a37c9de81"}}}', 'pending', 1, 0, '2026-11-28 08:39:55.697016+00', '2026-11-28 08:39:55.697016+00', '2026-11-28 08:39:59.982591+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:55.975484982Z", "error": "name_not_found", "millis": 0}]'),
	('47a34dbc-95d1-5208-9b70-dd8829a62753', 2, 'cee68bab-911a-4702-a057-ee666f84784b', '5bdac64d-d7de-4633-bbd2-5c8132bd1de1', 'job-a1da57e4-2817-485c-89e4-b9e5238a084d', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-28T08:39:55.862485Z","data":{"object":"job","id":"a1da57e4-2817-485c-89e4-b9e5238a084d","status":"succeeded","created_at":"2026-11-28T08:39:55.707494Z","completed_at":"2026-11-28T08:39:55.862485Z","error":null,"urls":{"self":"/api/v2/jobs/a1da57e4-2817-485c-89e4-b9e5238a084d"}}}', 'pending', 1, 0, '2026-11-28 08:39:55.882652+00', '2026-11-28 08:39:55.882652+00', '2026-11-28 08:40:01.505465+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:55.974614315Z", "error": "name_not_found", "millis": 1}]'),
	('bd7aa25b-64a8-5d34-becd-6b89522aaa1d', 3, 'cee68bab-911a-4702-a057-ee666f84784b', '5bdac64d-d7de-4633-bbd2-5c8132bd1de1', 'job-57012828-b950-4774-abeb-1753a4ec5cf2', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-28T08:39:57.398185Z","data":{"object":"job","id":"57012828-b950-4774-abeb-1753a4ec5cf2","status":"succeeded","created_at":"2026-11-28T08:39:55.886087Z","completed_at":"2026-11-28T08:39:57.398185Z","error":null,"urls":{"self":"/api/v2/jobs/57012828-b950-4774-abeb-1753a4ec5cf2"}}}', 'pending', 1, 0, '2026-11-28 08:39:57.418069+00', '2026-11-28 08:39:57.418069+00', '2026-11-28 08:40:02.21911+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:57.478716919Z", "error": "name_not_found", "millis": 2}]'),
	('65013a0c-9251-5422-8bbf-52ec2e4b152d', 4, '703554a8-411c-451e-b93c-fd3dce5a64e9', '4d58863b-6081-41fb-ad2c-896cea651401', 'call-19dc44b0-4589-4f14-8c8f-431449f42bbf', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-28T08:39:57.700444Z","data":{"object":"call","id":"19dc44b0-4589-4f14-8c8f-431449f42bbf","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-28T08:39:57.676774Z","completed_at":"2026-11-28T08:39:57.700444Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/19dc44b0-4589-4f14-8c8f-431449f42bbf"}}}', 'pending', 1, 0, '2026-11-28 08:39:57.732471+00', '2026-11-28 08:39:57.732471+00', '2026-11-28 08:40:02.098361+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:57.852346223Z", "error": "name_not_found", "millis": 11}]'),
	('e5bf8bd2-fe43-56de-83dc-3b7b3bafce3f', 5, '703554a8-411c-451e-b93c-fd3dce5a64e9', '4d58863b-6081-41fb-ad2c-896cea651401', 'job-e3be5abf-d0e6-46d3-93a0-307d0437e9c8', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-28T08:39:57.835787Z","data":{"object":"job","id":"e3be5abf-d0e6-46d3-93a0-307d0437e9c8","status":"succeeded","created_at":"2026-11-28T08:39:57.739988Z","completed_at":"2026-11-28T08:39:57.835787Z","error":null,"urls":{"self":"/api/v2/jobs/e3be5abf-d0e6-46d3-93a0-307d0437e9c8"}}}', 'pending', 1, 0, '2026-11-28 08:39:57.868343+00', '2026-11-28 08:39:57.868343+00', '2026-11-28 08:40:03.053452+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:57.900949598Z", "error": "name_not_found", "millis": 1}]'),
	('b2086329-721f-50f4-8702-4f8f8e6c35b4', 6, '703554a8-411c-451e-b93c-fd3dce5a64e9', '4d58863b-6081-41fb-ad2c-896cea651401', 'job-5e3995b6-8c5b-4277-95d1-966470ca1053', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-28T08:39:59.1852Z","data":{"object":"job","id":"5e3995b6-8c5b-4277-95d1-966470ca1053","status":"succeeded","created_at":"2026-11-28T08:39:57.874026Z","completed_at":"2026-11-28T08:39:59.1852Z","error":null,"urls":{"self":"/api/v2/jobs/5e3995b6-8c5b-4277-95d1-966470ca1053"}}}', 'pending', 1, 0, '2026-11-28 08:39:59.196015+00', '2026-11-28 08:39:59.196015+00', '2026-11-28 08:40:03.57871+00', NULL, NULL, NULL, '[{"at": "2026-11-28T08:39:59.390261239Z", "error": "name_not_found", "millis": 2}]');
INSERT INTO public.webhook_endpoints VALUES
	('5bdac64d-d7de-4633-bbd2-5c8132bd1de1', 'cee68bab-911a-4702-a057-ee666f84784b', '\x0f24b4d61e752aa1689cde5396b1e81d190063452e02dafa92ddc6efe0d3c9feef085d07e6373300bcb980d45475501780b607349323b4efd134ea6c039ae7450f156368ab58fda5743ddd340570d11174960a6858ddcb409e613e3a7bf58698f59c12f8332a076a670e2b727bccb07e3ddecd284ccc52a2ca5cdb', false, '2026-11-28 08:39:55.976986+00'),
	('4d58863b-6081-41fb-ad2c-896cea651401', '703554a8-411c-451e-b93c-fd3dce5a64e9', '\x6f64e01ad6e84606b304e5987251eda4ba7631ca79e77ff3d84d058b3186516a0b723c61ac4f7996fcb27480bae7d1a0374f4418122f2ab270b8e006699857749cb7d4b256e692d0e9d4dcf7013d62a7f57bc7822136a297a489cbbc5b9ff3f3f26509dfe82b38235469e931eab477ce758b2f4ce2c54cd1db7808', false, '2026-11-28 08:39:57.867974+00');
INSERT INTO public.webhooks_v1 VALUES
	('cee68bab-911a-4702-a057-ee666f84784b', 1, '[{"id":"5bdac64d-d7de-4633-bbd2-5c8132bd1de1","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-28T08:39:54.91031Z"}]'),
	('703554a8-411c-451e-b93c-fd3dce5a64e9', 1, '[{"id":"4d58863b-6081-41fb-ad2c-896cea651401","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-28T08:39:57.64104Z"}]');
INSERT INTO public.workers VALUES
	('vm/9761/0112d179-83bc-4f61-9d5a-8188719b9e32', '2026-11-28 08:39:55.641867+00', '{"absent": [], "address": "", "webhook_allow": null}'),
	('vm/9762/8b5008bf-8162-484a-973b-77372f8e9141', '2026-11-28 08:39:59.227458+00', '{"absent": [], "address": "", "webhook_allow": null}');
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
ALTER TABLE ONLY public.comfyui_copies
    ADD CONSTRAINT comfyui_copies_pkey PRIMARY KEY (target, folder, name);
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
ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pools
    ADD CONSTRAINT pools_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.sealed_credentials
    ADD CONSTRAINT sealed_credentials_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY public.server_usage_v1
    ADD CONSTRAINT server_usage_v1_key PRIMARY KEY (job, run, segment, attempt);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.stats_at_v1
    ADD CONSTRAINT stats_at_v1_one PRIMARY KEY (one);
ALTER TABLE ONLY public.stats_open_v1
    ADD CONSTRAINT stats_open_v1_job PRIMARY KEY (job);
ALTER TABLE ONLY public.stats_v1
    ADD CONSTRAINT stats_v1_key PRIMARY KEY (account, grain, bucket, measure, key);
ALTER TABLE ONLY public.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uploads_id PRIMARY KEY (account, id);
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
CREATE INDEX comfyui_tokens_pool ON public.comfyui_tokens USING btree (pool) WHERE (pool <> ''::text);
CREATE INDEX credit_holds_open ON public.credit_holds USING btree (account) WHERE (state = 'held'::text);
CREATE INDEX deployment_versions_digest ON public.deployment_versions USING btree (digest);
CREATE UNIQUE INDEX downloads_same ON public.downloads USING btree (account, fingerprint);
CREATE INDEX events_document ON public.events USING btree ("substring"((data)::text, '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}'::text)) WHERE ((type = 'job.submitted.v1'::text) AND ("substring"((data)::text, '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}'::text) IS NOT NULL));
CREATE UNIQUE INDEX exports_same ON public.exports USING btree (account, fingerprint);
CREATE INDEX files_expiry ON public.files USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX files_hash ON public.files USING btree (hash, account);
CREATE INDEX files_ingest ON public.files USING btree (asset_id) WHERE (ingest_since IS NOT NULL);
CREATE INDEX files_models ON public.files USING btree (subfolder, filename, account) WHERE (named AND (folder = 'input'::text) AND (subfolder ~~ 'models/%'::text));
CREATE UNIQUE INDEX files_name ON public.files USING btree (account, folder, subfolder, filename) WHERE named;
CREATE UNIQUE INDEX files_producer ON public.files USING btree (job_id, run, node, idx) WHERE (job_id IS NOT NULL);
CREATE INDEX files_thumbnail ON public.files USING btree (thumbnail) WHERE (thumbnail IS NOT NULL);
CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);
CREATE INDEX job_archives_age ON public.job_archives USING btree (retired_at) WHERE (archive IS NOT NULL);
CREATE INDEX job_archives_blob ON public.job_archives USING btree (archive) WHERE (archive IS NOT NULL);
CREATE INDEX job_archives_document ON public.job_archives USING btree (document) WHERE (document IS NOT NULL);
CREATE INDEX job_archives_waiting ON public.job_archives USING btree ("position") WHERE (NOT pruned);
CREATE INDEX job_index_v1_classes ON public.job_index_v1 USING gin (classes);
CREATE INDEX job_index_v1_failed ON public.job_index_v1 USING btree (submitted DESC) WHERE (code <> ''::text);
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
CREATE INDEX sessions_person ON public.sessions USING btree (person);
CREATE INDEX stats_v1_age ON public.stats_v1 USING btree (grain, bucket);
CREATE INDEX uploads_expiry ON public.uploads USING btree (expires_at);
CREATE INDEX uploads_pieces ON public.uploads USING gin (pieces);
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
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_person_fkey FOREIGN KEY (person) REFERENCES public.people(id);
