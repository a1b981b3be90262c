-- Command state of model calls: what a transaction must know before it may append an event.
-- None of this is a view. Amounts are millionths of a US dollar.

-- One row per account, locked first by every command that admits or ends a call.
create table call_admissions (
    account   text primary key,
    in_flight integer not null default 0 check (in_flight >= 0),
    costly    integer not null default 0 check (costly >= 0),    -- of those, calls of costly models
    queued    integer not null default 0 check (queued >= 0),
    committed bigint  not null default 0 check (committed >= 0), -- held by calls in flight
    spent     bigint  not null default 0                         -- in the account's life
);

-- A call in flight: admitted and not ended.
create table call_slots (
    call_id     uuid primary key,
    account     text    not null,
    run         integer not null,
    held        bigint  not null,
    costly      boolean not null,
    payload     jsonb   not null, -- of its start intent
    admitted_at timestamptz not null default now()
);
create index call_slots_age on call_slots (admitted_at);

-- A call of the queued delivery that waits for a place.
create table call_queue (
    call_id    uuid primary key,
    account    text    not null,
    seq        bigint generated always as identity,
    held       bigint  not null,
    costly     boolean not null,
    payload    jsonb   not null,
    expires_at timestamptz not null,
    -- A call that a node of a job asked for waits before the calls of the queued delivery: its job has begun.
    of_job     boolean generated always as (payload ? 'for') stored
);
create index call_queue_order on call_queue (account, of_job desc, seq);
create index call_queue_expiry on call_queue (expires_at);

-- Idempotency keys of calls. A row whose time has passed counts as absent and is taken over by the
-- next claim. What the key answers with follows from the call's stream.
create table call_keys (
    account     text not null,
    key         text not null check (length(key) between 1 and 255),
    fingerprint bytea not null check (length(fingerprint) = 32), -- of method, path and query, body
    call_id     uuid not null,
    expires_at  timestamptz not null,
    delivered_at timestamptz, -- when the caller had received all of an answer that cannot be replayed
    primary key (account, key)
);
create index call_keys_call on call_keys (call_id);
create index call_keys_expiry on call_keys (expires_at);

-- Blobs that a call needs: its request and its answer.
create table call_blobs (
    call_id    uuid  not null,
    ref        bytea not null,
    keep_until timestamptz not null, -- infinity while the call has not ended
    primary key (call_id, ref)
);
create index call_blobs_ref on call_blobs (ref);
create index call_blobs_expiry on call_blobs (keep_until) where keep_until < 'infinity';

-- Allowances over time, one row per account and window.
create table call_windows (
    account text not null,
    name    text not null,
    started timestamptz not null,
    used    integer not null,
    primary key (account, name)
);

-- Processes that dispatch calls, with the time of their last sign of life: a call whose dispatcher
-- lives is waited for, one whose dispatcher died has an unknown outcome.
create table call_workers (
    id      text primary key,
    seen_at timestamptz not null
);

-- View calls_v1: one row per model call, folded from its stream. No defaults: a row depends on events only.
create table calls_v1 (
    id       text   not null,
    account  text   not null,
    state    text   not null,
    model    text   not null,
    accepted bigint not null, -- position of the first event: order of listings
    version  bigint not null, -- of the stream, folded so far
    call     json   not null, -- the folded state
    constraint calls_v1_id primary key (id)
) with (fillfactor = 80);
create index calls_v1_listing on calls_v1 (account, accepted desc);
create index calls_v1_all on calls_v1 (accepted desc);

-- View usage_v1: what an account's calls of a model came to on one day (UTC) of their ends. A call given
-- up as unknown that was settled later is counted under unknown on the one day, and under its end and
-- late on the other.
create table usage_v1 (
    account        text   not null,
    model          text   not null,
    day            date   not null,
    succeeded      bigint not null,
    failed         bigint not null,
    canceled       bigint not null,
    unknown        bigint not null,
    late           bigint not null,
    answer_bytes   bigint not null,
    charged_micros bigint not null, -- USD millionths
    constraint usage_v1_key primary key (account, model, day)
);
-- How far each call is counted, so that an event that comes twice counts once.
create table usage_calls_v1 (
    id      text   not null,
    version bigint not null,
    constraint usage_calls_v1_id primary key (id)
);
