package eventlog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// uuidLength is the length of an id of an aggregate, which is a lower-case UUID.
const uuidLength = 36

// ParseID returns s as the id of an aggregate. It accepts the canonical lower-case form of a UUID only.
func ParseID[ID ~string](s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s {
		return "", fmt.Errorf("%q is not a canonical lower-case UUID", s)
	}
	return ID(s), nil
}

// IDOfStream returns the id of the aggregate whose stream is prefix followed by the id.
func IDOfStream[ID ~string](prefix, stream string) (ID, bool) {
	id, ok := strings.CutPrefix(stream, prefix)
	if !ok || len(id) != uuidLength {
		return "", false
	}
	return ID(id), true
}

// DeriveID returns the id of something that is the same on every attempt: a version 5 UUID of the parts that identify it.
func DeriveID(namespace uuid.UUID, parts ...any) uuid.UUID {
	key, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings, numbers and times always marshal
	}
	return uuid.NewSHA1(namespace, key)
}
