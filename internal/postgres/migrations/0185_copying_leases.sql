-- A segment whose prompt has ended takes no place of its server, while what the prompt put out is still copied from there.
alter table comfyui_leases add column copying boolean not null default false;
