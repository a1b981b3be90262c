-- Credit ledgers. The events are in the streams ledger-<account>; both tables are written in the
-- transaction that records an event and can be folded anew from the stream. An account without a row
-- is not metered. Amounts are millionths of a US dollar.

create table credit_balances (
    account   text   primary key, -- locked by whoever changes the ledger
    granted   bigint not null,
    available bigint not null,    -- below 0 when more was settled than held
    held      bigint not null check (held >= 0),
    settled   bigint not null check (settled >= 0),
    version   bigint not null,    -- of the stream, with the last event
    constraint credit_balances_balance check (granted = available + held + settled)
);

-- Every hold there ever was: an ended one still answers a repeated command.
create table credit_holds (
    account text   not null,
    hold    text   not null,
    micros  bigint not null check (micros >= 0), -- as held
    state   text   not null,                     -- held, settled, released
    constraint credit_holds_id primary key (account, hold)
);
create index credit_holds_open on credit_holds (account) where state = 'held';
