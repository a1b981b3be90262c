package console

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesInAnArchiveStayInTheFolderOfTheirJob(t *testing.T) {
	t.Parallel()
	const id = "5c1482e9-cb7d-449b-9d73-e019565028fb"
	require.Equal(t, "5c1482e9/4-soft_00001_.png", archiveName(id, "4", "soft_00001_.png"))
	for _, node := range []string{"../../x", "..", `..\..\x`, "/etc/x", "a\x00b", "x\n"} {
		name := archiveName(id, node, "a.png")
		require.Equal(t, "5c1482e9", path.Dir(name), name)
		require.NotContains(t, name, `\`)
	}
}
