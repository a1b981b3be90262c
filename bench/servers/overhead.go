package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// client0 is for requests that are not measured.
var client0 = &http.Client{Timeout: 10 * time.Second}

const (
	simulatedCheckpoint = "random-sd15.safetensors"
	mostAdded           = 40 * time.Millisecond
	leastThroughput     = 0.9
)

// overhead measures the time that Millrace adds to a graph of one picture on a simulated server.
func (b *bench) overhead(ctx context.Context) error {
	all, err := startMachines(1, sim.Options{})
	if err != nil {
		return err
	}
	defer all.close()
	return b.compare(ctx, "overhead", all[0].URL(), simulatedCheckpoint, 20)
}

// real measures the overhead on a real server, if there is one.
func (b *bench) real(ctx context.Context) error {
	servers := realServers()
	if len(servers) == 0 {
		fmt.Println("real:       COMFYUI names no server; skipped")
		return nil
	}
	checkpoint, err := firstCheckpoint(ctx, servers[0])
	if err != nil {
		return err
	}
	return b.compare(ctx, "real", servers[0], checkpoint, 2)
}

// firstCheckpoint returns the first checkpoint that a server lists.
func firstCheckpoint(ctx context.Context, server string) (string, error) {
	var names []string
	if err := harness.Call(ctx, client0, http.MethodGet, server+"/models/checkpoints", "", &names); err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", errors.New("the server has no checkpoint")
	}
	return names[0], nil
}

// compare measures a graph of one picture through Millrace and on the server alone, in turns.
func (b *bench) compare(ctx context.Context, name, server, checkpoint string, steps int) error {
	return served(ctx, []string{server}, func(s *harness.Service) error {
		bare, err := dial(ctx, server)
		if err != nil {
			return err
		}
		defer bare.close()
		through, err := dial(ctx, s.Base)
		if err != nil {
			return err
		}
		defer through.close()
		var direct, routed []time.Duration
		const warm = 10
		for i := range warm + b.samples {
			began := time.Now()
			if err := bare.picture(ctx, onePicture(checkpoint, 64, steps)); err != nil {
				return err
			}
			alone := time.Since(began)
			began = time.Now()
			if err := through.picture(ctx, onePicture(checkpoint, 64, steps)); err != nil {
				return err
			}
			if i >= warm {
				direct, routed = append(direct, alone), append(routed, time.Since(began))
			}
		}
		added := harness.Quantile(routed, 0.5) - harness.Quantile(direct, 0.5)
		fmt.Printf("%-11s one picture, from POST to the picture: direct p50 %s   through Millrace p50 %s, p95 %s   added p50 %s; target %s %s\n",
			name+":", round(harness.Quantile(direct, 0.5)), round(harness.Quantile(routed, 0.5)), round(harness.Quantile(routed, 0.95)),
			round(added), mostAdded, b.verdict(name, added <= mostAdded))
		return nil
	})
}
