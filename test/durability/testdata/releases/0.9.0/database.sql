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
CREATE TABLE public.people (
    id text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    role text DEFAULT ''::text NOT NULL,
    account text DEFAULT ''::text NOT NULL,
    signed_in_at timestamp with time zone
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
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 42, 19, 2),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 17, 1584, 3),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 47, 23, 2),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 7, 279, 1),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 18, 995, 2);
INSERT INTO public.accounts VALUES
	('local', 'local', 'local', true, '2026-11-24 19:33:12.421885+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'acme', 'standard', true, '2026-11-24 19:33:14.273332+00', true, NULL, '{}', false, NULL, NULL, NULL),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'umbrella', 'standard', true, '2026-11-24 19:33:18.475158+00', true, NULL, '{}', false, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('8e5b3842-856c-4f37-ad26-cac9dace215b', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\xb533eb86f3fe658047b0f2c4810ffb14f02e973fc872e2e97c1268be59c39e27', 'millrace-cbl4du', '{read,write}', '2026-11-24 19:33:14.484506+00', NULL, '2026-11-24 19:33:14.568023+00'),
	('51e4b3a4-1fdf-4b44-adce-4089594330bb', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\x0b894184eb5e11ecd43406ec68211daa3e375be024639c188399cfca918a165e', 'millrace-d73yn6', '{read,write}', '2026-11-24 19:33:18.560149+00', NULL, '2026-11-24 19:33:18.588596+00');
INSERT INTO public.assets_v1 VALUES
	('211132ea-a372-4399-925c-09c6b6657664', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'live', 4, 4, 2, 'note.txt', 'note.txt', '{}', '{input}', 12, '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', NULL, NULL, '{"id":"211132ea-a372-4399-925c-09c6b6657664","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"live","version":2,"position":10,"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:33:14.759Z","verified_at":"2026-11-24T19:33:16.831582Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('536bd983-a8af-479e-b2c3-ceb922853866', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'live', 21, 21, 2, 'calls/20562d25-e259-4ed4-a6bd-556fe440bfae/0-b008fe36.png', '0-b008fe36.png', '{}', '{output}', 393, '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', NULL, '2026-11-25 19:33:18.191+00', '{"id":"536bd983-a8af-479e-b2c3-ceb922853866","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"live","version":2,"position":23,"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/20562d25-e259-4ed4-a6bd-556fe440bfae/0-b008fe36.png","width":64,"height":64,"created_at":"2026-11-24T19:33:18.191Z","expires_at":"2026-11-25T19:33:18.191Z","verified_at":"2026-11-24T19:33:18.218841Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}'),
	('f8b20c98-7b93-51a5-85ca-b79e2e17f65d', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'live', 27, 27, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 741, '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', NULL, '2027-01-25 19:33:18.297+00', '{"id":"f8b20c98-7b93-51a5-85ca-b79e2e17f65d","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"live","version":1,"position":27,"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:33:18.30599Z","expires_at":"2027-01-25T19:33:18.297Z"}'),
	('b2221950-18b6-580d-9f77-5371aea010d2', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'live', 39, 39, 1, 'done-acme_00001_.png', 'done-acme_00001_.png', '{}', '{output}', 450, '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', NULL, '2027-01-25 19:33:18.373+00', '{"id":"b2221950-18b6-580d-9f77-5371aea010d2","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"live","version":1,"position":39,"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"b35cd6b3-6b82-4a21-9606-685b990e989e","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:33:18.380349Z","expires_at":"2027-01-25T19:33:18.373Z"}'),
	('952683e8-3fef-511f-943a-281236658440', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'live', 60, 60, 1, 'done-umbrella_00001_.png', 'done-umbrella_00001_.png', '{}', '{output}', 453, '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', NULL, '2027-01-25 19:33:18.755+00', '{"id":"952683e8-3fef-511f-943a-281236658440","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"live","version":1,"position":60,"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"baeab89c-2e45-48fe-80cf-5670e7fcade7","run":1,"node":"3","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:33:18.777236Z","expires_at":"2027-01-25T19:33:18.755Z"}'),
	('ef467e91-7922-4e23-b77c-f4fec2a14ce3', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'live', 45, 45, 2, 'note.txt', 'note.txt', '{}', '{input}', 16, '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', NULL, NULL, '{"id":"ef467e91-7922-4e23-b77c-f4fec2a14ce3","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"live","version":2,"position":63,"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:33:18.617Z","verified_at":"2026-11-24T19:33:18.864322Z","scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}'),
	('93c0d653-cf19-46af-a5d7-149aeff91bbe', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'live', 74, 74, 2, 'calls/2f7fd2fa-5208-4c51-b3d0-f0227d901625/0-f1b14e28.png', '0-f1b14e28.png', '{}', '{output}', 279, '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', NULL, '2026-11-25 19:33:20.143+00', '{"id":"93c0d653-cf19-46af-a5d7-149aeff91bbe","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"live","version":2,"position":77,"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/2f7fd2fa-5208-4c51-b3d0-f0227d901625/0-f1b14e28.png","width":64,"height":64,"created_at":"2026-11-24T19:33:20.143Z","expires_at":"2026-11-25T19:33:20.143Z","verified_at":"2026-11-24T19:33:20.345142Z","scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}'),
	('215b8294-5df8-598a-8f6c-c1ba051a9271', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'live', 80, 80, 1, 'painted_00001_.png', 'painted_00001_.png', '{}', '{output}', 542, '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', NULL, '2027-01-25 19:33:20.528+00', '{"id":"215b8294-5df8-598a-8f6c-c1ba051a9271","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"live","version":1,"position":80,"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"0c03eb9d-7f1a-4409-8086-1708119753a4","run":1,"node":"2","index":0},"width":64,"height":64,"created_at":"2026-11-24T19:33:20.533741Z","expires_at":"2027-01-25T19:33:20.528Z"}');
INSERT INTO public.assets_v1_counts VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'input', 1),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', 3),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', '', 4),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'input', 1),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', 3),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '', 4);
INSERT INTO public.assets_v1_labels VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'input', 4, '211132ea-a372-4399-925c-09c6b6657664'),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', 21, '536bd983-a8af-479e-b2c3-ceb922853866'),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', 27, 'f8b20c98-7b93-51a5-85ca-b79e2e17f65d'),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', 39, 'b2221950-18b6-580d-9f77-5371aea010d2'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'input', 45, 'ef467e91-7922-4e23-b77c-f4fec2a14ce3'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', 60, '952683e8-3fef-511f-943a-281236658440'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', 74, '93c0d653-cf19-46af-a5d7-149aeff91bbe'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', 80, '215b8294-5df8-598a-8f6c-c1ba051a9271');
INSERT INTO public.call_admissions VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, 0, 0, 0, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, 0, 0, 0, 0);
INSERT INTO public.call_blobs VALUES
	('6443c761-90c4-4ea7-8300-254056c85de8', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 19:33:16.792114+00'),
	('6443c761-90c4-4ea7-8300-254056c85de8', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 19:33:16.792114+00'),
	('20562d25-e259-4ed4-a6bd-556fe440bfae', '\x6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab', '2026-11-25 19:33:18.207799+00'),
	('20562d25-e259-4ed4-a6bd-556fe440bfae', '\x3aca4dde818ac072efe1cc324684f09d5a03c6c66b8ca2dced7355de6e54e49e', '2026-11-25 19:33:18.207799+00'),
	('f17741da-7d01-4708-8081-8de6ad5aa6ff', '\xf85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a', '2026-11-25 19:33:18.668703+00'),
	('f17741da-7d01-4708-8081-8de6ad5aa6ff', '\x4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4', '2026-11-25 19:33:18.668703+00'),
	('2f7fd2fa-5208-4c51-b3d0-f0227d901625', '\x953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa', '2026-11-25 19:33:20.160073+00'),
	('2f7fd2fa-5208-4c51-b3d0-f0227d901625', '\x13faf2b10aeef5c6cf962821a89db8661c09fea478a33b5ffe308ce412e1618f', '2026-11-25 19:33:20.160073+00');
INSERT INTO public.call_keys VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'node:844bd1b1-a2b6-4177-876e-eec01b4cd4e0:1:0:1', '\x7092ab6c710086dd11b152ad2240cd9e45fbb9194d90943e176d64d4913c6654', '20562d25-e259-4ed4-a6bd-556fe440bfae', '2026-11-25 19:33:17.109945+00', NULL),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'node:0c03eb9d-7f1a-4409-8086-1708119753a4:1:0:1', '\x70602556bc10b45c461731e933faea4ba7caf58e4c93735146022ab7a0fe0ca9', '2f7fd2fa-5208-4c51-b3d0-f0227d901625', '2026-11-25 19:33:18.987253+00', NULL);
INSERT INTO public.call_workers VALUES
	('vm/8638/89da6712-403d-46b6-8049-3aea268f5221', '2026-11-24 19:33:20.259612+00'),
	('vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd', '2026-11-24 19:33:20.331592+00');
