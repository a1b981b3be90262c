package asset

import (
	"encoding/json"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Weight is an asset that is a model file: ComfyUI servers get it when they need it.
type Weight struct {
	ID        ID        `json:"id"`
	Account   string    `json:"account"` // account.Everyone = all accounts
	Folder    string    `json:"folder"`
	Name      string    `json:"name"`
	Hash      blob.Ref  `json:"hash"`
	Size      int64     `json:"size"`
	CreatedAt time.Time `json:"created_at"`
	Rejected  bool      `json:"rejected,omitempty"` // a scan rejected the content, so no server gets it
	WeightNotes
}

// WeightNotes are the members of a weight's metadata that its operator gives.
type WeightNotes struct {
	Source  string `json:"source,omitempty"` // a URL without its query, or the name of a file
	License string `json:"license,omitempty"`
}

// Metadata returns the notes as the metadata of an asset.
func (n WeightNotes) Metadata() Metadata {
	raw, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings always marshal
	}
	return Metadata(raw)
}

// Path returns the folder and the name in one.
func (w Weight) Path() string { return w.Folder + "/" + w.Name }
