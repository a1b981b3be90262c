package disk

import "os"

// SyncBy has the store sync the bytes of files by sync.
func (s *Store) SyncBy(sync func(*os.File) error) { s.datasync = sync }

// SyncFoldersBy has the store sync the folders of blobs by sync.
func (s *Store) SyncFoldersBy(sync func(*os.File) error) { s.dirsync = sync }
