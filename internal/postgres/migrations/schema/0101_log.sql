-- The event log. Events are inserted by append_events only, which holds the shared append lock
-- before it takes a position: ordered reading relies on that lock to tell a late commit from a
-- rolled-back one.

create table streams (
    id      text primary key,
    account text    not null,
    version bigint  not null,              -- of the last event
    closed  boolean not null default false -- nothing may follow, retention events excepted
);

-- data and meta are json, not jsonb: the text stays as written (order of keys, numbers,
-- \u0000 in a prompt), so that every fold of the log sees the same bytes.
create table events (
    position    bigint generated always as identity (cache 1),
    stream      text        not null,
    version     bigint      not null,
    id          uuid        not null,
    type        text        not null,
    account     text        not null,
    data        json        not null,
    meta        json        not null,
    recorded_at timestamptz not null,
    constraint events_position primary key (position),
    constraint events_stream_version unique (stream, version),
    constraint events_id unique (id)
);

-- Large submissions are blobs that only their event refers to; the collector asks for them with this very
-- expression. It reads the text: the operators of json fail on a NUL, which a label may hold, and would
-- fail the append.
create index events_document on events ((substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}')))
    where type = 'job.submitted.v1' and substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}') is not null;

-- Events are removed by prune_events alone, which sets the flag for its own duration.
create function events_are_final() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('millrace.pruning', true) = 'on' then
        return null;
    end if;
    raise exception 'the event log is append-only: % refused', tg_op;
end $$;

create trigger events_are_final before update or delete or truncate on events
    for each statement execute function events_are_final();

-- append_events appends to one or more distinct streams and returns the events it placed; an append
-- whose first id is recorded already, or whose rules are broken, places none. Order matters and
-- follows from the data: l takes the shared lock, which holds until the transaction ends; a looks up
-- which appends are repeats; s moves the streams' versions and locks their rows, in order of id, so that
-- an xid exists and a conflict has burnt no position; only then e takes positions, in the order given.
-- expected is a version, or -1 for any. The lock's key has the schema in it, and PostgreSQL adds the
-- database: schemas do not stall each other.
--
-- It is a function so that its plan is made once, and without scans that are cheap only while the
-- tables are young: planning anew costs more than twice the append itself.
create function append_events(
    lock_class integer,
    -- one element for each append
    in_streams text[], in_accounts text[], in_expected bigint[], in_sizes bigint[], in_firsts uuid[],
    in_closes boolean[], in_reopens boolean[], in_metas json[],
    -- one element for each event: which append, which place in it, and the event
    in_appends bigint[], in_places bigint[], in_ids uuid[], in_types text[], in_data json[]
) returns table (placed_position bigint, placed_version bigint, placed_id uuid, placed_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
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

-- append_events_or_fail is append_events for a caller that sends its commit behind it in the same
-- pipeline: what is not placed whole fails the transaction, so that nothing beside it is committed either.
create function append_events_or_fail(
    lock_class integer,
    in_streams text[], in_accounts text[], in_expected bigint[], in_sizes bigint[], in_firsts uuid[],
    in_closes boolean[], in_reopens boolean[], in_metas json[],
    in_appends bigint[], in_places bigint[], in_ids uuid[], in_types text[], in_data json[]
) returns table (placed_position bigint, placed_version bigint, placed_id uuid, placed_at timestamptz)
language plpgsql
as $$
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

-- prune_events removes the events of a retired job below the event that says so. It removes nothing of a
-- stream that is open or does not end with that event. It sets the parameter itself: only a superuser may attach one that
-- PostgreSQL does not know to a function, and most hosted databases have none.
create function prune_events(in_stream text, retired bigint) returns bigint language plpgsql as $$
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

-- How far each consumer of the log has come. A projection updates its row in the
-- transaction that writes its view; "where position = $old" fences a deposed runner.
create table checkpoints (
    name       text primary key,
    position   bigint      not null default 0,
    updated_at timestamptz not null default now()
);

-- Streams that a projection could not fold: their later events are held until resumed.
create table halted_streams (
    projection text        not null,
    stream     text        not null,
    position   bigint      not null, -- of the event that failed; nothing at or above it is applied
    error      text        not null,
    halted_at  timestamptz not null default now(),
    primary key (projection, stream)
);
