//go:build linux

package history

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// Each case is a history of one subject: what is asked between two times, and what is answered.
func TestHistoriesAreJudged(t *testing.T) {
	t.Parallel()
	const never = math.MaxInt64
	type asked struct {
		from, to int64
		verb     verb
		answer   answer
	}
	state := func(s string) answer { return answer{Known: true, State: s, Jobs: 1} }
	none := answer{Known: true}
	for name, c := range map[string]struct {
		history []asked
		ok      bool
	}{
		"a job runs and ends": {[]asked{
			{0, 1, submit, none}, {2, 3, search, state("queued")}, {4, 5, read, state("succeeded")}, {6, 7, search, state("succeeded")},
		}, true},
		"an accepted job is not found": {[]asked{{0, 1, submit, none}, {2, 3, search, none}}, false},
		"a search while the job is submitted": {[]asked{
			{0, 9, submit, none}, {1, 2, search, none}, {3, 4, search, state("running")},
		}, true},
		"a job disappears between two searches": {[]asked{
			{0, 9, submit, none}, {1, 2, search, state("queued")}, {3, 4, search, none},
		}, false},
		"a submission without an answer is carried out later": {[]asked{
			{0, never, submit, answer{}}, {1, 2, search, none}, {3, 4, search, state("queued")},
		}, true},
		"a job runs again after its end": {[]asked{
			{0, 1, submit, none}, {2, 3, read, state("failed")}, {4, 5, read, state("running")},
		}, false},
		"one end follows another": {[]asked{
			{0, 1, submit, none}, {2, 3, read, state("failed")}, {4, 5, read, state("succeeded")},
		}, false},
		"a key makes two jobs": {[]asked{{0, 1, submit, none}, {2, 3, submit, none}}, false},
		"two jobs have one label": {[]asked{
			{0, 1, submit, none}, {2, 3, search, answer{Known: true, State: "queued", Jobs: 2}},
		}, false},
		"a second job of a key is refused":   {[]asked{{0, 1, submit, none}, {2, 3, submit, state(refuse)}}, true},
		"a key is refused before it is used": {[]asked{{0, 1, submit, state(refuse)}, {2, 3, submit, none}}, false},
		"a canceled job runs": {[]asked{
			{0, 1, submit, none}, {2, 3, cancel, state("canceled")}, {4, 5, read, state("running")},
		}, false},
		"a job ends before it is canceled": {[]asked{
			{0, 1, submit, none}, {2, 3, cancel, state("succeeded")}, {4, 5, read, state("succeeded")},
		}, true},
		"a job is canceled though nobody asked": {[]asked{{0, 1, submit, none}, {2, 3, read, state("canceled")}}, false},
		"a cancel without an answer": {[]asked{
			{0, 1, submit, none}, {2, never, cancel, answer{}}, {3, 4, read, state("canceled")},
		}, true},
		"a job ends between its cancel and the answer": {[]asked{
			{0, 1, submit, none},
			{2, 9, cancel, state("canceled")},
			{3, 4, search, state("canceling")},
		}, true},
		"a job runs after its end, and a submission was not answered": {[]asked{
			{0, 1, submit, none},
			{2, 3, read, state("failed")},
			{4, never, submit, answer{}},
			{6, 7, read, state("running")},
		}, false},
		"a job is lost and made again": {[]asked{
			{0, 1, submit, answer{Known: true, ID: "a"}},
			{2, 3, search, answer{Known: true, Jobs: 1, State: "queued", ID: "b"}},
		}, false},
		"a repeated submission answers with the job": {[]asked{
			{0, never, submit, answer{}},
			{2, 3, search, answer{Known: true, Jobs: 1, State: "running", ID: "a"}},
			{4, 5, submit, answer{Known: true, ID: "a"}},
			{6, 7, read, answer{Known: true, Jobs: 1, State: "succeeded", ID: "a"}},
		}, true},
		"submissions at the same time have one job": {[]asked{
			{0, 3, submit, answer{Known: true, ID: "a"}}, {1, 9, submit, answer{Known: true, ID: "a"}}, {4, 5, read, state("running")},
		}, true},
		"submissions at the same time have two jobs": {[]asked{
			{0, 3, submit, answer{Known: true, ID: "a"}}, {1, 9, submit, answer{Known: true, ID: "b"}},
		}, false},
		"a later submission has the job of an answered one": {[]asked{
			{0, 3, submit, answer{Known: true, ID: "a"}},
			{1, 9, submit, answer{Known: true, ID: "a"}},
			{10, 11, submit, answer{Known: true, ID: "a"}},
		}, false},
		"a call is lost": {[]asked{
			{0, 1, order, answer{Known: true, ID: "a"}},
			{2, 3, result, answer{Known: true}},
		}, false},
		"a repeated order has another id": {[]asked{
			{0, 1, order, answer{Known: true, ID: "a"}}, {2, 3, order, answer{Known: true, ID: "b"}},
		}, false},
		"a repeated order has the same id": {[]asked{
			{0, never, order, answer{}}, {2, 3, order, answer{Known: true, ID: "a"}}, {4, 5, order, answer{Known: true, ID: "a"}},
		}, true},
		"a file is lost": {[]asked{
			{0, 1, upload, answer{Known: true, ID: "a"}}, {2, 3, fetch, none},
		}, false},
		"a file has other content": {[]asked{
			{0, 1, upload, answer{Known: true, ID: "a"}}, {2, 3, fetch, state("x")}, {4, 5, fetch, state("y")},
		}, false},
		"a key makes two files": {[]asked{
			{0, 1, upload, answer{Known: true, ID: "a"}}, {2, 3, upload, answer{Known: true, ID: "b"}},
		}, false},
		"a second file of a key is refused": {[]asked{
			{0, 1, upload, answer{Known: true, ID: "a"}}, {2, 3, upload, state(refuse)}, {4, 5, fetch, state("x")},
		}, true},
		"an upload without an answer burns its key": {[]asked{{0, never, upload, answer{}}, {2, 3, upload, state(refuse)}}, true},
		"a key is refused before its file": {[]asked{
			{0, 1, upload, state(refuse)}, {2, 3, upload, answer{Known: true, ID: "a"}},
		}, false},
		"a result changes": {[]asked{
			{0, 1, order, answer{Known: true, ID: "a"}}, {2, 3, result, state("200 x")}, {4, 5, result, state("200 y")},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := New()
			for _, a := range c.history {
				h.operations = append(h.operations, porcupine.Operation{
					Input: request{"subject", a.verb}, Call: a.from, Output: a.answer, Return: a.to,
				})
			}
			if c.ok {
				require.Empty(t, h.Anomalies())
				return
			}
			require.Len(t, h.Anomalies(), 1)
			require.Contains(t, h.Anomalies()[0].String(), string(c.history[0].verb))
		})
	}
}

