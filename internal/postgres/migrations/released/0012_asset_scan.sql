-- What the scan of a file made: a thumbnail is a blob of its own that only its file refers to.
alter table files add column thumbnail bytea check (length(thumbnail) = 32);
create index files_thumbnail on files (thumbnail) where thumbnail is not null;
