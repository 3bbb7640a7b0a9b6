package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
)

const about = `annotator turns JSON, CSV and XML messages into RDF, from broker to broker. It
serves the REST interface for its channels, documented at /swagger/.

Names and defaults are those of its specification, with one exception: the log
level is info, because debug is not recommended in production.`

// settings are what the flags, the environment and the file say, by section 8
// of the specification. They are the block as a [host.Opener].
type settings struct {
	*host.Flags
	*annotation.Annotation
	web        host.Listener
	restHost   string
	restPort   int
	standalone bool
	database   database
}

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	s := declare()
	return s, s.Read(args, s.check)
}

func declare() *settings {
	f := host.NewFlags("annotator", "ANNOTATOR", about)
	a := annotation.Declare(f, "a `secret` of 32 bytes that encrypts stored user names and passwords; empty means a generated one in the "+
		"file encryption-secret of -data, and none with MongoDB; better given by the environment, since others can see flags")
	s := &settings{Flags: f, Annotation: a, web: host.Listener{Flag: "listen"}}
	a.Listener = &s.web
	f.StringVar(&s.web.Address, "listen", "",
		"`HOST:PORT` of the REST interface; takes precedence over -rest-host and -rest-port; port 0 takes any that is free")
	f.StringVar(&s.restHost, "rest-host", "0.0.0.0", "`host` of the REST interface")
	f.IntVar(&s.restPort, "rest-port", 8080, "`port` of the REST interface")
	f.DeclareStores(stores.Texts{
		Data: "./data/annotator", NoBlobs: true, NoTimeout: true,
		Note: " The -db flags say the same of a MongoDB, and complete -store with a user and a password.",
	}, drivers.All()...)
	s.database.declare(f)
	f.BoolVar(&s.standalone, "standalone-mode", false, "keep nothing: channels end with the process, and there are no annotations")
	f.BoolVar(&a.RestoreStopped, "restore-stopped", false, "bring stored channels back stopped, instead of as they were")
	f.StringVar(&a.Instance, "instance", "",
		"`name` of this annotator among several on one database; by default the machine's name and the port of the REST interface")
	f.DurationVar(&a.LeaseDuration, "lease", 1500*time.Millisecond,
		"how long an annotator that shares a database may be silent before others take its channels over; longer for a slow database")
	f.DurationVar(&a.MaxShutdown, "max-shutdown", 20*time.Second, "how long stopping the channels may take")

	f.IntVar(&a.Defaults.Parallelism, "parallelism", 2, "mappers of a channel that does not say how `many`")
	f.IntVar(&a.Defaults.BufferSize, "buffer-size", 10, "messages that wait for each mapper of a channel that does not say how `many`")
	f.StringVar(&a.MQTT.Protocol, "mqtt-protocol", "tcp", "`protocol` for topics without mqttSettings: tcp, mqtt, ssl, tls or mqtts")
	f.StringVar(&a.MQTT.Host, "mqtt-host", "127.0.0.1", "`host` for topics without mqttSettings")
	f.IntVar(&a.MQTT.Port, "mqtt-port", 1883, "`port` for topics without mqttSettings")
	f.StringVar(&a.BrokerCA, "broker-ca", "",
		"a PEM `file` of certificate authorities that brokers over TLS may have besides those of the system")
	f.StringVar(&a.Kafka.Host, "kafka-host", "127.0.0.1", "`host` for topics without kafkaSettings")
	f.IntVar(&a.Kafka.Port, "kafka-port", 9093, "`port` for topics without kafkaSettings")
	ids := &a.MQTT.ClientIDs
	for _, id := range []struct {
		to                   *string
		flag, prefix, topics string
	}{
		{&ids.Input, "mqtt-input-client-id", "semann/source", "input"},
		{&ids.Output, "mqtt-output-client-id", "semann/sink", "output"},
		{&ids.Error, "mqtt-error-client-id", "semann/error", "error"},
		{&ids.MonitorInput, "mqtt-monitor-input-client-id", "semann/monitor/input", "input monitoring"},
		{&ids.MonitorOutput, "mqtt-monitor-output-client-id", "semann/monitor/output", "output monitoring"},
	} {
		f.StringVar(id.to, id.flag, id.prefix, "`prefix` of the client identifiers generated for "+id.topics+" topics")
	}
	return s
}

