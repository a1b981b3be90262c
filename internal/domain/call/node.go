package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// maxNodeInKey bounds the part of an idempotency key that is a node's id; a longer id is replaced by its hash.
const maxNodeInKey = 64

// NodeKey returns the idempotency key of a call that a node makes: the index-th of a run of a job.
func NodeKey(job string, run, index int, node string) string {
	if len(node) > maxNodeInKey {
		sum := sha256.Sum256([]byte(node))
		node = hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf("node:%s:%d:%d:%s", job, run, index, node)
}

// StopNode requests that the call of a partner node's key stop, best effort: a generation that has begun may finish
// and be charged. It ignores a key without a call, and a call that has ended.
func (s *Service) StopNode(ctx context.Context, account, key, requestID string) error {
	rec, found, err := s.Store.Key(ctx, account, key)
	if err != nil || !found {
		return err
	}
	_, err = s.Store.Cancel(ctx, account, rec.Call, requestID)
	return err
}

// Worked returns how long the provider worked on an ended call: from just before the request was sent to the end. The
// rest of the caller's time was spent waiting, mainly for a slot of the account.
func (s *Service) Worked(ctx context.Context, account string, id ID) (time.Duration, error) {
	c, err := s.Store.Load(ctx, account, id)
	if err != nil || c.SentAt == nil || c.EndedAt == nil {
		return 0, err
	}
	return c.EndedAt.Sub(*c.SentAt), nil
}

// StopJob asks the calls in flight that nodes of a job's run wait for to stop, best effort.
func (s *Service) StopJob(ctx context.Context, account string, of JobRun, requestID string) error {
	calls, err := s.Store.OfJob(ctx, account, of)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range calls {
		_, err := s.Store.Cancel(ctx, account, id, requestID)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
