package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Run runs a model and waits for its answer, at most until the router's deadline. For a key that was used
// before, it returns the recorded answer and does not run the model again.
func (s *Service) Run(ctx context.Context, inv Invocation) (*Result, error) {
	return s.run(ctx, inv, Sync)
}

// RunNode is Run for a partner node of a job. It uses the node's own key and needs no HTTP request.
func (s *Service) RunNode(ctx context.Context, inv Invocation) (*Result, error) {
	return s.run(ctx, inv, Node)
}

func (s *Service) run(ctx context.Context, inv Invocation, mode Mode) (*Result, error) {
	waiter := s.Watch.wait(ID(inv.RequestID))
	defer waiter.stop()
	admission, rec, err := s.record(ctx, inv, mode)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		return s.collect(ctx, inv, *rec)
	}
	res, err := s.await(ctx, waiter, admission.Call, false)
	if res != nil {
		res.Spend = admission.Spend
	}
	return res, err
}

// record records a call and has it sent. If the key was used before, it returns the key's record instead. Clients wait for a slot
// of the gate, and may be refused. Nodes do not wait: their jobs take turns.
func (s *Service) record(ctx context.Context, inv Invocation, mode Mode) (Admission, *KeyRecord, error) {
	n, rec, err := s.prepare(ctx, inv, mode)
	if err != nil || rec != nil {
		return Admission{}, rec, err
	}
	stored, err := blob.Put(ctx, s.Blobs, durability(mode), bytes.NewReader(inv.Body))
	if err != nil {
		return Admission{}, nil, fmt.Errorf("store a request: %w", err)
	}
	if inv.OnStored != nil {
		inv.OnStored()
	}
	n.Accepted.Request = Body{Ref: stored.Ref, Size: stored.Size, ContentType: inv.ContentType}
	if mode != Node {
		end, err := s.Gate.Begin(ctx, inv.Account)
		switch {
		case ctx.Err() != nil && err != nil:
			return Admission{}, nil, disconnected()
		case err != nil:
			return Admission{}, nil, RefusalOf(err)
		}
		defer end()
	}
	return s.acceptAndSend(ctx, n)
}

// prepare makes all checks that need no lock, in the order that the router API specifies: entitlement, key,
// credit, model, body. If the key was used before, it returns the key's record instead.
func (s *Service) prepare(ctx context.Context, inv Invocation, mode Mode) (NewCall, *KeyRecord, error) {
	id, err := ParseID(inv.RequestID)
	if err != nil {
		return NewCall{}, nil, fmt.Errorf("id of a call: %w", err)
	}
	limits, err := s.entitled(ctx, inv.Account)
	if err != nil {
		return NewCall{}, nil, err
	}
	inv.Access = limits.Access // the current access, even for a node of a job that began earlier
	fingerprint := Fingerprint(inv.Method, inv.Target, inv.Body)
	if rec, err := s.recordOf(ctx, inv, fingerprint); rec != nil || err != nil {
		return NewCall{}, rec, err
	}
	if limits.Lapsed {
		return NewCall{}, nil, inactiveSubscription(mode)
	}
	if limits.Unfunded {
		return NewCall{}, nil, insufficient()
	}
	offer, err := s.Models.Offer(ctx, inv)
	if err != nil {
		return NewCall{}, nil, err
	}
	return NewCall{
		ID: id, Account: inv.Account, Key: inv.Key, Fingerprint: fingerprint, Limits: limits, Costly: offer.Reserve >= CostlyFrom,
		For: inv.For,
		Accepted: AcceptedV1{
			Model: offer.Model, Provider: offer.Provider, Mode: mode, API: inv.API, Keyed: inv.Key != "", Options: inv.Options,
			Held: offer.Reserve, Catalog: offer.Catalog, Base: inv.BaseURL, Server: offer.Server, Fallback: offer.Fallback,
		},
	}, nil, nil
}

// durability returns the durability of a request's bytes. A caller that waits on its connection has no promise yet, so the
// request may be missing after a crash of the machine. The log, which is durable, then decides: without call.dispatching the
// call ends unsent and its key is free again; with it the call is never sent again.
func durability(mode Mode) blob.Durability {
	if mode == Sync {
		return blob.Relaxed
	}
	return blob.Durable
}

func (s *Service) entitled(ctx context.Context, account string) (Limits, error) {
	limits, err := s.Tiers.CallLimits(ctx, account)
	if err == nil && !limits.Enabled {
		err = Refuse(fault.Denied, NotEnabled, "the model router is not enabled for this account")
	}
	return limits, err
}

