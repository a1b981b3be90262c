-- As prune_facts was first defined, the parameter was attached to the function. Only a superuser may attach one that
-- PostgreSQL does not know, and most hosted databases have none: here the function sets it itself, until it returns.
create or replace function prune_facts(in_stream text, retired bigint) returns bigint language plpgsql
as $$
declare
    gone bigint;
begin
    perform set_config('millrace.pruning', 'on', true);
    delete from events where stream = in_stream and version < retired
        and exists (select from streams where id = in_stream and closed and version = retired)
        and exists (select from events where stream = in_stream and version = retired and type = 'job.retired.v1');
    get diagnostics gone = row_count;
    perform set_config('millrace.pruning', 'off', true);
    return gone;
end $$;
