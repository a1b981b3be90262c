-- Intents to start or cancel workflows, carried out at once or later by a relay.
create table outbox (
    id          bigint generated always as identity primary key,
    workflow_id text not null,
    kind        text not null,
    payload     jsonb not null,
    due_at      timestamptz not null,
    attempts    integer not null default 0,
    last_error  text
);
create index outbox_due on outbox (due_at);
create index outbox_order on outbox (workflow_id, id);
