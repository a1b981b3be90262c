-- View job_index_v1: what jobs are looked for by, beside their state and metadata, which jobs_v1 has.
create table job_index_v1 (
    id        text     not null,
    account   text     not null,
    submitted bigint   not null, -- position of the submission
    version   bigint   not null, -- of the stream, folded so far
    title     text     not null,
    classes   text[]   not null,
    models    text[]   not null, -- names of model files and of partner models in the graph
    servers   text[]   not null, -- addresses of ComfyUI servers that ran a part of it
    code      text     not null, -- of the failure, '' = none
    class     text     not null, -- of the node that failed
    cause     text     not null, -- the failure's message without what differs from job to job
    words     tsvector not null,
    constraint job_index_v1_id primary key (id)
);
create index job_index_v1_listing on job_index_v1 (account, submitted desc);
create index job_index_v1_failures on job_index_v1 (account, submitted desc) where code <> '';
create index job_index_v1_classes on job_index_v1 using gin (classes);
create index job_index_v1_models on job_index_v1 using gin (models);
create index job_index_v1_words on job_index_v1 using gin (words);
