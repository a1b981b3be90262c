package packroutes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Models are a part of what the tooling nodes of all servers say about the models of a folder.
type Models struct {
	ByName map[string]json.RawMessage // by the names of the files; a file that several servers have is one entry
	Count  int                        // of this part; a file counts once for each server that has it
	Total  int                        // of the folder
}

const (
	maxPages   = 64
	infoFor    = time.Minute
	infoWithin = 5 * time.Minute // a server reads the header of every file of a page when it is first asked
	maxInfo    = 4 << 20         // bytes of the page of a server, or of all files of old nodes
	infoRoute  = "/api/etn/model_info/"
)

func newInfos() *expirable.LRU[string, Models] {
	return expirable.NewLRU[string, Models](maxPages, nil, infoFor)
}

// ModelInfo returns what the tooling nodes say about the models of a folder: of at most limit of them, after the first offset ones. The
// models of each server follow those of the servers before it. It is NotFound if no server has the nodes and the folder.
func (r *Routes) ModelInfo(ctx context.Context, folder string, offset, limit int) (Models, error) {
	key := fmt.Sprint(offset, " ", limit, " ", folder)
	if known, ok := r.infos.Get(key); ok {
		return known, nil
	}
	path := infoRoute + folder
	if err := comfyui.CheckPackPath(path); err != nil {
		return Models{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, infoWithin)
	defer cancel()
	all, found := Models{ByName: map[string]json.RawMessage{}}, false
	var failed error
	for _, s := range r.targets() {
		part, err := readInfo(ctx, s, path, max(0, offset-all.Total), limit-all.Count)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		found = true
		maps.Copy(all.ByName, part.ByName)
		all.Count, all.Total = all.Count+part.Count, all.Total+part.Total
	}
	switch {
	case found:
		r.infos.Add(key, all)
		return all, nil
	case failed != nil && !fault.Is(failed, fault.NotFound):
		return Models{}, failed
	}
	return Models{}, fault.New(fault.NotFound, fault.CodeNotFound, "no ComfyUI server tells what kind of models the folder %s has", folder)
}

// readInfo asks one server. An answer without the files of a folder is NotFound: the server lacks the nodes, or the folder. Old nodes
// return all files.
func readInfo(ctx context.Context, s target, path string, offset, limit int) (Models, error) {
	answer, err := s.Ask(ctx, comfyui.PackRequest{
		Method: http.MethodGet, Path: path, Query: map[string][]string{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}},
	}, maxInfo)
	if err != nil {
		return Models{}, err
	}
	defer answer.Close() // read only
	if answer.Status != http.StatusOK {
		return Models{}, fault.New(fault.NotFound, fault.CodeNotFound, "the server answers with status %d", answer.Status)
	}
	raw, err := io.ReadAll(answer)
	if err != nil {
		return Models{}, err
	}
	var info map[string]json.RawMessage
	if json.Unmarshal(raw, &info) != nil || info["error"] != nil {
		return Models{}, fault.New(fault.NotFound, fault.CodeNotFound, "the server does not list the models of the folder")
	}
	var page struct{ Total int }
	paged := json.Unmarshal(info["_meta"], &page) == nil
	delete(info, "_meta")
	if !paged {
		page.Total = len(info)
		names := slices.Sorted(maps.Keys(info))
		for i, name := range names {
			if i < offset || i >= offset+limit {
				delete(info, name)
			}
		}
	}
	return Models{ByName: info, Count: len(info), Total: page.Total}, nil
}
