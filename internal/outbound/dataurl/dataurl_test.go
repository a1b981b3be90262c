package dataurl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]dataurl.URL{
		"data:image/png;base64,iVA=":           {MediaType: "image/png", Base64: true, Content: []byte{0x89, 0x50}},
		"DATA:image/png;base64,iVA%3D":         {MediaType: "image/png", Base64: true, Content: []byte{0x89, 0x50}},
		"data:;base64,":                        {Base64: true, Content: []byte{}},
		"data:,a%20b,c":                        {Content: []byte("a b,c")},
		"data:text/plain;charset=utf-8,%C3%A4": {MediaType: "text/plain;charset=utf-8", Content: []byte("ä")},
	} {
		require.True(t, dataurl.Is(text), text)
		got, err := dataurl.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]error{
		"data:image/png;base64":        dataurl.ErrNoComma,
		"data:,%zz":                    dataurl.ErrEscape,
		"data:image/png;base64,not it": dataurl.ErrBase64,
	} {
		_, err := dataurl.Parse(text)
		require.ErrorIs(t, err, want, text)
	}
	for _, text := range []string{"", "data", "https://example.com/data:,a", " data:,a"} {
		require.False(t, dataurl.Is(text), text)
	}
}
