-- Who may use the service, and what keeps repeated requests single. None of this is a view.

create table accounts (
    id         text primary key,
    name       text not null unique,
    tier       text not null,
    active     boolean not null default true, -- the subscription
    created_at timestamptz not null default now(),
    router        boolean not null default true, -- may use the model router
    router_models text[],                        -- the models it may use; null = every model
    router_denied text[]  not null default '{}', -- models that it may not use although router_models allows them
    suspended     boolean not null default false, -- all its credentials are refused
    tier_token_at timestamptz, -- when the token that last set the tier was issued: an older one does not take it back
    storage_limit bigint check (storage_limit >= 0), -- bytes; 0 = none, null = the deployment's
    server_labels text[] -- labels of ComfyUI servers that its jobs may ask for: null = every label, empty = none
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
    revoked_at timestamptz,
    last_used_at timestamptz -- to the minute; null = never
);
create index api_keys_account on api_keys (account);

-- Idempotency keys in use, per account and operation. A row whose time has passed
-- counts as absent and is taken over by the next claim. A request whose connection broke before it was answered asks
-- again and finds that the key is its own; only that request gives it back.
create table idempotency_keys (
    account    text not null,
    operation  text not null,
    key        text not null check (length(key) between 1 and 255),
    expires_at timestamptz not null,
    holder     uuid, -- the request that claimed it; null = claimed in the transaction of what it stands for
    primary key (account, operation, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
