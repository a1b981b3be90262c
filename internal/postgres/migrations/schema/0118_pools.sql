-- Pools of machines. The state is the fold of the stream pool-<name>, written with its events. The row of a pool that was removed stays,
-- because the names of its machines are not used again.
create table pools (
    name     text  primary key,
    commands jsonb not null,
    state    jsonb not null
);

-- The token of a machine of a pool: its name is that of the machine.
alter table comfyui_tokens add column pool text not null default '';
alter table comfyui_tokens add column labels text[] not null default '{}'; -- that its server gets
create index comfyui_tokens_pool on comfyui_tokens (pool) where pool <> '';
