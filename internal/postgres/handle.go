package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// Pool is a pool of connections. Packages that only hand one on to stores name it by this type, and need not know the
// driver.
type Pool = pgxpool.Pool
