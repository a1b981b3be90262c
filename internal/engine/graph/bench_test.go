package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

func longChain(nodes int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"Text","inputs":{"value":"x"}}`)
	for i := 1; i < nodes; i++ {
		class, input := "Through", "in"
		if i%2 == 0 {
			class, input = "Show", "source"
		}
		fmt.Fprintf(&b, `,"%d":{"class_type":"%s","inputs":{"%s":["%d",0]},"_meta":{"title":"node"}}`, i, class, input, i-1)
	}
	b.WriteString("}")
	return json.RawMessage(b.String())
}

func BenchmarkParseValidatePlan(b *testing.B) {
	for _, nodes := range []int{3, 100, 5000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			raw, registry := longChain(nodes), classes(b)
			v := graph.Validator{Classes: registry}
			for b.Loop() {
				g, err := graph.Parse(raw, graph.Limits{})
				require.NoError(b, err)
				accepted, err := v.Validate(b.Context(), g, shelf{}, nil)
				require.NoError(b, err)
				_, err = graph.BuildPlan(g, registry, accepted.Outputs, nil)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkScheduler schedules 5,000 units: all cheap, or each in a batch of its own.
func BenchmarkScheduler(b *testing.B) {
	for name, millis := range map[string]int64{"cheap": 1, "long": 50_000} {
		b.Run(name, func(b *testing.B) {
			shape := chainOf(5000, millis)
			for b.Loop() {
				s := graph.NewScheduler(shape)
				for next := s.Next(); len(next) > 0; next = s.Next() {
					for _, batch := range next {
						results := make([]graph.UnitResult, len(batch.Units))
						for i, u := range batch.Units {
							results[i] = graph.UnitResult{Unit: u, Status: graph.Done}
						}
						s.Done(batch.ID, results)
					}
				}
				require.True(b, s.Finished())
			}
		})
	}
}
