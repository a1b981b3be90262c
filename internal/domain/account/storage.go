package account

import (
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Storage is the storage that an account uses: its uploads, references, outputs and files of its editor, each by its
// size.
type Storage struct {
	Bytes int64 `json:"bytes"`
	Files int64 `json:"files"`
	Limit int64 `json:"limit_bytes"` // 0 = no limit
}

// Fits fails with Denied and CodeStorageQuotaExceeded if bytes more would exceed the limit.
func (s Storage) Fits(bytes int64) error {
	if s.Limit > 0 && s.Bytes+bytes > s.Limit {
		return StorageExceeded(s.Limit)
	}
	return nil
}

// Full reports whether the account has reached its limit.
func (s Storage) Full() bool { return s.Limit > 0 && s.Bytes >= s.Limit }

// StorageExceeded is the refusal of bytes beyond the storage limit of an account. It has no Retry-After, because
// waiting does not help.
func StorageExceeded(limit int64) error {
	return fault.New(fault.Denied, fault.CodeStorageQuotaExceeded,
		"the files of this account may take at most %s together: delete some files first", amount.Bytes(limit))
}

// StorageLimit is a new storage limit of an account.
type StorageLimit struct {
	Bytes *int64 // 0 = no limit; nil = the deployment's
}

// StorageLimit returns how many bytes the account may store: its own limit, or else standard; 0 = no limit.
func (a Account) StorageLimit(standard int64) int64 {
	if a.Storage != nil {
		return *a.Storage
	}
	return standard
}

func (l StorageLimit) check() error {
	if l.Bytes != nil && *l.Bytes < 0 {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a storage limit must be a number of bytes, or 0 for no limit")
	}
	return nil
}