// While the service is away, clients repeat a submission hundreds of times. Its judgement then takes no longer, and is the same.
func TestRepeatsWithoutAnAnswerAreLeftOut(t *testing.T) {
	t.Parallel()
	for end, ok := range map[string]bool{"canceled": true, "succeeded": true, "": false} {
		h := New()
		for at := range int64(300) {
			h.operations = append(h.operations, porcupine.Operation{
				Input: request{"subject", submit}, Call: 300 - at, Output: answer{}, Return: math.MaxInt64,
			})
		}
		for i, a := range []answer{
			{Known: true, Jobs: 1, State: "queued", ID: "a"}, {Known: true, Jobs: 1, State: "running", ID: "a"}, {Known: true, State: end},
		} {
			at := 1000 + 10*int64(i)
			h.operations = append(h.operations, porcupine.Operation{Input: request{"subject", search}, Call: at, Output: a, Return: at + 9})
		}
		cancels := porcupine.Operation{Input: request{"subject", cancel}, Call: 1005, Output: answer{}, Return: math.MaxInt64}
		h.operations = append(h.operations, cancels, cancels)
		left := withoutRepeats(slices.Clone(h.operations))
		require.Len(t, left, 1+3+1)
		require.Equal(t, int64(1), left[0].Call)
		require.Equal(t, ok, len(h.Anomalies()) == 0, "it ends as %q", end)
	}
}
