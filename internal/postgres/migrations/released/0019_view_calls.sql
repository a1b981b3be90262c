-- View calls_v1: one row per model call, folded from its stream. No defaults: a row depends on events only.
create table calls_v1 (
    id       text   not null,
    account  text   not null,
    state    text   not null,
    model    text   not null,
    accepted bigint not null, -- position of the first event: order of listings
    version  bigint not null, -- of the stream, folded so far
    call     json   not null, -- the folded state
    constraint calls_v1_id primary key (id)
);
create index calls_v1_listing on calls_v1 (account, accepted desc);
create index calls_v1_all on calls_v1 (accepted desc);
alter table calls_v1 set (fillfactor = 80);

-- View usage_v1: what an account's calls of a model came to on one day (UTC) of their ends. A call given
-- up as unknown that was settled later is counted under unknown on the one day, and under its end and
-- late on the other.
create table usage_v1 (
    account        text   not null,
    model          text   not null,
    day            date   not null,
    succeeded      bigint not null,
    failed         bigint not null,
    canceled       bigint not null,
    unknown        bigint not null,
    late           bigint not null,
    answer_bytes   bigint not null,
    charged_micros bigint not null, -- USD millionths
    constraint usage_v1_key primary key (account, model, day)
);
-- How far each call is counted, so that an event that comes twice counts once.
create table usage_calls_v1 (
    id      text   not null,
    version bigint not null,
    constraint usage_calls_v1_id primary key (id)
);
