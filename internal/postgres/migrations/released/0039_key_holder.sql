-- Which request claimed a key: one whose connection broke before it was answered asks again, and finds that the key
-- is its own; and only that request gives it back.
alter table idempotency_keys add column holder uuid; -- null = claimed in the transaction of what it stands for
