// Command assets measures uploads and downloads against bare programs in the same run and on the
// same disk: one that streams the multipart body to a file, hashes it with blake3 and syncs it as we
// do, and http.FileServer. It prints ratios, since absolute figures belong to the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() {
	bare := flag.String("bare", "", "internal: be the bare program over that directory")
	records := flag.Int("records", 1_000_000, "asset records to seed for the last part, 0 = leave it out")
	rounds := flag.Int("rounds", 3, "rounds of each kind, in turn; 0 = leave them out")
	largest := flag.Int64("largest", 99*mb, "uploads of larger files are left out, in bytes; below 99 MiB also what follows them")
	flag.Parse()
	harness.Main("assets", func(ctx context.Context) error {
		if *bare != "" {
			return serveBare(ctx, *bare)
		}
		return run(ctx, *rounds, *records, *largest)
	})
}

const mb = 1 << 20

// workloads are the uploads for which the service has targets.
var workloads = []struct {
	name  string
	files int
	size  int64
	ratio float64 // target for the rate, relative to the bare program
	cpu   float64 // maximum processor time relative to the bare program; 0 = no target
}{
	{"1,000 × 64 KiB", 1000, 64 << 10, 0.6, 0},
	{"64 × 8 MB", 64, 8 * mb, 0.8, 0},
	{"32 × 16 MB", 32, 16 * mb, 0.9, 0},
	{"8 × 100 MB", 8, 99 * mb, 0.9, 1.3}, // just under the default limit with its fields
}

const concurrency = 8

func run(ctx context.Context, rounds, records int, largest int64) (err error) {
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx); err != nil {
		return err
	}
	bare, dir, err := startBare(ctx, s.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.Stop()) }()
	b := newBench(s.Base, bare.Base)
	b.service, b.program = s.ServiceCPU, bare.CPU
	if rounds > 0 {
		if err := b.bytes(ctx, s, rounds, dir, largest); err != nil {
			return err
		}
	}
	if records == 0 {
		return nil
	}
	return manyRecords(ctx, s, bare.Base, records)
}

// bytes measures operations that transfer bytes.
func (b *bench) bytes(ctx context.Context, s *harness.Service, rounds int, dir string, largest int64) error {
	if err := b.uploads(ctx, rounds, largest); err != nil || largest < 99*mb {
		return err
	}
	fmt.Printf("peak memory of the service: %d MB (target under 200)\n", s.ServiceMemory())
	if err := b.references(ctx); err != nil {
		return err
	}
	return b.downloads(ctx, rounds, dir)
}

// uploads compares first uploads with the bare program's and dedup uploads with first ones.
func (b *bench) uploads(ctx context.Context, rounds int, largest int64) error {
	for _, w := range workloads {
		if w.size > largest {
			continue
		}
		var bare, ours, again, ratio, held, cost, client []float64
		for round := range rounds + 1 { // the first warms everything
			seed := uint64(round+1) * 1000
			program := b.program()
			n, err := b.upload(ctx, b.bare+"/upload", seed, w.files, w.size, false)
			if err != nil {
				return err
			}
			program, service, own := b.program()-program, b.service(), harness.CPUOf(os.Getpid())
			m, err := b.upload(ctx, b.base+"/api/v2/assets", seed, w.files, w.size, false)
			if err != nil {
				return err
			}
			service, own = b.service()-service, harness.CPUOf(os.Getpid())-own
			d, err := b.upload(ctx, b.base+"/api/v2/assets", seed, w.files, w.size, true)
			if err != nil {
				return err
			}
			if round > 0 {
				bare, ours, again = append(bare, n), append(ours, m), append(again, d)
				ratio, held = append(ratio, m/n), append(held, d/n)
				cost, client = append(cost, float64(service)/float64(program)), append(client, float64(own)/float64(program))
			}
		}
		fmt.Printf("%-14s bare %6.1f MB/s   ours %6.1f MB/s   ratio %s (target %.2f), CPU %s times%s, the client's %.2f   held bytes "+
			"%6.1f MB/s, ratio %s\n",
			w.name, harness.Median(bare), harness.Median(ours), harness.Spread(ratio), w.ratio, harness.Spread(cost), target(w.cpu),
			harness.Median(client), harness.Median(again), harness.Spread(held))
	}
	return nil
}

// target returns the part of a line with the target, if any.
func target(figure float64) string {
	if figure == 0 {
		return ""
	}
	return fmt.Sprintf(" (target %.2f)", figure)
}

// references times from-hash.
func (b *bench) references(ctx context.Context) error {
	if _, err := b.upload(ctx, b.base+"/api/v2/assets", 7, 1, mb, false); err != nil {
		return err
	}
	hash := content{seed: 7, size: mb}.hash()
	if err := b.settled(ctx); err != nil {
		return err
	}
	var took []time.Duration
	for i := range 300 {
		began := time.Now()
		if err := b.reference(ctx, hash, i); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	fmt.Printf("from-hash   p50 %s (target 10ms)\n", harness.Quantile(took, 0.5).Round(10*time.Microsecond))
	return nil
}

// downloads compares reading 100 MB with http.FileServer.
func (b *bench) downloads(ctx context.Context, rounds int, dir string) error {
	c := content{seed: 99, size: 99 * mb}
	if err := c.save(dir + "/big"); err != nil {
		return err
	}
	link, err := b.link(ctx, c)
	if err != nil {
		return err
	}
	var bare, ours []float64
	for round := range rounds + 1 {
		n, err := b.download(ctx, b.bare+"/files/big", c.size)
		if err != nil {
			return err
		}
		m, err := b.download(ctx, link, c.size)
		if err != nil {
			return err
		}
		if round > 0 {
			bare, ours = append(bare, n), append(ours, m)
		}
	}
	x, y := harness.Median(bare), harness.Median(ours)
	fmt.Printf("download    FileServer %5.0f MB/s   ours %5.0f MB/s   ratio %.2f (target 0.90)\n", x, y, y/x)
	return nil
}

// manyRecords compares the time of operations at about 1,000 records with that at a million.
func manyRecords(ctx context.Context, s *harness.Service, bare string, records int) error {
	few, err := operationsAt(ctx, s, bare, 1000)
	if err != nil {
		return err
	}
	many, err := operationsAt(ctx, s, bare, records)
	if err != nil {
		return err
	}
	for i, f := range few {
		fmt.Printf("%-11s p50 %8s at 1,000   %8s at %d   %.2f times as slow (target 1.30)\n",
			f.name, f.p50.Round(10*time.Microsecond), many[i].p50.Round(10*time.Microsecond), records, float64(many[i].p50)/float64(f.p50))
	}
	return nil
}

// operationsAt adds that many records while the service is down and times operations when it is back.
func operationsAt(ctx context.Context, s *harness.Service, bare string, records int) ([]timing, error) {
	if err := s.StopService(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := harness.SeedAssets(ctx, s.DatabaseURL, records); err != nil {
		return nil, err
	}
	fmt.Printf("seeded %d records in %s\n", records, time.Since(began).Round(time.Second))
	if err := s.Serve(ctx); err != nil {
		return nil, err
	}
	return newBench(s.Base, bare).operations(ctx)
}
