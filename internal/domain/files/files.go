// Package files is the namespace of an account's stored files: the files that graphs load and nodes save, and the
// names of uploads. It promises that a name belongs to one asset of one account, and that a repeated attempt of a
// call gets the same name. Package blob stores the bytes, the Store the records; package asset handles retention and
// hashes.
package files

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	accounts "github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Options tune a Service. The zero value keeps files for ever.
type Options struct {
	InputRetention  time.Duration // of uploads by the cloud routes, 0 = for ever
	OutputRetention time.Duration // of what nodes save, at least that of jobs, 0 = for ever
	Now             func() time.Time
}

// Service reads and stores the files of accounts.
type Service struct {
	store Store
	blobs blob.Store
	opts  Options
}

// New returns the service over records and blobs.
func New(store Store, blobs blob.Store, opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Service{store: store, blobs: blobs, opts: opts}
}

func (s *Service) deadline(retention time.Duration) *time.Time {
	if retention <= 0 {
		return nil
	}
	at := s.opts.Now().UTC().Add(retention).Truncate(time.Millisecond)
	return &at
}

// Lookup returns the file with a name. The filename may also be "asset:<id>" or, as some clients send it,
// "blake3:<hex>".
func (s *Service) Lookup(ctx context.Context, account string, place asset.Place) (Entry, error) {
	return s.lookup(ctx, Viewer{Account: account}, place)
}

func (s *Service) lookup(ctx context.Context, who Viewer, place asset.Place) (Entry, error) {
	e, err := s.find(ctx, who, place)
	if err == nil && e.Rejected {
		return Entry{}, notFound()
	}
	return e, err
}

func (s *Service) find(ctx context.Context, who Viewer, place asset.Place) (Entry, error) {
	if text, ok := strings.CutPrefix(place.Filename, assetPrefix); ok {
		if id, err := asset.ParsePublicID(text); err == nil {
			return s.store.ByAsset(ctx, who, id)
		}
	}
	if ref, err := blob.ParseRef(place.Filename); err == nil {
		return s.store.ByHash(ctx, who, ref)
	}
	e, err := s.store.ByName(ctx, who, place)
	if !fault.Is(err, fault.NotFound) || place.Folder != string(node.FolderInput) {
		return e, err
	}
	if place.Subfolder == "" {
		return s.store.ByName(ctx, who, SentPlace(place.Filename))
	}
	place.Subfolder = "" // a client names an uploaded mask with the subfolder that it sent and that had no effect
	return s.store.ByName(ctx, who, place)
}

// SentPlace returns the place of a picture that a client has sent to the route of a node pack under an id. Lists of inputs do not
// contain it; a graph finds it by its id.
func SentPlace(id string) asset.Place {
	return asset.Place{Folder: string(node.FolderTemp), Subfolder: "sent", Filename: id}
}

// Known returns the live files with the given ids, including files whose content was rejected.
func (s *Service) Known(ctx context.Context, account string, ids []asset.PublicID) (map[asset.PublicID]Entry, error) {
	return s.store.ByAssets(ctx, Viewer{Account: account}, ids)
}

// Linked returns the file that a link to its content names, if it may still be read.
func (s *Service) Linked(ctx context.Context, id asset.ID, hash blob.Ref) (Entry, error) {
	e, err := s.store.OfAnyone(ctx, id)
	if err == nil && !e.Thumbnail.IsZero() && e.Thumbnail == hash {
		e.Hash, e.Size = hash, 0
	}
	if err == nil && (e.Rejected || e.Hash != hash) {
		return Entry{}, notFound()
	}
	return e, err
}