INSERT INTO public.calls_v1 VALUES
	('6443c761-90c4-4ea7-8300-254056c85de8', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'succeeded', 'sim/echo', 5, 5, '{"id":"6443c761-90c4-4ea7-8300-254056c85de8","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"succeeded","version":5,"position":9,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:21175","held_micros":0,"charged_micros":0,"run":1,"token":"64a43fc0-f922-4329-b4fc-a303f74d1560","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T19:33:14.817663Z","admitted_at":"2026-11-24T19:33:14.81791Z","sent_at":"2026-11-24T19:33:16.74318Z","ended_at":"2026-11-24T19:33:16.816231Z","updated_at":"2026-11-24T19:33:16.816231Z"}'),
	('20562d25-e259-4ed4-a6bd-556fe440bfae', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'succeeded', 'sim/image', 16, 7, '{"id":"20562d25-e259-4ed4-a6bd-556fe440bfae","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"succeeded","version":7,"position":24,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"83498ca8-1bbb-440a-a882-551b3edac55c","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd","handle":"sim-eyJyIjoxNzk1NTQ4Nzk3MjAzLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:3aca4dde818ac072efe1cc324684f09d5a03c6c66b8ca2dced7355de6e54e49e","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T19:33:17.116062Z","admitted_at":"2026-11-24T19:33:17.116117Z","sent_at":"2026-11-24T19:33:17.152204Z","ended_at":"2026-11-24T19:33:18.222276Z","updated_at":"2026-11-24T19:33:18.222276Z"}'),
	('f17741da-7d01-4708-8081-8de6ad5aa6ff', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'succeeded', 'sim/echo', 46, 5, '{"id":"f17741da-7d01-4708-8081-8de6ad5aa6ff","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"succeeded","version":5,"position":50,"mode":"queued","api":"v2","model":"sim/echo","provider":"sim","keyed":false,"options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"base":"http://127.0.0.1:21175","held_micros":0,"charged_micros":0,"run":1,"token":"ad4dd0f1-f756-4ca2-b2e6-11adda23908f","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"accepted_at":"2026-11-24T19:33:18.641572Z","admitted_at":"2026-11-24T19:33:18.641626Z","sent_at":"2026-11-24T19:33:18.66552Z","ended_at":"2026-11-24T19:33:18.670554Z","updated_at":"2026-11-24T19:33:18.670554Z"}'),
	('2f7fd2fa-5208-4c51-b3d0-f0227d901625', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'succeeded', 'sim/image', 69, 7, '{"id":"2f7fd2fa-5208-4c51-b3d0-f0227d901625","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"succeeded","version":7,"position":76,"mode":"node","api":"v2","model":"sim/image","provider":"sim","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"base":"http://127.0.0.1:8188","held_micros":0,"charged_micros":0,"run":1,"token":"417abd31-17df-46a4-925f-ce32c18e52a6","worker":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221","handle":"sim-eyJyIjoxNzk1NTQ4Nzk5MDY2LCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ","answer":{"ref":"blake3:13faf2b10aeef5c6cf962821a89db8661c09fea478a33b5ffe308ce412e1618f","size":355,"content_type":"application/json"},"linked":true,"replayable":true,"hosted":1,"accepted_at":"2026-11-24T19:33:18.990316Z","admitted_at":"2026-11-24T19:33:18.990343Z","sent_at":"2026-11-24T19:33:19.010927Z","ended_at":"2026-11-24T19:33:20.277628Z","updated_at":"2026-11-24T19:33:20.277628Z"}');
