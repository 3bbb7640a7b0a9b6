package annotate_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// storeStub is a store that records what it is handed.
type storeStub struct {
	*annotate.MemoryBroker
	mu       sync.Mutex
	messages []annotate.Message
}

func (s *storeStub) Connect(context.Context, annotate.Topic, annotate.ConnectOptions) (annotate.Publisher, error) {
	return s, nil
}

func (s *storeStub) Publish(_ context.Context, m annotate.Message, confirmed func(error)) error {
	s.mu.Lock()
	s.messages = append(s.messages, m)
	s.mu.Unlock()
	confirmed(nil)
	return nil
}

func (s *storeStub) Health() error               { return nil }
func (s *storeStub) Close(context.Context) error { return nil }

func (s *storeStub) taken() []annotate.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]annotate.Message(nil), s.messages...)
}

// A store gets each output in its own serialisation, with an identity that equal inputs share.
func TestChannel_Start_identifiesOutputsForAStore(t *testing.T) {
	broker := annotate.NewMemoryBroker(nil)
	store := &storeStub{MemoryBroker: broker}
	driver := annotate.MemoryDriver(broker)
	driver.Type = "STORE"
	driver.Member = "storeSettings"
	driver.Broker = store
	driver.OutputOnly, driver.Format = true, annotate.NQuads
	env := annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker), driver}}
	config := annotate.ChannelConfig{
		ID:      "one",
		Input:   annotate.Topic{Name: "in", Broker: annotate.Memory},
		Output:  annotate.Topic{Name: "out", Broker: "STORE", Settings: annotate.MemorySettings{}},
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.Turtle, RML: storeMapping},
	}
	c, err := annotate.NewChannel(config, env)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	for _, payload := range []string{`{"id":1}`, `{"id":2}`, `{"id":1}`} {
		require.NoError(t, broker.Publish(t.Context(), annotate.Message{Topic: "in", Payload: []byte(payload)}))
	}
	require.Eventually(t, func() bool { return len(store.taken()) == 3 }, patience, time.Millisecond)
	require.NoError(t, c.Close())
	got := store.taken()
	require.Regexp(t, "^[0-9a-f]{32}$", got[0].ID)
	require.Equal(t, got[0].ID, got[2].ID)
	require.NotEqual(t, got[0].ID, got[1].ID)
	require.Equal(t, "<https://example.org/1> <https://example.org/p> \"1\" .\n", string(got[0].Payload))

	config.Error = &annotate.Topic{Name: "errors", Broker: "STORE", Settings: annotate.MemorySettings{}}
	_, err = annotate.NewChannel(config, env)
	require.ErrorContains(t, err, "settings.errorTopicSettings.brokerType: the in-memory broker can only be the output of a channel; "+
		"expected one of MEMORY")
	require.Error(t, env.TryConnection(t.Context(), *config.Error, annotate.ErrorTopic))
	config.Error, config.ExactlyOnce = nil, true
	_, err = annotate.NewChannel(config, env)
	require.ErrorContains(t, err, "settings.exactlyOnce: needs")
}

const storeMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
<#m> rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "https://example.org/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <https://example.org/p> ; 
    rr:objectMap [ rml:reference "id" ] ] .
`
