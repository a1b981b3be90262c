package call

import "context"

// StopNode asks the call of a partner node's key to stop, best effort: a generation that has begun may
// finish and be charged. A key without a call, and a call that has ended, are left alone.
func (s *Service) StopNode(ctx context.Context, account, key, requestID string) error {
	rec, found, err := s.Store.Key(ctx, account, key)
	if err != nil || !found {
		return err
	}
	done, err := s.Store.Cancel(ctx, account, rec.Call, requestID)
	if err != nil {
		return err
	}
	s.Kicker.Kick(done.Intents)
	return nil
}
