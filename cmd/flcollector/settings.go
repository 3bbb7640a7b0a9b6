package main

import (
	"cmp"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `flcollector is the server of federated learning: Flower clients train, it
aggregates what they send, and the result goes to an FL repository, its own
unless another is named. Its REST interface is documented at /docs.`

// settings are the values of flags, environment and file. They are the block as a
// [host.Opener].
type settings struct {
	*host.Flags
	collector.Collector
	host                string
	port, federatedPort int
	upstream            upstreamSettings
	shared              sharedSettings
	demo                bool
	demoPause           time.Duration
	output              io.Writer // of the demonstration
}

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	s := declare()
	err := s.Read(args, s.check)
	if err == nil && s.demo && !s.Given("log-level") {
		err = s.Set("log-level", "warn") // the demonstration says itself how rounds go
	}
	return s, err
}

// declare declares the flags. Variables without the prefix are those that the
// specification names, or that deployments of the original service set.
func declare() *settings {
	f := host.NewFlags("flcollector", "FLCOLLECTOR", about)
	s := &settings{Flags: f, Collector: collector.Collector{
		Web: &host.Listener{Flag: "listen"}, Clients: &host.Listener{Flag: "grpc-listen", Silent: true},
		Fleet: collector.NewFleet(f, "fleet"), Certificate: server.TLS{Prefix: "grpc"}, AccessFlag: "grpc-access",
	}}
	f.StringVar(&s.Web.Address, "listen", "",
		"`HOST:PORT` of the REST interface; takes precedence over -host and -port; port 0 takes any that is free")
	f.StringVar(&s.Clients.Address, "grpc-listen", "",
		"`HOST:PORT` for Flower clients; takes precedence over -host and -federated-port; port 0 takes any that is free")
	f.StringVar(&s.host, "host", "127.0.0.1", "`host` of both")
	f.IntVar(&s.port, "port", 8000, "`port` of the REST interface")
	f.IntVar(&s.federatedPort, "federated-port", 8088, "`port` for Flower clients")
	f.StringVar(&s.Fleet.Address, "fleet", collector.DefaultFleet,
		"`HOST:PORT` for SuperNodes of Flower, over HTTP and gRPC; port 0 takes any that is free, and empty takes none of them. "+
			"If the port of the default is taken, the server goes on without")
	f.StringVar(&s.Apps, "apps", "",
		"a `folder` of apps for SuperNodes, .fab files as flwr build makes them; a job names one of them")
	f.StringVar(&s.Keys, "fleet-keys", "",
		"a `file` with the public keys of the SuperNodes that may take part, one a line as ssh-keygen -t ecdsa writes it, or in PEM; "+
			"it is read again at a SIGHUP. Without it all may where -access or -grpc-access asks clients for nothing, and otherwise none")
	f.DeclareStores(stores.Texts{
		Data: "./data/flcollector", Note: " Several collectors may use one database, and other blocks may have theirs in it.",
	}, drivers.All()...)
	f.StringVar(&s.Repository.BaseURL, "repository-address", "",
		"`URL` of the FL repository; empty means the one inside this server")
	f.StringVar(&s.Orchestrator.BaseURL, "orchestrator-address", "",
		"`URL` of the FL orchestrator that receives the progress of trainings; empty means none")
	f.StringVar(&s.Repository.Token, "repository-token", "",
		"the `token` for -repository-address, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&s.Orchestrator.Token, "orchestrator-token", "",
		"the `token` for -orchestrator-address, where it requires one; better given by the environment, since others can see flags")
	f.StringVar(&s.Models, "models", "",
		"a `folder` with parameters that jobs begin with, those of a model in MODEL/VERSION.npz; what is not there "+
			"comes from the repository, or else from a client")
	f.StringVar(&s.Certificate.Certificate, "grpc-cert", "",
		"a PEM `file` with the certificate for Flower clients, and those between it and its authority; clients then need "+
			"TLS. Empty means that of -tls-cert")
	f.StringVar(&s.Certificate.Key, "grpc-key", "", "the PEM `file` with its key")
	f.StringVar(&s.Certificate.ClientCA, "grpc-client-ca", "",
		"a PEM `file` of authorities; only clients with a certificate of one of them are accepted, under its name; they need no token")
	f.StringVar((*string)(&s.Access), s.AccessFlag, "",
		"`none` accepts every Flower client, whatever -access says, for clients that cannot send a token, such as "+
			"those of the stock library; empty means that they authenticate as all other callers do")
	f.Int64Var(&s.Gate.MaxMessage, "max-message", flower.DefaultMaxMessage,
		"the largest message from and to a client in `bytes`; clients have a limit of their own")
	f.Int64Var(&s.Gate.Uploads, "uploads", 64<<20,
		"how many `bytes` of updates are received at a time, or one that is larger; further clients wait. With "+
			"many slow clients and memory to spare, more is faster")
	f.Int64Var(&s.Training.MaxContext, "max-context", 64<<20,
		"the largest public context of homomorphic encryption that is stored for clients, in `bytes`")
	f.DurationVar(&s.Training.ClientTimeout, "client-timeout", 24*time.Hour,
		"how long a job waits for enough clients before it is interrupted")
	f.DurationVar(&s.Training.Park, "park", 5*time.Second, "after how long clients reconnect when the server was stopped")
	f.BoolVar(&s.Training.Clip, "clip", false,
		"cut updates that lie further from the model than 3 medians of a round, the more the further they lie, unless a job "+
			"says otherwise; by default those beyond 10 medians are reported and kept")
	f.BoolVar(&s.Training.TrustClients, "trust-clients", false,
		"measure no update, unless a job asks for it, and suspend no client; for clients that are all your own")
	f.BoolVar(&s.Training.NoAudit, "no-audit", false,
		"keep no audit log, and so digest no update, which takes a core about a second per GB; rounds have reports in any case")
	f.BoolVar(&s.Training.NoEdges, "no-edges", false,
		"refuse collectors as clients: any client may claim to be one, and its updates are then not measured")
	f.BoolVar(&s.demo, "demo", false, "train a model with three clients inside this process, on data that come with it")
	f.DurationVar(&s.demoPause, "demo-pause", 3*time.Second,
		"how long a client of -demo waits before it trains in a round, so that one can watch; 0 does not wait")
	s.upstream.declare(f)
	s.shared.declare(f, &s.Training)
	for name, variable := range map[string]string{
		"host": "HOST", "port": "PORT", "federated-port": "FEDERATED_PORT",
		"repository-address": "REPOSITORY_ADDRESS", "orchestrator-address": "ORCHESTRATOR_ADDRESS",
	} {
		f.SetVariable(name, variable)
	}
	return s
}

