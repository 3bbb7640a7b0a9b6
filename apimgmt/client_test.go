package apimgmt_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNewClient() {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: "https://gateway.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(publisher.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens()}))
	defer server.Close()

	client, err := apimgmt.NewClient(server.URL, &apimgmt.ClientOptions{Token: func(context.Context) (string, error) { return "dev", nil }})
	if err != nil {
		fmt.Println(err)
		return
	}
	record, err := client.Publish(context.Background(),
		apimgmt.Upload{Enabler: "repository", Description: "Models", Definition: []byte(file("1", "/models"))})
	fmt.Println(record.Routes[0].URL, err)
	_, err = client.Publish(context.Background(), apimgmt.Upload{Enabler: "other", Definition: []byte(file("1", "/models"))})
	var refusal *apimgmt.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Kind, refusal.Conflicts[0].Enabler, refusal.Conflicts[0].Path)
	}
	// Output:
	// https://gateway.example/models <nil>
	// apimgmt: conflict repository ~/models$
}

func TestClient_returnsTheErrorsOfThePublisher(t *testing.T) {
	w := newWorld(t)
	token := "dev"
	client, err := apimgmt.NewClient(w.server.URL+"/",
		&apimgmt.ClientOptions{Token: func(context.Context) (string, error) { return token, nil }})
	require.NoError(t, err)
	ctx := t.Context()
	record, err := client.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", Description: "d",
		Definition: []byte(file("1.0 beta", "/a")), Condition: apimgmt.Condition{Absent: true}})
	require.NoError(t, err)
	require.Equal(t, "1.0 beta", record.Version.Version)
	_, err = client.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", Definition: []byte(file("1", "/a")),
		Condition: apimgmt.Condition{Absent: true}})
	require.ErrorIs(t, err, apimgmt.ErrPrecondition)
	record, err = client.SetState(ctx, "Größe 1", "1.0 beta",
		apimgmt.Transition{State: apimgmt.Deprecated, Sunset: time.Now().Add(time.Hour), Link: "https://docs.example"})
	require.NoError(t, err)
	require.Equal(t, apimgmt.Deprecated, record.State)
	record, err = client.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", KeepDescription: true,
		Definition: []byte(file("2", "/b")), Condition: apimgmt.Condition{Revisions: []string{record.Revision}}})
	require.NoError(t, err)
	require.Equal(t, "d", record.Description)
	again, err := client.Get(ctx, "Größe 1")
	require.NoError(t, err)
	require.Equal(t, record, again)
	_, err = client.SetState(ctx, "Größe 1", "2", apimgmt.Transition{State: apimgmt.Draft})
	require.ErrorIs(t, err, apimgmt.ErrState)
	_, err = client.Publish(ctx, apimgmt.Upload{Enabler: "b", Definition: []byte(file("1", "/b"))})
	require.ErrorIs(t, err, apimgmt.ErrConflict)
	var refusal *apimgmt.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "Größe 1", refusal.Conflicts[0].Enabler)
	for _, u := range []apimgmt.Upload{{Enabler: "b", Definition: []byte("nothing")}, {Enabler: "b/c", Definition: []byte(file("1", "/c"))}} {
		_, err = client.Publish(ctx, u)
		require.ErrorIs(t, err, apimgmt.ErrInvalid)
	}
	_, err = client.Get(ctx, "b")
	require.ErrorIs(t, err, apimgmt.ErrNotFound)
	token = "caller"
	require.ErrorIs(t, client.Delete(ctx, "Größe 1", apimgmt.Condition{}), apimgmt.ErrAccess)
	token = "unreachable"
	_, err = client.Get(ctx, "b")
	require.ErrorIs(t, err, apimgmt.ErrUnavailable)
	token = "dev"
	require.NoError(t, client.Delete(ctx, "Größe 1", apimgmt.Condition{Exists: true}))
	w.server.Close()
	_, err = client.Get(ctx, "b")
	require.ErrorIs(t, err, apimgmt.ErrUnavailable)
}
