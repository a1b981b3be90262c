-- Where the weights of a server are put; empty = nowhere.
alter table comfyui_servers add column models_folder text not null default '';
-- Copies of weights in folders of models, which servers may share. One process makes a copy, until its time is up.
create table comfyui_copies (
    target  text not null,                      -- the machine and the folder
    folder  text not null,
    name    text not null,
    hash    bytea not null check (length(hash) = 32),
    size    bigint not null,
    state   text not null check (state in ('copying', 'ready', 'failed')),
    done    bigint not null default 0,          -- bytes
    brought boolean not null default false,     -- the file is not one that was there before
    problem text not null default '',           -- of the last attempt that failed
    holder  text not null,
    until   timestamptz not null,
    since   timestamptz not null,
    used_at timestamptz not null,
    primary key (target, folder, name)
);

-- An operator put the file. Model files of operators are weights; those that accounts upload are not.
alter table files add column operators boolean not null default false;
