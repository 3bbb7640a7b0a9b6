package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `flcollector is the server of federated learning: Flower clients train, it
aggregates what they send, and the result goes to an FL repository, its own
unless another is named. Its REST interface is documented at /docs.`

// settings are the values of flags, environment and file.
type settings struct {
	connections              *server.Connections
	listen, grpcListen       string
	host                     string
	port, federatedPort      int
	fleet                    fleetSettings
	fleetGiven               bool // -fleet, by whatever means
	models                   string
	stores                   *stores.Settings
	repository, orchestrator string
	tokens                   tokens
	cert, key, clientCA      string
	clientAccess             collector.ClientAccess
	maxMessage, uploads      int64
	maxContext               int64
	clientTimeout, parkedFor time.Duration
	clip, trustClients       bool
	noAudit                  bool
	noEdges                  bool
	demo                     bool
	demoPause                time.Duration
	upstream                 upstreamSettings
	shared                   sharedSettings
	door                     *door.Settings
}

// tokens are for the FL repository and the orchestrator.
type tokens struct{ repository, orchestrator string }

// readSettings reads and checks the settings. The flags are returned for -h.
func readSettings(args []string) (settings, *server.Flags, error) {
	var s settings
	f := s.declare()
	err := f.Parse(args)
	s.fleetGiven = f.Given("fleet")
	if err == nil {
		err = s.check(f)
	}
	if err == nil && s.demo && !f.Given("log-level") {
		err = f.Set("log-level", "warn") // the demonstration says itself how rounds go
	}
	return s, f, err
}

// declare declares the flags. Variables without the prefix are those that the
// specification names, or that deployments of the original service set.
func (s *settings) declare() *server.Flags {
	f := server.NewFlags("flcollector", "FLCOLLECTOR", about)
	f.StringVar(&s.listen, "listen", "", "`HOST:PORT` of the REST interface; goes before -host and -port; port 0 takes any that is free")
	f.StringVar(&s.grpcListen, "grpc-listen", "",
		"`HOST:PORT` for Flower clients; goes before -host and -federated-port; port 0 takes any that is free")
	f.StringVar(&s.host, "host", "127.0.0.1", "`host` of both")
	f.IntVar(&s.port, "port", 8000, "`port` of the REST interface")
	f.IntVar(&s.federatedPort, "federated-port", 8088, "`port` for Flower clients")
	s.fleet.declare(f)
	s.stores = stores.Declare(f, stores.Texts{
		Data: "./data/flcollector", Note: " Several collectors may use one database, and other blocks may have theirs in it.",
	})
	f.StringVar(&s.repository, "repository-address", "", "`URL` of the FL repository; empty means the one inside this server")
	f.StringVar(&s.orchestrator, "orchestrator-address", "",
		"`URL` of the FL orchestrator that receives the progress of trainings; empty means none")
	f.StringVar(&s.tokens.repository, "repository-token", "",
		"the `token` for -repository-address, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&s.tokens.orchestrator, "orchestrator-token", "",
		"the `token` for -orchestrator-address, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&s.models, "models", "",
		"a `folder` with parameters that jobs begin with, those of a model in MODEL/VERSION.npz; what is not there "+
			"comes from the repository, or else from a client")
	f.StringVar(&s.cert, "grpc-cert", "",
		"a PEM `file` with the certificate for Flower clients, and those between it and its authority; clients then need "+
			"TLS. Empty means that of -tls-cert")
	f.StringVar(&s.key, "grpc-key", "", "the PEM `file` with its key")
	f.StringVar(&s.clientCA, "grpc-client-ca", "",
		"a PEM `file` of authorities; only clients with a certificate of one of them are let in, and go by its name; they need no token")
	f.StringVar((*string)(&s.clientAccess), "grpc-access", "",
		"`none` lets every Flower client train, whatever -access says, for clients that can send no token, such as "+
			"those of the stock library; empty means that they prove who they are as all other callers do")
	f.Int64Var(&s.maxMessage, "max-message", flower.DefaultMaxMessage,
		"the largest message from and to a client in `bytes`; clients have a limit of their own")
	f.Int64Var(&s.uploads, "uploads", 64<<20,
		"how many `bytes` of updates are received at a time, or one that is larger; further clients wait. With "+
			"many slow clients and memory to spare, more is faster")
	f.Int64Var(&s.maxContext, "max-context", 64<<20,
		"the largest public context of homomorphic encryption that is stored for clients, in `bytes`")
	f.DurationVar(&s.clientTimeout, "client-timeout", 24*time.Hour, "how long a job waits for enough clients before it is interrupted")
	f.DurationVar(&s.parkedFor, "park", 5*time.Second, "after how long clients come back when the server was stopped")
	f.BoolVar(&s.clip, "clip", false,
		"cut updates that lie further from the model than 3 medians of a round, the more the further they lie, unless a job "+
			"says otherwise; by default those beyond 10 medians are reported and kept")
	f.BoolVar(&s.trustClients, "trust-clients", false,
		"measure no update, unless a job asks for it, and suspend no client; for clients that are all your own")
	f.BoolVar(&s.noAudit, "no-audit", false,
		"keep no audit log, and so digest no update, which takes a second of a core for each GB or so; reports of rounds there are all the same")
	f.BoolVar(&s.noEdges, "no-edges", false,
		"take no collectors as clients: any client may say that it is one, and what it sends is then not measured")
	f.BoolVar(&s.demo, "demo", false, "train a model with three clients inside this process, on data that come with it")
	f.DurationVar(&s.demoPause, "demo-pause", 3*time.Second,
		"how long a client of -demo waits before it trains in a round, so that one can watch; 0 does not wait")
	s.upstream.declare(f)
	s.shared.declare(f)
	s.connections = f.Connections()
	s.door = door.Declare(f)
	f.Logging("log/flcollector.log")
	f.Lifecycle()
	for name, variable := range map[string]string{
		"host": "HOST", "port": "PORT", "federated-port": "FEDERATED_PORT",
		"repository-address": "REPOSITORY_ADDRESS", "orchestrator-address": "ORCHESTRATOR_ADDRESS",
	} {
		f.SetVariable(name, variable)
	}
	return f
}

