package nodevalue_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// failing is a store of blobs whose calls fail with its errors, and that counts its open files.
type failing struct {
	blob.Store
	opens, removes, stats error
	open                  atomic.Int64
}

func (s *failing) Create(ctx context.Context, how blob.Durability) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, how)
	s.open.Add(1)
	return &aborted{w, &s.open}, err
}

type aborted struct {
	blob.Writer
	open *atomic.Int64
}

func (w *aborted) Abort() error {
	w.open.Add(-1)
	return w.Writer.Abort()
}

func (s *failing) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	if s.opens != nil {
		return nil, s.opens
	}
	r, err := s.Store.Open(ctx, ref)
	if err == nil {
		s.open.Add(1)
	}
	return &closed{r, &s.open}, err
}

type closed struct {
	blob.Reader
	open *atomic.Int64
}

func (r *closed) Close() error {
	r.open.Add(-1)
	return r.Reader.Close()
}

func (s *failing) Remove(ctx context.Context, ref blob.Ref, before time.Time) (bool, error) {
	if s.removes != nil {
		return false, s.removes
	}
	return s.Store.Remove(ctx, ref, before)
}

func (s *failing) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	if s.stats != nil {
		return 0, s.stats
	}
	return s.Store.Stat(ctx, ref)
}

// A value is read as it was stored, and small scalars need no blob.
func TestAValueIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	encoded := func(text string) int {
		var b bytes.Buffer
		require.NoError(t, node.EncodeValue(&b, text))
		return b.Len()
	}
	const inline = 256 // bytes of the largest value that needs no blob
	fits := strings.Repeat("x", inline-encoded("")-8)
	for encoded(fits) < inline {
		fits += "x"
	}
	require.Equal(t, inline, encoded(fits))
	for name, c := range map[string]struct {
		value  node.Value
		inline bool
	}{
		"integer": {int64(-7), true}, "number": {2.5, true}, "text": {"text", true}, "bool": {true, true},
		"the longest text": {fits, true}, "a longer text": {fits + "x", false}, "list": {[]any{int64(1)}, false},
	} {
		blobs := &failing{Store: mem.New()}
		values := nodevalue.New(blobs, 0, 1<<20, time.Minute)
		ref, err := values.Put(t.Context(), job.NewID(), c.value)
		if name == "list" && err != nil {
			continue // lists have no form of their own
		}
		require.NoError(t, err, name)
		require.Equal(t, c.inline, strings.HasPrefix(ref, "data:"), name)
		require.Equal(t, c.inline, values.Size(t.Context(), ref) == 0, name)
		for _, of := range []string{ref, nodevalue.Cached(ref)} {
			got, err := values.Get(t.Context(), of)
			require.NoError(t, err, name)
			require.Equal(t, c.value, got, name)
			require.True(t, values.Has(t.Context(), []string{of}), name)
		}
		require.Zero(t, blobs.open.Load(), "readers and writers that are open")
	}
	blobs := &failing{Store: mem.New()}
	_, err := nodevalue.New(blobs, 0, 1<<20, time.Minute).Put(t.Context(), job.NewID(), struct{}{})
	require.ErrorContains(t, err, "store a value: ")
	require.Zero(t, blobs.open.Load())
}

// A document is read as it was stored; equal documents of two jobs are different blobs.
func TestADocumentIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	blobs := &failing{Store: mem.New()}
	values := nodevalue.New(blobs, 0, 1<<20, time.Minute)
	for _, doc := range []string{"a document", ""} {
		var refs []string
		for range 2 {
			ref, err := values.PutDoc(t.Context(), job.NewID(), []byte(doc))
			require.NoError(t, err)
			got, err := values.Doc(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, doc, string(got))
			refs = append(refs, ref)
		}
		require.NotEqual(t, refs[0], refs[1])
	}
	require.Zero(t, blobs.open.Load(), "readers and writers that are open")
}

