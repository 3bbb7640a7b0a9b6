package apimgmt_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

func TestPublisher_Publish_routesPathsOfOneShapeByTheirMethodsAndWarns(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_,
			_ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}))
	defer service.Close()
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	front := httptest.NewServer(g)
	defer func() {
		front.Close()
		require.NoError(t, g.Close())
	}()
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(),
		Blobs: storage.NewMemoryBlobs(), Gateway: embedded{g}, GatewayURL: front.URL,
		Upstreams: apimgmt.Upstreams{Private: loopback()}})
	require.NoError(t, err)
	file := fmt.Sprintf(`openapi: 3.1.0
info: {title: attestations, version: "1"}
servers: [{url: '%s'}]
paths:
  /attestations/{id}: {delete: {parameters: [{name: id, in: path, required: true, schema: {type: integer}}]}}
  /attestations/{digest}: {get: {parameters: [{name: digest, in: path, required: true, schema: {type: string}}]}}
`, service.URL)
	upload := apimgmt.Upload{Enabler: "attestations", Definition: []byte(file)}
	preview, err := p.Preview(t.Context(), upload)
	require.NoError(t, err)
	require.Len(t, preview.Warnings, 1)
	record, err := p.Publish(t.Context(), upload)
	require.NoError(t, err)
	require.Equal(t, preview.Warnings, record.Warnings)
	require.Contains(t, record.Warnings[0],
		`line 6, "/paths/~1attestations~1{digest}": the path matches the same requests as "/attestations/{id}"`)
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodDelete: 200, http.MethodPut: 404} {
		req, err := http.NewRequestWithContext(t.Context(), method, front.URL+"/attestations/7", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, method)
		if want == 200 {
			require.Equal(t, method+" /attestations/7", string(body))
		}
	}
	got, err := p.Get(t.Context(), "attestations")
	require.NoError(t, err)
	require.Empty(t, got.Warnings, "only the answer to the upload has them")
}

func TestPublisher_Publish_acceptsWebhooksWithoutPaths(t *testing.T) {
	w := apitest.New(t)
	const file = `{openapi: 3.1.0, info: {title: alarms, version: "1"}, webhooks: {raised: {post: {}}}}`
	a := w.Post("alarms", file, "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	var record apimgmt.Record
	a.Decode(t, &record)
	require.Equal(t, []string{"there is no operation: the gateway routes no request to the API"}, record.Warnings)
	require.Empty(t, record.Routes)
	a = w.Post("alarms", file, "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.NoError(t, w.Publisher.Delete(t.Context(), "alarms", "", apimgmt.Condition{}))
}
