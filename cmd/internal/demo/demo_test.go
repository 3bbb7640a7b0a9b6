package demo_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/demo"
)

// rate does not divide a second, so that nothing is sent at the very moment
// at which the counts are shown.
const rate = 30

// stage is a demonstration under way, with a broker in memory.
type stage struct {
	broker  *annotate.MemoryBroker
	manager *manager.Manager
	output  bytes.Buffer
}

// play runs the demonstration for a while of the bubble's time, and during
// after half of it.
func play(t *testing.T, perSecond int, terminal bool, during func(*stage)) (*stage, error) {
	t.Helper()
	s := &stage{broker: annotate.NewMemoryBroker(nil)}
	var err error
	s.manager, err = manager.New(manager.Config{Environment: annotate.Environment{
		Drivers: []annotate.Driver{mqtt.Driver(s.broker, nil)},
	}})
	require.NoError(t, err)
	serving, stopServing := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.manager.Run(serving) }()
	synctest.Wait()
	require.NoError(t, s.manager.Err())

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- demo.Run(ctx, demo.Config{
			Channels: s.manager, Broker: s.broker,
			MQTT: mqtt.Settings{Protocol: "tcp", Host: "127.0.0.1", Port: 1883},
			Rate: perSecond, Output: &s.output, Terminal: terminal,
		})
	}()
	time.Sleep(1550 * time.Millisecond)
	if during != nil {
		during(s)
	}
	time.Sleep(2 * time.Second)
	cancel()
	err = <-done
	stopServing()
	require.NoError(t, <-served)
	return s, err
}

// lastLine returns the last line of the output.
func (s *stage) lastLine() string {
	lines := strings.Split(strings.TrimSpace(s.output.String()), "\n")
	return lines[len(lines)-1]
}

func TestRun_countsEveryMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, rate, false, nil)
		require.NoError(t, err)
		text := s.output.String()
		require.Contains(t, text, "a message in JSON:\n  {\"station\":\"EWR\"")
		require.Contains(t, text, "<http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z> a sosa:Observation")
		require.Contains(t, text, "\n2s   JSON in 61 out 61 failed 0 30/s   CSV in 61 out 61 failed 0 30/s   XML in 61 out 61 failed 0 30/s\n")
		require.Equal(t, "replayed for 4s: 321 in, 321 out, 0 failed, none missing", s.lastLine())
		require.Empty(t, slices.Collect(s.manager.All()), "the channels are removed in the end")
	})
}

func TestRun_beginsAgainAfterTheLastObservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, 3000, false, nil) // 10,650 of each format, 10,000 observations
		require.NoError(t, err)
		require.Contains(t, s.lastLine(), ", 0 failed, none missing")
		require.NotContains(t, s.lastLine(), "more than once")
		require.Regexp(t, `: 319[0-9]{2} in, 319[0-9]{2} out`, s.lastLine())
	})
}

func TestRun_overwritesItsTableOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, rate, true, nil)
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(s.output.String(), "\x1b[4A"))
		require.Equal(t, 3, strings.Count(s.output.String(), "missing    msg/s\n"))
	})
}

func TestRun_countsAFailedMessageAsFailedOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, rate, false, func(s *stage) { s.publish(t, "demo/json", "not JSON") })
		require.NoError(t, err)
		require.Contains(t, s.output.String(), "\n3s   JSON in 91 out 91 failed 1 30/s ")
		require.Contains(t, s.lastLine(), "1 failed, none missing")
	})
}

func TestRun_reportsAnUnknownOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, rate, false, func(s *stage) { s.publish(t, "demo/rdf/xml", "<a> <b> <c> .") })
		require.NoError(t, err)
		require.Contains(t, s.lastLine(), "none missing, 1 more than once")
	})
}

func TestRun_reportsTheMissingOutputsOfAStoppedChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := play(t, rate, false, func(s *stage) {
			_, err := s.manager.Patch(t.Context(), "demo-csv", manager.Update{Run: manager.Off})
			require.NoError(t, err)
		})
		require.NoError(t, err)
		require.Regexp(t, `none missing, \d+ still waiting to be annotated$`, s.lastLine())
	})
}

func TestRun_replacesTheChannelsOfAnEarlierRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := annotate.NewMemoryBroker(nil)
		m, err := manager.New(manager.Config{Environment: annotate.Environment{
			Drivers: []annotate.Driver{mqtt.Driver(broker, nil)},
		}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = m.Run(ctx) }()
		synctest.Wait()
		topic := func(name string) annotate.Topic {
			return annotate.Topic{Name: name, Broker: mqtt.Type}
		}
		_, err = m.Create(t.Context(), manager.ChannelConfig{
			ChannelConfig: annotate.ChannelConfig{
				ID: "demo-json", Input: topic("old"), Output: topic("older"), Mapping: oldMapping(),
			},
		})
		require.NoError(t, err)

		playing, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- demo.Run(playing, demo.Config{Channels: m, Broker: broker, Rate: 1, Output: new(bytes.Buffer)})
		}()
		time.Sleep(100 * time.Millisecond)
		config, err := m.Get("demo-json")
		require.NoError(t, err)
		require.Equal(t, "demo/json", config.Input.Name)
		stop()
		require.NoError(t, <-done)
		cancel()
		synctest.Wait()
	})
}

func TestRun_namesTheFormatWhoseBrokerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := annotate.NewMemoryBroker(nil)
		broker.Down()
		m, err := manager.New(manager.Config{Environment: annotate.Environment{
			Drivers: []annotate.Driver{mqtt.Driver(broker, nil)},
		}})
		require.NoError(t, err)
		err = demo.Run(t.Context(), demo.Config{Channels: m, Broker: broker, Rate: 1, Output: new(bytes.Buffer)})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, "open JSON: ")
	})
}

// oldMapping is a mapping that is not the demonstration's.
func oldMapping() annotate.Mapping {
	return annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: `
		@prefix rr: <http://www.w3.org/ns/r2rml#> .
		@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
		@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
		@prefix carml: <http://carml.taxonic.com/carml/> .
		<#m> rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
			rr:subjectMap [ rr:template "http://example.org/{id}" ; rr:class <http://example.org/Thing> ] .`}
}

// publish sends one message as another client does.
func (s *stage) publish(t *testing.T, topic, message string) {
	t.Helper()
	settings := annotate.Topic{Name: topic, Broker: mqtt.Type, Settings: mqtt.Settings{}}
	publisher, err := s.broker.Connect(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, publisher.Publish(t.Context(), annotate.Message{Topic: topic, Payload: []byte(message)}, func(err error) {
		require.NoError(t, err)
	}))
	require.NoError(t, publisher.Close(t.Context()))
}
