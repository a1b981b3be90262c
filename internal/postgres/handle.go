package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// Pool is a pool of connections. Packages that only pass a pool to stores use this name and do not import the driver.
type Pool = pgxpool.Pool