INSERT INTO public.checkpoints VALUES
	('stats_v1', 74, '2026-11-24 19:33:20.25366+00'),
	('server_usage_v1', 74, '2026-11-24 19:33:20.293647+00'),
	('webhooks_v1', 77, '2026-11-24 19:33:20.365582+00'),
	('calls_v1', 77, '2026-11-24 19:33:20.375917+00'),
	('history_v1', 77, '2026-11-24 19:33:20.422202+00'),
	('usage_v1', 79, '2026-11-24 19:33:20.55437+00'),
	('assets_v1', 80, '2026-11-24 19:33:20.56254+00'),
	('webhooks_outgoing', 82, '2026-11-24 19:33:20.623437+00'),
	('job_index_v1', 86, '2026-11-24 19:33:20.826851+00'),
	('jobs_v1', 96, '2026-11-24 19:33:20.984285+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES
	(1, 'account-919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '0e441c51-6c73-42e0-89f0-b5c10665c3db', 'account.created.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"name":"acme","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 19:33:14.297418+00'),
	(2, 'account-919e0fca-c9a2-45be-81e9-946fa084b62f', 2, '5f366612-9911-45e4-954a-f0c7e96e8275', 'account.key_issued.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"key":"8e5b3842-856c-4f37-ad26-cac9dace215b","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 19:33:14.489195+00'),
	(3, 'webhooks-919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '8e709b49-6490-436d-9ff2-2dcae47f28c9', 'webhook.registered.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"webhook":"2b526711-720b-4c88-a756-ae4ebe010cab","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"7265c055-5890-4c3a-9cfe-34a822de6666"}', '2026-11-24 19:33:14.668651+00'),
	(4, 'asset-211132ea-a372-4399-925c-09c6b6657664', 1, '0e92a9b8-32ba-407a-86b8-f6c9901b308b', 'asset.created.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"origin":"upload","hash":"blake3:7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f","size":12,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:33:14.759Z"}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"bdba5ecb-c717-418f-af8a-92261ba42493"}', '2026-11-24 19:33:14.784385+00'),
	(5, 'call-6443c761-90c4-4ea7-8300-254056c85de8', 1, 'e4f72f7f-13a3-4c25-bce1-dc585c9c3674', 'call.accepted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"49f802a66c7451610c26bdb4b6cb178c4bfb85fb5baf55c798ab7c7312baf9a9","base":"http://127.0.0.1:21175","fallback":"runware"}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"6443c761-90c4-4ea7-8300-254056c85de8"}', '2026-11-24 19:33:14.817663+00'),
	(6, 'call-6443c761-90c4-4ea7-8300-254056c85de8', 2, '390c3256-55ea-5f06-bcbe-0107e21a82ed', 'call.admitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"6443c761-90c4-4ea7-8300-254056c85de8"}', '2026-11-24 19:33:14.81791+00'),
	(7, 'call-6443c761-90c4-4ea7-8300-254056c85de8', 3, '53d77f85-888f-5ce0-b782-c5adcd591e9e', 'call.dispatching.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"token":"64a43fc0-f922-4329-b4fc-a303f74d1560","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:16.74318+00'),
	(8, 'call-6443c761-90c4-4ea7-8300-254056c85de8', 4, 'eb216de9-bc96-5d66-829b-5a5ed59eae40', 'call.answered.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:16.816193+00'),
	(9, 'call-6443c761-90c4-4ea7-8300-254056c85de8', 5, '61f46e0e-3c89-5120-aafe-b00bc35a764e', 'call.succeeded.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:16.816231+00'),
	(10, 'asset-211132ea-a372-4399-925c-09c6b6657664', 2, '3131bc2a-fab2-574e-9203-50798be1c04e', 'asset.verified.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"ok":true,"size":12,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 19:33:16.831582+00'),
	(11, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 1, '0093ab3f-abaf-488d-bba2-42ae3f26b36f', 'job.submitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for acme\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795548796851}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"ae70b046-30c0-4f2e-901f-94277179c1fe"}', '2026-11-24 19:33:16.881457+00'),
	(12, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 2, 'cd98afad-bc56-57da-bbe2-1fc892182496', 'job.admitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"ae70b046-30c0-4f2e-901f-94277179c1fe"}', '2026-11-24 19:33:16.882235+00'),
	(13, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 3, '9e8fe6bc-427d-5076-b3b5-043ecbe90a1d', 'job.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes_total":2,"worker":"vm/8639","execution":"01a20f0c-57db-70d1-8a00-8cb6d8efd13c"}', '{"actor":"vm/8639"}', '2026-11-24 19:33:16.956126+00'),
	(14, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 4, 'cf027949-1a87-5793-9c46-fd76f8248415', 'job.nodes_cached.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes":null}', '{"actor":"vm/8639"}', '2026-11-24 19:33:16.956163+00'),
	(15, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 5, '0c62e4fe-cbd7-59c7-8221-a913c1473292', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:17.048713+00'),
	(16, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 1, '6d4e616e-6293-41c1-a9e9-e2b5fa82e48e', 'call.accepted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:6d2d7fab8837b3f7037a3f6cadd6071da40819526f0d4328782db72002727aab","size":31,"content_type":"application/json"},"held_micros":0,"catalog":"49f802a66c7451610c26bdb4b6cb178c4bfb85fb5baf55c798ab7c7312baf9a9","base":"http://127.0.0.1:8188"}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"20562d25-e259-4ed4-a6bd-556fe440bfae"}', '2026-11-24 19:33:17.116062+00'),
	(17, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 2, '8317ce08-d2fd-5bba-890d-b54a42e88579', 'call.admitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"20562d25-e259-4ed4-a6bd-556fe440bfae"}', '2026-11-24 19:33:17.116117+00'),
	(18, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 3, 'b623b028-d12d-5e73-a4bc-bf5ddcb95ba6', 'call.dispatching.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"token":"83498ca8-1bbb-440a-a882-551b3edac55c","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:17.152204+00'),
	(19, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 4, '2576f83a-07e4-53e2-81c0-9ac1f7e28eaf', 'call.provider_accepted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"handle":"sim-eyJyIjoxNzk1NTQ4Nzk3MjAzLCJzIjoiYjAwOGZlMzYiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:17.156897+00'),
	(20, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 5, '29c2c52a-ecd0-5db3-9a04-cef524880136', 'call.answered.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"answer":{"ref":"blake3:060a397f4492c739e260a22dea92b52d9b6647b9baa493014f4aae2aa69596e4","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.15972+00'),
	(21, 'asset-536bd983-a8af-479e-b2c3-ceb922853866', 1, '7c3717db-c826-46e3-ae64-1d0c7ecf6dc5', 'asset.created.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"origin":"call","hash":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393,"content_type":"image/png","file_path":"calls/20562d25-e259-4ed4-a6bd-556fe440bfae/0-b008fe36.png","created_at":"2026-11-24T19:33:18.191Z","expires_at":"2026-11-25T19:33:18.191Z"}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"20562d25-e259-4ed4-a6bd-556fe440bfae"}', '2026-11-24 19:33:18.196916+00'),
	(22, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 6, 'd5e53964-2093-587f-a91e-0b4be4efb0f4', 'call.hosted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"assets":[{"pointer":"/result/url","asset":"536bd983-a8af-479e-b2c3-ceb922853866","ref":"blake3:28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7","size":393}],"answer":{"ref":"blake3:3aca4dde818ac072efe1cc324684f09d5a03c6c66b8ca2dced7355de6e54e49e","size":355,"content_type":"application/json"}}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.213477+00'),
	(24, 'call-20562d25-e259-4ed4-a6bd-556fe440bfae', 7, '9c5e0928-7fe0-5ba7-97a2-4f60cc892811', 'call.succeeded.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"model":"sim/image","answer":{"ref":"blake3:3aca4dde818ac072efe1cc324684f09d5a03c6c66b8ca2dced7355de6e54e49e","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.222276+00'),
	(25, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 6, 'fa953a7b-6bb6-503e-b023-93e09671e51c', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1175,"waited_millis":95}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.240412+00'),
	(26, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 7, '99a5d208-aa9e-54c9-966b-82a142d5f532', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.290784+00'),
	(27, 'asset-f8b20c98-7b93-51a5-85ca-b79e2e17f65d', 1, '9b596407-5e5e-568a-838b-b2f81d5432db', 'asset.created.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"origin":"job","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:33:18.297Z"}', '{"actor":"job 844bd1b1-a2b6-4177-876e-eec01b4cd4e0"}', '2026-11-24 19:33:18.30599+00'),
	(28, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 8, '94c613df-7e5a-58d8-8a2f-687aa4e5195d', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"f8b20c98-7b93-51a5-85ca-b79e2e17f65d","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.302788Z"}],"millis":11}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.318007+00'),
	(29, 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 9, '0cbe1423-6460-577d-839e-541d7719d2f2', 'job.succeeded.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.336455+00'),
	(32, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 3, '851e856a-e6e1-5fcd-a5e3-7c28630aca2f', 'job.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes_total":3,"worker":"vm/8639","execution":"01a20f0c-5d93-78e1-8a6a-f589c312d862"}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372372+00'),
	(33, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 4, 'f6bd51fe-a455-539f-8c04-05ee9a6ed991', 'job.nodes_cached.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes":null}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372402+00'),
	(34, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 5, '071ff613-e4c2-56b5-abcf-06a7e2abb98e', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372406+00'),
	(35, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 6, '11cb7120-61f4-5b78-8344-1d6bc442cfbf', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.37241+00'),
	(36, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 7, '7974342f-3302-5dc4-8a90-fb0904e54b10', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372413+00'),
	(37, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 8, '95ca5b97-c69b-54f2-93c0-8c6ede6c455f', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372416+00'),
	(38, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 9, '722d3158-beb0-5209-8f1a-217a818817e9', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.372419+00'),
	(39, 'asset-b2221950-18b6-580d-9f77-5371aea010d2', 1, 'c95ae53a-bc72-5110-89bf-a2d277c6bee2', 'asset.created.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"origin":"job","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","file_path":"done-acme_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-acme_00001_.png"},"producer":{"job":"b35cd6b3-6b82-4a21-9606-685b990e989e","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:33:18.373Z"}', '{"actor":"job b35cd6b3-6b82-4a21-9606-685b990e989e"}', '2026-11-24 19:33:18.380349+00'),
	(40, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 10, '18f35ef2-aa48-5295-99fd-b11eff7f1ec9', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b2221950-18b6-580d-9f77-5371aea010d2","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.375854Z"}],"millis":10}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.386986+00'),
	(41, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 11, '58e3cda9-b6fa-5310-a59b-1178c15aae83', 'job.succeeded.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.387014+00'),
	(63, 'asset-ef467e91-7922-4e23-b77c-f4fec2a14ce3', 2, '2fd459b8-f2c8-572b-85e1-dda23d2b82a4', 'asset.verified.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"ok":true,"size":16,"scan":{"verdict":"clean","sniffed_type":"text/plain; charset=utf-8"}}', '{"actor":"ingest"}', '2026-11-24 19:33:18.864322+00'),
	(68, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 5, 'a92e6510-893b-526a-a920-6d01a8d06936', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"Partner_sim_image","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.96851+00'),
	(69, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 1, '6d988ab5-99c3-40b7-ae00-9d08fe3f591d', 'call.accepted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"model":"sim/image","provider":"sim","mode":"node","api":"v2","keyed":true,"request":{"ref":"blake3:953549de319a7f0287102fdf8dc07ebd6b677a169914577209ac798265c696aa","size":35,"content_type":"application/json"},"held_micros":0,"catalog":"49f802a66c7451610c26bdb4b6cb178c4bfb85fb5baf55c798ab7c7312baf9a9","base":"http://127.0.0.1:8188"}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"2f7fd2fa-5208-4c51-b3d0-f0227d901625"}', '2026-11-24 19:33:18.990316+00'),
	(70, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 2, 'eef7a88f-bb43-5ffd-8d74-26a812ec9359', 'call.admitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"2f7fd2fa-5208-4c51-b3d0-f0227d901625"}', '2026-11-24 19:33:18.990343+00'),
	(23, 'asset-536bd983-a8af-479e-b2c3-ceb922853866', 2, '384178ed-1f78-5fd2-8047-fac227e3a25e', 'asset.verified.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"ok":true,"size":393,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963"}}', '{"actor":"ingest"}', '2026-11-24 19:33:18.218841+00'),
	(30, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 1, 'fb677b58-ebbe-49c8-9eef-5a8e4c794a18', 'job.submitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":2904535}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-acme\"}}},\"extra_data\":{\"create_time\":1795548798342}}"},"targets":["3"],"nodes_total":3}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"5a4d41f1-2f07-42f0-835b-f0f14ea6ab8a"}', '2026-11-24 19:33:18.349042+00'),
	(31, 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 2, '521fb30a-fc81-56ec-a158-e71e2da49ce2', 'job.admitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"5a4d41f1-2f07-42f0-835b-f0f14ea6ab8a"}', '2026-11-24 19:33:18.349402+00'),
	(42, 'account-a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2eb0096d-d2ca-47b0-9614-3d2f6c6ca009', 'account.created.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"name":"umbrella","tier":"standard"}', '{"actor":"operator:root@vm"}', '2026-11-24 19:33:18.490877+00'),
	(43, 'account-a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 2, '58994b47-4fb9-4a12-9bc7-3e7ea684a0f4', 'account.key_issued.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"key":"51e4b3a4-1fdf-4b44-adce-4089594330bb","scopes":["read","write"]}', '{"actor":"operator:root@vm"}', '2026-11-24 19:33:18.573363+00'),
	(44, 'webhooks-a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '4ad92abf-bfc5-4497-89a4-6b7dc3434343', 'webhook.registered.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"webhook":"5096c6e7-6e04-43df-8e2d-40f04e8ff75a","host":"hooks.invalid","events":["call.*","job.*"]}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"66c4de34-b6b6-461e-a83a-b0723078242b"}', '2026-11-24 19:33:18.610511+00'),
	(45, 'asset-ef467e91-7922-4e23-b77c-f4fec2a14ce3', 1, '78c82910-a056-48e0-b2b0-1dc6f4d42dca', 'asset.created.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"origin":"upload","hash":"blake3:5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235","size":16,"content_type":"text/plain","file_path":"note.txt","place":{"folder":"input","subfolder":"","filename":"note.txt"},"created_at":"2026-11-24T19:33:18.617Z"}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"5f135035-84b9-4a29-9173-4d949f72257c"}', '2026-11-24 19:33:18.623998+00'),
	(46, 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 1, '254f09ee-f8e5-475d-ab77-53a52d3017b5', 'call.accepted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"model":"sim/echo","provider":"sim","mode":"queued","api":"v2","options":{"fallback_provider":true},"request":{"ref":"blake3:f85c619d7aa613cdca9358a9ee0b501bb29c47c4e351d8def7f302ea798eac2a","size":18,"content_type":"application/json"},"held_micros":0,"catalog":"49f802a66c7451610c26bdb4b6cb178c4bfb85fb5baf55c798ab7c7312baf9a9","base":"http://127.0.0.1:21175","fallback":"runware"}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"f17741da-7d01-4708-8081-8de6ad5aa6ff"}', '2026-11-24 19:33:18.641572+00'),
	(47, 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 2, '70c148ee-8b2e-55d3-8fcd-39d10b96d513', 'call.admitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"f17741da-7d01-4708-8081-8de6ad5aa6ff"}', '2026-11-24 19:33:18.641626+00'),
	(48, 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 3, '476554dc-f1fb-55a4-9f04-0b02fdbdcbba', 'call.dispatching.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"token":"ad4dd0f1-f756-4ca2-b2e6-11adda23908f","worker":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.66552+00'),
	(49, 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 4, '8ec55ce3-b489-537a-8d34-e376c424e4c4', 'call.answered.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"price_micros":0}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.670526+00'),
	(50, 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 5, 'a46bfa4b-01b4-5bc4-b9b4-8e5ee5e8585b', 'call.succeeded.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"model":"sim/echo","answer":{"ref":"blake3:4c74f6d84afa1d5ae4074e1727fbaefc740da437f749ac250f9d8b97a3e45fc4","size":60,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd"}', '2026-11-24 19:33:18.670554+00'),
	(51, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 1, '61b88d4f-7cf5-4f14-a4ba-eaf5f67a3a17', 'job.submitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"number":0,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":1965554}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"done-umbrella\"}}},\"extra_data\":{\"create_time\":1795548798701}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"22b31d91-8567-44ad-8e9a-29f01573bb36"}', '2026-11-24 19:33:18.70288+00'),
	(52, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 2, 'd3a17def-4c4c-533b-befa-61f6f53a7119', 'job.admitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"22b31d91-8567-44ad-8e9a-29f01573bb36"}', '2026-11-24 19:33:18.70298+00'),
	(53, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 3, '41ed5b57-302b-5047-bc34-79a2d266b8bd', 'job.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes_total":3,"worker":"vm/8639","execution":"01a20f0c-5ef2-7e6d-997e-3c915d36ee7a"}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754417+00'),
	(54, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 4, '74e5164f-0384-5bf1-a529-ef52f3a7901b', 'job.nodes_cached.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes":null}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754442+00'),
	(55, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 5, '484d6ed0-2fbc-5e43-af19-32c6cbc35411', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754447+00'),
	(56, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 6, 'b45b719a-da12-57a1-acb1-6d11fd115f00', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"EmptyImage","millis":0}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.75445+00'),
	(57, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 7, '363a86d9-cc15-5263-a2b1-00d848ec2cb7', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"2","class":"ImageInvert","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754453+00'),
	(58, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 8, '2dd6a101-b411-59c3-aff1-f6e6424fb7dc', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"2","class":"ImageInvert","millis":0}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754456+00'),
	(59, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 9, '3921b915-f263-5763-9da7-f8e324946f4d', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"3","class":"SaveImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.754458+00'),
	(89, 'job-f2149003-9141-4569-af05-be623fa6939c', 5, '02e2ac3a-80df-55b1-a912-f2b44f4496c0', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.759545+00'),
	(90, 'job-f2149003-9141-4569-af05-be623fa6939c', 6, 'b80db2c9-bb9d-5894-849f-ca210e83f58e', 'node.executed.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"1","class":"EmptyImage","millis":13}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.759555+00'),
	(60, 'asset-952683e8-3fef-511f-943a-281236658440', 1, '93dc5987-c312-5a69-a3cf-ae5afe10c394', 'asset.created.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"origin":"job","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","file_path":"done-umbrella_00001_.png","place":{"folder":"output","subfolder":"","filename":"done-umbrella_00001_.png"},"producer":{"job":"baeab89c-2e45-48fe-80cf-5670e7fcade7","run":1,"node":"3","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:33:18.755Z"}', '{"actor":"job baeab89c-2e45-48fe-80cf-5670e7fcade7"}', '2026-11-24 19:33:18.777236+00'),
	(61, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 10, 'b13a8968-7bd4-593f-8f49-cf1f656e6c61', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"952683e8-3fef-511f-943a-281236658440","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.768908Z"}],"millis":86}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.856458+00'),
	(62, 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 11, '86157d3b-bc3b-5e34-9aef-903b06bfedc3', 'job.succeeded.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:18.85649+00'),
	(78, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 6, '4de41d3d-b304-5256-9af3-4013aac5b158', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"Partner_sim_image","millis":1403,"waited_millis":132}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.382376+00'),
	(79, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 7, 'b553aaf9-0307-5ec8-b2bd-7c4f7736e3ec', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"2","class":"SaveImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.523596+00'),
	(80, 'asset-215b8294-5df8-598a-8f6c-c1ba051a9271', 1, '04220e70-d548-562d-8749-3dfb6f236afa', 'asset.created.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"origin":"job","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","file_path":"painted_00001_.png","place":{"folder":"output","subfolder":"","filename":"painted_00001_.png"},"producer":{"job":"0c03eb9d-7f1a-4409-8086-1708119753a4","run":1,"node":"2","index":0},"width":64,"height":64,"expires_at":"2027-01-25T19:33:20.528Z"}', '{"actor":"job 0c03eb9d-7f1a-4409-8086-1708119753a4"}', '2026-11-24 19:33:20.533741+00'),
	(81, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 8, '8913b91f-f224-5c5a-9d3b-41f6eaa5147d', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"215b8294-5df8-598a-8f6c-c1ba051a9271","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:20.530496Z"}],"millis":32}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.571265+00'),
	(92, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 3, '164b6f19-9041-534a-941c-9851dcf69aae', 'job.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes_total":6,"worker":"vm/8639","execution":"01a20f0c-66bb-7ddb-8b15-c9e71f47d666"}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.881418+00'),
	(93, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 4, '4dc53f8b-6304-5c7d-8214-f593fa9f8016', 'job.nodes_cached.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes":null}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.881454+00'),
	(94, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 5, '523597e4-02c1-598c-b674-b6b42314ef30', 'node.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"EmptyImage","attempt":1}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.881459+00'),
	(95, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 6, '64fe30a0-b7d3-595a-809a-7a4cf01fdfc2', 'node.executed.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"node":"1","class":"EmptyImage","millis":9}', '{"actor":"vm/8639"}', '2026-11-24 19:33:20.881463+00'),
	(64, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 1, '72838ceb-6e02-48e8-87b2-bc77e247d133', 'job.submitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"number":1,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"Partner_sim_image\",\"inputs\":{\"prompt\":\"a picture for umbrella\"}},\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"painted\"}}},\"extra_data\":{\"create_time\":1795548798902}}"},"targets":["2"],"nodes_total":2,"credential":true}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"88e4b036-5f38-42c5-aa6d-9b0f77221f28"}', '2026-11-24 19:33:18.904586+00'),
	(65, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 2, '301863d9-b95a-5361-b33d-e9c5397a5d53', 'job.admitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"88e4b036-5f38-42c5-aa6d-9b0f77221f28"}', '2026-11-24 19:33:18.904692+00'),
	(66, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 3, '96a2cfad-dfcb-5188-b9e9-e5e95a1b7ed7', 'job.started.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes_total":2,"worker":"vm/8638","execution":"01a20f0c-5fbd-7cbf-8269-007d15842f4b"}', '{"actor":"vm/8638"}', '2026-11-24 19:33:18.931561+00'),
	(67, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 4, '66129e69-ed97-5eb5-8f1c-a060599ed838', 'job.nodes_cached.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"nodes":null}', '{"actor":"vm/8638"}', '2026-11-24 19:33:18.931646+00'),
	(71, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 3, '48992260-576c-5044-8cc9-7d4dba250886', 'call.dispatching.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1,"token":"417abd31-17df-46a4-925f-ce32c18e52a6","worker":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '{"actor":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '2026-11-24 19:33:19.010927+00'),
	(72, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 4, 'bcead52e-33fe-5797-88ac-b41eb2676384', 'call.provider_accepted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"handle":"sim-eyJyIjoxNzk1NTQ4Nzk5MDY2LCJzIjoiZjFiMTRlMjgiLCJ4IjoiaW1hZ2UifQ"}', '{"actor":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '2026-11-24 19:33:19.01722+00'),
	(73, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 5, '59b5ca33-c7e7-554a-915f-ca1278839d96', 'call.answered.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"answer":{"ref":"blake3:830fd0b2ce93975716206c093acf3669c2828bc6014d1466a43481f1ee31304a","size":185,"content_type":"application/json"},"price_micros":0,"linked":true}', '{"actor":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '2026-11-24 19:33:20.025944+00'),
	(74, 'asset-93c0d653-cf19-46af-a5d7-149aeff91bbe', 1, '1be5abaa-d029-4411-adf4-3ab30bcb6a50', 'asset.created.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"origin":"call","hash":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279,"content_type":"image/png","file_path":"calls/2f7fd2fa-5208-4c51-b3d0-f0227d901625/0-f1b14e28.png","created_at":"2026-11-24T19:33:20.143Z","expires_at":"2026-11-25T19:33:20.143Z"}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"2f7fd2fa-5208-4c51-b3d0-f0227d901625"}', '2026-11-24 19:33:20.154898+00'),
	(75, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 6, 'e660d1e1-1b2e-5110-9661-2b7632f022c9', 'call.hosted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"assets":[{"pointer":"/result/url","asset":"93c0d653-cf19-46af-a5d7-149aeff91bbe","ref":"blake3:9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6","size":279}],"answer":{"ref":"blake3:13faf2b10aeef5c6cf962821a89db8661c09fea478a33b5ffe308ce412e1618f","size":355,"content_type":"application/json"}}', '{"actor":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '2026-11-24 19:33:20.277596+00'),
	(76, 'call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 7, '953004fb-d101-5729-8a18-b7f05feca15d', 'call.succeeded.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"model":"sim/image","answer":{"ref":"blake3:13faf2b10aeef5c6cf962821a89db8661c09fea478a33b5ffe308ce412e1618f","size":355,"content_type":"application/json"},"replayable":true,"charged_micros":0}', '{"actor":"vm/8638/89da6712-403d-46b6-8049-3aea268f5221"}', '2026-11-24 19:33:20.277628+00'),
	(77, 'asset-93c0d653-cf19-46af-a5d7-149aeff91bbe', 2, 'd93493f4-53e4-5767-8ace-de29fa3440a4', 'asset.verified.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"ok":true,"size":279,"scan":{"verdict":"clean","sniffed_type":"image/png","width":64,"height":64,"thumbnail":"blake3:4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3"}}', '{"actor":"ingest"}', '2026-11-24 19:33:20.345142+00'),
	(82, 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 9, '76e0d337-8fb3-5d12-a276-648871ea1674', 'job.succeeded.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.605321+00'),
	(83, 'job-f2149003-9141-4569-af05-be623fa6939c', 1, '5810998c-54fc-4c08-863d-7106d407e67c', 'job.submitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":3070678}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-acme-0\"}}},\"extra_data\":{\"create_time\":1795548800661}}"},"targets":["6"],"nodes_total":6}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"ee89fe6c-2b5f-4219-a505-78ebd2327610"}', '2026-11-24 19:33:20.662441+00'),
	(84, 'job-f2149003-9141-4569-af05-be623fa6939c', 2, '72097d90-3e51-5652-a6c6-400348a521fd', 'job.admitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"ee89fe6c-2b5f-4219-a505-78ebd2327610"}', '2026-11-24 19:33:20.662491+00'),
	(85, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 1, '459ccb8a-4e12-4ce2-8bd8-2641c42ca027', 'job.submitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"number":2,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":2048,\"height\":2048,\"batch_size\":1,\"color\":16194738}},\"2\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"1\",0],\"blur_radius\":31,\"sigma\":2.0}},\"3\":{\"class_type\":\"ImageSharpen\",\"inputs\":{\"image\":[\"2\",0],\"sharpen_radius\":31,\"sigma\":2.0,\"alpha\":1.0}},\"4\":{\"class_type\":\"ImageBlur\",\"inputs\":{\"image\":[\"3\",0],\"blur_radius\":31,\"sigma\":2.0}},\"5\":{\"class_type\":\"ImageScale\",\"inputs\":{\"image\":[\"4\",0],\"upscale_method\":\"lanczos\",\"width\":256,\"height\":256,\"crop\":\"disabled\"}},\"6\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"5\",0],\"filename_prefix\":\"running-umbrella-0\"}}},\"extra_data\":{\"create_time\":1795548800688}}"},"targets":["6"],"nodes_total":6}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"b0092076-ed8b-4c1e-bb6f-295439a73db2"}', '2026-11-24 19:33:20.694014+00'),
	(86, 'job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 2, 'b4fbe62d-b426-5f9c-86ae-5f3cd17aaab2', 'job.admitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"run":1}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"b0092076-ed8b-4c1e-bb6f-295439a73db2"}', '2026-11-24 19:33:20.694067+00'),
	(87, 'job-f2149003-9141-4569-af05-be623fa6939c', 3, '4323fd4d-4f1d-5c43-9f46-f0327fddee41', 'job.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes_total":6,"worker":"vm/8638","execution":"01a20f0c-669c-7857-9fa7-5f3c9a55647e"}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.759504+00'),
	(88, 'job-f2149003-9141-4569-af05-be623fa6939c', 4, '38013d11-a5bb-5867-8d46-71af61cf0b7b', 'job.nodes_cached.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"nodes":null}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.759539+00'),
	(91, 'job-f2149003-9141-4569-af05-be623fa6939c', 7, '2dd9538d-e478-5908-ab01-054a98cca84e', 'node.started.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"run":1,"node":"2","class":"ImageBlur","attempt":1}', '{"actor":"vm/8638"}', '2026-11-24 19:33:20.86832+00'),
	(96, 'job-fc5b3318-0524-4394-a7e9-2696636142f7', 1, '0aea724a-7026-4bb7-a90a-9c25df4fcd2c', 'job.submitted.v1', '919e0fca-c9a2-45be-81e9-946fa084b62f', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":15558610}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-acme\"}}},\"extra_data\":{\"create_time\":1795548800960}}"},"targets":["3"],"nodes_total":3}', '{"actor":"919e0fca-c9a2-45be-81e9-946fa084b62f","request_id":"0055d077-283c-4446-8434-ba0135c461f5"}', '2026-11-24 19:33:20.968316+00'),
	(97, 'job-cacd07f9-a3c7-41ea-9673-815147bfb5eb', 1, '8d2051d4-beb1-42e4-9346-b3bc5993a389', 'job.submitted.v1', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '{"number":3,"surface":"cloud","document":{"inline":"{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":13403692}},\"2\":{\"class_type\":\"ImageInvert\",\"inputs\":{\"image\":[\"1\",0]}},\"3\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"2\",0],\"filename_prefix\":\"waiting-umbrella\"}}},\"extra_data\":{\"create_time\":1795548800975}}"},"targets":["3"],"nodes_total":3}', '{"actor":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","request_id":"10f49f79-589b-4021-9e29-9849862735f1"}', '2026-11-24 19:33:20.977364+00');
INSERT INTO public.file_counters VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', '', 'painted', 1),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'output', '', 'done-acme', 1),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', '', 'done-umbrella', 1),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'output', '', 'painted', 1);
INSERT INTO public.files VALUES
	('211132ea-a372-4399-925c-09c6b6657664', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\x7c6f2a92c5b2399a27ebb170a6a88969f318e8c24ff4db66e6a51572b177816f', 12, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 19:33:14.773777+00', NULL, NULL, NULL),
	('536bd983-a8af-479e-b2c3-ceb922853866', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\x28201a161f82f14191f41d214218e691dc6939c986b875fea7f711a52a91a9c7', 393, 'image/png', 'calls/20562d25-e259-4ed4-a6bd-556fe440bfae/0-b008fe36.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 19:33:18.194706+00', '2026-11-25 19:33:18.191+00', '\x855edfb1891f4ed1fa2f5127e54702b757264417ac8a3c9b2c423c8f08324963', NULL),
	('f8b20c98-7b93-51a5-85ca-b79e2e17f65d', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\x8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e', 741, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 1, '2', 0, false, '2026-11-24 19:33:18.302788+00', '2027-01-25 19:33:18.297+00', NULL, NULL),
	('b2221950-18b6-580d-9f77-5371aea010d2', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\xb5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323', 450, 'image/png', NULL, 'output', '', 'done-acme_00001_.png', true, '{}', 64, 64, 'b35cd6b3-6b82-4a21-9606-685b990e989e', 1, '3', 0, false, '2026-11-24 19:33:18.375854+00', '2027-01-25 19:33:18.373+00', NULL, NULL),
	('952683e8-3fef-511f-943a-281236658440', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\xafe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b', 453, 'image/png', NULL, 'output', '', 'done-umbrella_00001_.png', true, '{}', 64, 64, 'baeab89c-2e45-48fe-80cf-5670e7fcade7', 1, '3', 0, false, '2026-11-24 19:33:18.768908+00', '2027-01-25 19:33:18.755+00', NULL, NULL),
	('ef467e91-7922-4e23-b77c-f4fec2a14ce3', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\x5accce17408b25a098a1c12ef6a7a754a0054522cabaa189ec4c9c339315d235', 16, 'text/plain', 'note.txt', 'input', '', 'note.txt', true, '{}', 0, 0, NULL, NULL, NULL, NULL, false, '2026-11-24 19:33:18.619068+00', NULL, NULL, NULL),
	('93c0d653-cf19-46af-a5d7-149aeff91bbe', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\x9535c2db22198d1bafc2ef863140255148a3e3a360baac88a3bdbfbbd7a738c6', 279, 'image/png', 'calls/2f7fd2fa-5208-4c51-b3d0-f0227d901625/0-f1b14e28.png', 'input', '', '', false, '{}', 64, 64, NULL, NULL, NULL, NULL, false, '2026-11-24 19:33:20.147819+00', '2026-11-25 19:33:20.143+00', '\x4791644a4d60e0249c9c207a23633212b618d71463e362e9fddfa915a96b9ca3', NULL),
	('215b8294-5df8-598a-8f6c-c1ba051a9271', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\xfc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a', 542, 'image/png', NULL, 'output', '', 'painted_00001_.png', true, '{}', 64, 64, '0c03eb9d-7f1a-4409-8086-1708119753a4', 1, '2', 0, false, '2026-11-24 19:33:20.530496+00', '2027-01-25 19:33:20.528+00', NULL, NULL);
INSERT INTO public.job_admissions VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 3, 1, 1, 0, 'open'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 3, 1, 1, 0, 'open');
INSERT INTO public.job_index_v1 VALUES
	('844bd1b1-a2b6-4177-876e-eec01b4cd4e0', '919e0fca-c9a2-45be-81e9-946fa084b62f', 11, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''acme'':7 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2'),
	('b35cd6b3-6b82-4a21-9606-685b990e989e', '919e0fca-c9a2-45be-81e9-946fa084b62f', 30, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''acme'':6 ''done'':5 ''done-acme'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3'),
	('baeab89c-2e45-48fe-80cf-5670e7fcade7', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 51, 1, '', '{EmptyImage,ImageInvert,SaveImage}', '{}', '{}', '', '', '', '''done'':5 ''done-umbrella'':4 ''emptyimage'':1 ''imageinvert'':2 ''saveimage'':3 ''umbrella'':6'),
	('0c03eb9d-7f1a-4409-8086-1708119753a4', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 64, 1, '', '{Partner_sim_image,SaveImage}', '{}', '{}', '', '', '', '''a'':4 ''for'':6 ''image'':3 ''painted'':9 ''partner'':1 ''picture'':5 ''saveimage'':8 ''sim'':2 ''umbrella'':7'),
	('f2149003-9141-4569-af05-be623fa6939c', '919e0fca-c9a2-45be-81e9-946fa084b62f', 83, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''acme'':11 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-acme'':9 ''saveimage'':8'),
	('67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 85, 1, '', '{EmptyImage,ImageBlur,ImageScale,ImageSharpen,SaveImage}', '{}', '{}', '', '', '', '''0'':12 ''disabled'':6 ''emptyimage'':1 ''imageblur'':2,4 ''imagescale'':5 ''imagesharpen'':3 ''lanczos'':7 ''running'':10 ''running-umbrella'':9 ''saveimage'':8 ''umbrella'':11');
INSERT INTO public.job_queue OVERRIDING SYSTEM VALUE VALUES
	('fc5b3318-0524-4394-a7e9-2696636142f7', '919e0fca-c9a2-45be-81e9-946fa084b62f', 3, 1),
	('cacd07f9-a3c7-41ea-9673-815147bfb5eb', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 3, 2);
INSERT INTO public.job_slots VALUES
	('f2149003-9141-4569-af05-be623fa6939c', '919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:33:20.661544+00', NULL, NULL),
	('67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:33:20.691674+00', NULL, NULL);
INSERT INTO public.jobs_v1 VALUES
	('844bd1b1-a2b6-4177-876e-eec01b4cd4e0', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'succeeded', 0, 11, 9, '2026-11-24 19:33:16.881457+00', '{}', '{"id":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"succeeded","version":9,"position":29,"number":0,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20f0c-57db-70d1-8a00-8cb6d8efd13c","submitted_at":"2026-11-24T19:33:16.881457Z","admitted_at":"2026-11-24T19:33:16.882235Z","started_at":"2026-11-24T19:33:16.956126Z","ended_at":"2026-11-24T19:33:18.336455Z","updated_at":"2026-11-24T19:33:18.336455Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"f8b20c98-7b93-51a5-85ca-b79e2e17f65d","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.302788Z"}]}]}', NULL),
	('b35cd6b3-6b82-4a21-9606-685b990e989e', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'succeeded', 1, 30, 11, '2026-11-24 19:33:18.349042+00', '{}', '{"id":"b35cd6b3-6b82-4a21-9606-685b990e989e","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"succeeded","version":11,"position":41,"number":1,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20f0c-5d93-78e1-8a6a-f589c312d862","submitted_at":"2026-11-24T19:33:18.349042Z","admitted_at":"2026-11-24T19:33:18.349402Z","started_at":"2026-11-24T19:33:18.372372Z","ended_at":"2026-11-24T19:33:18.387014Z","updated_at":"2026-11-24T19:33:18.387014Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b2221950-18b6-580d-9f77-5371aea010d2","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.375854Z"}]}]}', NULL),
	('baeab89c-2e45-48fe-80cf-5670e7fcade7', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'succeeded', 0, 51, 11, '2026-11-24 19:33:18.70288+00', '{}', '{"id":"baeab89c-2e45-48fe-80cf-5670e7fcade7","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"succeeded","version":11,"position":62,"number":0,"surface":"cloud","targets":["3"],"nodes_total":3,"run":1,"execution":"01a20f0c-5ef2-7e6d-997e-3c915d36ee7a","submitted_at":"2026-11-24T19:33:18.70288Z","admitted_at":"2026-11-24T19:33:18.70298Z","started_at":"2026-11-24T19:33:18.754417Z","ended_at":"2026-11-24T19:33:18.85649Z","updated_at":"2026-11-24T19:33:18.85649Z","nodes_done":3,"executed":["1","2","3"],"outputs":[{"node":"3","class":"SaveImage","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"952683e8-3fef-511f-943a-281236658440","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.768908Z"}]}]}', NULL),
	('f2149003-9141-4569-af05-be623fa6939c', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'running', 2, 83, 7, '2026-11-24 19:33:20.662441+00', '{}', '{"id":"f2149003-9141-4569-af05-be623fa6939c","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"running","version":7,"position":91,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20f0c-669c-7857-9fa7-5f3c9a55647e","submitted_at":"2026-11-24T19:33:20.662441Z","admitted_at":"2026-11-24T19:33:20.662491Z","started_at":"2026-11-24T19:33:20.759504Z","updated_at":"2026-11-24T19:33:20.86832Z","nodes_done":1,"executed":["1"],"running":{"2":"ImageBlur"}}', NULL),
	('67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'running', 2, 85, 6, '2026-11-24 19:33:20.694014+00', '{}', '{"id":"67c06dc3-b159-4c1d-9747-80d5d0ff74d0","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"running","version":6,"position":95,"number":2,"surface":"cloud","targets":["6"],"nodes_total":6,"run":1,"execution":"01a20f0c-66bb-7ddb-8b15-c9e71f47d666","submitted_at":"2026-11-24T19:33:20.694014Z","admitted_at":"2026-11-24T19:33:20.694067Z","started_at":"2026-11-24T19:33:20.881418Z","updated_at":"2026-11-24T19:33:20.881463Z","nodes_done":1,"executed":["1"]}', NULL),
	('fc5b3318-0524-4394-a7e9-2696636142f7', '919e0fca-c9a2-45be-81e9-946fa084b62f', 'queued', 3, 96, 1, '2026-11-24 19:33:20.968316+00', '{}', '{"id":"fc5b3318-0524-4394-a7e9-2696636142f7","account":"919e0fca-c9a2-45be-81e9-946fa084b62f","state":"queued","version":1,"position":96,"number":3,"surface":"cloud","targets":["3"],"nodes_total":3,"run":0,"submitted_at":"2026-11-24T19:33:20.968316Z","updated_at":"2026-11-24T19:33:20.968316Z","nodes_done":0}', NULL),
	('0c03eb9d-7f1a-4409-8086-1708119753a4', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'succeeded', 1, 64, 9, '2026-11-24 19:33:18.904586+00', '{}', '{"id":"0c03eb9d-7f1a-4409-8086-1708119753a4","account":"a80af3b0-465d-479b-b0ef-d2ad0a7e798a","state":"succeeded","version":9,"position":82,"number":1,"surface":"cloud","targets":["2"],"nodes_total":2,"run":1,"execution":"01a20f0c-5fbd-7cbf-8269-007d15842f4b","submitted_at":"2026-11-24T19:33:18.904586Z","admitted_at":"2026-11-24T19:33:18.904692Z","started_at":"2026-11-24T19:33:18.931561Z","ended_at":"2026-11-24T19:33:20.605321Z","updated_at":"2026-11-24T19:33:20.605321Z","nodes_done":2,"executed":["1","2"],"outputs":[{"node":"2","class":"SaveImage","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"215b8294-5df8-598a-8f6c-c1ba051a9271","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:20.530496Z"}]}]}', NULL);
INSERT INTO public.node_cache VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', '\x2b9acbe457202a0ba28ccc92a488791469b56b1b9d1b44cf7f491e3529c59bdf', '{"class":"Partner_sim_image","job":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","values":["cached:blake3:467b1c354054f2f260be77b65d60a19aa0329904f35c51890c121bc1dea43253"]}', '{}', 12495, '2026-11-24 19:33:18.234882+00', '2026-11-24 19:33:18.234882+00'),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', '\xa33af4d85b290d750de1675032469b2d220bcca2de52d86a2d0b7b3de3ebabde', '{"class":"SaveImage","job":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"f8b20c98-7b93-51a5-85ca-b79e2e17f65d","hash":"blake3:8832ec5c88ddafebb0a1c97eb7776715754ef61103573cba898eab4d55873d1e","size":741,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.302788Z"}]}', '{f8b20c98-7b93-51a5-85ca-b79e2e17f65d}', 433, '2026-11-24 19:33:18.317177+00', '2026-11-24 19:33:18.317177+00'),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', '\x22d82fbe57377454ce981a177cd2428d4cccc2ddb4c75f52f8c907388b3c0a54', '{"class":"SaveImage","job":"b35cd6b3-6b82-4a21-9606-685b990e989e","ui":{"images":[{"filename":"done-acme_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"b2221950-18b6-580d-9f77-5371aea010d2","hash":"blake3:b5a31f5a266aecde4776c8afbaa823bd761ec9873b41e03ee3124c75075dc323","size":450,"content_type":"image/png","filename":"done-acme_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.375854Z"}]}', '{b2221950-18b6-580d-9f77-5371aea010d2}', 437, '2026-11-24 19:33:18.385378+00', '2026-11-24 19:33:18.385378+00'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\xecbd4ca127adcc8db10f49dc73204d9fb4bc4e4930b278aabf9f8dcf770e50f8', '{"class":"SaveImage","job":"baeab89c-2e45-48fe-80cf-5670e7fcade7","ui":{"images":[{"filename":"done-umbrella_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"952683e8-3fef-511f-943a-281236658440","hash":"blake3:afe609e927755158ac3036ee7550b486b1e50d180ac6e457b564e3321d4ebc4b","size":453,"content_type":"image/png","filename":"done-umbrella_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:18.768908Z"}],"values":["cached:blake3:243ec1d14d1c6ff83ef926e65307bb6a5877716ef7311e977a7c6c20fb7cea23"]}', '{952683e8-3fef-511f-943a-281236658440}', 49730, '2026-11-24 19:33:18.842807+00', '2026-11-24 19:33:18.842807+00'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\xe212a11848bc431de5d6ce2321fc7b649557d0ee3f1c960bf3d6832e1aa11dab', '{"class":"Partner_sim_image","job":"0c03eb9d-7f1a-4409-8086-1708119753a4","values":["cached:blake3:c492da4a9dd68543dfd2f83fa585effeceed804a25114d7613f632e8799d8ac5"]}', '{}', 12495, '2026-11-24 19:33:20.376049+00', '2026-11-24 19:33:20.376049+00'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\x08d9320c360dd2f259a103776d95112a898ae82157b11048ad3daea13c0de38d', '{"class":"SaveImage","job":"0c03eb9d-7f1a-4409-8086-1708119753a4","ui":{"images":[{"filename":"painted_00001_.png","subfolder":"","type":"output"}]},"files":[{"asset":"215b8294-5df8-598a-8f6c-c1ba051a9271","hash":"blake3:fc16d7c40faba70899cf9d1e1d862c28d5bdefd43dbb22b276221e08d626264a","size":542,"content_type":"image/png","filename":"painted_00001_.png","subfolder":"","folder":"output","saved_at":"2026-11-24T19:33:20.530496Z"}]}', '{215b8294-5df8-598a-8f6c-c1ba051a9271}', 433, '2026-11-24 19:33:20.570561+00', '2026-11-24 19:33:20.570561+00');
INSERT INTO public.replicas VALUES
	('84c74c9e-382a-49cd-bca9-39baa542da36', 'http://127.0.0.1:43349', '2026-11-24 19:33:18.041931+00'),
	('1a5b7ee9-43cb-49cf-ad57-9d5d1deaaaf8', 'http://127.0.0.1:34493', '2026-11-24 19:33:18.432834+00'),
	('3dc7c223-d72a-4c4c-9df6-2747e9173305', 'http://127.0.0.1:41845', '2026-11-24 19:33:19.051075+00'),
	('3e796c4a-9595-4255-bcdf-2ce2b0ba2b50', 'http://127.0.0.1:37913', '2026-11-24 19:33:19.995966+00');
INSERT INTO public.schema_migrations VALUES
	(101, '0101_log.sql', '32dbbd4191017b117e07d590dc84a954596a5c0066e6a58834461a73a1483a2d', 'dev', '2026-11-24 19:33:12.362412+00'),
	(102, '0102_outbox.sql', '2ae6cae3fae1d68710796913bc8a626b574ad3ac6e0455e6e8af9e6cb051a6aa', 'dev', '2026-11-24 19:33:12.387834+00'),
	(103, '0103_accounts.sql', 'b43249a232b528c7ceb031a76f78ad57582d187dc016ba38fdc1c94c3fac9541', 'dev', '2026-11-24 19:33:12.421885+00'),
	(104, '0104_credits.sql', '398b1cbe6b93cd3bf856abc471ea6b9fbc10605d25a441f673309c56a8a6d89d', 'dev', '2026-11-24 19:33:12.464034+00'),
	(105, '0105_jobs.sql', '4d4dfbd3c5624be873b46cf032d7cd24b0cac1b1ca4cf3481f1ec48f9f98e6dc', 'dev', '2026-11-24 19:33:12.489828+00'),
	(106, '0106_nodes.sql', 'e89001e891c8b2c7b3a74bf2cd1456c4a38c07a19bb089d3d7a24d7ecb92d581', 'dev', '2026-11-24 19:33:12.636553+00'),
	(107, '0107_assets.sql', 'bc23defbbc540b6bb2a20998cd0def3d144982f06123cddb27d40e8219d0133d', 'dev', '2026-11-24 19:33:12.668309+00'),
	(108, '0108_userdata.sql', 'e829e4a19e6c957fd6b9b398f647bd64a135b33b8a6374edd71b0b3c1ab5ccf7', 'dev', '2026-11-24 19:33:12.82669+00'),
	(109, '0109_storage.sql', 'e24e52218df6e408024be40566c848ce78bf0b86008e9c238a3dd3aabe68fb8f', 'dev', '2026-11-24 19:33:12.841136+00'),
	(110, '0110_calls.sql', '21ef5aca11e7bd47b43bc7369049eedbf770875636a40da84e96933644a02b59', 'dev', '2026-11-24 19:33:12.866605+00'),
	(111, '0111_webhooks.sql', '384945a0fe34621894a1384532d746ded914fa5f5762f3d85b8a1534bdf88f47', 'dev', '2026-11-24 19:33:12.948614+00'),
	(112, '0112_servers.sql', '0dff6b2d3dcb3cea51f190527757bcd46eb1eedc9e06169ab298540feb89254a', 'dev', '2026-11-24 19:33:12.981973+00'),
	(113, '0113_processes.sql', '32ba19480bb1fa4de07b1a3c030cc5571c7533a3a8b70e8c06d600b0d7a4e805', 'dev', '2026-11-24 19:33:13.067997+00'),
	(114, '0114_stats.sql', '902e6e95591507797e6b5ad2dce1b1471a150bfadbb5fe297b5e44cfbb4e50d3', 'dev', '2026-11-24 19:33:13.079047+00'),
	(115, '0115_deployments.sql', '54e76fff1fc9edb0533122d82852fcc09d61704c44ea34e8833e9714ff5696f6', 'dev', '2026-11-24 19:33:13.097392+00'),
	(116, '0116_sessions.sql', 'f70a145d124abb39afb9a3de82e9e972b478c97838695c42707dad52856ad17c', 'dev', '2026-11-24 19:33:13.114127+00');
INSERT INTO public.stats_at_v1 VALUES
	(1, 67, '2026-11-24 19:00:00+00');
INSERT INTO public.stats_open_v1 VALUES
	('job-0c03eb9d-7f1a-4409-8086-1708119753a4', '2026-11-24 19:33:18.904586+00');
INSERT INTO public.stats_v1 VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'calls', 'sim/echo', 1, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 1, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'waited', '025', 1, 74),
	('', 0, '2026-11-24 19:33:00+00', 'waited', '025', 1, 74),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'waited', '025', 1, 74),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '025', 1, 74),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'calls', 'sim/image', 1, 0),
	('', 0, '2026-11-24 19:33:00+00', 'calls', 'sim/image', 1, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/image', 1, 0),
	('', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/image', 1, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'nodes', 'executed', 5, 1196),
	('', 0, '2026-11-24 19:33:00+00', 'nodes', 'executed', 8, 1282),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 5, 1196),
	('', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 8, 1282),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'took', '042', 1, 1454),
	('', 0, '2026-11-24 19:33:00+00', 'took', '042', 1, 1454),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'took', '042', 1, 1454),
	('', 1, '2026-11-24 19:00:00+00', 'took', '042', 1, 1454),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'ended', 'succeeded', 2, 1491),
	('', 0, '2026-11-24 19:33:00+00', 'ended', 'succeeded', 3, 1644),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 2, 1491),
	('', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 3, 1644),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'submitted', '', 2, 0),
	('', 0, '2026-11-24 19:33:00+00', 'submitted', '', 4, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'submitted', '', 2, 0),
	('', 1, '2026-11-24 19:00:00+00', 'submitted', '', 4, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'waited', '018', 1, 23),
	('', 0, '2026-11-24 19:33:00+00', 'waited', '018', 1, 23),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'waited', '018', 1, 23),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '018', 1, 23),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 0, '2026-11-24 19:33:00+00', 'took', '021', 1, 37),
	('', 0, '2026-11-24 19:33:00+00', 'took', '021', 1, 37),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '2026-11-24 19:00:00+00', 'took', '021', 1, 37),
	('', 1, '2026-11-24 19:00:00+00', 'took', '021', 1, 37),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'calls', 'sim/echo', 1, 0),
	('', 0, '2026-11-24 19:33:00+00', 'calls', 'sim/echo', 2, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 1, 0),
	('', 1, '2026-11-24 19:00:00+00', 'calls', 'sim/echo', 2, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'submitted', '', 2, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'submitted', '', 2, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'waited', '023', 1, 51),
	('', 0, '2026-11-24 19:33:00+00', 'waited', '023', 1, 51),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'waited', '023', 1, 51),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '023', 1, 51),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'nodes', 'executed', 3, 86),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'nodes', 'executed', 3, 86),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'took', '029', 1, 153),
	('', 0, '2026-11-24 19:33:00+00', 'took', '029', 1, 153),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'took', '029', 1, 153),
	('', 1, '2026-11-24 19:00:00+00', 'took', '029', 1, 153),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'ended', 'succeeded', 1, 153),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'ended', 'succeeded', 1, 153),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 0, '2026-11-24 19:33:00+00', 'waited', '019', 1, 26),
	('', 0, '2026-11-24 19:33:00+00', 'waited', '019', 1, 26),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '2026-11-24 19:00:00+00', 'waited', '019', 1, 26),
	('', 1, '2026-11-24 19:00:00+00', 'waited', '019', 1, 26);
INSERT INTO public.streams VALUES
	('account-919e0fca-c9a2-45be-81e9-946fa084b62f', '919e0fca-c9a2-45be-81e9-946fa084b62f', 2, false),
	('webhooks-919e0fca-c9a2-45be-81e9-946fa084b62f', '919e0fca-c9a2-45be-81e9-946fa084b62f', 1, false),
	('job-fc5b3318-0524-4394-a7e9-2696636142f7', '919e0fca-c9a2-45be-81e9-946fa084b62f', 1, false),
	('call-6443c761-90c4-4ea7-8300-254056c85de8', '919e0fca-c9a2-45be-81e9-946fa084b62f', 5, true),
	('asset-211132ea-a372-4399-925c-09c6b6657664', '919e0fca-c9a2-45be-81e9-946fa084b62f', 2, false),
	('job-cacd07f9-a3c7-41ea-9673-815147bfb5eb', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, false),
	('call-20562d25-e259-4ed4-a6bd-556fe440bfae', '919e0fca-c9a2-45be-81e9-946fa084b62f', 7, true),
	('asset-536bd983-a8af-479e-b2c3-ceb922853866', '919e0fca-c9a2-45be-81e9-946fa084b62f', 2, false),
	('asset-f8b20c98-7b93-51a5-85ca-b79e2e17f65d', '919e0fca-c9a2-45be-81e9-946fa084b62f', 1, false),
	('job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', '919e0fca-c9a2-45be-81e9-946fa084b62f', 9, true),
	('asset-b2221950-18b6-580d-9f77-5371aea010d2', '919e0fca-c9a2-45be-81e9-946fa084b62f', 1, false),
	('job-b35cd6b3-6b82-4a21-9606-685b990e989e', '919e0fca-c9a2-45be-81e9-946fa084b62f', 11, true),
	('account-a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 2, false),
	('webhooks-a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, false),
	('call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 5, true),
	('asset-952683e8-3fef-511f-943a-281236658440', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, false),
	('job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 11, true),
	('asset-ef467e91-7922-4e23-b77c-f4fec2a14ce3', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 2, false),
	('call-2f7fd2fa-5208-4c51-b3d0-f0227d901625', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 7, true),
	('asset-93c0d653-cf19-46af-a5d7-149aeff91bbe', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 2, false),
	('asset-215b8294-5df8-598a-8f6c-c1ba051a9271', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, false),
	('job-0c03eb9d-7f1a-4409-8086-1708119753a4', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 9, true),
	('job-f2149003-9141-4569-af05-be623fa6939c', '919e0fca-c9a2-45be-81e9-946fa084b62f', 7, false),
	('job-67c06dc3-b159-4c1d-9747-80d5d0ff74d0', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 6, false);
INSERT INTO public.usage_calls_v1 VALUES
	('6443c761-90c4-4ea7-8300-254056c85de8', 5),
	('20562d25-e259-4ed4-a6bd-556fe440bfae', 7),
	('f17741da-7d01-4708-8081-8de6ad5aa6ff', 5),
	('2f7fd2fa-5208-4c51-b3d0-f0227d901625', 7);
INSERT INTO public.usage_v1 VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'sim/echo', '2026-11-24', 1, 0, 0, 0, 0, 60, 0),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'sim/image', '2026-11-24', 1, 0, 0, 0, 0, 355, 0);
INSERT INTO public.userdata VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 19:33:14.596473+00', '2026-11-24 19:33:14.596473+00'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 'notes.json', '\xd59b6562d7c9b121bc9760873d787890ef4d429aad33a70b405baa0fa08a1f53', 7, '2026-11-24 19:33:18.599497+00', '2026-11-24 19:33:18.599497+00');
INSERT INTO public.webhook_deliveries OVERRIDING SYSTEM VALUE VALUES
	('a013046f-0753-5202-88f7-37eada108fb9', 1, '919e0fca-c9a2-45be-81e9-946fa084b62f', '2b526711-720b-4c88-a756-ae4ebe010cab', 'call-6443c761-90c4-4ea7-8300-254056c85de8', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T19:33:16.816231Z","data":{"object":"call","id":"6443c761-90c4-4ea7-8300-254056c85de8","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T19:33:14.817663Z","completed_at":"2026-11-24T19:33:16.816231Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/6443c761-90c4-4ea7-8300-254056c85de8"}}}', 'pending', 1, 0, '2026-11-24 19:33:16.865836+00', '2026-11-24 19:33:16.865836+00', '2026-11-24 19:33:22.630676+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:17.040500241Z", "error": "name_not_found", "millis": 1}]'),
	('56d61d3e-66d1-5c28-852a-59729f5d8ee6', 2, '919e0fca-c9a2-45be-81e9-946fa084b62f', '2b526711-720b-4c88-a756-ae4ebe010cab', 'job-844bd1b1-a2b6-4177-876e-eec01b4cd4e0', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:33:18.336455Z","data":{"object":"job","id":"844bd1b1-a2b6-4177-876e-eec01b4cd4e0","status":"succeeded","created_at":"2026-11-24T19:33:16.881457Z","completed_at":"2026-11-24T19:33:18.336455Z","error":null,"urls":{"self":"/api/v2/jobs/844bd1b1-a2b6-4177-876e-eec01b4cd4e0"}}}', 'pending', 1, 0, '2026-11-24 19:33:18.359686+00', '2026-11-24 19:33:18.359686+00', '2026-11-24 19:33:23.364525+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:18.476412691Z", "error": "name_not_found", "millis": 1}]'),
	('0592b307-e254-566f-8dba-ae21105354a4', 3, '919e0fca-c9a2-45be-81e9-946fa084b62f', '2b526711-720b-4c88-a756-ae4ebe010cab', 'job-b35cd6b3-6b82-4a21-9606-685b990e989e', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:33:18.387014Z","data":{"object":"job","id":"b35cd6b3-6b82-4a21-9606-685b990e989e","status":"succeeded","created_at":"2026-11-24T19:33:18.349042Z","completed_at":"2026-11-24T19:33:18.387014Z","error":null,"urls":{"self":"/api/v2/jobs/b35cd6b3-6b82-4a21-9606-685b990e989e"}}}', 'pending', 1, 0, '2026-11-24 19:33:18.422984+00', '2026-11-24 19:33:18.422984+00', '2026-11-24 19:33:23.169708+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:18.476698907Z", "error": "name_not_found", "millis": 1}]'),
	('875c640f-2e7f-581a-ac42-1fe3f03d940e', 4, 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '5096c6e7-6e04-43df-8e2d-40f04e8ff75a', 'call-f17741da-7d01-4708-8081-8de6ad5aa6ff', 'call.succeeded', '{"type":"call.succeeded","timestamp":"2026-11-24T19:33:18.670554Z","data":{"object":"call","id":"f17741da-7d01-4708-8081-8de6ad5aa6ff","status":"succeeded","model":"sim/echo","mode":"queued","created_at":"2026-11-24T19:33:18.641572Z","completed_at":"2026-11-24T19:33:18.670554Z","error":null,"urls":{"self":"/v2/models/sim/echo/requests/f17741da-7d01-4708-8081-8de6ad5aa6ff"}}}', 'pending', 1, 0, '2026-11-24 19:33:18.699124+00', '2026-11-24 19:33:18.699124+00', '2026-11-24 19:33:23.635352+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:18.845295021Z", "error": "name_not_found", "millis": 1}]'),
	('17b16b53-923c-5591-91f6-d54302857616', 5, 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '5096c6e7-6e04-43df-8e2d-40f04e8ff75a', 'job-baeab89c-2e45-48fe-80cf-5670e7fcade7', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:33:18.85649Z","data":{"object":"job","id":"baeab89c-2e45-48fe-80cf-5670e7fcade7","status":"succeeded","created_at":"2026-11-24T19:33:18.70288Z","completed_at":"2026-11-24T19:33:18.85649Z","error":null,"urls":{"self":"/api/v2/jobs/baeab89c-2e45-48fe-80cf-5670e7fcade7"}}}', 'pending', 1, 0, '2026-11-24 19:33:18.893843+00', '2026-11-24 19:33:18.893843+00', '2026-11-24 19:33:24.66528+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:19.212952857Z", "error": "name_not_found", "millis": 3}]'),
	('26199eeb-1b65-57f9-ab04-56c9d359ecd7', 6, 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '5096c6e7-6e04-43df-8e2d-40f04e8ff75a', 'job-0c03eb9d-7f1a-4409-8086-1708119753a4', 'job.completed', '{"type":"job.completed","timestamp":"2026-11-24T19:33:20.605321Z","data":{"object":"job","id":"0c03eb9d-7f1a-4409-8086-1708119753a4","status":"succeeded","created_at":"2026-11-24T19:33:18.904586Z","completed_at":"2026-11-24T19:33:20.605321Z","error":null,"urls":{"self":"/api/v2/jobs/0c03eb9d-7f1a-4409-8086-1708119753a4"}}}', 'pending', 1, 0, '2026-11-24 19:33:20.622637+00', '2026-11-24 19:33:20.622637+00', '2026-11-24 19:33:26.427015+00', NULL, NULL, NULL, '[{"at": "2026-11-24T19:33:20.674905787Z", "error": "name_not_found", "millis": 0}]');
