package app

// FindJobSQL is the query that finds a job, for the test of its plan.
const FindJobSQL = findJobSQL
