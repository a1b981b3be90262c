package account

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Storage is what an account keeps: its uploads, references, outputs and files of its editor, each by its size.
type Storage struct {
	Bytes int64 `json:"bytes"`
	Files int64 `json:"files"`
	Limit int64 `json:"limit_bytes"` // that it may keep; 0 = no limit
}

// Fits fails, as Denied with CodeStorage, unless the account may keep that many bytes more than it keeps.
func (s Storage) Fits(bytes int64) error {
	if s.Limit > 0 && s.Bytes+bytes > s.Limit {
		return StorageExceeded(s.Limit)
	}
	return nil
}

// Full reports whether the account may store nothing more.
func (s Storage) Full() bool { return s.Limit > 0 && s.Bytes >= s.Limit }

// StorageExceeded is the refusal of bytes beyond the storage limit of an account. It has no Retry-After, because
// waiting does not help.
func StorageExceeded(limit int64) error {
	return fault.New(fault.Denied, fault.CodeStorageQuotaExceeded, "the files of this account may take %s together, and this would exceed it: delete some to make room", Size(limit))
}

// StorageLimit changes how much an account may keep.
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
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a limit of storage is a number of bytes, 0 for none")
	}
	return nil
}

// units of sizes, the largest first.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Size writes a number of bytes for people.
func Size(bytes int64) string {
	for _, u := range units {
		if bytes >= u.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(bytes)/float64(u.bytes), 'f', 1, 64), ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " B"
}

// ParseSize reads a number of bytes such as 1073741824, 512MiB or 1.5GiB.
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
