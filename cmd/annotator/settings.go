package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/cmd/internal/brokerhosts"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `annotator turns JSON, CSV and XML messages into RDF, from broker to broker. It
serves the REST interface for its channels, documented at /swagger/.

Names and defaults are those of its specification, with one exception: the log
level is info, because debug is not recommended in production.`

// settings are what the flags, the environment and the file say, by section 8
// of the specification.
type settings struct {
	connections      *server.Connections
	listen, restHost string
	restPort         int
	stores           *stores.Settings
	standalone       bool
	restoreStopped   bool
	secret           string
	database         database
	brokerCA         string
	brokerHosts      *brokerhosts.Flag
	functions        string
	instance         string // empty until the listener is known, unless given
	lease            time.Duration
	maxShutdown      time.Duration
	defaults         annotate.Defaults
	mqtt             mqtt.Defaults
	kafka            kafka.Defaults
	door             *door.Settings
}

// readSettings reads and checks the settings. The flags are returned for -h.
func readSettings(args []string) (settings, *server.Flags, error) {
	var s settings
	flags := s.declare()
	err := flags.Parse(args)
	if err == nil {
		err = s.check(flags)
	}
	return s, flags, err
}

func (s *settings) declare() *server.Flags {
	f := server.NewFlags("annotator", "ANNOTATOR", about)
	f.StringVar(&s.listen, "listen", "",
		"`HOST:PORT` of the REST interface; goes before -rest-host and -rest-port; port 0 takes any that is free")
	f.StringVar(&s.restHost, "rest-host", "0.0.0.0", "`host` of the REST interface")
	f.IntVar(&s.restPort, "rest-port", 8080, "`port` of the REST interface")
	s.stores = stores.Declare(f, stores.Texts{
		Data: "./data/annotator", NoBlobs: true, NoTimeout: true,
		Note: " The -db flags say the same of a MongoDB, and complete -store with a user and a password.",
	})
	s.database.declare(f)
	f.BoolVar(&s.standalone, "standalone-mode", false, "keep nothing: channels end with the process, and there are no annotations")
	f.BoolVar(&s.restoreStopped, "restore-stopped", false, "bring stored channels back stopped, instead of as they were")
	f.StringVar(&s.secret, "encryption-auth-secret", "",
		"a `secret` of 32 bytes that encrypts stored user names and passwords; empty means a generated one in the "+
			"file encryption-secret of -data, and none with MongoDB; better given by the environment, since others can see flags")
	f.StringVar(&s.instance, "instance", "",
		"`name` of this annotator among several on one database; by default the machine's name and the port of the REST interface")
	f.DurationVar(&s.lease, "lease", 1500*time.Millisecond,
		"how long an annotator that shares a database may be silent before others take its channels over; longer for a slow database")
	f.DurationVar(&s.maxShutdown, "max-shutdown", 20*time.Second, "how long stopping the channels may take")

	d := &s.defaults
	f.IntVar(&d.Parallelism, "parallelism", 2, "mappers of a channel that does not say how `many`")
	f.IntVar(&d.BufferSize, "buffer-size", 10, "messages that wait for each mapper of a channel that does not say how `many`")
	f.StringVar(&s.mqtt.Protocol, "mqtt-protocol", "tcp", "`protocol` for topics without mqttSettings: tcp, mqtt, ssl, tls or mqtts")
	f.StringVar(&s.mqtt.Host, "mqtt-host", "127.0.0.1", "`host` for topics without mqttSettings")
	f.IntVar(&s.mqtt.Port, "mqtt-port", 1883, "`port` for topics without mqttSettings")
	f.StringVar(&s.brokerCA, "broker-ca", "",
		"a PEM `file` of certificate authorities that brokers over TLS may have besides those of the system")
	s.brokerHosts = brokerhosts.Declare(f)
	f.StringVar(&s.functions, "functions", "", mappingfunctions.Usage)
	f.StringVar(&s.kafka.Host, "kafka-host", "127.0.0.1", "`host` for topics without kafkaSettings")
	f.IntVar(&s.kafka.Port, "kafka-port", 9093, "`port` for topics without kafkaSettings")
	for _, id := range []struct {
		to                   *string
		flag, prefix, topics string
	}{
		{&s.mqtt.ClientIDs.Input, "mqtt-input-client-id", "semann/source", "input"},
		{&s.mqtt.ClientIDs.Output, "mqtt-output-client-id", "semann/sink", "output"},
		{&s.mqtt.ClientIDs.Error, "mqtt-error-client-id", "semann/error", "error"},
		{&s.mqtt.ClientIDs.MonitorInput, "mqtt-monitor-input-client-id", "semann/monitor/input", "input monitoring"},
		{&s.mqtt.ClientIDs.MonitorOutput, "mqtt-monitor-output-client-id", "semann/monitor/output", "output monitoring"},
	} {
		f.StringVar(id.to, id.flag, id.prefix, "`prefix` of the client identifiers made for "+id.topics+" topics")
	}
	s.connections = f.Connections()
	s.door = door.Declare(f)
	f.Logging("log/annotator.log")
	f.Lifecycle()
	return f
}

// check refuses what cannot work, in the order of the flags in -h.
func (s *settings) check(f *server.Flags) error {
	var errs []error
	between := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("-%s (%s): expected %d to %d, got %d", name, f.Variable(name), least, most, value))
		}
	}
	between("rest-port", s.restPort, 0, 65535)
	between("parallelism", s.defaults.Parallelism, 1, 256)
	between("buffer-size", s.defaults.BufferSize, 1, 65536)
	between("mqtt-port", s.mqtt.Port, 1, 65535)
	between("kafka-port", s.kafka.Port, 1, 65535)
	if s.lease < manager.MinLease || s.lease > manager.MaxLease {
		errs = append(errs, fmt.Errorf("-lease (%s): expected %v to %v, got %v",
			f.Variable("lease"), manager.MinLease, manager.MaxLease, s.lease))
	}
	if s.maxShutdown <= 0 {
		errs = append(errs, fmt.Errorf("-max-shutdown (%s): expected more than nothing, got %v", f.Variable("max-shutdown"), s.maxShutdown))
	}
	if n := len(s.secret); n != 0 && n != manager.SecretLength {
		errs = append(errs, fmt.Errorf("-encryption-auth-secret (%s): expected %d bytes, got %d",
			f.Variable("encryption-auth-secret"), manager.SecretLength, n))
	}
	protocols := []string{"tcp", "mqtt", "ssl", "tls", "mqtts"}
	if !slices.Contains(protocols, s.mqtt.Protocol) {
		errs = append(errs, fmt.Errorf("-mqtt-protocol (%s): expected one of %s, got %q",
			f.Variable("mqtt-protocol"), strings.Join(protocols, ", "), s.mqtt.Protocol))
	}
	return errors.Join(append(errs, s.database.check(f, s.stores), s.door.Check())...)
}

// allowedBrokers returns the brokers that channels may use. The default brokers are among
// them if a setting names them.
func (s *settings) allowedBrokers(f *server.Flags) (*annotate.BrokerHosts, error) {
	var also []brokerhosts.Address
	if f.Given("mqtt-host") || f.Given("mqtt-port") {
		also = append(also, brokerhosts.Address{Host: s.mqtt.Host, Port: s.mqtt.Port})
	}
	if f.Given("kafka-host") || f.Given("kafka-port") {
		also = append(also, brokerhosts.Address{Host: s.kafka.Host, Port: s.kafka.Port})
	}
	return s.brokerHosts.Hosts(also...)
}

// address is where the REST interface listens.
func (s *settings) address() string {
	return cmp.Or(s.listen, net.JoinHostPort(s.restHost, strconv.Itoa(s.restPort)))
}

// instanceAt returns the name of this annotator, whose REST interface is at the
// address.
func (s *settings) instanceAt(address net.Addr) string {
	if s.instance != "" {
		return s.instance
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
