-- Which worker process runs which costly node now. A process takes its marks back when a node ends, however it ends;
-- one that dies leaves them, and so says what it died of.
create table node_marks (
    job_id uuid    not null,
    run    integer not null,
    node   text    not null,
    worker text    not null, -- as in call_workers
    set_at timestamptz not null default now(),
    primary key (job_id, run, node, worker)
);

-- Why a node that runs does not go on, '' while it does.
alter table node_progress add column waiting text not null default '';
