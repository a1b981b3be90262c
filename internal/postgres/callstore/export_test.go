package callstore

// Joining returns how many acceptances and ends of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.changes.Waiting(account) }
