-- View stats_v1: what happened in each minute and each hour, by account, and for all accounts together as account ''.
create table stats_v1 (
    account text        not null,
    grain   smallint    not null, -- 0 = a minute, 1 = an hour
    bucket  timestamptz not null, -- its beginning
    measure text        not null,
    key     text        not null,
    n       bigint      not null,
    total   bigint      not null, -- milliseconds, or USD millionths
    constraint stats_v1_key primary key (account, grain, bucket, measure, key)
);
create index stats_v1_age on stats_v1 (grain, bucket);
-- When jobs that have not ended were submitted.
create table stats_open_v1 (
    job          text        not null,
    submitted_at timestamptz not null,
    constraint stats_open_v1_job primary key (job)
);
-- Up to where the log is counted, so that an event that comes twice counts once.
create table stats_at_v1 (
    one      smallint    not null,
    position bigint      not null,
    hour     timestamptz not null, -- of the newest event
    constraint stats_at_v1_one primary key (one)
);
