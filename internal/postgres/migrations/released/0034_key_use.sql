-- When a key was last used, to the minute: a key that nobody uses is one to revoke.
alter table api_keys add column last_used_at timestamptz; -- null = never
