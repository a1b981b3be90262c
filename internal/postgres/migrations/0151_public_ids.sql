-- The ids that clients chose for their jobs and assets, unique within an account, and the ids for which they stand. A job
-- or an asset without a row is known to clients by its own id. Rows stay when a job or an asset is gone, as its stream
-- does: its ids are never given again.
create table job_public_ids (
    account   text not null,
    public_id uuid not null,
    job_id    uuid not null unique,
    primary key (account, public_id)
);
create index job_public_ids_public on job_public_ids (public_id); -- for operators, who ask without an account

create table asset_public_ids (
    account   text not null,
    public_id uuid not null,
    asset_id  uuid not null unique,
    primary key (account, public_id)
);
create index asset_public_ids_public on asset_public_ids (public_id);
