-- Downloads that are accepted and not over: what the sweep looks after, and what an equal request joins. The row goes
-- with the event that ends the download. This is no view.
create table downloads (
    id          uuid primary key,
    account     text not null,
    fingerprint bytea not null, -- of the request
    since       timestamptz not null default now()
);
create unique index downloads_same on downloads (account, fingerprint);
