-- Part of view assets_v1: one row for each tag of an asset that is there, so that a listing by tag comes
-- in order without sorting all that carry it. The index that found them unordered goes.
drop index assets_v1_tags;
create table assets_v1_tags (
    account text   not null,
    tag     text   not null,
    created bigint not null, -- as in assets_v1
    id      text   not null,
    constraint assets_v1_tags_id primary key (account, tag, created)
);
