package apimgmt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

func TestPublisher_Publish_namesTheFieldOfAnError(t *testing.T) {
	publisher := memoryPublisher(t)
	for field, change := range map[string]func(*apimgmt.Upload){
		"enabler":     func(u *apimgmt.Upload) { u.Enabler = "-" },
		"description": func(u *apimgmt.Upload) { u.Description = strings.Repeat("x", 4001) },
		"state":       func(u *apimgmt.Upload) { u.State = apimgmt.Sunset },
		"server":      func(u *apimgmt.Upload) { u.Server = "ftp://a.example" },
		"path":        func(u *apimgmt.Upload) { u.Path = "no/slash" },
		"definition":  func(u *apimgmt.Upload) { u.Definition = []byte("{}") },
	} {
		upload := apimgmt.Upload{Enabler: "weather", Definition: []byte(apitest.File("1", "/a"))}
		change(&upload)
		_, err := publisher.Publish(t.Context(), upload)
		require.ErrorIs(t, err, apimgmt.ErrInvalid, field)
		var refusal *apimgmt.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, field, refusal.Field)
	}
}

func TestPublisher_SetState_refusesAnUnknownState(t *testing.T) {
	publisher := memoryPublisher(t)
	_, err := publisher.Publish(t.Context(), apimgmt.Upload{Enabler: "weather", Definition: []byte(apitest.File("1", "/a"))})
	require.NoError(t, err)
	_, err = publisher.SetState(t.Context(), "weather", "1", apimgmt.Transition{State: "retired"})
	require.ErrorIs(t, err, apimgmt.ErrInvalid)
	require.ErrorContains(t, err, `state "retired" is not one of draft, published, deprecated and sunset`)
}

func TestState_Next_leadsBackToEveryStateButDraft(t *testing.T) {
	require.Equal(t, []apimgmt.State{apimgmt.Published}, apimgmt.Draft.Next())
	require.Equal(t, []apimgmt.State{apimgmt.Deprecated, apimgmt.Sunset}, apimgmt.Published.Next())
	require.Equal(t, []apimgmt.State{apimgmt.Published, apimgmt.Sunset}, apimgmt.Deprecated.Next())
	require.Equal(t, []apimgmt.State{apimgmt.Published, apimgmt.Deprecated}, apimgmt.Sunset.Next())
}

// memoryPublisher is a publisher over memory, with a gateway that has every plugin.
func memoryPublisher(t *testing.T) *apimgmt.Publisher {
	t.Helper()
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: "https://gateway.example",
	})
	require.NoError(t, err)
	return publisher
}
