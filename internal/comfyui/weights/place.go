package weights

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// placing brings one weight to a server.
type placing struct {
	*bringer
	want    placement.Want
	weight  asset.Weight
	copy    *server.Copy
	root    string                  // folder of models; "" = the node pack of the server fetches the weight
	stop    context.CancelCauseFunc // ends the copy when another process makes it
	kept    time.Time               // when the progress was last recorded
	way     string
	sent    int64
	removed []string
}

// errTakenOver ends a copy that another process makes by now.
var errTakenOver = errors.New("another process makes the copy")

const (
	keepEvery = 500 * time.Millisecond // between two records of the progress
	present   = "present"              // the way of a file that was there
)

// place puts the weight at its name, unless it is there.
func (p *placing) place(ctx context.Context) error {
	if p.root == "" {
		return p.fetch(ctx)
	}
	final := filepath.Join(p.root, p.copy.Folder, filepath.FromSlash(p.copy.Name))
	if there, err := p.present(ctx, final); there || err != nil {
		p.way = present
		return err
	}
	dir := filepath.Dir(final)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part := filepath.Join(dir, ".millrace-"+p.copy.Hash.Hex()[:16]+".part")
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	defer os.Remove(part) //nolint:errcheck // it has its own name by then, or nobody needs it
	if err := p.fill(ctx, part); err != nil {
		return err
	}
	if err := rename(part, final); err != nil {
		return err
	}
	return syncDir(dir)
}

// present reports whether the file is there. A file with other bytes is Conflict.
func (p *placing) present(ctx context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	conflict := fault.New(fault.Conflict, fault.CodeNameTaken, "the server has another file with this name in its folder %s, of %d bytes",
		p.copy.Folder, info.Size())
	if !info.Mode().IsRegular() || info.Size() != p.copy.Size {
		return false, conflict
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // read only
	h := blob.NewHash()
	if _, err := io.Copy(h, &kept{p.keep(ctx), f, 0}); err != nil {
		return false, err
	}
	if blob.RefOf(h) != p.copy.Hash {
		return false, conflict
	}
	return true, nil
}

// fill makes a file of the bytes: a clone or a link if the blobs are on the same disk, else a copy.
func (p *placing) fill(ctx context.Context, path string) error {
	if linker, ok := p.Blobs.(blob.Linker); ok {
		way, err := linker.Link(ctx, p.copy.Hash, path)
		if err == nil || !errors.Is(err, errors.ErrUnsupported) {
			p.way = way
			return err
		}
	}
	lacks := func() (int64, error) { return disk.Lacking(p.root, p.copy.Size+p.Reserve) }
	if err := p.makeSpace(ctx, lacks, p.remove); err != nil {
		return err
	}
	r, err := p.Blobs.Open(ctx, p.copy.Hash)
	if err != nil {
		return err
	}
	defer r.Close() // read only
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	p.way = "copy"
	p.sent, err = io.Copy(f, &kept{p.keep(ctx), r, 0}) // the reader verifies the hash before its last bytes
	return errors.Join(err, f.Sync(), f.Close())
}

// kept records the progress of a reader.
type kept struct {
	progress func(done int64) error
	r        io.Reader
	done     int64
}

// Read implements io.Reader.
func (k *kept) Read(b []byte) (int, error) {
	if err := k.progress(k.done); err != nil {
		return 0, err
	}
	n, err := k.r.Read(b)
	k.done += int64(n)
	return n, err
}

// keep returns a function that records the progress now and then. It fails when the copy is to end.
func (p *placing) keep(ctx context.Context) func(done int64) error {
	return func(done int64) error {
		if ctx.Err() == nil && time.Since(p.kept) > keepEvery {
			p.kept = time.Now()
			p.copy.Done = done
			if mine, err := p.Store.KeepCopy(ctx, *p.copy, p.Pool.Holder()); err == nil && !mine {
				p.stop(errTakenOver)
			}
		}
		return context.Cause(ctx)
	}
}

// rename gives a file its name, unless another file has it.
func rename(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return nil
	}
	if _, there := os.Lstat(to); !errors.Is(there, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Conflict, fault.CodeNameTaken, "another file got its name on the server while it was brought")
	}
	return os.Rename(from, to) // the file system has no links
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// makeSpace removes copies that were brought before, the least recently used first, until the disk lacks no byte. A copy that a placed
// segment names stays, like every file that was not brought. If the weight cannot fit, nothing is removed.
func (p *placing) makeSpace(ctx context.Context, lacks func() (int64, error), drop func(context.Context, server.Copy) (bool, error)) error {
	full := fault.New(fault.Exhausted, fault.CodeDiskFull, "the disk of the server has too little space for %d bytes", p.copy.Size)
	for {
		missing, err := lacks()
		if err != nil || missing <= 0 {
			return err
		}
		copies, err := p.unused(ctx) // read again each time, since segments are placed meanwhile
		if err != nil {
			return err
		}
		for _, c := range copies {
			missing -= c.Size
		}
		if missing > 0 {
			return full
		}
		c := copies[0]
		removed, err := drop(ctx, c)
		if err == nil {
			err = p.Store.DropCopy(ctx, c)
		}
		if err != nil {
			return errors.Join(full, err)
		}
		p.Log.Info("copy of a weight given up to make space for another", "name", c.Name, "size", c.Size, "removed", removed)
		if removed {
			p.removed = append(p.removed, c.Folder+"/"+c.Name)
			p.reread(c.Target)
		}
	}
}

// remove removes the file of a copy, unless another file has replaced it.
func (p *placing) remove(_ context.Context, c server.Copy) (bool, error) {
	path := filepath.Join(p.root, c.Folder, filepath.FromSlash(c.Name))
	info, err := os.Lstat(path)
	same := err == nil && info.Mode().IsRegular() && info.Size() == c.Size
	if same {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return same && err == nil, err
}

// unused returns the copies in the folder that no segment needs, the least recently used first.
func (p *placing) unused(ctx context.Context) ([]server.Copy, error) {
	if _, err := p.Pool.Refresh(ctx); err != nil {
		return nil, err
	}
	inUse := p.inUse()
	copies, err := p.Store.Copies(ctx, p.copy.Target)
	return slices.DeleteFunc(copies, func(c server.Copy) bool {
		return !c.Brought || c.State != server.Ready || slices.Contains(inUse, c.Name)
	}), err
}

// inUse returns the names of the models of the segments that are placed on the servers of the folder, and of the one that waits.
func (p *placing) inUse() []string {
	names := slices.Clone(p.want.Wait.Models)
	for _, s := range p.Pool.Servers() {
		if s.Target() == p.copy.Target {
			for _, l := range s.Leases {
				names = append(names, l.Models...)
			}
		}
	}
	return names
}
