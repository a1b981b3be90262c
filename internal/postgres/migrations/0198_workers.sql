-- Processes that work, each with its last sign of life. A process takes itself off the list when it stops; one that was
-- killed is silent. All of it may be lost.
create table workers (
    id        text primary key,
    heartbeat timestamptz not null
);
