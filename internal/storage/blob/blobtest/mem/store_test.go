package mem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(testing.TB) blobtest.Harness {
		s := mem.New()
		return blobtest.Harness{Store: s, Damage: func(t testing.TB, ref blob.Ref) { require.True(t, s.Damage(ref)) }}
	})
}
