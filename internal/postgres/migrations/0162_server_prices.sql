-- What a second on a ComfyUI server costs an account that is metered, in USD millionths.
alter table comfyui_servers add column price bigint not null default 0 check (price >= 0);
alter table comfyui_tokens add column price bigint not null default 0 check (price >= 0); -- of the servers that it registers

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
