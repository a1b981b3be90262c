-- Models that an account may not use although router_models allows them; an account whose credentials
-- are all refused; and when the token that last set the account's tier was issued, so that an older one
-- does not take it back.
alter table accounts add column router_denied text[] not null default '{}';
alter table accounts add column suspended boolean not null default false;
alter table accounts add column tier_token_at timestamptz;
