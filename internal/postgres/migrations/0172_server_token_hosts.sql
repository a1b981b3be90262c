-- Which servers a registration token may register: addresses, networks and names. None = the machine that asks.
alter table comfyui_tokens add column hosts text[] not null default '{}';
