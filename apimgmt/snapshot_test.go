package apimgmt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

// countedDocuments counts listings.
type countedDocuments struct {
	storage.Documents
	listings atomic.Int64
}

func (d *countedDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	d.listings.Add(1)
	return d.Documents.List(ctx, prefix, after, limit)
}

func TestPublisher_cachesTheSnapshotAfterAChange(t *testing.T) {
	s := newStage()
	docs := &countedDocuments{Documents: s.docs}
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: docs, Blobs: s.blobs, Gateway: s.gateway, GatewayURL: "http://gateway.example"})
	require.NoError(t, err)
	other := s.open(t, nil) // which has nothing kept
	look := func(p *apimgmt.Publisher) string {
		t.Helper()
		text := ""
		list, _, err := p.List(t.Context(), apimgmt.Query{})
		require.NoError(t, err)
		for _, r := range list {
			one, err := p.Get(t.Context(), r.Enabler)
			require.NoError(t, err)
			data, err := json.Marshal([]any{r, one})
			require.NoError(t, err)
			text += string(data)
		}
		return text
	}
	publish := func(enabler, version string) func() error {
		return func() error {
			_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: enabler, Definition: []byte(apitest.File(version, "/"+enabler+"/"+version))})
			return err
		}
	}
	for i, step := range []func() error{
		publish("m", "1"), publish("z", "1"), publish("a", "1"), publish("m", "2"), publish("m", "1"), publish("b", "1"),
		func() error {
			_, err := p.SetState(t.Context(), "m", "1", apimgmt.Transition{State: apimgmt.Deprecated})
			return err
		},
		func() error {
			_, err := p.Describe(t.Context(), "z", "the last", "", apimgmt.Condition{})
			return err
		},
		func() error { return p.DeleteVersion(t.Context(), "m", "1", "", apimgmt.Condition{}) },
		func() error { return p.DeleteVersion(t.Context(), "b", "1", "", apimgmt.Condition{}) },
		func() error { return p.Delete(t.Context(), "a", "", apimgmt.Condition{}) },
		func() error { return p.Delete(t.Context(), "z", "", apimgmt.Condition{}) },
		publish("a", "2"),
	} {
		require.NoError(t, step(), fmt.Sprint(i))
		require.Equal(t, look(other), look(p), fmt.Sprint(i))
	}
	require.EqualValues(t, 1, docs.listings.Load())
	_, err = other.Describe(t.Context(), "m", "by another publisher", "", apimgmt.Condition{})
	require.NoError(t, err)
	require.Equal(t, look(other), look(p), "what others change is read")
	require.EqualValues(t, 2, docs.listings.Load())
}
