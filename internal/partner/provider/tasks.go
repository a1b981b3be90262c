package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// tasksBody wraps a JSON object into an array of one task, for providers that take only such arrays. The entry's own
// members and the id of the task come first, unless the caller's body has members of these names; the bytes of the
// caller's members follow unchanged.
func tasksBody(m *catalog.Model, callID string, body io.ReadSeeker, size int64) (payload, error) {
	names, err := lastMembers(body)
	if err != nil {
		return payload{}, err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return payload{}, fmt.Errorf("read the body: %w", err)
	}
	d, err := openObject(body)
	if err != nil {
		return payload{}, err
	}
	begin := d.InputOffset() // offset after the brace
	if _, err := body.Seek(begin, io.SeekStart); err != nil {
		return payload{}, fmt.Errorf("read the body: %w", err)
	}
	head, err := taskHead(m, callID, names)
	if err != nil {
		return payload{}, err
	}
	return payload{
		reader:      io.MultiReader(bytes.NewReader(head), body, strings.NewReader("]")),
		size:        int64(len(head)) + size - begin + 1,
		contentType: "application/json",
	}, nil
}

// taskHead returns the beginning of the array, up to the caller's first member.
func taskHead(m *catalog.Model, callID string, taken map[string]int) ([]byte, error) {
	members := maps.Clone(m.Task.Members)
	if members == nil {
		members = map[string]any{}
	}
	if m.Task.ID != "" {
		members[m.Task.ID] = taskID(callID)
	}
	var out bytes.Buffer
	out.WriteString("[{")
	first := true
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, found := taken[name]; found {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("encode the task: %w", err)
		}
		value, err := json.Marshal(members[name])
		if err != nil {
			return nil, fmt.Errorf("encode the task: %w", err)
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	if !first && len(taken) > 0 {
		out.WriteByte(',')
	}
	return out.Bytes(), nil
}

// taskID returns the UUID of a call's task. It is the same for every attempt and has version 4, which providers
// require.
func taskID(callID string) string {
	sum := sha256.Sum256([]byte(callID))
	var id uuid.UUID
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id.String()
}
