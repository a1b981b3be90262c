package disk

import "os"

// SyncBy has the store sync the bytes of files by sync.
func (s *Store) SyncBy(sync func(*os.File) error) { s.datasync = sync }
