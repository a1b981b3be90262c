package files

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Entry is a live file: an asset with what is needed to serve it.
type Entry struct {
	Asset       asset.ID
	Public      asset.PublicID
	Account     string
	Place       asset.Place
	Hash        blob.Ref
	Size        int64
	ContentType string
	Width       int // pixels, 0 = not an image or not known
	Height      int
	CreatedAt   time.Time
	ExpiresAt   *time.Time // nil = never
	Rejected    bool       // a scan refused the content
	Thumbnail   blob.Ref   // zero = none
	Named       bool       // its name leads to it; older files of the same name have lost it
}

// Saving is an output to record. Its blob is stored already.
type Saving struct {
	Asset       asset.ID
	Account     string
	Folder      node.Folder
	Subfolder   string
	Prefix      string // of the name, without subfolder
	Suffix      string
	Producer    asset.Producer
	Hash        blob.Ref
	Size        int64
	ContentType string
	Width       int
	Height      int
	ExpiresAt   *time.Time
}

// Upload is an uploaded file to record under the naming rule of ComfyUI: a file of the same name with the same bytes is
// returned; with other bytes the new file gets the next free name "stem (n).ext", unless Overwrite is set. Its blob is
// stored already.
type Upload struct {
	Account     string
	Place       asset.Place // the name wished for
	Overwrite   bool        // take the name over from the file that has it
	Hash        blob.Ref
	Size        int64
	ContentType string
	Width       int
	Height      int
	ExpiresAt   *time.Time
	RequestID   string
}

// Viewer is who looks files up: an account, or one of its jobs, which also sees what its submission
// holds although the deadline has passed since.
type Viewer struct {
	Account string
	Job     string // "" = no job
}

// Store records files. All reads see live files of the account only: neither deleted nor past
// their deadline. A file that is not there is NotFound.
type Store interface {
	ByName(ctx context.Context, who Viewer, place asset.Place) (Entry, error)
	ByAsset(ctx context.Context, who Viewer, id asset.PublicID) (Entry, error)
	// ByAssets returns those of the files that are there.
	ByAssets(ctx context.Context, who Viewer, ids []asset.PublicID) (map[asset.PublicID]Entry, error)
	ByHash(ctx context.Context, who Viewer, hash blob.Ref) (Entry, error)
	// OfAnyone returns the file of an asset to a caller who proved by other means that it may read the asset.
	OfAnyone(ctx context.Context, id asset.ID) (Entry, error)
	// Names lists the paths below a folder in order, at most limit.
	Names(ctx context.Context, account string, folder node.Folder, limit int) ([]string, error)
	// Save allots the name "<prefix>_<counter><suffix>" and records the asset, once per
	// producer: a repeat returns what the first call recorded, also where that was deleted
	// or expired since, and does not bring it back.
	Save(ctx context.Context, s Saving) (Entry, error)
	// Upload records the asset under a free name, or returns the file of that name that holds
	// the same bytes.
	Upload(ctx context.Context, u Upload) (Entry, error)
}
