// Package annotation is the semantic annotator as a block of a server: its drivers, its REST
// interface, its pages and its state, over the stores of the server.
package annotation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

// The name of the block in headers and overviews, and the folder of its pages.
const (
	Name   = "Annotation"
	folder = "annotation/"
)

// Annotation is the annotator as a [host.Opener]. Create one with [Declare].
type Annotation struct {
	// Config configures the manager. Open sets what is not a setting.
	manager.Config
	// MQTT and Kafka are for topics that do not say where their broker is.
	MQTT  mqtt.Defaults
	Kafka kafka.Defaults
	// Allowed are brokers that the operator has named, besides those of the flag broker-hosts.
	Allowed []Address
	// BrokerCA is a PEM file of authorities of brokers, besides those of the system. Empty means
	// none.
	BrokerCA string
	// Listener has the REST interface.
	Listener *host.Listener
	// Manager and Broker are set by Open.
	Manager *manager.Manager
	Broker  *mqtt.Broker

	flags   *host.Flags
	brokers *Brokers
	modules string
	trust   *tls.Config // nil means the authorities of the system
}

const secretFlag = "encryption-auth-secret"

// Declare declares the flags broker-hosts, functions and encryption-auth-secret, whose usage is
// given.
func Declare(f *host.Flags, secretUsage string) *Annotation {
	a := &Annotation{flags: f, brokers: DeclareBrokers(f.Flags)}
	f.StringVar(&a.modules, "functions", "", mappingfunctions.Usage)
	f.StringVar(&a.Secret, secretFlag, "", secretUsage)
	return a
}

// Check notes values of the flags that cannot work.
func (a *Annotation) Check() {
	if n := len(a.Secret); n != 0 && n != manager.SecretLength {
		a.flags.Wrong(secretFlag, "expected %d bytes, got %d", manager.SecretLength, n)
	}
}

// ReadFiles implements host.FileReader.
func (a *Annotation) ReadFiles(ctx context.Context, env *host.Env) error {
	if _, err := a.brokers.Hosts(a.Allowed...); err != nil {
		return err
	}
	if a.BrokerCA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // the system has none
		}
		a.trust = &tls.Config{RootCAs: roots}
		if err := host.Authorities(roots, "broker-ca", a.BrokerCA); err != nil {
			return err
		}
	}
	functions, err := mappingfunctions.Open(ctx, a.modules)
	if err != nil {
		return cli.Usage(fmt.Errorf("-functions: %w", err))
	}
	env.Closing(functions.Close)
	a.Functions = functions.Functions()
	return nil
}

// Prepare implements host.Preparer. It reads the secret of a folder, or generates it. It generates
// none for a database, which other programs may have to read.
func (a *Annotation) Prepare(ctx context.Context, env *host.Env) (err error) {
	kept, setting := env.Stores, a.flags.Variable(secretFlag)
	switch {
	case kept == nil:
		a.Secret = ""
		return nil
	case kept.Folder() != nil:
		a.Secret, err = Unlock(ctx, SecretConfig{
			Documents: kept.Documents, Dir: kept.Dir, Secret: a.Secret, Setting: setting, Logger: env.Logger,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", kept.Flag, err)
		}
	case kept.Shared && a.Secret == "":
		env.Logger.Warn("no encryption secret: user names and passwords of channels are stored in clear in the database", "set", setting)
	}
	return nil
}

// Open implements host.Opener.
func (a *Annotation) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	hosts, err := a.brokers.Hosts(a.Allowed...)
	if err != nil {
		return nil, err
	}
	options := &rest.HandlerOptions{Version: version.String(), Hosts: env.Hosts, Authorize: env.Door.Authorizer(), Logger: env.Logger}
	if kept := env.Stores; kept != nil {
		a.Documents, a.Shared = kept.Documents, kept.Shared
		if kept.Shared {
			options.DatabaseHost, options.DatabasePort = address(kept.Hosts())
		}
	}
	a.Broker = mqtt.New(&mqtt.Options{Hosts: hosts, TLS: a.trust, Logger: env.Logger})
	a.Drivers = []annotate.Driver{
		mqtt.Driver(a.Broker, &a.MQTT),
		kafka.Driver(kafka.New(&kafka.Options{Hosts: hosts, TLS: a.trust, Logger: env.Logger}), &a.Kafka),
		ngsild.Driver(ngsild.New(&ngsild.Options{Hosts: hosts, TLS: a.trust})),
		sparql.Driver(sparql.New(&sparql.Options{Hosts: hosts, TLS: a.trust})),
	}
	a.TracerProvider = server.TracerProvider(ctx)
	a.Logger = env.BlockLogger(overview.Source{Block: Name, Href: overview.Page(folder, "channels/", "channel")})
	if a.Manager, err = manager.New(a.Config); err != nil {
		return nil, err
	}
	a.brokers.WarnIfOpen(env.Logger, a.Listener)
	return &host.Block{
		Routes:   rest.NewHandler(a.Manager, options),
		Pages:    []console.Part{{Section: Name, Path: "annotation", Handler: page.NewHandler(a.Manager, options)}},
		Run:      []server.Part{{Name: "annotate", Run: a.Manager.Run, Ready: a.Manager.Err}},
		Overview: func() overview.Block { return a.overview(env.Door.URL(a.Listener)) },
	}, nil
}

// address returns the host and port of a database, for the REST interface. The hosts of a
// replica set are one text, without a port.
func address(hosts string) (name string, port int) {
	name, number, err := net.SplitHostPort(hosts)
	if err == nil {
		port, err = strconv.Atoi(number)
	}
	if err != nil {
		return hosts, 0
	}
	return name, port
}

// overview describes the block, whose interface is at an address.
func (a *Annotation) overview(address string) overview.Block {
	total := 0
	counts := manager.CountStates(a.Manager.All())
	for _, n := range counts {
		total += n
	}
	state := func(s manager.State) overview.Fact {
		return overview.Fact{Name: string(s), Value: uint64(counts[s]), Href: folder + "?state=" + string(s)}
	}
	b := overview.Block{
		Name: Name, Summary: "Turns JSON, CSV and XML messages into RDF, from broker to broker.",
		Href: folder, Address: address,
		Links: []overview.Link{{Text: "Interface", Href: "/swagger/"}, {Text: "Metrics", Href: "/metrics"}},
		Facts: []overview.Fact{
			{Name: "channels", Value: uint64(total), Href: folder},
			state(manager.StateRunning), state(manager.StateWaiting), state(manager.StateFailed),
		},
	}
	if err := a.Manager.Err(); err != nil {
		b.Fault = err.Error()
	}
	return b
}
