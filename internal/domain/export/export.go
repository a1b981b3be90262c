// Package export is the aggregate of exports: an export packs files of an account into one archive, which is then a
// file of the account for a limited time. Folding, naming and packing have no side effects except on the given
// writer; the Store runs the transactions, and the workflow decides the order of the steps.
package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Naming is how files are named in an archive, with the hosted service's values.
type Naming string

// The namings. Files of jobs are in a folder for each job, named by its id or by the time of its submission; or all
// files are in one folder, with their owner's names or their ids.
const (
	ByJobID   Naming = "group_by_job_id"
	ByJobTime Naming = "group_by_job_time"
	Preserve  Naming = "preserve"
	ByAsset   Naming = "asset_id"
)

// Request selects the files of an export. It has the JSON form of the hosted service's request and is stored in that
// form.
type Request struct {
	Jobs     []job.PublicID      `json:"job_ids,omitempty"`                // jobs whose files are exported
	Assets   []asset.PublicID    `json:"asset_ids,omitempty"`              // files by their ids
	Names    map[string][]string `json:"job_asset_name_filters,omitempty"` // by job: only files with one of these names
	Naming   Naming              `json:"naming_strategy"`
	Previews bool                `json:"include_previews"` // also the temporary files of the jobs
}

// Bounds of a request, which is stored in its first event.
const (
	maxIDs   = 1000     // jobs, assets or filter names
	maxNames = 64 << 10 // total bytes of the filter names
)

// Normalize checks a request and returns its normal form, in which equal requests are equal: ids in lower case and
// without duplicates, no filters for jobs that are not requested.
func (r Request) Normalize() (Request, error) {
	r.Naming = cmp.Or(r.Naming, ByJobTime)
	if !slices.Contains([]Naming{ByJobID, ByJobTime, Preserve, ByAsset}, r.Naming) {
		return r, fault.New(fault.Invalid, fault.CodeInvalidNamingStrategy,
			"naming_strategy must be group_by_job_id, group_by_job_time, preserve or asset_id")
	}
	jobs, err := canonical(r.Jobs, "job_ids")
	if err != nil {
		return r, err
	}
	assets, err := canonical(r.Assets, "asset_ids")
	if err != nil {
		return r, err
	}
	r.Jobs, r.Assets = jobs, assets
	if len(jobs)+len(assets) == 0 {
		return r, invalidf("give job_ids, asset_ids or both")
	}
	return r.filters()
}

func canonical[T ~string](ids []T, field string) ([]T, error) {
	if len(ids) > maxIDs {
		return nil, invalidf("%s may have at most %d entries", field, maxIDs)
	}
	all := make([]T, 0, len(ids))
	for _, id := range ids {
		u, err := uuid.Parse(string(id))
		if err != nil || !strings.EqualFold(u.String(), string(id)) {
			return nil, invalidf("%s must contain UUIDs", field)
		}
		if text := T(u.String()); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all, nil
}

func (r Request) filters() (Request, error) {
	names, bytes, kept := 0, 0, map[string][]string{}
	for text, list := range r.Names {
		for _, name := range list {
			bytes += len(name)
		}
		if bytes > maxNames {
			return r, invalidf("the names of job_asset_name_filters may have at most %d bytes together", maxNames)
		}
		if names += len(list); len(list) == 0 || names > maxIDs {
			return r, invalidf("job_asset_name_filters must name 1 to %d files", maxIDs)
		}
		if id := strings.ToLower(text); slices.Contains(r.Jobs, job.PublicID(id)) {
			list = slices.Sorted(slices.Values(append(kept[id], list...)))
			kept[id] = slices.Compact(list)
		}
	}
	if r.Names = kept; len(kept) == 0 {
		r.Names = nil
	}
	return r, nil
}

func invalidf(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, format, args...)
}

// Fingerprint returns equal bytes for equal requests of an account, independently of the order of their ids.
func (r Request) Fingerprint() []byte {
	r.Jobs, r.Assets = slices.Sorted(slices.Values(r.Jobs)), slices.Sorted(slices.Values(r.Assets))
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// nameOf returns the name of an export's archive: the time of its request, and its id, from which IDOfName finds the
// export.
func nameOf(id task.ID, at time.Time) string {
	return fmt.Sprintf("export-%s-%s.zip", at.UTC().Format("20060102-150405"), id)
}

var archiveName = regexp.MustCompile(`^export-\d{8}-\d{6}-([0-9a-f-]{36})\.zip$`)

// IDOfName returns the export whose archive may have a name.
func IDOfName(name string) (task.ID, bool) {
	m := archiveName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return task.ID(m[1]), true
}
