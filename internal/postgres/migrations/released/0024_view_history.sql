-- View history_v1: which finished jobs an account has taken out of its history, folded from the streams
-- history-<account>. The jobs themselves and their facts stay.
create table history_v1 (
    account text   not null,
    version bigint not null, -- of the stream, folded so far
    cleared bigint not null, -- jobs submitted up to this position are hidden, but those kept
    kept    text[] not null, -- jobs that had not ended when the history was cleared
    constraint history_v1_account primary key (account)
);
-- Jobs that were hidden one by one since.
create table history_v1_jobs (
    account text not null,
    job     text not null,
    constraint history_v1_jobs_id primary key (account, job)
);
