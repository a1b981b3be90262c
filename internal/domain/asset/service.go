package asset

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// New is an asset to record over a blob that is stored already.
type New struct {
	Chosen      PublicID // by the client; "" = the asset's own id
	Account     string
	Origin      Origin
	Hash        blob.Ref
	Fresh       bool // the store did not have the bytes before
	Size        int64
	ContentType string
	FilePath    *string  // nil = none
	Place       *Place   // where FilePath leads to, nil = nowhere
	Tags        []string // sorted, each once
	Width       int      // pixels, 0 = not an image or not known
	Height      int
	CreatedAt   *time.Time // nil = when it is recorded
	Deadline    *time.Time
	RequestID   string
	About
}

// About is what an owner says about an asset beside its path and tags.
type About struct {
	Name     string // "" = the asset is called by its path
	Metadata Metadata
	Preview  PublicID // the asset that shows this one, "" = none
	// Strict asks that an asset is returned again only when it agrees with all of this, too.
	Strict bool
}

// Stored is the outcome of recording an asset.
type Stored struct {
	Asset    Asset
	HadBytes bool            // the account held these bytes before
	Intents  []outbox.Intent // to carry out now; also in the outbox
}

// ErrUncertain says that it is not known whether an asset was recorded: the database was lost while it was asked to,
// and for long after, or what it recorded cannot be read.
var ErrUncertain = errors.New("the asset may have been recorded")

// Store carries out the transactions of assets. All are scoped to the account.
//
// A failure to make one means that there is none, except ErrUncertain.
type Store interface {
	// Create records a new asset; a public id that the account uses, or did, is Conflict, asset_id_taken. Its deadline is the
	// later of the one given and the latest in force for these bytes in the account.
	Create(ctx context.Context, n New) (Stored, error)
	// Reference records an asset over bytes the account holds. An asset with the same bytes, path
	// and tags is returned instead, with its deadline extended; then same is true. Bytes that the
	// account does not hold are NotFound, blob_not_found.
	Reference(ctx context.Context, n New) (made Stored, same bool, err error)
	// Change records what the owner changes of an asset and returns it. NotFound when it is not there, or
	// when the preview is not.
	Change(ctx context.Context, account string, id ID, c Change, requestID string) (Asset, []Event, error)
	// Delete ends an asset. NotFound when it is not there; Conflict, asset_in_use, while an
	// unfinished job needs it.
	Delete(ctx context.Context, account string, id ID, requestID string) error
	// HasBytes reports whether a live asset of the account has these bytes.
	HasBytes(ctx context.Context, account string, hash blob.Ref) (bool, error)
}

// Options tune a Service.
type Options struct {
	Retention time.Duration         // of assets whose creator asks for none, 0 = for ever
	Notify    func([]outbox.Intent) // tries intents at once; nil = the relay finds them
	Now       func() time.Time
}

// Service accepts commands on assets.
type Service struct {
	store   Store
	blobs   blob.Store
	opts    Options
	backlog backlog
}

// NewService returns the service over records and blobs.
func NewService(store Store, blobs blob.Store, opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Service{store: store, blobs: blobs, opts: opts}
}

// Spec is what a client says about an asset.
type Spec struct {
	Account     string
	ContentType string
	FilePath    *string
	Place       *Place
	Tags        []string
	ExpiresIn   time.Duration // 0 = the default
	RequestID   string
	Chosen      PublicID // by the client; "" = the asset's own id
	About
}

// times returns when an asset that is made now was created, in the precision that clients see, and when it expires, which
// is in later by the same clock; nil = never.
func (s *Service) times(in time.Duration) (created, expires *time.Time) {
	now := s.opts.Now().UTC().Truncate(time.Millisecond)
	if in == 0 {
		in = s.opts.Retention
	}
	if in == 0 {
		return &now, nil
	}
	at := now.Add(in)
	return &now, &at
}

// Incoming takes the bytes of an upload: into the store, or, when the account holds what the
// client expects them to be, through the hash only.
type Incoming struct {
	w    blob.Writer // nil = verify only
	h    hash.Hash
	size int64
	over func() // tells the service, once, that this upload is over
}

var _ io.Writer = (*Incoming)(nil)

// Receive begins an upload. expected, unless nil, is what the client says the bytes hash to; it
// saves the write, never the check. Drop must follow, also after Create.
func (s *Service) Receive(ctx context.Context, account string, expected *blob.Ref) (*Incoming, error) {
	held, err := false, error(nil)
	if expected != nil {
		held, err = s.usable(ctx, account, *expected)
	}
	if err != nil {
		return nil, err
	}
	in := &Incoming{}
	if held {
		in.h = blob.NewHash()
	} else if in.w, err = s.blobs.Create(ctx, blob.Durable); err != nil {
		return nil, fmt.Errorf("begin an upload: %w", err)
	}
	s.backlog.begin()
	in.over = sync.OnceFunc(func() { s.notify(s.backlog.end()) })
	return in, nil
}

