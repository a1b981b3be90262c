package account

import (
	"fmt"
	"strconv"
	"strings"

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
	return fault.New(fault.Denied, fault.CodeStorageQuotaExceeded, "the files of this account may take at most %s together: delete some files first", Size(limit))
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

// units are the units of sizes, the largest first.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Size formats a number of bytes for people.
func Size(bytes int64) string {
	for _, u := range units {
		if bytes >= u.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(bytes)/float64(u.bytes), 'f', 1, 64), ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " B"
}

// ParseSize parses a number of bytes such as 1073741824, 512MiB or 1.5GiB.
func ParseSize(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= (1<<62)/factor {
		return n * factor, nil
	}
	if f, err := strconv.ParseFloat(number, 64); err == nil && factor > 1 && f >= 0 && f <= float64((1<<62)/factor) {
		return int64(f * float64(factor)), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 1073741824, 512MiB or 1.5GiB", text)
}
