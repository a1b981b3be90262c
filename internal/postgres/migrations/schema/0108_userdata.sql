-- Files that an editor keeps for its user: settings, workflows. They are no events of the service and no
-- assets: a client overwrites and deletes them as it likes. The bytes are blobs.
create table userdata (
    account     text        not null,
    path        text        collate "C" not null check (length(path) between 1 and 512),
    hash        bytea       not null check (length(hash) = 32),
    size        bigint      not null check (size >= 0),
    created_at  timestamptz not null,
    modified_at timestamptz not null,
    constraint userdata_path primary key (account, path)
);
create index userdata_hash on userdata (hash); -- what the collector of blobs asks for
