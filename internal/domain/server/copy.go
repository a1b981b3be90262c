package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// CopyState is the state of a copy of a weight.
type CopyState string

// The states.
const (
	Copying CopyState = "copying"
	Ready   CopyState = "ready"
	Failed  CopyState = "failed" // another attempt follows
)

// Copy is the copy of a weight in a folder of models, which several servers may share.
type Copy struct {
	Target  string    `json:"target"` // Server.Target of its servers
	Folder  string    `json:"folder"`
	Name    string    `json:"name"`
	Hash    blob.Ref  `json:"hash"`
	Size    int64     `json:"size"`
	State   CopyState `json:"state"`
	Done    int64     `json:"done"`              // bytes
	Brought bool      `json:"brought,omitempty"` // Millrace has put it there
	Problem string    `json:"problem,omitempty"` // why the last attempt failed
	Since   time.Time `json:"since"`             // of the state
	UsedAt  time.Time `json:"used_at"`           // when a segment last needed it
}

// File is a model file of a server, in a folder such as checkpoints.
type File struct{ Folder, Name string }

// File returns the file that the copy is.
func (c Copy) File() File { return File{c.Folder, c.Name} }

// Status describes the copy on a server for people.
func (c Copy) Status(on string) string {
	switch c.State {
	case Copying:
		return fmt.Sprintf("the weight %s is brought to %s: %d%% of %s", c.Name, on, 100*c.Done/max(c.Size, 1), amount.Bytes(c.Size))
	case Failed:
		return fmt.Sprintf("the weight %s was not brought to %s: %s", c.Name, on, c.Problem)
	case Ready:
	}
	return fmt.Sprintf("the weight %s was brought to %s, which does not list it yet", c.Name, on)
}

// Target returns the name of the folder of models of the server, equal for all servers that share it: the address of the server if
// Millrace does not reach the folder. That of a process of Millrace is on the machine of the process; any other one has the same path
// on every machine that reaches it.
func (s *Server) Target() string {
	switch {
	case s.ModelsFolder == "":
		return s.URL
	case s.Process == nil:
		return s.ModelsFolder
	}
	return s.Process.Host + ":" + s.ModelsFolder
}

// Reachable reports whether this process reaches the folder of models of the server; host is the name of its machine.
func (s *Server) Reachable(host string) bool {
	if s.ModelsFolder == "" || s.Process != nil && s.Process.Host != host {
		return false
	}
	info, err := os.Stat(s.ModelsFolder)
	return err == nil && info.IsDir()
}

const maxFolder = 1000 // bytes of a path

// checkModelsFolder refuses a path that is not absolute: it would mean another folder to each process.
func (r *Registration) checkModelsFolder() error {
	if r.ModelsFolder == "" {
		return nil
	}
	if !filepath.IsAbs(r.ModelsFolder) || len(r.ModelsFolder) > maxFolder || strings.ContainsRune(r.ModelsFolder, 0) {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "the models folder of a server must be an absolute path")
	}
	if r.Token != nil && !r.Own {
		return fault.New(fault.Denied, fault.CodeInvalidServer, "a registration token may not name a models folder, into which Millrace writes")
	}
	r.ModelsFolder = filepath.Clean(r.ModelsFolder)
	return nil
}
