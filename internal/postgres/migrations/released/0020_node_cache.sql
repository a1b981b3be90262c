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
