-- Tokens with which machines register themselves as ComfyUI servers, and renew that. Only the hash of one is kept.
create table comfyui_tokens (
    id           uuid primary key,
    name         text not null unique,
    prefix       text not null,               -- the shown beginning
    hash         bytea not null unique,
    created_at   timestamptz not null,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    price        bigint not null default 0 check (price >= 0), -- of the servers that it registers
    hosts        text[] not null default '{}' -- what it may register: addresses, networks, names; none = the machine that asks
);

-- ComfyUI servers. Who registered, drained and removed them is in their streams; a row here is what they are now.
create table comfyui_servers (
    id            uuid primary key,
    url           text not null unique,
    labels        text[] not null default '{}',
    slots         integer not null default 1 check (slots > 0),
    fixed         boolean not null default false,
    drained       boolean not null default false,
    expires_at    timestamptz,
    registered_at timestamptz not null,
    sealed        bytea,
    -- what changes by the second, as the last look found it
    health        text not null default 'unseen',
    problem       text not null default '',
    version       text not null default '',
    system        jsonb not null default '{}',  -- os, memory, devices
    running       integer not null default 0,
    pending       integer not null default 0,
    others        integer not null default 0,   -- prompts of others, of both
    digest        text not null default '',
    models        text[] not null default '{}', -- that the loaders of its last prompt named
    seen_at       timestamptz,
    looked_at     timestamptz,
    token         uuid references comfyui_tokens, -- that registered it; null = an operator did
    price         bigint not null default 0 check (price >= 0) -- of a second, for accounts that are metered, in USD millionths
);
-- Class definitions of servers by their digest: a server that is away still has its classes.
create table comfyui_classes (
    digest  text primary key,
    body    bytea not null,                     -- gzipped JSON
    made_at timestamptz not null
);
-- Segments that wait for a server, each kept alive by its driver.
create table comfyui_waits (
    job     text not null,
    run     integer not null,
    unit    integer not null,
    account text not null,
    body    jsonb not null,
    reason  text not null default '',
    ahead   integer not null default 0,
    since   timestamptz not null,
    seen_at timestamptz not null,
    primary key (job, run, unit)
);
-- Segments that servers run. One whose time is up takes no place of its server; it is kept, so that the next driver finds
-- the prompt, or what it came to.
create sequence comfyui_fences;
create table comfyui_leases (
    job     text not null,
    run     integer not null,
    unit    integer not null,
    account text not null,
    server  uuid not null references comfyui_servers on delete cascade,
    attempt integer not null,
    fence   bigint not null,
    holder  text not null,
    until   timestamptz not null,
    since   timestamptz not null,
    reason  text not null,
    models  text[] not null default '{}',
    result  jsonb,                              -- of a segment that has ended
    copying boolean not null default false,     -- its prompt has ended, and what that put out is still copied: it takes no place
    primary key (job, run, unit)
);
create index comfyui_leases_server on comfyui_leases (server);
-- The time on servers of each account that competes for them is added up from recent leases.
create index comfyui_leases_until on comfyui_leases (until);
-- Prompts that were given up with their server: cancelled when it returns.
create table comfyui_orphans (
    server  uuid not null references comfyui_servers on delete cascade,
    prompt  text not null,
    made_at timestamptz not null,
    primary key (server, prompt)
);
-- How long loading models takes, by server and model: machines differ.
create table comfyui_loads (
    server   uuid not null references comfyui_servers on delete cascade,
    model    text not null,
    millis   bigint not null,
    measured timestamptz not null,
    primary key (server, model)
);

-- View server_usage_v1: each part of a graph that a ComfyUI server was leased for, once.
create table server_usage_v1 (
    job            text    not null,
    run            integer not null,
    segment        integer not null,
    attempt        integer not null,
    account        text    not null,
    server         text    not null,
    url            text    not null,
    day            date    not null, -- UTC, of its end
    outcome        text    not null,
    millis         bigint  not null,
    charged_micros bigint  not null,
    constraint server_usage_v1_key primary key (job, run, segment, attempt)
);
create index server_usage_v1_days on server_usage_v1 (day, account);
