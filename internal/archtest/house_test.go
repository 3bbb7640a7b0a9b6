package archtest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHouse runs every rule on this module.
func TestHouse(t *testing.T) {
	const root = "../.."
	house, err := loadTree(os.DirFS(root))
	require.NoError(t, err)
	require.Equal(t, "github.com/iotenablers/enablers", house.module)
	house.links, err = loadLinks(root)
	require.NoError(t, err)

	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(house) {
				t.Error(r.explain(f))
			}
		})
	}
}
