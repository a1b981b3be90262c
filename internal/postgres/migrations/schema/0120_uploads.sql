-- Uploads whose bytes arrive in several requests. The bytes are blobs until the upload is an asset; the row then stays for a while, so
-- that a client that was away learns about it. This is no view.
create table uploads (
    account    text        not null,
    id         uuid        not null, -- the public id of the asset
    size       bigint      not null, -- bytes that the client announced
    received   bigint      not null default 0,
    fields     jsonb       not null, -- what the client says about the file
    pieces     bytea[]     not null default '{}',
    made       boolean     not null default false,
    expires_at timestamptz not null,
    constraint uploads_id primary key (account, id)
);
create index uploads_pieces on uploads using gin (pieces);
create index uploads_expiry on uploads (expires_at);