// inactiveSubscription refuses an account whose subscription is not active. The type of a refusal decides the exception of a
// failed node, and not_enabled becomes InactiveSubscriptionError.
func inactiveSubscription(mode Mode) *Refusal {
	errorType := Forbidden
	if mode == Node {
		errorType = NotEnabled
	}
	return Refuse(fault.Denied, errorType, "an active subscription is required to run models")
}

// maxKey bounds an idempotency key, in characters.
const maxKey = 255

// recordOf returns the record of the invocation's key, or nil if the key is free.
func (s *Service) recordOf(ctx context.Context, inv Invocation, fingerprint blob.Ref) (*KeyRecord, error) {
	if inv.Key == "" {
		return nil, nil // nil means that the key is free
	}
	if len([]rune(inv.Key)) > maxKey {
		return nil, Refuse(fault.Invalid, InvalidInput, "an Idempotency-Key must have 1 to %d characters", maxKey)
	}
	rec, found, err := s.Store.Key(ctx, inv.Account, inv.Key)
	if err != nil || !found {
		return nil, err
	}
	if rec.Fingerprint != fingerprint {
		return nil, Refuse(fault.Conflict, InvalidInput, "this Idempotency-Key was used for a different request; use a new key")
	}
	return &rec, nil
}

func insufficient() *Refusal {
	return Refuse(fault.Exhausted, InsufficientCredits, "the account does not have enough credits for this call; add credits and try again")
}

// acceptWithin bounds the recording of a call, which continues if the caller disconnects.
const acceptWithin = 30 * time.Second

// accept records the call. If another request has just claimed the key, accept returns that key's record instead. It
// completes the transaction even if ctx ends: the caller can repeat the request with its key, and the outcome of an
// abandoned transaction would be unknown.
func (s *Service) accept(ctx context.Context, n NewCall) (Admission, *KeyRecord, error) {
	if err := ctx.Err(); err != nil {
		return Admission{}, nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptWithin)
	defer cancel()
	admission, err := s.Store.Accept(ctx, n)
	switch {
	case errors.Is(err, ErrKeyTaken):
		rec, err := s.claimedByOther(ctx, n)
		return Admission{}, rec, err
	case fault.CodeOf(err) == fault.CodeInsufficientCredits:
		return Admission{}, nil, insufficient()
	case err != nil:
		return Admission{}, nil, err
	}
	return admission, nil, nil
}

// acceptAndSend is accept for a call whose caller waits. If this process dispatches calls, it sends the call at
// once.
func (s *Service) acceptAndSend(ctx context.Context, n NewCall) (Admission, *KeyRecord, error) {
	if s.Sender == nil || n.Accepted.Mode != Sync {
		return s.begin(ctx, n)
	}
	attempt, err := s.Sender.Prepare(ctx, n.Run(0))
	if err != nil {
		return Admission{}, nil, err
	}
	if attempt == nil {
		return s.begin(ctx, n)
	}
	event := attempt.Dispatching()
	n.Sending = &event
	admission, rec, err := s.accept(ctx, n)
	if err != nil || rec != nil {
		var refused *Refusal
		attempt.Discard(err != nil && !errors.As(err, &refused))
		return admission, rec, err
	}
	// The caller waits for this attempt, not for the workflow. A workflow that starts after the attempt reads its outcome, and
	// ends in its first task.
	attempt.Send(func() { s.start(n, admission) })
	return admission, nil, nil
}

// begin accepts a call and starts its workflow.
func (s *Service) begin(ctx context.Context, n NewCall) (Admission, *KeyRecord, error) {
	admission, rec, err := s.accept(ctx, n)
	s.start(n, admission)
	return admission, rec, err
}

// start has the workflow of a call started, if the call was recorded. The call of a client takes a slot of the gate meanwhile.
func (s *Service) start(n NewCall, admission Admission) {
	intents := slices.Clone(admission.Intents)
	for i := range intents {
		if n.Accepted.Mode != Node {
			intents[i].Over = s.Gate.Take(n.Account)
		}
	}
	s.Notify(intents)
}

// claimedByOther returns the record of a key that another request claimed after the first check.
func (s *Service) claimedByOther(ctx context.Context, n NewCall) (*KeyRecord, error) {
	rec, found, err := s.Store.Key(ctx, n.Account, n.Key)
	switch {
	case err != nil:
		return nil, err
	case !found: // the key was claimed and released again: the next attempt gets it
		return nil, StillRunning()
	case rec.Fingerprint != n.Fingerprint:
		return nil, Refuse(fault.Conflict, InvalidInput, "this Idempotency-Key was used for a different request; use a new key")
	}
	return &rec, nil
}

