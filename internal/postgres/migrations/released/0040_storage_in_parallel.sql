-- within_storage_by is within_storage for a transaction that has added so many bytes. Those of an account that keeps far
-- less than its limit need not be committed one after the other.
--
-- A transaction that adds bytes holds a row of account_storage, of which an account has 64, until it ends: no more than 64
-- are under way at once. If each adds a 256th of the limit at most, the others add less than a quarter of it; so one that
-- finds the account to keep no more than three quarters, itself included, has room whatever becomes of the others. These hold
-- the account's lock together. Any other holds it alone and waits until they have ended, and then counts all there is.
create function within_storage_by(in_account text, in_limit bigint, in_added bigint) returns void language plpgsql as $$
declare
    lock_key bigint := hashtextextended(in_account, 37); -- that of within_storage
    room bigint := in_limit / 4 * 3;
begin
    if in_added <= in_limit / 256
        and (select coalesce(sum(bytes), 0) from account_storage where account = in_account) <= room then
        begin
            perform pg_advisory_xact_lock_shared(lock_key);
            if (select coalesce(sum(bytes), 0) from account_storage where account = in_account) <= room then -- sees what was committed meanwhile
                return;
            end if;
            raise exception using errcode = 'MR040';
        exception when sqlstate 'MR040' then
            null; -- the lock is given back with the block: two that hold it together could not both take it alone
        end;
    end if;
    perform within_storage(in_account, in_limit);
end $$;
