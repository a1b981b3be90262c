-- Which jobs are retries of which: a bulk retry passes over what was tried again already. The facts
-- are in the streams of the retries, whose first event names the origin.
create table job_retries (
    job_id uuid primary key,
    origin uuid not null
);
create index job_retries_origin on job_retries (origin);
