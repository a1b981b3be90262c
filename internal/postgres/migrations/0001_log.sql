-- The event log. Events are inserted by one statement in the program (EventStore), which
-- holds the shared append lock before it takes a position; no other INSERT is allowed,
-- since ordered reading relies on that lock to tell a late commit from a rolled-back one.

create table streams (
    id      text primary key,
    account text    not null,
    version bigint  not null,              -- of the last event
    closed  boolean not null default false -- nothing may follow, retention facts excepted
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

create function events_are_facts() returns trigger language plpgsql as $$
begin
    raise exception 'the event log is append-only: % refused', tg_op;
end $$;

create trigger events_are_facts before update or delete or truncate on events
    for each statement execute function events_are_facts();

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
