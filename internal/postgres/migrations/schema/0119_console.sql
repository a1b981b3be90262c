-- When a session was last used. NULL is a session that was not used since this column exists.
alter table sessions add column last_used_at timestamptz; -- to the minute

-- The weights among many files.
create index files_models on files (subfolder, filename, account) where named and folder = 'input' and subfolder like 'models/%';
-- The failures of all accounts.
create index job_index_v1_failed on job_index_v1 (submitted desc) where code <> '';