// collectEvery is the Retry-After for a call still in flight, in seconds.
const collectEvery = 2

// StillRunning refuses a call whose key was used for a call that has not ended.
func StillRunning() *Refusal {
	r := Refuse(fault.Conflict, ConcurrencyLimit, "the original call with this Idempotency-Key is still running; send it again with the "+
		"same key")
	r.RetryAfter = collectEvery
	return r
}

// collect returns the answer of the call that the key's record names.
func (s *Service) collect(ctx context.Context, inv Invocation, rec KeyRecord) (*Result, error) {
	waiter := s.Watch.wait(rec.Call)
	defer waiter.stop()
	c, err := s.Store.Load(ctx, inv.Account, rec.Call)
	switch {
	case err != nil:
		return nil, err
	case !c.State.Final() && !c.Detached:
		return nil, StillRunning()
	case !c.State.Final():
		return s.await(ctx, waiter, c, true)
	}
	return s.replay(c, rec)
}

// collectWithin is how long an answer with files of the provider can be collected again after its delivery: the
// caller's connection may have broken after the last byte was sent. The provider's links live longer.
const collectWithin = 5 * time.Minute

func (s *Service) replay(c Call, rec KeyRecord) (*Result, error) {
	switch {
	case c.State == Unknown:
		return nil, Refuse(fault.Conflict, InvalidInput, "the outcome of the call with this Idempotency-Key is unknown, and the call is not "+
			"sent again; use a new key").withCause(ErrOutcomeUnknown)
	case c.State == Canceled:
		return nil, Refuse(fault.Conflict, InvalidInput, "the call with this Idempotency-Key was cancelled; use a new key")
	case c.State == Succeeded && !c.Replayable && rec.Delivered && rec.DeliveredAgo > collectWithin:
		return nil, Refuse(fault.Conflict, InvalidInput, "the answer of this Idempotency-Key was delivered and is not stored; use a new key")
	}
	return s.resultOf(c, true)
}

// await waits until the call ends, the caller disconnects, or the deadline passes. The call continues in any case.
func (s *Service) await(ctx context.Context, w *Waiter, c Call, replayed bool) (*Result, error) {
	timer := time.NewTimer(s.Deadline)
	defer timer.Stop()
	select {
	case end := <-w.ended:
		return s.resultOf(Fold(c, end.rec, end.data), replayed)
	case <-timer.C:
		return s.detach(ctx, c, TypeDeadlineExceeded, DeadlineExceededV1{}, replayed)
	case <-ctx.Done():
		return s.detach(context.WithoutCancel(ctx), c, TypeClientDisconnected, ClientDisconnectedV1{}, replayed)
	}
}

// stillQueued reports whether a call of a node that was queued at its acceptance may still be queued. Before its
// admission, the second event of its stream, nothing is recorded about such a call.
func (s *Service) stillQueued(ctx context.Context, c Call) bool {
	if c.State != Waiting {
		return false
	}
	now, err := s.Store.Load(ctx, c.Account, c.ID)
	return err != nil || now.State == Waiting
}

func disconnected() *Refusal {
	return Refuse(fault.Canceled, ClientDisconnected, "the caller closed the connection before the result")
}

// detachTimeout bounds the time to record that the client of a call disconnected.
const detachTimeout = 10 * time.Second

// detach records that no caller waits on the original connection, so that a retry with the same key gets the answer.
// If the call has ended meanwhile, detach returns its answer.
func (s *Service) detach(ctx context.Context, c Call, eventType string, event any, replayed bool) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, detachTimeout)
	defer cancel()
	if !s.stillQueued(ctx, c) {
		err := s.Store.Note(ctx, c.Account, c.ID, eventlog.Event{ID: EventID(c.ID, 0, eventType), Type: eventType, Data: event})
		if err != nil && !errors.Is(err, eventlog.ErrClosed) {
			s.Log.Warn("client disconnection not recorded", "call_id", c.ID, "error", err)
		}
	}
	now, err := s.Store.Load(ctx, c.Account, c.ID)
	if err != nil {
		return nil, err
	}
	if now.State.Final() {
		return s.resultOf(now, replayed)
	}
	if eventType == TypeClientDisconnected {
		return nil, disconnected()
	}
	r := Refuse(fault.Unavailable, DeadlineExceeded, "the router stopped waiting; the same request may be sent again with the same "+
		"Idempotency-Key")
	if c.Keyed && now.State == Running {
		r.RetryAfter = collectEvery
	}
	return nil, r
}
