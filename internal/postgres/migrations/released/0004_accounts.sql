-- Who may use the service, and what keeps repeated requests single. None of this is a view.

create table accounts (
    id         text primary key,
    name       text not null unique,
    tier       text not null,
    active     boolean not null default true, -- the subscription
    created_at timestamptz not null default now()
);

-- The account of the modes none and token.
insert into accounts (id, name, tier) values ('local', 'local', 'local');

-- API keys. The secret is shown once and never stored: hash is the SHA-256 of a
-- random 200-bit secret, prefix its shown beginning.
create table api_keys (
    id         uuid primary key,
    account    text not null references accounts (id),
    hash       bytea not null unique check (length(hash) = 32),
    prefix     text not null,
    scopes     text[] not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);
create index api_keys_account on api_keys (account);

-- Idempotency keys in use, per account and operation. A row whose time has passed
-- counts as absent and is taken over by the next claim.
create table idempotency_keys (
    account    text not null,
    operation  text not null,
    key        text not null check (length(key) between 1 and 255),
    expires_at timestamptz not null,
    primary key (account, operation, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

-- Processes that serve live frames to their peers, with the time of their last sign of life.
create table replicas (
    id         uuid primary key,
    url        text not null, -- where peers reach its internal listener
    heartbeat  timestamptz not null
);
