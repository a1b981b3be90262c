package deployments

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // pictures of outputs
	_ "image/png"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Bounds of the pictures that are compared. Larger ones differ wholly if their bytes differ.
const (
	maxComparedBytes  = 64 << 20
	maxComparedPixels = 1 << 25
)

// compare pairs the files of the outputs of two jobs, in order.
func (o *Service) compare(ctx context.Context, of, now job.Job) (all []Compared, err error) {
	before, after := filesOf(of), filesOf(now)
	for _, name := range outputsOf(of, now) {
		for i := range max(len(before[name]), len(after[name])) {
			c := Compared{Output: name, Difference: 1}
			if i < len(before[name]) {
				c.Before = &before[name][i]
			}
			if i < len(after[name]) {
				c.Now = &after[name][i]
			}
			if c.Before != nil && c.Now != nil {
				if c.Difference, err = o.difference(ctx, *c.Before, *c.Now); err != nil {
					return nil, err
				}
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// filesOf returns the files of a job's outputs by name. Nodes that expansion made are in order of their ids: they may end in any order.
func filesOf(j job.Job) map[string][]job.OutputFile {
	found := map[string][]job.OutputFile{}
	made := slices.SortedStableFunc(slices.Values(j.Outputs), func(a, b job.NodeOutput) int {
		_, left := j.Deployment.OutputOf(a)
		_, right := j.Deployment.OutputOf(b)
		return strings.Compare(left, right)
	})
	for _, out := range made {
		if name, _ := j.Deployment.OutputOf(out); name != "" {
			found[name] = append(found[name], out.Files...)
		}
	}
	return found
}

// outputsOf returns the names of the outputs of jobs, in the order in which they ended.
func outputsOf(of ...job.Job) (names []string) {
	seen := map[string]bool{"": true}
	for _, j := range of {
		for _, out := range j.Outputs {
			if name, _ := j.Deployment.OutputOf(out); !seen[name] {
				names, seen[name] = append(names, name), true
			}
		}
	}
	return names
}

// difference returns how much two files differ: 0 for equal bytes or pixels, up to 1.
func (o *Service) difference(ctx context.Context, a, b job.OutputFile) (float64, error) {
	if a.Hash == b.Hash {
		return 0, nil
	}
	before, err := o.picture(ctx, a)
	if err != nil || before == nil {
		return 1, err
	}
	now, err := o.picture(ctx, b)
	if err != nil || now == nil || before.Bounds() != now.Bounds() {
		return 1, err
	}
	var sum, count float64
	for y := before.Bounds().Min.Y; y < before.Bounds().Max.Y; y++ {
		for x := before.Bounds().Min.X; x < before.Bounds().Max.X; x++ {
			r1, g1, b1, a1 := before.At(x, y).RGBA()
			r2, g2, b2, a2 := now.At(x, y).RGBA()
			for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}, {a1, a2}} {
				sum += float64(max(pair[0], pair[1])-min(pair[0], pair[1])) / 0xffff
				count++
			}
		}
	}
	return sum / max(count, 1), nil
}

// picture returns the pixels of a file, or nil if it is no picture that is compared by its pixels.
func (o *Service) picture(ctx context.Context, f job.OutputFile) (image.Image, error) {
	raw, err := blob.GetBytes(ctx, o.Blobs, f.Hash, maxComparedBytes+1)
	if err != nil {
		return nil, fmt.Errorf("read an output: %w", err)
	}
	if len(raw) > maxComparedBytes {
		return nil, nil
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width*size.Height > maxComparedPixels {
		return nil, nil //nolint:nilerr // it is no picture
	}
	decoded, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	return decoded, nil
}
