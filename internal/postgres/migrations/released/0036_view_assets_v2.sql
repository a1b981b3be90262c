-- View assets_v2 takes the place of assets_v1: owners rename, tag and describe files, and the hosted surface lists
-- them by labels, names, sizes and metadata. The projector folds it from the start of the log when it first runs;
-- until it is through, listings show what it has. No defaults: a row depends on events only. assets_v1 stands for
-- processes of the version before, which go on during an upgrade; a migration of a later version drops it.

create table assets_v2 (
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
    constraint assets_v2_id primary key (id)
) with (fillfactor = 80);

-- Listings of what is still there, in each of their orders.
create index assets_v2_listing on assets_v2 (account, created desc) where state in ('live', 'rejected');
create index assets_v2_by_change on assets_v2 (account, changed) where state in ('live', 'rejected');
create index assets_v2_by_label on assets_v2 (account, label, created) where state in ('live', 'rejected');
create index assets_v2_by_size on assets_v2 (account, size, created) where state in ('live', 'rejected');
create index assets_v2_by_hash on assets_v2 (account, hash) where state in ('live', 'rejected');
-- Few files carry metadata, and only these can match a filter by it.
create index assets_v2_described on assets_v2 (account, created desc) where state in ('live', 'rejected') and metadata is not null;
-- What has ended and waits for the sweep is counted and is not there.
create index assets_v2_end on assets_v2 (account, expires_at) where state in ('live', 'rejected') and expires_at is not null;

-- One row for each tag, and for each label, of an asset that is there: a listing by either comes in order without
-- sorting all that carry it.
create table assets_v2_tags (
    account text   not null,
    tag     text   not null,
    created bigint not null, -- as in assets_v2
    id      text   not null,
    constraint assets_v2_tags_id primary key (account, tag, created)
);
create table assets_v2_labels (
    account text             not null,
    label   text collate "C" not null,
    created bigint           not null, -- as in assets_v2
    id      text             not null,
    constraint assets_v2_labels_id primary key (account, label, created)
);

-- How many assets that are there carry a label; the label '' counts all. A label that none carries has no row.
create table assets_v2_counts (
    account text             not null,
    label   text collate "C" not null,
    count   bigint           not null,
    constraint assets_v2_counts_id primary key (account, label)
) with (fillfactor = 80);
create index assets_v2_counts_most on assets_v2_counts (account, count desc, label);
