package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func fileMapping(source string) string {
	return header + `ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source "` + source + `" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "name" ] ] .
`
}

func TestRunMap_readsSourcesInTheFolderOfDir(t *testing.T) {
	file, dir := write(t, "m.ttl", fileMapping("sub/rows.csv")), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "rows.csv"), []byte("id,name\n1,A\n"), 0o644))
	out, _, err := rmlNotes(t, "", "map", "-mapping", file, "-dir", dir)
	require.NoError(t, err)
	require.Contains(t, out, `<http://a/1>`)
	_, _, err = rmlNotes(t, "", "map", "-mapping", file)
	require.ErrorContains(t, err, "rows.csv")
}

func TestRunMap_fetchesNoSourceFromTheWeb(t *testing.T) {
	_, _, err := rmlNotes(t, "", "map", "-mapping", write(t, "m.ttl", fileMapping("https://example.org/rows.csv")))
	require.ErrorContains(t, err, "sources on the web are not fetched; allow it (rml map: -network), or download it and name the local file")
}
