-- How far a download is, and why it waits, as its worker last recorded it. It may be lost.
alter table downloads add column progress jsonb not null default '{}';
