package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// CursorLifetime is how long a page cursor is valid.
const CursorLifetime = 24 * time.Hour

// cursorPattern is the form of cursors in the router contract.
var cursorPattern = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{1,512}$`)

const cursorTag = 16 // bytes kept of the HMAC

// Cursors makes and reads the page cursors of the model list. A cursor contains the last id served and its own
// expiry, authenticated with an HMAC. Since it contains an id instead of an offset, it stays valid when the catalog
// changes.
type Cursors struct {
	key []byte
	now func() time.Time
}

// NewCursors returns cursors authenticated with key, which all replicas share.
func NewCursors(key []byte, now func() time.Time) *Cursors { return &Cursors{key: key, now: now} }

// Make returns a cursor that continues after a model id.
func (c *Cursors) Make(lastID string) string {
	payload := binary.BigEndian.AppendUint64(nil, uint64(c.now().Add(CursorLifetime).Unix()))
	payload = append(payload, lastID...)
	return base64.RawURLEncoding.EncodeToString(append(c.tag(payload), payload...))
}

// Read returns the model id after which a cursor continues. A malformed, forged or expired cursor is fault.Invalid
// with code invalid_input.
func (c *Cursors) Read(cursor string) (string, error) {
	refused := fault.New(fault.Invalid, fault.CodeInvalidInput, "the cursor is malformed or expired; repeat the request without a cursor")
	if !cursorPattern.MatchString(cursor) {
		return "", refused
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < cursorTag+8 {
		return "", refused
	}
	tag, payload := raw[:cursorTag], raw[cursorTag:]
	if !hmac.Equal(tag, c.tag(payload)) {
		return "", refused
	}
	if ends := int64(binary.BigEndian.Uint64(payload)); c.now().Unix() >= ends {
		return "", refused
	}
	return string(payload[8:]), nil
}

func (c *Cursors) tag(payload []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte("model-cursor\x00"))
	mac.Write(payload)
	return mac.Sum(nil)[:cursorTag]
}
