package main

import (
	"fmt"
	"net"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `enablers runs every building block in one process: the annotator, the model
repository, the training collector with an FL repository, API management, an MQTT
broker, multi-link with links in memory, and a console page that shows them. It
needs nothing to be set up and no rights over the machine, and is made for trying
things out; for production run the servers by themselves.

` + transfer.About

// settings are the values of flags, environment and file.
type settings struct {
	connections *server.Connections
	listen      string
	brokers     *annotation.Brokers
	models      string
	collector   string
	clients     string
	fleet       string
	fleetGiven  bool   // by whatever means
	fleetKeys   string // a file
	apps        string // a folder
	portal      string
	gateway     string
	admin       string
	bonding     string
	attached    string
	mqtt        string
	mqttRemote  bool
	data        string
	secret      string
	functions   string
	demo        bool
	demoRate    int
	// private is whether published definitions may name this machine and private networks,
	// nil if it is not set.
	private *bool
	// clientAccess says whether every Flower client may train.
	clientAccess collector.ClientAccess
	door         *door.Settings
}

// readSettings reads and checks the settings. The flags are returned for -h.
func readSettings(args []string) (settings, *server.Flags, error) {
	var s settings
	f := server.NewFlags("enablers", "ENABLERS", about)
	f.Commands = transfer.Completions()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`HOST:PORT` of the console and the annotator; port 0 takes any that is free")
	f.StringVar(&s.models, "modelrepo", "127.0.0.1:8081", "`HOST:PORT` of the model repository; port 0 takes any that is free")
	f.StringVar(&s.collector, "flcollector", "127.0.0.1:8000",
		"`HOST:PORT` of the training collector and the FL repository; port 0 takes any that is free")
	f.StringVar(&s.clients, "flcollector-grpc", "127.0.0.1:8088", "`HOST:PORT` for Flower clients; port 0 takes any that is free")
	f.StringVar(&s.fleet, "flcollector-fleet", collector.DefaultFleet,
		"`HOST:PORT` for SuperNodes of Flower, over HTTP and gRPC; port 0 takes any that is free, and empty takes none of them. "+
			"If the port of the default is taken, the rest goes on without")
	f.StringVar(&s.portal, "apimanager", "127.0.0.1:8999", "`HOST:PORT` of API management's portal; port 0 takes any that is free")
	f.StringVar(&s.gateway, "gateway", "127.0.0.1:8100", "`HOST:PORT` of its gateway; port 0 takes any that is free")
	f.StringVar(&s.admin, "gateway-admin", "127.0.0.1:8101", "`HOST:PORT` of the gateway's admin API and page; port 0 takes any that is free")
	f.StringVar(&s.bonding, "multilink", "127.0.0.1:3333",
		"`HOST:PORT` of a multi-link server, whose links are in memory; port 0 takes any that is free")
	f.StringVar(&s.attached, "multilink-client", "127.0.0.1:3334",
		"`HOST:PORT` of the client that is attached to it; port 0 takes any that is free")
	f.StringVar(&s.mqtt, "mqtt", "127.0.0.1:1883", "`HOST:PORT` of the MQTT broker; port 0 takes any that is free")
	f.BoolVar(&s.mqttRemote, "mqtt-remote", false, "let other machines use the MQTT broker, which requires no authentication")
	s.brokers = annotation.DeclareBrokers(f)
	f.StringVar(&s.functions, "functions", "", mappingfunctions.Usage)
	f.StringVar(&s.data, "data", "./data",
		"`folder` where everything is stored, except the messages of the MQTT broker and the configuration of multi-link")
	f.StringVar(&s.secret, "encryption-auth-secret", "",
		"a `secret` of 32 bytes that encrypts stored user names and passwords; empty means a generated one in the "+
			"file annotator/encryption-secret of -data")
	f.BoolVar(&s.demo, "demo", false,
		"keep all blocks busy until interrupted: messages, uploads, a training, calls of an API, and a link that is cut every 20 s")
	f.IntVar(&s.demoRate, "demo-rate", 50, "messages a second and format of -demo; 0 sends as `many` as come back")
	s.connections = f.Connections()
	private := f.Bool("private-upstreams", false,
		"let published definitions name this machine and private networks; the default is true while portal and gateway listen on loopback alone")
	f.StringVar((*string)(&s.clientAccess), "flcollector-grpc-access", "",
		"`none` lets every Flower client train, whatever -access says, for clients that can send no token, such as those of the stock library")
	f.StringVar(&s.apps, "flcollector-apps", "", "a `folder` of apps for SuperNodes, .fab files; a training job names one of them")
	f.StringVar(&s.fleetKeys, "flcollector-fleet-keys", "",
		"a `file` with the public keys of the SuperNodes that may take part, one a line as ssh-keygen -t ecdsa writes it, or in PEM")
	s.door = door.Declare(f)
	f.Logging("log/enablers.log")
	f.AccessLog()
	f.Lifecycle()
	err := f.Parse(args)
	s.fleetGiven = f.Given("flcollector-fleet")
	if f.Given("private-upstreams") {
		s.private = private
	}
	if err == nil {
		err = s.check()
	}
	return s, f, err
}

func (s *settings) check() error {
	const fastest = 100_000
	if s.demoRate < 0 || s.demoRate > fastest {
		return fmt.Errorf("-demo-rate: expected 0 to %d, got %d", fastest, s.demoRate)
	}
	if n := len(s.secret); n != 0 && n != manager.SecretLength {
		return fmt.Errorf("-encryption-auth-secret: expected %d bytes, got %d", manager.SecretLength, n)
	}
	if err := s.clientAccess.Check(); err != nil {
		return fmt.Errorf("-flcollector-grpc-access: %w", err)
	}
	return s.door.Check()
}

// listenMQTT opens the broker's listener. Other machines can reach it only with
// -mqtt-remote.
func (s *settings) listenMQTT() (net.Listener, error) {
	listener, err := s.connections.ListenLong("mqtt", s.mqtt)
	if err != nil {
		return nil, err
	}
	if !server.IsLoopback(listener) && !s.mqttRemote {
		_ = listener.Close() // never used
		return nil, cli.Usage(fmt.Errorf("-mqtt %q: the broker requires no authentication and therefore listens on loopback only; "+
			"-mqtt-remote opens it to other machines", s.mqtt))
	}
	return listener, nil
}