INSERT INTO public.webhook_endpoints VALUES
	('2b526711-720b-4c88-a756-ae4ebe010cab', '919e0fca-c9a2-45be-81e9-946fa084b62f', '\x2a3d34a7d127df59257d915cc347922df6fac8af3e4685de0ba2de3d88e5288f6f377c21923fcd97ccbe501845043f8413c8fa1a6e457f05d7009c6d836f5991f3d7ac21697e16bcc888947372714f2f0c5c4076daac89b5143f70d094f8398bc443fa09d281e3ffbb2b6b2dda907a036130af31395e5fde25a9e2', false, '2026-11-24 19:33:17.044053+00'),
	('5096c6e7-6e04-43df-8e2d-40f04e8ff75a', 'a80af3b0-465d-479b-b0ef-d2ad0a7e798a', '\x33e1844d9bd22de1d5b97ed409ec9e4ae5429d183eaac32e670412fffb01496aca0b984191397c25115a87f329ced038d9e264720d39a4e86af91706c05dd26e2a338d19c897af2e7ecca281a68aaa5010e41cf5695557eb9a20c07b369e9558e8ab5936298ef2f841e73d38ca679cf46ee3a9eb4b1cc3c374b01a', false, '2026-11-24 19:33:18.850347+00');
INSERT INTO public.webhooks_v1 VALUES
	('919e0fca-c9a2-45be-81e9-946fa084b62f', 1, '[{"id":"2b526711-720b-4c88-a756-ae4ebe010cab","host":"hooks.invalid","events":["call.*","job.*"],"position":3,"created_at":"2026-11-24T19:33:14.668651Z"}]'),
	('a80af3b0-465d-479b-b0ef-d2ad0a7e798a', 1, '[{"id":"5096c6e7-6e04-43df-8e2d-40f04e8ff75a","host":"hooks.invalid","events":["call.*","job.*"],"position":44,"created_at":"2026-11-24T19:33:18.610511Z"}]');
INSERT INTO public.workers VALUES
	('vm/8638/89da6712-403d-46b6-8049-3aea268f5221', '2026-11-24 19:33:20.194538+00', '{"absent": [], "webhook_allow": null}'),
	('vm/8639/5343db46-1e8e-4aeb-a85f-78dcc6a076bd', '2026-11-24 19:33:20.26051+00', '{"absent": [], "webhook_allow": null}');
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
ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);
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
CREATE INDEX sessions_person ON public.sessions USING btree (person);
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
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_person_fkey FOREIGN KEY (person) REFERENCES public.people(id);
