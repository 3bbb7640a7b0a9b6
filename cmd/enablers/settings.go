package main

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/models"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `enablers runs every building block in one process: the annotator, the model
repository, the training collector with an FL repository, API management, an MQTT
broker, multi-link with links in memory, and a console page that shows them. It
needs nothing to be set up and no rights over the machine, and is for trying
things out; for production run the servers by themselves.

` + transfer.About

// settings are the values of flags, environment and file, and the blocks that have them.
type settings struct {
	*host.Flags
	web, mqtt  *host.Listener
	annotation *annotation.Annotation
	models     models.Models
	training   collector.Collector
	apis       management.Management
	library    *library
	links      bonding
	broker     *broker
	events     overview.Events
	guide      []command
	mqttRemote bool
	data       string
	demo       bool
	demoRate   int
}

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	f := host.NewFlags("enablers", "ENABLERS", about)
	f.Commands = transfer.Completions()
	s := &settings{Flags: f}
	s.web = f.Listener("listen", "127.0.0.1:8080", "console and annotator",
		"`HOST:PORT` of the console and the annotator; port 0 takes any that is free")
	s.models.Listener = f.Listener("modelrepo", "127.0.0.1:8081", "model repository",
		"`HOST:PORT` of the model repository; port 0 takes any that is free")
	t := &s.training
	t.Web = f.Listener("flcollector", "127.0.0.1:8000", "training collector and FL repository",
		"`HOST:PORT` of the training collector and the FL repository; port 0 takes any that is free")
	t.Clients = f.Listener("flcollector-grpc", "127.0.0.1:8088", "Flower clients",
		"`HOST:PORT` for Flower clients; port 0 takes any that is free")
	t.Fleet = collector.NewFleet(f, "flcollector-fleet")
	f.StringVar(&t.Fleet.Address, "flcollector-fleet", collector.DefaultFleet,
		"`HOST:PORT` for SuperNodes of Flower, over HTTP and gRPC; port 0 takes any that is free, and empty takes none of them. "+
			"If the port of the default is taken, the rest goes on without")
	s.apis.Portal = f.Listener("apimanager", "127.0.0.1:8999", "API portal",
		"`HOST:PORT` of API management's portal; port 0 takes any that is free")
	s.apis.Gateway = f.Listener("gateway", "127.0.0.1:8100", "API gateway", "`HOST:PORT` of its gateway; port 0 takes any that is free")
	s.apis.Gateway.Unguarded = true // its APIs have plugins for that
	s.apis.Admin = f.Listener("gateway-admin", "127.0.0.1:8101", "gateway admin",
		"`HOST:PORT` of the gateway's admin API and page; port 0 takes any that is free")
	s.links.web = [2]*host.Listener{
		f.Listener("multilink", "127.0.0.1:3333", "multi-link server, in memory",
			"`HOST:PORT` of a multi-link server, whose links are in memory; port 0 takes any that is free"),
		f.Listener("multilink-client", "127.0.0.1:3334", "multi-link client, in memory",
			"`HOST:PORT` of the client that is attached to it; port 0 takes any that is free"),
	}
	s.mqtt = f.Listener("mqtt", "127.0.0.1:1883", "MQTT broker", "`HOST:PORT` of the MQTT broker; port 0 takes any that is free")
	s.mqtt.Open, s.mqtt.Unguarded = s.listenMQTT, true // the broker does not identify its clients
	f.BoolVar(&s.mqttRemote, "mqtt-remote", false, "let other machines use the MQTT broker, which requires no authentication")
	s.annotation = annotation.Declare(f,
		"a `secret` of 32 bytes that encrypts stored user names and passwords; empty means a generated one in the "+
			"file annotator/encryption-secret of -data")
	s.annotation.Instance, s.annotation.Listener = "annotator", s.web
	f.StringVar(&s.data, "data", "./data",
		"`folder` where everything is stored, except the messages of the MQTT broker and the configuration of multi-link")
	f.BoolVar(&s.demo, "demo", false,
		"keep all blocks busy until interrupted: messages, uploads, a training, calls of an API, and a link that is cut every 20 s")
	f.IntVar(&s.demoRate, "demo-rate", 50, "`messages` per second and format of -demo; 0 means as many as the channels annotate")
	private := f.Bool("private-upstreams", false,
		"let published definitions name this machine and private networks; the default is true while portal and gateway listen on loopback alone")
	t.AccessFlag = "flcollector-grpc-access"
	f.StringVar((*string)(&t.Access), t.AccessFlag, "",
		"`none` accepts every Flower client, whatever -access says, for clients that cannot send a token, such as those of the stock library")
	f.StringVar(&t.Apps, "flcollector-apps", "", "a `folder` of apps for SuperNodes, .fab files; a training job names one of them")
	f.StringVar(&t.Keys, "flcollector-fleet-keys", "",
		"a `file` with the public keys of the SuperNodes that may take part, one a line as ssh-keygen -t ecdsa writes it, or in PEM")
	f.AccessLog()
	return s, f.Read(args, func() {
		if f.Given("private-upstreams") {
			s.apis.PrivateUpstreams = private
		}
		s.check()
	})
}

// check notes what cannot work, and completes what the settings imply.
func (s *settings) check() {
	if s.data == "" {
		s.Wrong("data", "expected a folder")
	}
	s.links.open, s.links.dir = s.Door.IsOpen(), filepath.Join(s.data, "multilink-demo")
	s.Between("demo-rate", int64(s.demoRate), 0, 100_000)
	s.annotation.Check()
	if err := s.training.Access.Check(); err != nil {
		s.Wrong(s.training.AccessFlag, "%w", err)
	}
}

// listenMQTT opens the broker's listener. Other machines can reach it only with
// -mqtt-remote.
func (s *settings) listenMQTT() (net.Listener, error) {
	listener, err := s.Bound.ListenLong(s.mqtt.Flag, s.mqtt.Address)
	if err != nil {
		return nil, err
	}
	if !server.IsLoopback(listener) && !s.mqttRemote {
		_ = listener.Close() // never used
		return nil, cli.Usage(fmt.Errorf("-mqtt %q: the broker requires no authentication and therefore listens on loopback only; "+
			"-mqtt-remote opens it to other machines", s.mqtt.Address))
	}
	return listener, nil
}
