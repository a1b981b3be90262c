package asset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// New is an asset to record for stored bytes.
type New struct {
	Chosen      PublicID // chosen by the client; "" = the asset's own id
	Account     string
	Origin      Origin
	Hash        blob.Ref
	Fresh       bool // the store did not have the bytes before
	Size        int64
	ContentType string
	FilePath    *string  // nil = no path
	Place       *Place   // the place of FilePath, or nil
	Tags        []string // sorted, without duplicates
	Width       int      // pixels, 0 = not an image or not known
	Height      int
	CreatedAt   *time.Time // nil = when it is recorded
	Deadline    *time.Time
	RequestID   string
	Key         string // idempotency key that the asset uses up; "" = none
	Naming      Naming
	By          By
	About
}

// Naming says what becomes of a Place that another file has.
type Naming int

// The rules. Under the last two, a file with the same bytes at the Place is returned again.
const (
	TakesName Naming = iota // the new asset takes the name, even from a file with the same bytes
	KeepsName               // a file with other bytes keeps the name: Conflict, name_taken
	MovesName               // the new asset takes the name from a file with other bytes
)

// By names the operator who makes an asset, and why. The zero By is the account itself.
type By struct {
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// About holds the fields that an owner sets besides path and tags.
type About struct {
	Name     string // "" = the path is its name
	Metadata Metadata
	Preview  PublicID // the asset that is its preview, or ""
	// Strict means that an existing asset is only returned if it has all of these values.
	Strict bool
}

// Stored is the outcome of recording an asset.
type Stored struct {
	Asset    Asset
	HadBytes bool // the account had stored these bytes before
	Existing bool // the asset was there before
}

// ErrUncertain means that it is unknown whether an asset was recorded: the database was lost during the commit and
// did not return for long, or the recorded asset cannot be read.
var ErrUncertain = errors.New("the asset may have been recorded")

// Store runs the transactions of assets. Every method is limited to the given account.
//
// If a method that makes an asset fails, there is no asset, except with ErrUncertain.
type Store interface {
	// Create records a new asset. A public id that the account uses or has used is Conflict, asset_id_taken. The
	// deadline is the later of the given one and the latest deadline of these bytes in the account.
	Create(ctx context.Context, n New) (Stored, error)
	// Reference records an asset of bytes that the account stores. If there is an asset with the same bytes, path and
	// tags, Reference extends its deadline and returns it with same = true. Bytes that the account does not store are
	// NotFound, blob_not_found.
	Reference(ctx context.Context, n New) (made Stored, same bool, err error)
	// Change records a change of an asset and returns the asset. An unknown asset and an unknown preview are
	// NotFound.
	Change(ctx context.Context, account string, id ID, c Change, requestID string) (Asset, []Event, error)
	// Delete ends an asset. An unknown asset is NotFound. An asset that an unfinished job needs is Conflict,
	// asset_in_use.
	Delete(ctx context.Context, account string, id ID, by By, requestID string) error
	// HasBytes reports whether a live asset of the account has these bytes.
	HasBytes(ctx context.Context, account string, hash blob.Ref) (bool, error)
}

// Options tune a Service.
type Options struct {
	Retention time.Duration // of assets for which the client sets none; 0 = for ever
	Uploads   *load.Gate    // to which ingestions give way; nil = they do not
	Now       func() time.Time
}

// Service accepts commands on assets.
type Service struct {
	store Store
	blobs blob.Store
	opts  Options
}

// NewService returns the service over records and blobs.
func NewService(store Store, blobs blob.Store, opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Service{store: store, blobs: blobs, opts: opts}
}

// Spec holds the fields of an asset that a client sets.
type Spec struct {
	Account     string
	ContentType string
	FilePath    *string
	Place       *Place
	Tags        []string
	ExpiresIn   time.Duration // 0 = the default, Forever = never
	RequestID   string
	Chosen      PublicID // chosen by the client; "" = the asset's own id
	Key         string   // idempotency key that the asset uses up; "" = none
	Naming      Naming
	By          By
	About
}

// Forever is the ExpiresIn of an asset that never expires.
const Forever time.Duration = -1

// KeyOperation is the namespace of the idempotency keys of uploads.
const KeyOperation = "assets"

// times returns the creation time of an asset that is made now, in the precision that clients see, and its expiry
// after in by the same clock; nil = never.
func (s *Service) times(in time.Duration) (created, expires *time.Time) {
	now := s.opts.Now().UTC().Truncate(time.Millisecond)
	in = cmp.Or(in, s.opts.Retention)
	if in <= 0 {
		return &now, nil
	}
	at := now.Add(in)
	return &now, &at
}

// Incoming receives the bytes of an upload. It writes them to the store or, if the account already stores the
// expected bytes, only hashes them.
type Incoming struct {
	w    blob.Writer // nil = verify only
	h    hash.Hash
	size int64
	over func() // ends the upload in the service; called once

	touched time.Time // when the stored bytes were protected from the collector, if they are only verified
}

// touchLasts is how long stored bytes are not touched again. It is far below minGrace, for which a collector spares them at least.
const touchLasts = 5 * time.Second

var _ io.Writer = (*Incoming)(nil)

// Receive begins an upload. expected is the hash that the client announces, or nil. An announced hash may save
// writing the bytes, but not checking them. The caller must call Drop, even after Create.
func (s *Service) Receive(ctx context.Context, account string, expected *blob.Ref) (*Incoming, error) {
	stored, err := false, error(nil)
	if expected != nil {
		stored, err = s.usable(ctx, account, *expected)
	}
	if err != nil {
		return nil, err
	}
	end, err := s.opts.Uploads.Begin(ctx, account)
	if err != nil {
		return nil, err
	}
	in := &Incoming{over: sync.OnceFunc(end)}
	if stored {
		in.h, in.touched = blob.NewHash(), time.Now()
	} else if in.w, err = s.blobs.Create(ctx, blob.Durable); err != nil {
		in.over()
		return nil, fmt.Errorf("begin an upload: %w", err)
	}
	return in, nil
}

// usable reports whether the account and the store have the bytes, and protects them from the collector during the
// upload.
func (s *Service) usable(ctx context.Context, account string, ref blob.Ref) (bool, error) {
	if ref.IsZero() { // the zero Ref identifies no blob
		return false, nil
	}
	stored, err := s.store.HasBytes(ctx, account, ref)
	if err != nil || !stored {
		return false, err
	}
	err = s.blobs.Touch(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Write implements io.Writer.
func (in *Incoming) Write(p []byte) (int, error) {
	if in.w != nil {
		return in.w.Write(p)
	}
	in.size += int64(len(p))
	return in.h.Write(p)
}

// Sum returns the digest and the size of the received bytes.
func (in *Incoming) Sum() (blob.Ref, int64) {
	if in.w != nil {
		return in.w.Sum()
	}
	return blob.RefOf(in.h), in.size
}

// Drop ends an upload and discards the bytes unless they became an asset.
func (in *Incoming) Drop() error {
	in.over()
	if in.w == nil {
		return nil
	}
	return in.w.Abort()
}

// hashMismatchRetry is the Retry-After of hash_mismatch: a client may send the right bytes at once.
const hashMismatchRetry = time.Second

// Create makes an asset of received bytes. If the bytes do not have the expected hash, it fails with Conflict,
// hash_mismatch, and stores nothing.
func (s *Service) Create(ctx context.Context, in *Incoming, expected *blob.Ref, spec Spec) (Stored, error) {
	ref, size := in.Sum()
	if expected != nil && ref != *expected {
		return Stored{}, fault.New(fault.Conflict, fault.CodeHashMismatch, "the bytes have the hash %s", ref).WithRetryAfter(hashMismatchRetry)
	}
	n := s.newAsset(spec, Uploaded, ref)
	n.Size = size
	if in.w != nil {
		n.Width, n.Height = Dimensions(in.w, size)
	}
	var err error
	if n.Fresh, err = s.commitBytes(ctx, in, ref); err != nil {
		return Stored{}, err
	}
	return s.store.Create(ctx, n)
}

// commitBytes ensures that the store has the bytes and keeps them until the asset is recorded. fresh reports whether the
// store did not have them before.
func (s *Service) commitBytes(ctx context.Context, in *Incoming, ref blob.Ref) (fresh bool, err error) {
	if in.w != nil {
		stored, err := in.w.Commit(ctx)
		return stored.Created, err
	}
	if time.Since(in.touched) < touchLasts {
		_, err = s.blobs.Stat(ctx, ref)
	} else {
		err = s.blobs.Touch(ctx, ref)
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "", "the stored bytes were lost meanwhile; send them again")
	}
	return false, nil
}

func (s *Service) newAsset(spec Spec, origin Origin, ref blob.Ref) New {
	created, expires := s.times(spec.ExpiresIn)
	return New{
		Account: spec.Account, Origin: origin, Hash: ref, ContentType: spec.ContentType, FilePath: spec.FilePath,
		Place: spec.Place, Tags: spec.Tags, CreatedAt: created, Deadline: expires, RequestID: spec.RequestID,
		Chosen: spec.Chosen, Key: spec.Key, Naming: spec.Naming, By: spec.By, About: spec.About,
	}
}

// Reference makes an asset of bytes that the account stores, or returns an equal asset that exists.
func (s *Service) Reference(ctx context.Context, ref blob.Ref, spec Spec) (made Stored, same bool, err error) {
	stored, err := s.usable(ctx, spec.Account, ref)
	if err != nil {
		return Stored{}, false, err
	}
	if !stored {
		return Stored{}, false, bytesNotOwned()
	}
	return s.store.Reference(ctx, s.newAsset(spec, Referenced, ref))
}

func bytesNotOwned() error {
	return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
}

// HasBytes reports whether the account can reference these bytes.
func (s *Service) HasBytes(ctx context.Context, account string, ref blob.Ref) (bool, error) {
	stored, err := s.store.HasBytes(ctx, account, ref)
	if err != nil || !stored {
		return false, err
	}
	_, err = s.blobs.Stat(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Change changes the fields that the owner may set. It returns the events that were recorded.
func (s *Service) Change(ctx context.Context, account string, id ID, c Change, requestID string) (Asset, []Event, error) {
	return s.store.Change(ctx, account, id, c, requestID)
}

// Delete ends an asset of the account.
func (s *Service) Delete(ctx context.Context, account string, id ID, requestID string) error {
	return s.DeleteBy(ctx, account, id, By{}, requestID)
}

// DeleteBy is Delete by an operator.
func (s *Service) DeleteBy(ctx context.Context, account string, id ID, by By, requestID string) error {
	return s.store.Delete(ctx, account, id, by, requestID)
}