// check refuses what cannot work, in the order of the flags.
func (s *settings) check(f *server.Flags) error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("-%s (%s): %w", name, f.Variable(name), fmt.Errorf(format, args...)))
	}
	between := func(name string, value, least, most int64) {
		if value < least || value > most {
			wrong(name, "expected %d to %d, got %d", least, most, value)
		}
	}
	address := func(name, value string) {
		if value == "" {
			return
		}
		if at, err := url.Parse(value); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			wrong(name, "expected a URL such as http://HOST:PORT (not shown, for it may hold a secret)")
		}
	}
	between("port", int64(s.port), 0, 65535)
	between("federated-port", int64(s.federatedPort), 0, 65535)
	address("repository-address", s.repository)
	address("orchestrator-address", s.orchestrator)
	token := func(name, value, of, address string) {
		at, err := url.Parse(address)
		switch {
		case value != "" && address == "":
			wrong(name, "is set, but -%s (%s) is not", of, f.Variable(of))
		case err == nil && httpclient.CheckToken(value, at) != nil:
			wrong(name, "%w", httpclient.CheckToken(value, at))
		}
	}
	token("repository-token", s.tokens.repository, "repository-address", s.repository)
	token("orchestrator-token", s.tokens.orchestrator, "orchestrator-address", s.orchestrator)
	if s.models != "" {
		if _, err := os.ReadDir(s.models); err != nil {
			wrong("models", "%w", err)
		}
	}
	s.fleet.check(wrong)
	between("max-message", s.maxMessage, 1<<10, flower.MaxMessage)
	between("uploads", s.uploads, 1, 1<<62)
	between("max-context", s.maxContext, 1, 1<<32)
	if s.clientTimeout <= 0 {
		wrong("client-timeout", "expected more than nothing, got %v", s.clientTimeout)
	}
	if s.parkedFor < time.Second || s.parkedFor > 24*time.Hour {
		wrong("park", "expected 1s to 24h, got %v", s.parkedFor)
	}
	if s.clip && s.trustClients {
		wrong("clip", "-clip and -trust-clients exclude each other")
	}
	if (s.cert == "") != (s.key == "") {
		wrong("grpc-cert", "-grpc-cert and -grpc-key go together")
	}
	if s.clientCA != "" && s.cert == "" && s.door.TLS().Certificate == "" {
		wrong("grpc-client-ca", "certificates of clients need TLS: -grpc-cert and -grpc-key, or -tls-cert and -tls-key")
	}
	if err := s.clientAccess.Check(); err != nil {
		wrong("grpc-access", "%w", err)
	}
	if s.clientAccess != "" && s.clientCA != "" {
		wrong("grpc-access", "none cannot be given together with -grpc-client-ca, which asks for certificates")
	}
	if s.demoPause < 0 || s.demoPause > time.Minute {
		wrong("demo-pause", "expected 0s to 1m, got %v", s.demoPause)
	}
	if s.demo && (s.cert != "" || s.clientCA != "") {
		wrong("demo", "its clients know no TLS: leave out -grpc-cert and -grpc-client-ca")
	}
	s.upstream.check(wrong)
	s.shared.check(wrong)
	if s.upstream.target != "" && s.demo {
		wrong("demo", "its clients train for a collector without an upper one: leave out -upstream")
	}
	return errors.Join(append(errs, s.stores.Check(), s.door.Check())...)
}

// address is where the REST interface listens.
func (s *settings) address() string { return cmp.Or(s.listen, s.at(s.port)) }

// grpcAddress is where the server listens for Flower clients.
func (s *settings) grpcAddress() string { return cmp.Or(s.grpcListen, s.at(s.federatedPort)) }

func (s *settings) at(port int) string { return net.JoinHostPort(s.host, strconv.Itoa(port)) }
