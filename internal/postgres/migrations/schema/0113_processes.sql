-- Processes that serve live frames to their peers, with the time of their last sign of life.
create table replicas (
    id         uuid primary key,
    url        text not null, -- where peers reach its internal listener
    heartbeat  timestamptz not null
);

-- Processes that work, each with its last sign of life. A process takes itself off the list when it stops; one that was
-- killed is silent. All of it may be lost.
create table workers (
    id        text primary key,
    heartbeat timestamptz not null,
    rules     jsonb -- what it goes by, for commands that run elsewhere: they judge by the service's rules, not by their own
);
