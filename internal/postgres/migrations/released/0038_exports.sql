-- Exports that are accepted and not over: what the sweep looks after, and what an equal request joins. The row goes
-- with the fact that ends the export. This is no view.
create table exports (
    id          uuid primary key,
    account     text not null,
    fingerprint bytea not null,   -- of the request
    bytes       bigint not null,  -- of the files, from which the work is estimated
    since       timestamptz not null default now()
);
create unique index exports_same on exports (account, fingerprint);
