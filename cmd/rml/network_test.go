package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunMap_requestsSourcesOnTheWebWhereItMay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, key, _ := r.BasicAuth(); key != "hush" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(w, "id\n7\n")
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "m.ttl")
	require.NoError(t, os.WriteFile(file, []byte(`@prefix rml: <http://w3id.org/rml/> .
@prefix ex: <http://example.org/> .
ex:M a rml:TriplesMap ;
  rml:logicalSource [ rml:source "`+server.URL+`/x.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:class ex:C ] .`), 0o600))
	t.Setenv("RML_TEST_KEY", "reader:hush")
	mapped := func(args ...string) (string, error) {
		var stdout, stderr bytes.Buffer
		err := run(context.Background(), append([]string{"map", "-mapping", file}, args...), nil, &stdout, &stderr)
		return stdout.String(), err
	}
	got, err := mapped("-network", "https://example.org,"+server.URL, "-credential", server.URL+"=RML_TEST_KEY")
	require.NoError(t, err)
	require.Equal(t, "<http://example.org/7> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/C> .\n", got)
	_, err = mapped()
	require.ErrorContains(t, err, "sources on the web are not fetched")
	_, err = mapped("-network", "https://example.org")
	require.ErrorContains(t, err, server.URL+" is not among the origins")
	_, err = mapped("-network", "any")
	require.ErrorContains(t, err, "the server answered 401 Unauthorized: who are you?")
	_, err = mapped("-network", "all")
	require.ErrorContains(t, err, "expected an origin")
	_, err = mapped("-credential", "https://example.org=RML_TEST_NO_SUCH")
	require.ErrorContains(t, err, `the environment has no variable "RML_TEST_NO_SUCH"`)
}
