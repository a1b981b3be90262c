package job_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestIDOfAnEditorsWorkflowIsBounded(t *testing.T) {
	t.Parallel()
	id := func(workflow string) string {
		return job.Source{ExtraData: map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":` + workflow + `}`)}}.WorkflowID()
	}
	most := strings.Repeat("x", 256)
	require.Equal(t, most, id(fmt.Sprintf(`{"id":%q}`, most)))
	for _, none := range []string{fmt.Sprintf(`{"id":"x%s"}`, most), `{"id":7}`, `{}`, `[]`, `null`} {
		require.Empty(t, id(none), none)
	}
	require.Empty(t, job.Source{}.WorkflowID())
}

func TestAssignmentNeedsTheObjectsOnItsWay(t *testing.T) {
	t.Parallel()
	assign := func(prompt, target string) (string, error) {
		raw, _, err := job.Assign(json.RawMessage(prompt), []job.Assignment{{Target: target, Value: json.RawMessage("7")}})
		return string(raw), err
	}
	got, err := assign(`{"1":{"inputs":{"a":1}}}`, "1.b")
	require.NoError(t, err)
	require.JSONEq(t, `{"1":{"inputs":{"a":1,"b":7}}}`, got, "an absent input is added")
	got, err = assign(`{"1":{"inputs":{"a":1}}}`, "1.a")
	require.NoError(t, err)
	require.JSONEq(t, `{"1":{"inputs":{"a":7}}}`, got)
	for _, wrong := range []string{`{"1":{}}`, `{"1":{"inputs":3}}`, `{"2":{"inputs":{}}}`, `{"1":3}`} {
		_, err := assign(wrong, "1.a")
		require.Equal(t, fault.Invalid, fault.KindOf(err), wrong)
	}
}

// An archive has the events of a job from the first on, whole and in order, or cannot be read.
func TestAnArchiveHasAllEventsOfAJob(t *testing.T) {
	t.Parallel()
	events := make([]eventlog.Recorded, 3)
	for i := range events {
		events[i] = eventlog.Recorded{Stream: "job-x", Version: int64(i) + 1, Type: job.TypeAdmitted, Data: json.RawMessage(`{"run":1}`)}
	}
	for n := 1; n <= len(events); n++ {
		var archive bytes.Buffer
		require.NoError(t, job.WriteArchive(&archive, events[:n]))
		read, err := job.ReadArchive(bytes.NewReader(archive.Bytes()))
		require.NoError(t, err)
		require.Equal(t, events[:n], read)
		_, err = job.ReadArchive(bytes.NewReader(archive.Bytes()[:archive.Len()-4]))
		require.True(t, fault.Is(err, fault.Internal), "%v", err)
	}
	for name, wrong := range map[string][]eventlog.Recorded{
		"none": nil, "not the first": events[1:], "a gap": {events[0], events[2]},
		"two streams": {events[0], {Stream: "job-y", Version: 2}},
	} {
		require.Error(t, job.WriteArchive(io.Discard, wrong), name)
	}
}
