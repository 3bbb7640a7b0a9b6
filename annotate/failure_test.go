package annotate_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestChannel_errorJSON_namesNodeAndPlace(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := withSideTopics(config("structured"))
	c.ErrorFormat = annotate.ErrorJSON
	c.Mapping.RML = strings.Replace(jsonMapping, `[ rml:reference "value" ]`, `[ rml:reference "value"; rr:termType rr:IRI ]`, 1)
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	before := time.Now().Add(-time.Second)
	malformed, unmappable := `{"id": 1, "value": secret}`, `{"id": 2, "value": "not an <IRI>"}`
	for _, payload := range []string{malformed, unmappable} {
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "structured/in", Payload: []byte(payload)}))
	}
	reports := await(t, b, "structured/errors", 2)
	for i, payload := range []string{malformed, unmappable} {
		var report struct {
			Channel, Topic, Error, Cause, Node, Place string
			Time                                      time.Time
			Payload                                   struct {
				Bytes  int
				SHA256 string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(reports[i]), &report))
		require.Equal(t, "structured", report.Channel)
		require.Equal(t, "structured/in", report.Topic)
		require.Equal(t, len(payload), report.Payload.Bytes)
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(payload))), report.Payload.SHA256)
		require.WithinRange(t, report.Time, before, time.Now())
		require.NotEmpty(t, report.Place, reports[i])
		require.Contains(t, report.Error, report.Cause)
		require.NotContains(t, reports[i], payload, "the payload is not repeated")
		if i == 1 {
			require.NotEmpty(t, report.Node)
			require.Contains(t, report.Error, report.Node)
		}
	}
}
