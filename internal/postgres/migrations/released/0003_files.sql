-- Live files: the command state of assets. A row is written in the transaction that appends
-- asset.created and goes with the one that appends asset.deleted or asset.expired. None of this is a view.

create table files (
    asset_id     uuid primary key,
    account      text not null,
    hash         bytea not null check (length(hash) = 32),
    size         bigint not null,
    content_type text not null,
    file_path    text,                     -- as the client gave it; null = none
    folder       text not null check (folder in ('input', 'output', 'temp')),
    subfolder    text collate "C" not null,
    filename     text collate "C" not null,
    named        boolean not null,         -- its name leads to it; older assets of the same name have lost it
    tags         text[] not null default '{}', -- sorted, each once
    width        integer not null default 0,
    height       integer not null default 0,
    job_id       uuid,                     -- of what a node saved
    run          integer,
    node         text,
    idx          integer,
    rejected     boolean not null default false,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz               -- null = never
);
create unique index files_name on files (account, folder, subfolder, filename) where named;
create unique index files_producer on files (job_id, run, node, idx) where job_id is not null;
create index files_hash on files (hash, account);
create index files_expiry on files (expires_at) where expires_at is not null;

-- The highest number in use below a prefix, so that allotting the next one reads one row.
create table file_counters (
    account   text not null,
    folder    text not null,
    subfolder text collate "C" not null,
    prefix    text collate "C" not null,
    last      bigint not null,
    primary key (account, folder, subfolder, prefix)
);
