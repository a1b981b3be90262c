-- View assets_v1: one row per asset, folded from its stream. No defaults: a row depends on events only.
create table assets_v1 (
    id         text        not null,
    account    text        not null,
    state      text        not null,
    created    bigint      not null, -- position of the first event: age, and order of listings
    version    bigint      not null, -- of the stream, folded so far
    name       text        not null, -- lower-case path for filters; NUL characters cannot occur
    tags       text[]      not null,
    expires_at timestamptz,          -- null = never
    asset      json        not null, -- the folded state
    constraint assets_v1_id primary key (id)
);

-- Listings, newest first, of what is still there.
create index assets_v1_listing on assets_v1 (account, created desc) where state in ('live', 'rejected');
create index assets_v1_tags on assets_v1 using gin (tags) where state in ('live', 'rejected');

-- Which unfinished jobs need an asset: it cannot be deleted meanwhile. Rows of ended jobs mean nothing.
create table asset_holds (
    asset_id uuid not null,
    job_id   uuid not null,
    primary key (asset_id, job_id)
);
create index asset_holds_job on asset_holds (job_id);

-- Large submissions are blobs that only their event refers to; the collector asks for them with this very
-- expression. It reads the text: the operators of json fail on a NUL, which a label may hold, and would
-- fail the append.
create index events_document on events ((substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}')))
    where type = 'job.submitted.v1' and substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}') is not null;
