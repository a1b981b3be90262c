-- How far running nodes are within themselves: a snapshot for GETs, written a few times
-- a second and worth nothing after a crash, hence unlogged. It is not a view.
create unlogged table node_progress (
    job        uuid    not null,
    node       text    not null,
    run        integer not null,
    value      integer not null,
    max        integer not null,
    updated_at timestamptz not null,
    waiting    text    not null default '', -- why the node does not go on
    primary key (job, node)
);
create index node_progress_age on node_progress (updated_at);

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

-- What nodes of earlier jobs gave, by what went into them. Losing any of it only makes nodes run again.
create table node_cache (
    account text not null,
    key     bytea not null check (length(key) = 32),
    entry   text not null,                    -- JSON whose key order matters to clients
    assets  uuid[] not null default '{}',     -- the files it names; all of them must live
    bytes   bigint not null,
    made_at timestamptz not null default now(),
    used_at timestamptz not null default now(),
    primary key (account, key)
);
create index node_cache_used on node_cache (used_at);