// A value or document that is lost or damaged is missing, so that its producer runs again. One that cannot be read now, or a reference
// without sense, is another error.
func TestAMissingValueIsNoOutage(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.Unavailable, "", "away")
	blobs := &failing{Store: mem.New()}
	stored := func(text string) string {
		ref, err := blob.PutBytes(t.Context(), blobs.Store, []byte(text))
		require.NoError(t, err)
		return ref.String()
	}
	values := nodevalue.New(blobs, 1<<20, 1<<20, time.Minute)
	get := func(ref string) error {
		value, err := values.Get(t.Context(), ref)
		require.Nil(t, value)
		return err
	}
	doc := func(ref string) error {
		raw, err := values.Doc(t.Context(), ref)
		require.Nil(t, raw)
		return err
	}
	short, owned := stored("fifteen bytes.."), stored("sixteen bytes...\xff\xff")
	for name, c := range map[string]struct {
		read func(string) error
		ref  string
		away error
		says string
		lost bool
	}{
		"value lost":                    {get, blob.Sum([]byte("lost")).String(), nil, " is missing", true},
		"value shorter than its owner":  {get, short, nil, " is damaged", true},
		"value of no kind":              {get, owned, nil, " is damaged", true},
		"value away":                    {get, owned, away, "read value ", false},
		"value without a reference":     {get, "x", nil, "value reference: ", false},
		"inline value without sense":    {get, "data:x", nil, "decode an inline value: ", false},
		"document lost":                 {doc, blob.Sum([]byte("lost")).String(), nil, " is missing", true},
		"document shorter than its own": {doc, short, nil, " is damaged", true},
		"document away":                 {doc, owned, away, "read document ", false},
		"document without a reference":  {doc, "x", nil, "document reference: ", false},
	} {
		blobs.opens = c.away
		err := c.read(c.ref)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, c.lost, fault.CodeOf(err) == fault.CodeValueMissing, name)
		require.Equal(t, c.lost, fault.Is(err, fault.NotFound), name)
		if c.away != nil {
			require.ErrorIs(t, err, c.away, name)
		}
	}
	require.Zero(t, blobs.open.Load(), "readers that are open")
}

// Values that cannot be read are not there, and no values at all are not either. Values that could not be deleted are deleted later.
func TestCachedValuesOfAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	blobs := &failing{Store: mem.New()}
	values := nodevalue.New(blobs, 0, 1<<20, time.Minute)
	ref, err := values.Put(t.Context(), job.NewID(), strings.Repeat("long enough for a blob ", 50))
	require.NoError(t, err)
	cached := nodevalue.Cached(ref)
	require.True(t, values.Has(t.Context(), []string{cached}))
	require.False(t, values.Has(t.Context(), []string{cached, "x"}), "a reference without sense")
	require.False(t, values.Has(t.Context(), nil))
	blobs.stats = errors.New("away")
	require.False(t, values.Has(t.Context(), []string{cached}))
	require.Zero(t, values.Size(t.Context(), cached))
	blobs.stats = nil
	require.Zero(t, values.Size(t.Context(), "x"))

	blobs.removes = fault.New(fault.NotFound, "", "it is gone")
	require.NoError(t, values.ForgetCached(t.Context(), []string{cached}), "it is deleted already")
	blobs.removes = fault.New(fault.Unavailable, "", "away")
	err = values.ForgetCached(t.Context(), []string{cached})
	require.ErrorIs(t, err, blobs.removes)
	require.ErrorContains(t, err, "delete values that the node cache evicted: delete value "+ref)
	require.ErrorIs(t, values.Forget(t.Context(), []string{"data:1", ref}), blobs.removes)
	require.NoError(t, values.Forget(t.Context(), []string{"data:1", cached, ref}), "the cache has it")
}

// The most recent values stay in memory as far as its budget goes; one that takes more than half of it does not.
func TestRecentValuesStayInMemory(t *testing.T) {
	t.Parallel()
	owner := job.NewID()
	text := func(n string) string { return n + strings.Repeat(" long enough for a blob", 50) }
	sized := nodevalue.New(mem.New(), 0, 1<<20, time.Minute)
	ref, err := sized.Put(t.Context(), owner, text("0"))
	require.NoError(t, err)
	size := sized.Size(t.Context(), ref)
	for name, c := range map[string]struct {
		budget int64
		puts   string
		forget string // before the last one is stored
		reads  string // values that are read from the store, if the values are read in the order of their names
	}{
		"two fit":              {2 * size, "12", "", ""},
		"a third replaces one": {2 * size, "123", "", "1"},
		"one that is put often takes its space once": {2 * size, "1112", "", ""},
		"one too large":            {2*size - 1, "1", "", "1"},
		"one that is gone gives":   {2 * size, "123", "2", ""},
		"three in too few for all": {3*size - 1, "123", "", "1"},
	} {
		blobs := &counting{Store: mem.New()}
		values, refs := nodevalue.New(blobs, c.budget, 1<<20, time.Minute), map[string]string{}
		for n, put := range strings.Split(c.puts, "") {
			if c.forget != "" && n == len(c.puts)-1 {
				require.NoError(t, values.Forget(t.Context(), []string{refs[c.forget]}), name)
				delete(refs, c.forget)
			}
			ref, err := values.Put(t.Context(), owner, text(put))
			require.NoError(t, err, name)
			refs[put] = ref
		}
		read := ""
		for _, put := range []string{"3", "2", "1"} { // the oldest last, since reading one keeps it
			if refs[put] == "" {
				continue
			}
			before := blobs.opened.Load()
			got, err := values.Get(t.Context(), refs[put])
			require.NoError(t, err, name)
			require.Equal(t, text(put), got, name)
			if blobs.opened.Load() > before {
				read += put
			}
		}
		require.Equal(t, c.reads, read, name)
	}
}
