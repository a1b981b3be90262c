-- How far running nodes are within themselves: a snapshot for GETs, written a few times
-- a second and worth nothing after a crash, hence unlogged. It is not a view.
create unlogged table node_progress (
    job        uuid    not null,
    node       text    not null,
    run        integer not null,
    value      integer not null,
    max        integer not null,
    updated_at timestamptz not null,
    primary key (job, node)
);
create index node_progress_age on node_progress (updated_at);
