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
    expires_at   timestamptz,              -- null = never
    thumbnail    bytea check (length(thumbnail) = 32), -- a blob of its own, made by the scan, that only its file refers to
    ingest_since timestamptz               -- the sweep has the bytes looked at when no workflow does; null = nothing is left to find out
);
create unique index files_name on files (account, folder, subfolder, filename) where named;
create unique index files_producer on files (job_id, run, node, idx) where job_id is not null;
create index files_hash on files (hash, account);
create index files_expiry on files (expires_at) where expires_at is not null;
create index files_thumbnail on files (thumbnail) where thumbnail is not null;
create index files_ingest on files (asset_id) where ingest_since is not null;

-- The highest number in use below a prefix, so that allotting the next one reads one row.
create table file_counters (
    account   text not null,
    folder    text not null,
    subfolder text collate "C" not null,
    prefix    text collate "C" not null,
    last      bigint not null,
    primary key (account, folder, subfolder, prefix)
);

-- Which unfinished jobs need an asset: it cannot be deleted meanwhile. Rows of ended jobs mean nothing.
create table asset_holds (
    asset_id uuid not null,
    job_id   uuid not null,
    primary key (asset_id, job_id)
);
create index asset_holds_job on asset_holds (job_id);

-- The ids that clients chose for their assets, as job_public_ids has those of jobs.
create table asset_public_ids (
    account   text not null,
    public_id uuid not null,
    asset_id  uuid not null unique,
    primary key (account, public_id)
);
create index asset_public_ids_public on asset_public_ids (public_id);

-- View assets_v1: one row per asset, folded from its stream. Owners rename, tag and describe files, and the hosted surface
-- lists them by labels, names, sizes and metadata. No defaults: a row depends on events only.
create table assets_v1 (
    id         text             not null,
    account    text             not null,
    state      text             not null,
    created    bigint           not null, -- position of the first event: age, and order of listings
    changed    bigint           not null, -- position of the owner's last change, the first event included
    version    bigint           not null, -- of the stream, folded so far
    name       text             not null, -- lower-case path for the filter of v2; NUL characters cannot occur
    label      text collate "C" not null, -- what the file is called, in lower case
    tags       text[]           not null, -- the owner's
    labels     text[]           not null, -- where the file belongs, then the owner's tags
    size       bigint           not null,
    hash       bytea            not null,
    metadata   jsonb,                     -- null = none
    expires_at timestamptz,               -- null = never
    asset      json             not null, -- the folded state
    constraint assets_v1_id primary key (id)
) with (fillfactor = 80);

-- Listings of what is still there, in each of their orders.
create index assets_v1_listing on assets_v1 (account, created desc) where state in ('live', 'rejected');
create index assets_v1_by_change on assets_v1 (account, changed) where state in ('live', 'rejected');
create index assets_v1_by_label on assets_v1 (account, label, created) where state in ('live', 'rejected');
create index assets_v1_by_size on assets_v1 (account, size, created) where state in ('live', 'rejected');
create index assets_v1_by_hash on assets_v1 (account, hash) where state in ('live', 'rejected');
-- Few files carry metadata, and only these can match a filter by it.
create index assets_v1_described on assets_v1 (account, created desc) where state in ('live', 'rejected') and metadata is not null;
-- What has ended and waits for the sweep is counted and is not there.
create index assets_v1_end on assets_v1 (account, expires_at) where state in ('live', 'rejected') and expires_at is not null;

-- One row for each tag, and for each label, of an asset that is there: a listing by either comes in order without
-- sorting all that carry it.
create table assets_v1_tags (
    account text   not null,
    tag     text   not null,
    created bigint not null, -- as in assets_v1
    id      text   not null,
    constraint assets_v1_tags_id primary key (account, tag, created)
);
create table assets_v1_labels (
    account text             not null,
    label   text collate "C" not null,
    created bigint           not null, -- as in assets_v1
    id      text             not null,
    constraint assets_v1_labels_id primary key (account, label, created)
);

-- How many assets that are there carry a label; the label '' counts all. A label that none carries has no row.
create table assets_v1_counts (
    account text             not null,
    label   text collate "C" not null,
    count   bigint           not null,
    constraint assets_v1_counts_id primary key (account, label)
) with (fillfactor = 80);
create index assets_v1_counts_most on assets_v1_counts (account, count desc, label);

-- Exports that are accepted and not over: what the sweep looks after, and what an equal request joins. The row goes
-- with the event that ends the export. This is no view.
create table exports (
    id          uuid primary key,
    account     text not null,
    fingerprint bytea not null,   -- of the request
    bytes       bigint not null,  -- of the files, from which the work is estimated
    since       timestamptz not null default now()
);
create unique index exports_same on exports (account, fingerprint);

-- Downloads that are accepted and not over: what the sweep looks after, and what an equal request joins. The row goes
-- with the event that ends the download. This is no view.
create table downloads (
    id          uuid primary key,
    account     text not null,
    fingerprint bytea not null, -- of the request
    since       timestamptz not null default now(),
    -- The address as the client gave it, encrypted: its query may be a credential, so that the event of the download has
    -- the address without it.
    source      bytea not null
);
create unique index downloads_same on downloads (account, fingerprint);
