package redact

import "io"

// chunk is the number of bytes of one read.
const chunk = 32 << 10

// Reader returns a reader of r with the secrets overwritten, even if a secret arrives in several pieces. It passes on
// bytes without waiting for more, except for an end with which a secret may begin. If r ends within a secret, the
// part that has arrived is overwritten, too.
func (s *Secrets) Reader(r io.Reader) io.Reader {
	if s == nil || len(s.forms) == 0 {
		return r
	}
	return &reader{secrets: s, from: r}
}

// reader overwrites secrets in the bytes that it reads.
type reader struct {
	secrets *Secrets
	from    io.Reader
	raw     []byte // the bytes that have arrived
	out     []byte // the same bytes with secrets overwritten
	next    int    // the first byte of out that has not been read
	ready   int    // the end of the bytes of out that may be read
	err     error  // of from, returned after the last byte
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for r.next == r.ready && len(p) > 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.fill() == 0 && r.err == nil {
			return 0, nil
		}
	}
	n := copy(p, r.out[r.next:r.ready])
	r.next += n
	return n, nil
}

// fill reads once and returns the number of bytes. It is called when all ready bytes have been read; at most the
// beginning of a secret is left.
func (r *reader) fill() int {
	left := len(r.raw) - r.next
	if r.raw == nil {
		r.raw = make([]byte, 0, chunk)
	}
	r.raw = append(r.raw[:0], r.raw[r.next:]...)
	r.out = append(r.out[:0], r.out[r.next:]...)
	r.next = 0
	if cap(r.raw)-left < chunk/2 {
		r.raw = append(make([]byte, 0, left+chunk), r.raw...)
	}
	n, err := r.from.Read(r.raw[left:cap(r.raw)])
	r.raw, r.err = r.raw[:left+n], err
	r.out = append(r.out, r.raw[left:]...)
	r.secrets.overwrite(r.raw, r.out)
	r.updateReady()
	return n
}

// updateReady sets how many of the bytes that have arrived may be read.
func (r *reader) updateReady() {
	begun, matched := r.secrets.unfinished(r.raw)
	r.ready = len(r.out)
	if r.err == nil {
		r.ready -= begun
	} else if matched >= Shortest {
		for i := r.ready - begun; i < r.ready; i++ {
			r.out[i] = mask[0]
		}
	}
}
