package files

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Entry is a live file: an asset with the data for serving it.
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
	Rejected    bool       // a scan rejected the content
	Thumbnail   blob.Ref   // zero = none
	Named       bool       // the name belongs to this file; older files of the same name have lost it
}

// Saving is an output to record. Its blob is already stored.
type Saving struct {
	Asset       asset.ID
	Account     string
	Folder      node.Folder
	Subfolder   string
	Prefix      string // prefix of the name, without subfolder
	Suffix      string
	Producer    asset.Producer
	Hash        blob.Ref
	Size        int64
	ContentType string
	Width       int
	Height      int
	ExpiresAt   *time.Time
}

// Upload is an uploaded file to record under the naming rule of ComfyUI. If there is a file of the same name with the
// same bytes, that file is returned. If it has other bytes, the new file gets the next free name "stem (n).ext", or
// replaces the other file if Overwrite is set. The blob is already stored.
type Upload struct {
	Account     string
	Place       asset.Place // the requested name
	Overwrite   bool        // take the name from the file that has it
	Hash        blob.Ref
	Fresh       bool // the store did not have the bytes before
	Size        int64
	ContentType string
	Width       int
	Height      int
	ExpiresAt   *time.Time // nil = the retention of uploads
	RequestID   string
}

// Viewer identifies the reader of files: an account, or one of its jobs, which can also read the files of its
// submission after their deadlines.
type Viewer struct {
	Account string
	Job     string // "" = no job
}

// Store records files. All reads return live files of the account only, which are neither deleted nor past their
// deadline. Other files are NotFound.
type Store interface {
	ByName(ctx context.Context, who Viewer, place asset.Place) (Entry, error)
	ByAsset(ctx context.Context, who Viewer, id asset.PublicID) (Entry, error)
	// ByAssets returns the files that exist among ids.
	ByAssets(ctx context.Context, who Viewer, ids []asset.PublicID) (map[asset.PublicID]Entry, error)
	ByHash(ctx context.Context, who Viewer, hash blob.Ref) (Entry, error)
	// OfAnyone returns the file of an asset to a caller whose access was checked by other means.
	OfAnyone(ctx context.Context, id asset.ID) (Entry, error)
	// Names lists the paths below a folder in order, at most limit of them.
	Names(ctx context.Context, account string, folder node.Folder, limit int) ([]string, error)
	// Weights lists the weights of some accounts.
	Weights(ctx context.Context, accounts []string) ([]asset.Weight, error)
	// Save assigns the name "<prefix>_<counter><suffix>" and records the asset, once per producer. A repeated call
	// returns the asset of the first call, even if that was deleted or has expired since; it does not restore the
	// asset.
	Save(ctx context.Context, s Saving) (Entry, error)
	// Upload records the asset under a free name, or returns the file of that name that has the same bytes.
	Upload(ctx context.Context, u Upload) (Entry, error)
}
