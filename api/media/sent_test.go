package media_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// A picture that was sent belongs to its account, and graphs find it by its id.
func TestSentPicturesBelongToTheirAccount(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	picture := apitest.Picture(t, 8, 6, 3)
	put := func(id, key, body string) int {
		return h.Do(t, h.Request(t, http.MethodPut, "/api/etn/image/"+id, key, strings.NewReader(body))).Status
	}
	require.Equal(t, http.StatusCreated, put("one", "key-a", picture))
	require.Equal(t, http.StatusOK, put("one", "key-a", apitest.Picture(t, 4, 4, 1)), "an id keeps its first picture")
	require.Equal(t, picture, h.Get(t, "/api/etn/image/one", "key-a").Body)
	require.Equal(t, http.StatusNotFound, h.Get(t, "/api/etn/image/one", "key-b").Status)
	require.Equal(t, http.StatusUnauthorized, h.Get(t, "/api/etn/image/one", "").Status)
	require.Equal(t, http.StatusUnauthorized, put("two", "", picture))
	require.Equal(t, http.StatusForbidden, put("two", "read", picture))
	require.Equal(t, http.StatusBadRequest, put("two", "key-a", "no picture"))
	require.Equal(t, http.StatusBadRequest, put("a.b", "key-a", picture))
	require.Equal(t, http.StatusBadRequest, put(strings.Repeat("x", 129), "key-a", picture))

	found, err := h.Files.ForAccount("a").Stat(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, apitest.HashOf(picture), found.Hash)
	names, err := h.Files.ForAccount("a").List(t.Context(), "input", 10)
	require.NoError(t, err)
	require.Empty(t, names, "it is not offered as an input")
}

// A program sends a picture again with each graph that reads it. It is answered when it has sent all of it, and keeps its connection.
func TestAPictureThatIsSentAgainIsRead(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	picture := apitest.Picture(t, 8, 6, 3)
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		res, err := h.Client.Do(h.Request(t, http.MethodPut, "/api/etn/image/one", "key-a", strings.NewReader(picture)))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode)
		require.False(t, res.Close)
		picture += strings.Repeat("x", 1<<20) // what follows the end of a PNG file is part of no picture
	}
}
