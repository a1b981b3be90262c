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
    looked_at     timestamptz
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
    primary key (job, run, unit)
);
create index comfyui_leases_server on comfyui_leases (server);
-- Prompts that were given up with their server: cancelled when it returns.
create table comfyui_orphans (
    server  uuid not null references comfyui_servers on delete cascade,
    prompt  text not null,
    made_at timestamptz not null,
    primary key (server, prompt)
);
-- How long loading models took, by model.
create table comfyui_loads (
    model    text primary key,
    millis   bigint not null,
    measured timestamptz not null
);
