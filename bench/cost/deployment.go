package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// adminToken opens the admin API, by which the deployment is made.
const adminToken = "a-token-of-the-benchmark"

// shown is a graph whose first node shows a text that a call sets.
const shown = `{"1":{"class_type":"PrimitiveString","inputs":{"value":"%s"}},
	"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
	"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`

// deploy publishes the graph as a deployment.
func (b *bench) deploy(ctx context.Context) error {
	return b.post(ctx, "/admin/accounts/local/deployments", fmt.Sprintf(
		`{"actor":"bench","reason":"a benchmark","name":"shown","document":`+shown+`,"inputs":["text=1.value"],"outputs":["shown=3"]}`, "a"))
}

// plain submits the graph as a job, and called calls the deployment.
func (b *bench) plain(ctx context.Context) error {
	return b.post(ctx, "/api/v2/jobs", fmt.Sprintf(`{"workflow":`+shown+`}`, fmt.Sprint("mill ", b.next.Add(1))))
}

func (b *bench) called(ctx context.Context) error {
	return b.post(ctx, "/deployment/shown/api/v2/jobs", fmt.Sprintf(`{"inputs":{"text":"mill %d"}}`, b.next.Add(1)))
}

func (b *bench) post(ctx context.Context, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+adminToken)
	return b.send(req)
}

// compare prints the time until a plain job and a call of a deployment are accepted, measured in turns, and their ratio.
func (b *bench) compare(ctx context.Context, times int) error {
	ways := []func(context.Context) error{b.plain, b.called}
	var took [2][]time.Duration
	for i := range times + 20 { // the first ones warm caches and connections
		for way, one := range ways {
			began := time.Now()
			if err := one(ctx); err != nil {
				return err
			}
			if i >= 20 {
				took[way] = append(took[way], time.Since(began))
			}
		}
	}
	for _, part := range []struct {
		name string
		at   int
	}{{"p50", times / 2}, {"p99", times * 99 / 100}} {
		slices.Sort(took[0])
		slices.Sort(took[1])
		job, call := took[0][part.at], took[1][part.at]
		fmt.Printf("%s until accepted: plain job %v, call of a deployment %v, ratio %.2f, difference %v\n", part.name,
			job.Round(10*time.Microsecond), call.Round(10*time.Microsecond), float64(call)/float64(job), (call - job).Round(10*time.Microsecond))
	}
	return nil
}
