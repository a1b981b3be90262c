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
    constraint jobs_v1_id primary key (id)
);

-- The queue of an account: unfinished jobs only, so that finished ones cost it nothing.
create index jobs_v1_active on jobs_v1 (account, number, submitted) where state in ('queued', 'running', 'canceling');
-- Listings, newest first, of everything or of some states.
create index jobs_v1_listing on jobs_v1 (account, submitted desc);
create index jobs_v1_states on jobs_v1 (account, state, submitted desc);
create index jobs_v1_metadata on jobs_v1 using gin (metadata jsonb_path_ops) with (fastupdate = off); -- no pending list to search

-- A job's row is rewritten with each of its events: room on the page keeps that off the indexes.
alter table jobs_v1 set (fillfactor = 80);
