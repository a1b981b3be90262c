package call

import (
	"encoding/binary"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Fingerprint identifies a request for idempotency: its method, its path and query as sent, and every byte of its
// body. Each part is prefixed with its length, so that different requests never have the same hashed bytes.
func Fingerprint(method, target string, body []byte) blob.Ref {
	h := blob.NewHash()
	for _, part := range [][]byte{[]byte(method), []byte(target), body} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return blob.RefOf(h)
}