// check refuses what cannot work, and completes what the settings imply.
func (s *settings) check() {
	s.Between("rest-port", int64(s.restPort), 0, 65535)
	s.Between("parallelism", int64(s.Defaults.Parallelism), 1, 256)
	s.Between("buffer-size", int64(s.Defaults.BufferSize), 1, 65536)
	s.Between("mqtt-port", int64(s.MQTT.Port), 1, 65535)
	s.Between("kafka-port", int64(s.Kafka.Port), 1, 65535)
	if s.LeaseDuration < manager.MinLease || s.LeaseDuration > manager.MaxLease {
		s.Wrong("lease", "expected %v to %v, got %v", manager.MinLease, manager.MaxLease, s.LeaseDuration)
	}
	s.Positive("max-shutdown", s.MaxShutdown)
	s.Annotation.Check()
	protocols := []string{"tcp", "mqtt", "ssl", "tls", "mqtts"}
	if !slices.Contains(protocols, s.MQTT.Protocol) {
		s.Wrong("mqtt-protocol", "expected one of %s, got %q", strings.Join(protocols, ", "), s.MQTT.Protocol)
	}
	s.database.check(s.Flags)
	// The default brokers are among those that channels may use if a setting names them.
	if s.Given("mqtt-host") || s.Given("mqtt-port") {
		s.Allowed = append(s.Allowed, annotation.Address{Host: s.MQTT.Host, Port: s.MQTT.Port})
	}
	if s.Given("kafka-host") || s.Given("kafka-port") {
		s.Allowed = append(s.Allowed, annotation.Address{Host: s.Kafka.Host, Port: s.Kafka.Port})
	}
}

// openStores opens where the channels are stored, which is nowhere in standalone mode. It does
// not wait for a database.
func (s *settings) openStores(ctx context.Context, log *slog.Logger) (*stores.Stores, error) {
	if s.standalone {
		if ignored := s.database.names(s.Stores); ignored != "" {
			log.Info("standalone mode: nothing is stored, in no database either", "ignored", ignored)
		}
		return nil, nil
	}
	config := stores.Config{Owner: datafolder.Annotator, Logger: log}
	if s.Stores.IsDatabase() || s.Stores.Store() == "" && s.database.used() {
		database, err := s.database.config(s.Stores)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.database.names(s.Stores), err)
		}
		config.Database, config.DatabaseFlags = &database, s.database.names(s.Stores)
	}
	return s.Stores.Open(ctx, config)
}

// Prepare implements host.Preparer.
func (s *settings) Prepare(ctx context.Context, env *host.Env) error {
	s.Instance = s.instanceAt(s.web.Addr())
	if env.Stores != nil && env.Stores.Shared {
		if err := manager.CheckInstance(s.Instance); err != nil {
			return err
		}
	}
	return s.Annotation.Prepare(ctx, env)
}

// Open implements host.Opener.
func (s *settings) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	env.Logger.Info("starting", "instance", s.Instance)
	return s.Annotation.Open(ctx, env)
}

// address is where the REST interface listens.
func (s *settings) address() string {
	return cmp.Or(s.web.Address, net.JoinHostPort(s.restHost, strconv.Itoa(s.restPort)))
}

// instanceAt returns the name of this annotator, whose REST interface is at the
// address.
func (s *settings) instanceAt(address net.Addr) string {
	if s.Instance != "" {
		return s.Instance
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "localhost"
	}
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return machine
	}
	return net.JoinHostPort(machine, port)
}
