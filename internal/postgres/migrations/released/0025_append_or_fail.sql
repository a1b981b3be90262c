-- append_events_or_fail is append_events for a caller that sends its commit behind it in the same
-- pipeline: what is not placed whole fails the transaction, so that nothing beside it is committed either.
create function append_events_or_fail(
    lock_class integer,
    in_streams text[], in_accounts text[], in_expected bigint[], in_sizes bigint[], in_firsts uuid[],
    in_closes boolean[], in_reopens boolean[], in_metas json[],
    in_appends bigint[], in_places bigint[], in_ids uuid[], in_types text[], in_data json[]
) returns table (placed_position bigint, placed_version bigint, placed_id uuid, placed_at timestamptz)
language plpgsql
as $$
declare
    placed bigint;
begin
    return query select * from append_events(lock_class, in_streams, in_accounts, in_expected, in_sizes, in_firsts,
        in_closes, in_reopens, in_metas, in_appends, in_places, in_ids, in_types, in_data);
    get diagnostics placed = row_count;
    if placed < cardinality(in_ids) then
        raise exception 'events refused' using errcode = 'MR001';
    end if;
end $$;