func notFound() error { return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such file") }

// Open returns the bytes of a file found by Lookup.
func (s *Service) Open(ctx context.Context, e Entry) (blob.Reader, error) {
	r, err := s.blobs.Open(ctx, e.Hash)
	if err != nil {
		return nil, fmt.Errorf("open file %s of account %s: %w", e.Asset, e.Account, err)
	}
	return r, nil
}

// Presign returns a link with which the storage backend itself serves the file with these headers, or "" if the
// backend has no such links.
func (s *Service) Presign(ctx context.Context, e Entry, h blob.Headers, ttl time.Duration) (string, error) {
	p, ok := s.blobs.(blob.Presigner)
	if !ok {
		return "", nil
	}
	if _, err := s.blobs.Stat(ctx, e.Hash); err != nil {
		return "", err
	}
	return p.Presign(ctx, e.Hash, h, ttl)
}

// Upload records an uploaded file under the naming rule and returns its entry.
func (s *Service) Upload(ctx context.Context, u Upload) (Entry, error) {
	if u.ExpiresAt == nil {
		u.ExpiresAt = s.deadline(s.opts.InputRetention)
	}
	e, err := s.store.Upload(ctx, u)
	if err != nil {
		return Entry{}, fmt.Errorf("record upload %s: %w", Join(u.Place), err)
	}
	return e, nil
}

// Create returns a writer for the blob of an upload.
func (s *Service) Create(ctx context.Context) (blob.Writer, error) {
	return s.blobs.Create(ctx, blob.Durable)
}

// ForAccount returns the account's files for reading, which validation needs.
func (s *Service) ForAccount(account string) node.Files {
	return &accountFiles{service: s, account: accounts.Reads(account)}
}

// ForNode returns the account's files for one node of one run. The files that the node saves become assets of the
// job.
func (s *Service) ForNode(run job.RunRef, nodeID string) *NodeFiles {
	return &NodeFiles{
		accountFiles: accountFiles{service: s, account: accounts.Reads(run.Account), job: string(run.Job)}, run: run, node: nodeID,
	}
}

type accountFiles struct {
	service *Service
	account string
	job     string // "" outside a run

	mu     sync.Mutex // guards pinned
	pinned []string   // assets that were read, without duplicates
}

// Pinned returns the ids of the assets that were read.
func (f *accountFiles) Pinned() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pinned)
}

func (f *accountFiles) pin(e Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.pinned, string(e.Asset)) {
		f.pinned = append(f.pinned, string(e.Asset))
	}
}

var _ node.Files = (*accountFiles)(nil)

// Stat implements node.Files.
func (f *accountFiles) Stat(ctx context.Context, name string) (node.Info, error) {
	e, err := f.lookup(ctx, name)
	return info(e), err
}

func (f *accountFiles) lookup(ctx context.Context, name string) (Entry, error) {
	if strings.LastIndexByte(name, '/') == 0 {
		name = name[1:] // clients that join an empty subfolder and a name send "/name"
	}
	place, err := ParseName(name, node.FolderInput)
	if err != nil {
		return Entry{}, err
	}
	e, err := f.service.lookup(ctx, Viewer{Account: f.account, Job: f.job}, place)
	if err == nil {
		f.pin(e)
	}
	return e, err
}

func info(e Entry) node.Info {
	if e.Hash.IsZero() {
		return node.Info{}
	}
	return node.Info{
		Name: Join(e.Place), Hash: e.Hash.String(), Size: e.Size, ContentType: e.ContentType,
		Pixels: int64(e.Width) * int64(e.Height),
	}
}

// Open implements node.Files.
func (f *accountFiles) Open(ctx context.Context, name string) (node.Content, error) {
	e, err := f.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := f.service.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	return content{r, info(e)}, nil
}

type content struct {
	blob.Reader
	info node.Info
}

// Info implements node.Content.
func (c content) Info() node.Info { return c.info }

// List implements node.Files.
func (f *accountFiles) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	if folder == node.FolderModels {
		return f.service.weights(ctx, f.account)
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	return f.service.store.Names(ctx, f.account, folder, limit)
}

// weights lists the weights that an account may use, as folder/name.
func (s *Service) weights(ctx context.Context, account string) ([]string, error) {
	found, err := s.store.Weights(ctx, []string{account, accounts.Everyone})
	var names []string
	for _, w := range found {
		if !w.Rejected {
			names = append(names, w.Path())
		}
	}
	return names, err
}

// Save implements node.Files. Files can only be saved in a run.
func (f *accountFiles) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	return node.File{}, fault.New(fault.Denied, "", "only running nodes can save files")
}

// NodeFiles provides the files for one node of one run, and saves its outputs.
type NodeFiles struct {
	accountFiles
	run  job.RunRef
	node string

	savedMu sync.Mutex // guards saved
	saved   []job.OutputFile
}

