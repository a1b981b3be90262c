-- When the caller had received all of an answer that cannot be replayed. NULL where delivered is true: before this column.
alter table call_keys add column delivered_at timestamptz;
