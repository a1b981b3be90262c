-- The place of a job in its queue is a count of this index alone, without the rows: queues may be deep.
create index jobs_v1_queued on jobs_v1 (account, number, submitted, id) where state = 'queued';
