-- How long loading models takes is kept by server: machines differ. What was measured without its server is measured anew.
drop table comfyui_loads;
create table comfyui_loads (
    server   uuid not null references comfyui_servers on delete cascade,
    model    text not null,
    millis   bigint not null,
    measured timestamptz not null,
    primary key (server, model)
);
-- The time on servers of each account that competes for them is added up from recent leases.
create index comfyui_leases_until on comfyui_leases (until);
