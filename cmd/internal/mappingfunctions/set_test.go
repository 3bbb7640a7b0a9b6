package mappingfunctions_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
)

const module = "../../../annotate/rml/wasm/testdata/functions.wasm"

func ExampleOpen() {
	set, err := mappingfunctions.Open(context.Background(), module)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	fmt.Println(set.Functions()[0].IRI)
	// Output: http://example.com/fn#upper
}

func TestOpen_takesFoldersAndNothing(t *testing.T) {
	one, err := mappingfunctions.Open(t.Context(), module)
	require.NoError(t, err)
	folder, err := mappingfunctions.Open(t.Context(), filepath.Dir(module))
	require.NoError(t, err)
	require.NotEmpty(t, one.Functions())
	require.Len(t, folder.Functions(), len(one.Functions()))
	none, err := mappingfunctions.Open(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, none.Functions())
	require.NoError(t, one.Close())
	require.NoError(t, folder.Close())
	require.NoError(t, none.Close())
}

func TestOpen_refusesWhatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.wasm")
	require.NoError(t, os.WriteFile(text, []byte("(module)"), 0o600))
	for paths, says := range map[string]string{
		module + "," + module:       "both have the function <http://example.com/fn#upper>",
		text:                        text + ": wasm: module refused",
		dir:                         text + ": wasm: module refused",
		t.TempDir():                 "has no file that ends in .wasm",
		filepath.Join(dir, "other"): "no such file",
	} {
		_, err := mappingfunctions.Open(t.Context(), paths)
		require.ErrorContains(t, err, says)
	}
}
