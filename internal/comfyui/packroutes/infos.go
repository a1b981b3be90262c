package packroutes

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// infos are the answers about the models of all servers, by folder. A server reads the headers of all its model files for one.
type infos struct {
	known *expirable.LRU[string, map[string]json.RawMessage]
}

const (
	maxFolders  = 64
	infoFor     = time.Minute
	infoWithin  = 5 * time.Minute // a server inspects every file of a folder when it is first asked
	maxInfo     = 16 << 20
	infoRoute   = "/api/etn/model_info/"
	maxInfoPage = "100000"
)

func newInfos() infos {
	return infos{expirable.NewLRU[string, map[string]json.RawMessage](maxFolders, nil, infoFor)}
}

// ModelInfo returns what the tooling nodes say about the models of a folder, of all servers that have the nodes, by the names of the
// files. It is NotFound if no server has the nodes and the folder.
func (r *Routes) ModelInfo(ctx context.Context, folder string) (map[string]json.RawMessage, error) {
	if known, ok := r.infos.known.Get(folder); ok {
		return known, nil
	}
	path := infoRoute + folder
	if err := comfyui.CheckPackPath(path); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, infoWithin)
	defer cancel()
	all, found := map[string]json.RawMessage{}, false
	var failed error
	for _, s := range r.targets() {
		info, err := readInfo(ctx, s, path)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		found = true
		for name, about := range info {
			if _, there := all[name]; !there {
				all[name] = about
			}
		}
	}
	switch {
	case found:
		r.infos.known.Add(folder, all)
		return all, nil
	case failed != nil && !fault.Is(failed, fault.NotFound):
		return nil, failed
	}
	return nil, fault.New(fault.NotFound, fault.CodeNotFound, "no ComfyUI server tells what kind of models the folder %s has", folder)
}

// readInfo asks one server. An answer without the files of a folder is NotFound: the server lacks the nodes, or the folder.
func readInfo(ctx context.Context, s target, path string) (map[string]json.RawMessage, error) {
	answer, err := s.Ask(ctx, comfyui.PackRequest{
		Method: http.MethodGet, Path: path, Query: map[string][]string{"limit": {maxInfoPage}, "offset": {"0"}},
	}, maxInfo)
	if err != nil {
		return nil, err
	}
	defer answer.Close() // read only
	if answer.Status != http.StatusOK {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "the server answers with status %d", answer.Status)
	}
	raw, err := io.ReadAll(answer)
	if err != nil {
		return nil, err
	}
	var info map[string]json.RawMessage
	if json.Unmarshal(raw, &info) != nil || info["error"] != nil {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "the server does not list the models of the folder")
	}
	delete(info, "_meta")
	return info, nil
}

// Names returns the names of the models in order.
func Names(info map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(info)) }
