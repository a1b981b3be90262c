-- Jobs past their retention. What is left of one is its closed stream with the fact that it was
-- retired, and this row: facts are removed only when every view has seen that fact.
create table job_archives (
    job_id     uuid        primary key,
    account    text        not null,
    version    bigint      not null,           -- of the fact job.retired.v1
    position   bigint      not null,           -- the same
    archive    bytea check (length(archive) = 32),  -- blob with the facts; null = erased
    document   bytea check (length(document) = 32), -- blob of a large submission that the archive names
    retired_at timestamptz not null default now(),
    pruned     boolean     not null default false   -- the facts are gone from the log
);
create index job_archives_waiting on job_archives (position) where not pruned;
create index job_archives_blob on job_archives (archive) where archive is not null;
create index job_archives_document on job_archives (document) where document is not null;

-- What is past its retention is found by age.
create index jobs_v1_age on jobs_v1 (created_at, id);

-- Facts are removed by prune_facts alone, which sets the flag for its own duration.
create or replace function events_are_facts() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('millrace.pruning', true) = 'on' then
        return null;
    end if;
    raise exception 'the event log is append-only: % refused', tg_op;
end $$;

-- prune_facts removes the facts of a retired job below the fact that says so. It removes nothing of a
-- stream that is open or does not end with that fact.
create function prune_facts(in_stream text, retired bigint) returns bigint language plpgsql
set millrace.pruning = 'on'
as $$
declare
    gone bigint;
begin
    delete from events where stream = in_stream and version < retired
        and exists (select from streams where id = in_stream and closed and version = retired)
        and exists (select from events where stream = in_stream and version = retired and type = 'job.retired.v1');
    get diagnostics gone = row_count;
    return gone;
end $$;
