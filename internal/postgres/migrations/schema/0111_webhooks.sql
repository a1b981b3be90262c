-- View webhooks_v1: the endpoints of an account, folded from the stream webhooks-<account>. No defaults: a row
-- depends on events only. What is secret of an endpoint is not here.
create table webhooks_v1 (
    account   text   not null,
    version   bigint not null, -- of the stream, folded so far
    endpoints json   not null,
    constraint webhooks_v1_account primary key (account)
);

-- Command state of endpoints. Not a view: addresses and keys are sealed and in no event.
create table webhook_endpoints (
    id            uuid primary key,
    account       text    not null,
    sealed        bytea   not null,
    disabled      boolean not null default false,
    failing_since timestamptz -- every attempt since has failed; null = the last one succeeded
);
create index webhook_endpoints_account on webhook_endpoints (account);

-- The queue of deliveries, and what became of them until their retention. Not a view: what is attempted when is
-- no event. The id follows from endpoint and event, so an event that is seen twice is delivered once. There is no
-- foreign key: a delivery that is made while its endpoint is removed must not stop the reader of the log.
create table webhook_deliveries (
    id           uuid primary key,
    seq          bigint generated always as identity,
    account      text        not null,
    webhook      uuid        not null,
    subject      text        not null, -- stream that it is about
    kind         text        not null,
    body         text        not null,
    state        text        not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
    attempts     integer     not null default 0,
    replays      integer     not null default 0,
    created_at   timestamptz not null default now(),
    queued_at    timestamptz not null default now(), -- created, or replayed last
    due_at       timestamptz not null default now(),
    lease        uuid,        -- of the process that attempts it
    leased_until timestamptz,
    ended_at     timestamptz,
    tries        jsonb       not null default '[]'
);
create index webhook_deliveries_due on webhook_deliveries (webhook, due_at, seq) where state = 'pending';
create index webhook_deliveries_subject on webhook_deliveries (webhook, subject, seq) where state = 'pending';
create index webhook_deliveries_leased on webhook_deliveries (webhook) where leased_until is not null;
create index webhook_deliveries_oldest on webhook_deliveries (queued_at) where state = 'pending';
create index webhook_deliveries_of on webhook_deliveries (webhook, seq desc);
create index webhook_deliveries_dead on webhook_deliveries (account, seq desc) where state = 'dead';
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
