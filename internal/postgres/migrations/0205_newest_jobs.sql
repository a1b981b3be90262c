-- Operators list the jobs of all accounts, newest first.
create index job_index_v1_newest on job_index_v1 (submitted desc);