// usable reports whether the account holds the bytes and the store has them, and keeps the
// collector off them for the time of an upload.
func (s *Service) usable(ctx context.Context, account string, ref blob.Ref) (bool, error) {
	if ref.IsZero() { // names no blob
		return false, nil
	}
	held, err := s.store.HasBytes(ctx, account, ref)
	if err != nil || !held {
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

// Sum returns digest and size of what was written.
func (in *Incoming) Sum() (blob.Ref, int64) {
	if in.w != nil {
		return in.w.Sum()
	}
	return blob.RefOf(in.h), in.size
}

// Drop ends an upload and gives the bytes up unless they became an asset.
func (in *Incoming) Drop() error {
	in.over()
	if in.w == nil {
		return nil
	}
	return in.w.Abort()
}

// hashMismatchRetry is the Retry-After of hash_mismatch: sending the right bytes needs no wait.
const hashMismatchRetry = time.Second

// Create turns received bytes into an asset. Bytes that do not hash to expected (unless nil) are
// Conflict, hash_mismatch, and leave nothing.
func (s *Service) Create(ctx context.Context, in *Incoming, expected *blob.Ref, spec Spec) (Stored, error) {
	ref, size := in.Sum()
	if expected != nil && ref != *expected {
		return Stored{}, fault.New(fault.Conflict, fault.CodeHashMismatch, "the bytes hash to %s", ref).WithRetryAfter(hashMismatchRetry)
	}
	n := s.newAsset(spec, Uploaded, ref)
	n.Size = size
	if in.w != nil {
		n.Width, n.Height = Dimensions(in.w, size)
	}
	var err error
	if n.Fresh, err = s.settle(ctx, in, ref); err != nil {
		return Stored{}, err
	}
	made, err := s.store.Create(ctx, n)
	s.backlog.add(made.Intents)
	return made, err
}

func (s *Service) notify(intents []outbox.Intent) {
	if s.opts.Notify != nil && len(intents) > 0 {
		s.opts.Notify(intents)
	}
}

// settle makes sure that the store has the bytes, and keeps them until the asset is recorded. It reports whether the store
// did not have them before.
func (s *Service) settle(ctx context.Context, in *Incoming, ref blob.Ref) (fresh bool, err error) {
	if in.w != nil {
		stored, err := in.w.Commit(ctx)
		return stored.Created, err
	}
	if err := s.blobs.Touch(ctx, ref); err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "", "the stored bytes were lost meanwhile; send them again")
	}
	return false, nil
}

func (s *Service) newAsset(spec Spec, origin Origin, ref blob.Ref) New {
	created, expires := s.times(spec.ExpiresIn)
	return New{
		Account: spec.Account, Origin: origin, Hash: ref, ContentType: spec.ContentType, FilePath: spec.FilePath,
		Place: spec.Place, Tags: spec.Tags, CreatedAt: created, Deadline: expires, RequestID: spec.RequestID,
		Chosen: spec.Chosen, About: spec.About,
	}
}

// Reference makes an asset over bytes the account holds, or returns the identical one that exists.
func (s *Service) Reference(ctx context.Context, ref blob.Ref, spec Spec) (made Stored, same bool, err error) {
	held, err := s.usable(ctx, spec.Account, ref)
	if err != nil {
		return Stored{}, false, err
	}
	if !held {
		return Stored{}, false, bytesNotOwned()
	}
	made, same, err = s.store.Reference(ctx, s.newAsset(spec, Referenced, ref))
	s.notify(made.Intents)
	return made, same, err
}

func bytesNotOwned() error {
	return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
}

// HasBytes reports whether the account can reference these bytes.
func (s *Service) HasBytes(ctx context.Context, account string, ref blob.Ref) (bool, error) {
	held, err := s.store.HasBytes(ctx, account, ref)
	if err != nil || !held {
		return false, err
	}
	_, err = s.blobs.Stat(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Change changes what the owner says about an asset; the events are what that came to.
func (s *Service) Change(ctx context.Context, account string, id ID, c Change, requestID string) (Asset, []Event, error) {
	return s.store.Change(ctx, account, id, c, requestID)
}

// Delete ends an asset of the account.
func (s *Service) Delete(ctx context.Context, account string, id ID, requestID string) error {
	return s.store.Delete(ctx, account, id, requestID)
}
