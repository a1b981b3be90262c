-- How many bytes an account keeps. What counts is each row of files (uploads, references, outputs, copied answers of
-- models) and of userdata by its size, also where others hold the same bytes.

-- The sum, kept by triggers in the transaction of each row, so that it cannot drift. An account has several
-- slots, of which a session always takes the same: transactions of one account do not wait for each other to
-- commit. A slot alone means nothing and may be below zero.
create table account_storage (
    account text     not null,
    slot    smallint not null,
    bytes   bigint   not null,
    files   bigint   not null,
    primary key (account, slot)
) with (fillfactor = 50); -- its rows are rewritten all the time: that stays on their page

create function add_storage() returns trigger language plpgsql as $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, sum(r.size), count(*) from fresh r group by r.account order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

create function take_storage() returns trigger language plpgsql as $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, -sum(r.size), -count(*) from gone r group by r.account order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

create function change_storage() returns trigger language plpgsql as $$
begin
    insert into account_storage as s (account, slot, bytes, files)
        select r.account, pg_backend_pid() % 64, sum(r.size), sum(r.n) from (
            select account, size, 1 as n from fresh union all select account, -size, -1 from gone) r
        group by r.account having sum(r.size) <> 0 or sum(r.n) <> 0 order by r.account
        on conflict (account, slot) do update set bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    return null;
end $$;

-- What was stored under a record never changes; so updates of files, which are many, need not be counted.
create function storage_is_fixed() returns trigger language plpgsql as $$
begin
    raise exception 'account and size of a file do not change';
end $$;

create trigger files_added after insert on files referencing new table as fresh
    for each statement execute function add_storage();
create trigger files_gone after delete on files referencing old table as gone
    for each statement execute function take_storage();
create trigger files_fixed before update of account, size on files
    for each row when (old.account <> new.account or old.size <> new.size) execute function storage_is_fixed();
create trigger userdata_added after insert on userdata referencing new table as fresh
    for each statement execute function add_storage();
create trigger userdata_gone after delete on userdata referencing old table as gone
    for each statement execute function take_storage();
create trigger userdata_changed after update on userdata referencing old table as gone new table as fresh
    for each statement execute function change_storage();

-- within_storage fails unless what the account keeps, with what this transaction has added, is within the limit.
-- Accounts that have one commit their uploads one after the other from here on, so that several at once do not
-- exceed it together. It comes after the rows: no transaction takes another row of account_storage behind it.
create function within_storage(in_account text, in_limit bigint) returns void language plpgsql as $$
declare
    kept numeric;
begin
    perform pg_advisory_xact_lock(hashtextextended(in_account, 37));
    select coalesce(sum(bytes), 0) into kept from account_storage where account = in_account; -- sees what was committed meanwhile
    if kept > in_limit then
        raise exception 'the account would keep % bytes, % at most', kept, in_limit using errcode = 'MR037';
    end if;
end $$;

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
