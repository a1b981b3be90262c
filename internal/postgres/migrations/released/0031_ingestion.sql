-- What is left to find out about the bytes of an upload: a row that waits is looked at by the sweep, which has
-- the ingestion run again when no workflow does.
alter table files add column ingest_since timestamptz; -- null = nothing is left
create index files_ingest on files (asset_id) where ingest_since is not null;
update files set ingest_since = created_at
    where job_id is null and not exists (select from events e where e.stream = 'asset-' || files.asset_id
        and (e.type = 'asset.scanned.v1' or e.type = 'asset.verified.v1' and e.data ->> 'ok' = 'false'));
