-- What a process that works goes by, for commands that run elsewhere: they judge by the service's rules, not by their own.
alter table workers add column rules jsonb;
