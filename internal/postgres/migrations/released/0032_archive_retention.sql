-- Archives of retired jobs end as well, where a retention for them is set: the row stays and says when the
-- archive was given up; its blobs are collected as any that nothing refers to.
alter table job_archives add column forgotten_at timestamptz; -- null = the archive is there, or never was
create index job_archives_age on job_archives (retired_at) where archive is not null;
