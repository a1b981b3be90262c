-- Command state of jobs: what a transaction must know before it may append an event.
-- None of this is a view; it is never read by a GET.

-- One row per account, locked first by every command that admits or ends a job. mode is what an operator has done to
-- the queue of the account: open, paused (accepts, starts nothing), draining (refuses, works off what waits), stopped
-- (refuses, starts nothing). The row of account '*' counts for all. Who did so and why is in the streams queue-<account>.
create table job_admissions (
    account     text primary key,
    last_number bigint not null default 0, -- of the account's submission counter
    queued      integer not null default 0,
    running     integer not null default 0, -- admitted and not ended
    released    integer not null default 0, -- those of running whose slots other jobs may have
    mode        text    not null default 'open'
);

-- A job that waits for a slot.
create table job_queue (
    job_id  uuid primary key,
    account text not null,
    number  double precision not null, -- lower runs first
    seq     bigint generated always as identity
);
create index job_queue_order on job_queue (account, number, seq);

-- A job that holds a slot: admitted and not ended. While it waits for a ComfyUI server it may give the slot back (released_at).
-- When its server is there it wants one again (wanted_at) and goes before the jobs in the queue.
create table job_slots (
    job_id      uuid primary key,
    account     text not null,
    run         integer not null,
    admitted_at timestamptz not null default now(),
    released_at timestamptz,
    wanted_at   timestamptz
);
create index job_slots_account on job_slots (account);
create index job_slots_age on job_slots (admitted_at);

-- The credential of a job, sealed; gone when the job ends.
create table sealed_credentials (
    job_id uuid primary key,
    sealed bytea not null
);

-- Jobs past their retention. What is left of one is its closed stream with the event that it was
-- retired, and this row: events are removed only when every view has seen that event. The row stays when its archive ends.
create table job_archives (
    job_id     uuid        primary key,
    account    text        not null,
    version    bigint      not null,           -- of the event job.retired.v1
    position   bigint      not null,           -- the same
    archive    bytea check (length(archive) = 32),  -- blob with the events; null = erased
    document   bytea check (length(document) = 32), -- blob of a large submission that the archive names
    retired_at timestamptz not null default now(),
    pruned     boolean     not null default false,  -- the events are gone from the log
    forgotten_at timestamptz                        -- the archive was given up; null = it is there, or never was
);
create index job_archives_age on job_archives (retired_at) where archive is not null;
create index job_archives_waiting on job_archives (position) where not pruned;
create index job_archives_blob on job_archives (archive) where archive is not null;
create index job_archives_document on job_archives (document) where document is not null;

-- Which jobs are retries of which: a bulk retry passes over what was tried again already. The events
-- are in the streams of the retries, whose first event names the origin.
create table job_retries (
    job_id uuid primary key,
    origin uuid not null
);
create index job_retries_origin on job_retries (origin);

-- The ids that clients chose for their jobs, unique within an account, and the ids for which they stand. A job without a
-- row is known to clients by its own id. Rows stay when a job is gone, as its stream does: its ids are never given again.
create table job_public_ids (
    account   text not null,
    public_id uuid not null,
    job_id    uuid not null unique,
    primary key (account, public_id)
);
create index job_public_ids_public on job_public_ids (public_id); -- for operators, who ask without an account

-- View jobs_v1: one row per job, folded from its stream. No defaults: a row depends on events only.
create table jobs_v1 (
    id         text             not null,
    account    text             not null,
    state      text             not null,
    number     double precision not null, -- run order within the account: lower first
    submitted  bigint           not null, -- position of the first event: age, and order of listings
    version    bigint           not null, -- of the stream, folded so far
    created_at timestamptz      not null,
    metadata   jsonb            not null, -- for filters; NUL characters are left out
    job        json             not null, -- the folded state, without the submitted document
    deployment text,                      -- id of the deployment that the job is a call of
    constraint jobs_v1_id primary key (id)
) with (fillfactor = 80); -- a row is rewritten with each of its events: room on the page keeps that off the indexes

-- The queue of an account: unfinished jobs only, so that finished ones cost it nothing.
create index jobs_v1_active on jobs_v1 (account, number, submitted) where state in ('queued', 'running', 'canceling');
-- Listings, newest first, of everything or of some states.
create index jobs_v1_listing on jobs_v1 (account, submitted desc);
create index jobs_v1_states on jobs_v1 (account, state, submitted desc);
create index jobs_v1_metadata on jobs_v1 using gin (metadata jsonb_path_ops) with (fastupdate = off); -- no pending list to search
create index jobs_v1_deployments on jobs_v1 (deployment, submitted desc) where deployment is not null;
-- The place of a job in its queue is a count of this index alone, without the rows: queues may be deep.
create index jobs_v1_queued on jobs_v1 (account, number, submitted, id) where state = 'queued';
-- What is past its retention is found by age.
create index jobs_v1_age on jobs_v1 (created_at, id);

-- View job_index_v1: what jobs are looked for by, beside their state and metadata, which jobs_v1 has.
create table job_index_v1 (
    id        text     not null,
    account   text     not null,
    submitted bigint   not null, -- position of the submission
    version   bigint   not null, -- of the stream, folded so far
    title     text     not null,
    classes   text[]   not null,
    models    text[]   not null, -- names of model files and of partner models in the graph
    servers   text[]   not null, -- addresses of ComfyUI servers that ran a part of it
    code      text     not null, -- of the failure, '' = none
    class     text     not null, -- of the node that failed
    cause     text     not null, -- the failure's message without what differs from job to job
    words     tsvector not null,
    constraint job_index_v1_id primary key (id)
);
create index job_index_v1_listing on job_index_v1 (account, submitted desc);
create index job_index_v1_failures on job_index_v1 (account, submitted desc) where code <> '';
create index job_index_v1_classes on job_index_v1 using gin (classes);
create index job_index_v1_models on job_index_v1 using gin (models);
create index job_index_v1_words on job_index_v1 using gin (words);
create index job_index_v1_newest on job_index_v1 (submitted desc); -- operators list the jobs of all accounts

-- View history_v1: which finished jobs an account has taken out of its history, folded from the streams
-- history-<account>. The jobs themselves and their events stay.
create table history_v1 (
    account text   not null,
    version bigint not null, -- of the stream, folded so far
    cleared bigint not null, -- jobs submitted up to this position are hidden, but those kept
    kept    text[] not null, -- jobs that had not ended when the history was cleared
    constraint history_v1_account primary key (account)
);
-- Jobs that were hidden one by one since.
create table history_v1_jobs (
    account text not null,
    job     text not null,
    constraint history_v1_jobs_id primary key (account, job)
);