// check refuses what cannot work, and completes what the settings imply.
func (s *settings) check() {
	s.Between("port", int64(s.port), 0, 65535)
	s.Between("federated-port", int64(s.federatedPort), 0, 65535)
	s.checkService("repository", s.Repository.BaseURL, s.Repository.Token)
	s.checkService("orchestrator", s.Orchestrator.BaseURL, s.Orchestrator.Token)
	for name, folder := range map[string]string{"models": s.Models, "apps": s.Apps} {
		if folder == "" {
			continue
		}
		if _, err := os.ReadDir(folder); err != nil {
			s.Wrong(name, "%w", err)
		}
	}
	if s.Keys != "" && s.Fleet.Address == "" {
		s.Wrong("fleet-keys", "-fleet is empty, so there are no SuperNodes")
	}
	s.Between("max-message", s.Gate.MaxMessage, 1<<10, flower.MaxMessage)
	s.Between("uploads", s.Gate.Uploads, 1, 1<<62)
	t := &s.Training
	s.Between("max-context", t.MaxContext, 1, 1<<32)
	s.Positive("client-timeout", t.ClientTimeout)
	if t.Park < time.Second || t.Park > 24*time.Hour {
		s.Wrong("park", "expected 1s to 24h, got %v", t.Park)
	}
	if t.Clip && t.TrustClients {
		s.Wrong("clip", "-clip and -trust-clients exclude each other")
	}
	if s.demoPause < 0 || s.demoPause > time.Minute {
		s.Wrong("demo-pause", "expected 0s to 1m, got %v", s.demoPause)
	}
	s.checkClients()
	s.upstream.check(s.Flags)
	s.shared.check(s.Flags, t)
	if s.upstream.Target != "" {
		if s.demo {
			s.Wrong("demo", "its clients train for a collector without an upper one: leave out -upstream")
		}
		s.upstream.MaxMessage = s.Gate.MaxMessage
		t.Upstream = &s.upstream.Upstream
	}
}

// checkService notes what cannot work of the flags NAME-address and NAME-token.
func (s *settings) checkService(name, address, token string) {
	at, err := url.Parse(address)
	if address != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "") {
		s.Wrong(name+"-address", "expected a URL such as http://HOST:PORT (not shown, for it may hold a secret)")
	}
	switch of := name + "-address"; {
	case token != "" && address == "":
		s.Wrong(name+"-token", "is set, but -%s (%s) is not", of, s.Variable(of))
	case err == nil && httpclient.CheckToken(token, at) != nil:
		s.Wrong(name+"-token", "%w", httpclient.CheckToken(token, at))
	}
}

// checkClients notes what cannot work of the flags for Flower clients. What is missing of their
// certificate is that of the door.
func (s *settings) checkClients() {
	own, files := &s.Certificate, s.Door.TLS()
	if (own.Certificate == "") != (own.Key == "") {
		s.Wrong("grpc-cert", "-grpc-cert and -grpc-key go together")
	}
	if own.ClientCA != "" && own.Certificate == "" && files.Certificate == "" {
		s.Wrong("grpc-client-ca", "certificates of clients need TLS: -grpc-cert and -grpc-key, or -tls-cert and -tls-key")
	}
	if err := s.Access.Check(); err != nil {
		s.Wrong("grpc-access", "%w", err)
	}
	if s.Access != "" && own.ClientCA != "" {
		s.Wrong("grpc-access", "none cannot be given together with -grpc-client-ca, which asks for certificates")
	}
	if own.Certificate == "" && own.ClientCA == "" {
		return
	}
	if s.demo {
		s.Wrong("demo", "its clients know no TLS: leave out -grpc-cert and -grpc-client-ca")
	}
	own.ClientRequired = own.ClientCA != ""
	own.Certificate, own.Key = cmp.Or(own.Certificate, files.Certificate), cmp.Or(own.Key, files.Key)
	own.ClientCA = cmp.Or(own.ClientCA, files.ClientCA)
}

// address is where the REST interface listens.
func (s *settings) address() string { return cmp.Or(s.Web.Address, s.at(s.port)) }

// grpcAddress is where the server listens for Flower clients.
func (s *settings) grpcAddress() string { return cmp.Or(s.Clients.Address, s.at(s.federatedPort)) }

func (s *settings) at(port int) string { return net.JoinHostPort(s.host, strconv.Itoa(port)) }
