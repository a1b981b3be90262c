-- A call that a node of a job asked for waits before the calls of the queued delivery: its job has begun.
alter table call_queue add column of_job boolean generated always as (payload ? 'for') stored;
drop index call_queue_order;
create index call_queue_order on call_queue (account, of_job desc, seq);
