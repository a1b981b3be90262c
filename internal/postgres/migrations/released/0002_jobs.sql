-- Command state of jobs: what a transaction must know before it may append a fact.
-- None of this is a view; it is never read by a GET.

-- One row per account, locked first by every command that admits or ends a job.
create table job_lanes (
    account     text primary key,
    last_number bigint not null default 0, -- of the account's submission counter
    queued      integer not null default 0,
    running     integer not null default 0
);

-- A job that waits for a slot.
create table job_queue (
    job_id  uuid primary key,
    account text not null,
    number  double precision not null, -- lower runs first
    seq     bigint generated always as identity
);
create index job_queue_order on job_queue (account, number, seq);

-- A job that holds a slot: admitted and not ended.
create table job_slots (
    job_id      uuid primary key,
    account     text not null,
    run         integer not null,
    admitted_at timestamptz not null default now()
);
create index job_slots_account on job_slots (account);
create index job_slots_age on job_slots (admitted_at);

-- The credential of a job, sealed; gone when the job ends.
create table sealed_credentials (
    job_id uuid primary key,
    sealed bytea not null
);

-- Intents to start or cancel workflows, carried out at once or later by a relay.
create table outbox (
    id          bigint generated always as identity primary key,
    workflow_id text not null,
    kind        text not null,
    payload     jsonb not null,
    due_at      timestamptz not null,
    attempts    integer not null default 0,
    last_error  text
);
create index outbox_due on outbox (due_at);
create index outbox_order on outbox (workflow_id, id);
