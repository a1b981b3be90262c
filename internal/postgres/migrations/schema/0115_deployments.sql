-- Which version of a deployment answers: what a transaction that records a call must know. Not a view; written with the events
-- of the stream deployment-<id>, from which the rest of a deployment is folded. A deleted deployment has no rows.
create table deployments (
    id       uuid    primary key,
    account  text    not null,
    name     text    not null,
    revision bigint  not null, -- version of the stream
    state    text    not null,
    live     integer not null,
    share    integer not null, -- version that answers a part of the calls; 0 = none
    percent  integer not null,
    salt     text    not null,
    constraint deployments_name unique (account, name)
);

-- The blobs with the contents of versions, which are not collected.
create table deployment_versions (
    deployment uuid    not null,
    number     integer not null,
    digest     bytea   not null check (length(digest) = 32),
    drifted    text[]  not null default '{}', -- classes whose definition has changed since
    primary key (deployment, number)
);
create index deployment_versions_digest on deployment_versions (digest);
