package nats_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	driver "github.com/iotenablers/enablers/test/nats"
)

// serve runs a server with a stream of the subjects "brokertest.>" and "weather.>".
func serve(t *testing.T) mqtttest.Address {
	t.Helper()
	server, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		MaxPayload: 8 << 20, NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	server.Start()
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	require.True(t, server.ReadyForConnections(time.Minute))
	conn, err := nats.Connect(server.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "TEST", Subjects: []string{"brokertest.>", "weather.>"}, Storage: jetstream.MemoryStorage,
	})
	require.NoError(t, err)
	host, port, found := strings.Cut(strings.TrimPrefix(server.ClientURL(), "nats://"), ":")
	require.True(t, found)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	return mqtttest.Address{Host: host, Port: number}
}

func TestBroker_passesTheSuite(t *testing.T) {
	proxy := mqtttest.NewProxy(t, serve(t))
	subject := strings.NewReplacer("/", ".", " ", "-")
	brokertest.Run(t, brokertest.Harness{
		Broker: driver.Broker{},
		Topic: func(topic, client string) annotate.Topic {
			return annotate.Topic{Name: subject.Replace(topic), Broker: driver.Type, Settings: driver.Settings{
				Host: proxy.Host, Port: proxy.Port, Stream: "TEST", Durable: client,
			}}
		},
		Cut: proxy.Cut, Restore: proxy.Restore,
	})
}

const mapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
<#Reading> a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.com/celsius> ; rr:objectMap [ rml:reference "celsius" ] ] .
`

func TestManager_runsAChannelOfAKindItDoesNotHave(t *testing.T) {
	at := serve(t)
	settings := driver.Settings{Host: at.Host, Port: at.Port, Stream: "TEST"}
	m, err := manager.New(manager.Config{Environment: annotate.Environment{
		Drivers: []annotate.Driver{driver.Driver(settings)},
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	defer func() { cancel(); require.NoError(t, <-ended) }()
	<-m.Ready()
	api := httptest.NewServer(rest.NewHandler(m, nil))
	defer api.Close()

	body := `{"settings": {"channelId": "weather",
		"inputTopicSettings": {"topic": "weather.json", "brokerType": "NATS"},
		"outputTopicSettings": {"topic": "weather.rdf", "brokerType": "NATS",
			"natsSettings": {"host": "` + at.Host + `", "port": ` + strconv.Itoa(at.Port) + `, "token": "a secret"}}},
		"metadata": {"mapping": {"inputFormat": "JSON", "outputFormat": "NTRIPLES", "rml": ` + strconv.Quote(mapping) + `}}}`
	answer, err := http.Post(api.URL+"/channels", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, "weather", string(text))

	broker := driver.Broker{}
	topic := func(name string) annotate.Topic {
		s := settings
		s.Durable = "test"
		return annotate.Topic{Name: name, Broker: driver.Type, Settings: s}
	}
	out, err := broker.Subscribe(t.Context(), topic("weather.rdf"), annotate.ConnectOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Forget(context.Background())) }()
	in, err := broker.Connect(t.Context(), topic("weather.json"), annotate.ConnectOptions{})
	require.NoError(t, err)
	message := annotate.Message{Payload: []byte(`{"id": "a7", "celsius": 21.5}`)}
	require.NoError(t, in.Publish(t.Context(), message, func(err error) { require.NoError(t, err) }))
	require.NoError(t, in.Close(t.Context()))
	delivery, err := out.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "<http://example.com/a7> <http://example.com/celsius> \"21.5\" .\n", string(delivery.Payload))

	answer, err = http.Get(api.URL + "/channels/weather?settings&status")
	require.NoError(t, err)
	text, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(text), `"isStopped":false`)
	require.Contains(t, string(text), `"token":"********"`)
	require.NotContains(t, string(text), "a secret")
}

func TestDriver_settingsPassTheSuite(t *testing.T) {
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: driver.Driver(driver.Settings{Host: "h", Port: 1, Stream: "TEST"}), Topic: "weather.json",
		Good: `{"host": "h", "port": 4222, "stream": "TEST", "durable": "d", "token": "t"}`,
		Free: []string{"stream", "durable"},
		Bad:  map[string]string{"host": `{"port": 1}`, "port": `{"host": "h", "port": 0}`, "token": `{"host": "h", "port": 1, "token": 1}`},
	})
}
