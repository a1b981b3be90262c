-- The address of an unfinished download as the client gave it, encrypted: its query may be a credential, so that the event
-- of the download has the address without it. It goes with the row. Null for downloads that were accepted before.
alter table downloads add column source bytea;
