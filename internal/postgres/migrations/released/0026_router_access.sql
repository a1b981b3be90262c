-- What an account may use of the model router. No list is every model.
alter table accounts add column router boolean not null default true;
alter table accounts add column router_models text[];
