package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/client"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

func TestClient_returnsTheErrorsOfThePublisher(t *testing.T) {
	w := apitest.New(t)
	token := "dev"
	c, err := client.New(w.Server.URL+"/",
		&client.Options{Token: func(context.Context) (string, error) { return token, nil }})
	require.NoError(t, err)
	ctx := t.Context()
	record, err := c.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", Description: "d",
		Definition: []byte(apitest.File("1.0 beta", "/a")), Condition: apimgmt.Condition{Absent: true}})
	require.NoError(t, err)
	require.Equal(t, "1.0 beta", record.Version.Version)
	_, err = c.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", Definition: []byte(apitest.File("1", "/a")),
		Condition: apimgmt.Condition{Absent: true}})
	require.ErrorIs(t, err, apimgmt.ErrPrecondition)
	record, err = c.SetState(ctx, "Größe 1", "1.0 beta",
		apimgmt.Transition{State: apimgmt.Deprecated, Sunset: time.Now().Add(time.Hour), Link: "https://docs.example"})
	require.NoError(t, err)
	require.Equal(t, apimgmt.Deprecated, record.State)
	record, err = c.Publish(ctx, apimgmt.Upload{Enabler: "Größe 1", KeepDescription: true,
		Definition: []byte(apitest.File("2", "/b")), Condition: apimgmt.Condition{Revisions: []string{record.Revision}}})
	require.NoError(t, err)
	require.Equal(t, "d", record.Description)
	again, err := c.Get(ctx, "Größe 1")
	require.NoError(t, err)
	require.Equal(t, record, again)
	_, err = c.SetState(ctx, "Größe 1", "2", apimgmt.Transition{State: apimgmt.Draft})
	require.ErrorIs(t, err, apimgmt.ErrState)
	_, err = c.Publish(ctx, apimgmt.Upload{Enabler: "b", Definition: []byte(apitest.File("1", "/b"))})
	require.ErrorIs(t, err, apimgmt.ErrConflict)
	var refusal *apimgmt.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "Größe 1", refusal.Conflicts[0].Enabler)
	for _, u := range []apimgmt.Upload{
		{Enabler: "b", Definition: []byte("nothing")}, {Enabler: "b/c", Definition: []byte(apitest.File("1", "/c"))},
	} {
		_, err = c.Publish(ctx, u)
		require.ErrorIs(t, err, apimgmt.ErrInvalid)
	}
	_, err = c.Get(ctx, "b")
	require.ErrorIs(t, err, apimgmt.ErrNotFound)
	token = "caller"
	require.ErrorIs(t, c.Delete(ctx, "Größe 1", apimgmt.Condition{}), client.ErrAccess)
	token = "unreachable"
	_, err = c.Get(ctx, "b")
	require.ErrorIs(t, err, client.ErrUnavailable)
	token = "dev"
	require.NoError(t, c.Delete(ctx, "Größe 1", apimgmt.Condition{Exists: true}))
	w.Server.Close()
	_, err = c.Get(ctx, "b")
	require.ErrorIs(t, err, client.ErrUnavailable)
}

func TestClient_Publish_sendsThePath(t *testing.T) {
	w := apitest.New(t, apitest.Transforming)
	c, err := client.New(w.Server.URL, &client.Options{Token: func(context.Context) (string, error) { return "dev", nil }})
	require.NoError(t, err)
	r, err := c.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(apitest.File("1", "/a")), Path: "/below"})
	require.NoError(t, err)
	require.Equal(t, "/below", r.Path)
	r, err = c.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(apitest.File("1", "/a")),
		KeepDescription: true, Path: apimgmt.NoPath})
	require.NoError(t, err)
	require.Empty(t, r.Path)
}
