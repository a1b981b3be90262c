package secret_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/storage/secret"
)

func TestLoadOrCreateGivesOneKeyToAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := make([]*secret.Key, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			k, err := secret.LoadOrCreate(path)
			if err == nil {
				keys[i] = k
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		require.NotNil(t, k)
		require.Equal(t, keys[0], k)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestSealedOpensForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	k, err := secret.LoadOrCreate(filepath.Join(t.TempDir(), "secret.key"))
	require.NoError(t, err)
	s, err := k.Sealer()
	require.NoError(t, err)
	sealed := s.Seal("job-1", "comfyui-key")
	require.NotContains(t, string(sealed), "comfyui")
	got, err := s.Open("job-1", sealed)
	require.NoError(t, err)
	require.Equal(t, "comfyui-key", got)
	_, err = s.Open("job-2", sealed)
	require.Error(t, err)
	sealed[0] ^= 1
	_, err = s.Open("job-1", sealed)
	require.Error(t, err)
}

func TestParseRefusesAnythingButAKey(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "00", "zz", string(make([]byte, 64))} {
		_, err := secret.Parse(s)
		require.Error(t, err, "%q", s)
	}
}

func TestDerivedKeysDiffer(t *testing.T) {
	t.Parallel()
	k, err := secret.Parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	require.NoError(t, err)
	a, err := k.Derive("a")
	require.NoError(t, err)
	b, err := k.Derive("b")
	require.NoError(t, err)
	require.Len(t, a, secret.Size)
	require.NotEqual(t, a, b)
}
