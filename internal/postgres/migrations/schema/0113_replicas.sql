-- Processes that serve live frames to their peers, with the time of their last sign of life.
create table replicas (
    id         uuid primary key,
    url        text not null, -- where peers reach its internal listener
    heartbeat  timestamptz not null
);
