package jobs

import "time"

// CountFor has the reader use the number of an account's jobs for so long.
func (r *Reader) CountFor(d time.Duration) { r.counts.age = d }
