-- Tokens with which machines register themselves as ComfyUI servers, and renew that. Only the hash of one is kept.
create table comfyui_tokens (
    id           uuid primary key,
    name         text not null unique,
    prefix       text not null,               -- the shown beginning
    hash         bytea not null unique,
    created_at   timestamptz not null,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
alter table comfyui_servers add column token uuid references comfyui_tokens; -- that registered it; null = an operator did
