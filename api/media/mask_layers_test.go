package media_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

func TestMaskLayers(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for i, name := range []string{"clipspace-mask-7.png", "clipspace-painted-masked-7.png", "plain.png"} {
		stored := h.Post(t, "/upload/image", "key-a", apitest.File("image", name, apitest.Picture(t, 4, 4, uint8(i))))
		require.Equal(t, http.StatusOK, stored.Status)
	}
	layers := func(name, key string) apitest.Reply { return h.Get(t, "/api/files/mask-layers?filename="+name, key) }
	require.JSONEq(t, `{"mask":"clipspace-mask-7.png","paint":null,"painted":null,"painted_masked":"clipspace-painted-masked-7.png"}`,
		layers("clipspace-painted-masked-7.png", "key-a").Body)
	require.JSONEq(t, `{"mask":null,"paint":null,"painted":null,"painted_masked":null}`, layers("plain.png", "key-a").Body)
	require.Equal(t, http.StatusNotFound, layers("clipspace-paint-7.png", "key-a").Status)
	require.Equal(t, http.StatusNotFound, layers("plain.png", "key-b").Status)
	require.Equal(t, http.StatusBadRequest, layers("", "key-a").Status)
	require.Equal(t, http.StatusBadRequest, layers("..%2Fx", "key-a").Status)
}