var _ node.Files = (*NodeFiles)(nil)

// Saved returns the files that the node has saved so far, in the order of its calls.
func (f *NodeFiles) Saved() []job.OutputFile {
	f.savedMu.Lock()
	defer f.savedMu.Unlock()
	return append([]job.OutputFile(nil), f.saved...)
}

// Save implements node.Files. It stores the blob first, and then the name and the event in one transaction.
func (f *NodeFiles) Save(ctx context.Context, save node.Save, write func(io.Writer) error) (node.File, error) {
	s, err := f.saving(save)
	if err != nil {
		return node.File{}, err
	}
	stored, err := f.store(ctx, write)
	if err != nil {
		return node.File{}, err
	}
	s.Hash, s.Size = stored.Ref, stored.Size
	e, err := f.service.store.Save(ctx, s)
	if err != nil {
		return node.File{}, fmt.Errorf("record file %d of node %s of job %s: %w", save.Index, f.node, f.run.Job, err)
	}
	f.remember(e)
	return node.File{Filename: e.Place.Filename, Subfolder: e.Place.Subfolder, Folder: node.Folder(e.Place.Folder)}, nil
}

// maxSaved bounds the files of one node: twice the largest batch. Lists of batches could have millions.
const maxSaved = 8192

// saving checks a request to save and adds its producer.
func (f *NodeFiles) saving(save node.Save) (Saving, error) {
	if save.Index >= maxSaved {
		return Saving{}, fault.New(fault.Exhausted, fault.CodeTooManyFiles, "a node may save at most %d files", maxSaved)
	}
	if err := checkFolder(save.Folder); err != nil {
		return Saving{}, err
	}
	prefix := path.Clean(strings.ReplaceAll(save.Prefix, `\`, "/"))
	// The longest counter is checked too, so that no generated name can be too long.
	if err := CheckPath(prefix + "_" + strings.Repeat("0", maxDigits) + save.Suffix); err != nil {
		return Saving{}, err
	}
	dir, name := path.Split(prefix)
	producer := asset.Producer{Job: string(f.run.Job), Run: f.run.Run, Node: f.node, Index: save.Index}
	return Saving{
		Asset:   asset.OutputID(producer.Job, producer.Run, producer.Node, producer.Index),
		Account: f.run.Account, Folder: save.Folder, Subfolder: strings.TrimSuffix(dir, "/"), Prefix: name,
		Suffix: save.Suffix, Producer: producer, ContentType: save.ContentType,
		Width: save.Width, Height: save.Height, ExpiresAt: f.service.deadline(f.retention()),
	}, nil
}

// shadowRetention is how long the outputs of hidden accounts are kept.
const shadowRetention = 24 * time.Hour

// retention returns how long an output is kept; 0 = for ever.
func (f *NodeFiles) retention() time.Duration {
	if _, hidden := accounts.ShadowOf(f.run.Account); hidden {
		return shadowRetention
	}
	return f.service.opts.OutputRetention
}

func (f *NodeFiles) store(ctx context.Context, write func(io.Writer) error) (blob.Stored, error) {
	w, err := f.service.blobs.Create(ctx, blob.Durable)
	if err != nil {
		return blob.Stored{}, fmt.Errorf("store a file of node %s: %w", f.node, err)
	}
	defer w.Abort()
	buffer := bufio.NewWriterSize(w, 64<<10) // encoders write many small parts
	if err := write(buffer); err != nil {
		return blob.Stored{}, err
	}
	if err := buffer.Flush(); err != nil {
		return blob.Stored{}, err
	}
	stored, err := w.Commit(ctx)
	if err != nil {
		return blob.Stored{}, fmt.Errorf("store a file of node %s: %w", f.node, err)
	}
	return stored, nil
}

func (f *NodeFiles) remember(e Entry) {
	f.savedMu.Lock()
	defer f.savedMu.Unlock()
	f.saved = append(f.saved, job.OutputFile{
		Asset: string(e.Asset), Hash: e.Hash.String(), Size: e.Size, ContentType: e.ContentType,
		Filename: e.Place.Filename, Subfolder: e.Place.Subfolder, Folder: e.Place.Folder, SavedAt: e.CreatedAt,
	})
}
