package sparql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
	"github.com/iotenablers/enablers/annotate/internal/option"
	"github.com/iotenablers/enablers/annotate/internal/sink"
)

// The defaults of Options.
const (
	DefaultRequestTimeout = 30 * time.Second
	DefaultBatchMessages  = 256
	DefaultBatchBytes     = 1 << 20
	DefaultRetryMin       = 200 * time.Millisecond
	DefaultRetryMax       = 5 * time.Second
)

// Options tunes a Broker. The zero value is ready for use. Durations, sizes and counts that
// are zero or negative mean their defaults.
type Options struct {
	// TLS is used with https. Nil means the system's roots.
	TLS *tls.Config
	// Hosts are the hosts that topic settings may name. [Driver] refuses settings with any
	// other, and no connection to one is opened. Nil means all.
	Hosts *annotate.BrokerHosts
	// Dial opens network connections. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RequestTimeout bounds one request.
	RequestTimeout time.Duration
	// BatchMessages and BatchBytes bound the messages of one Update request. One message
	// always fits.
	BatchMessages, BatchBytes int
	// RetryMin and RetryMax are the shortest and the longest pause before a request that
	// failed is repeated.
	RetryMin, RetryMax time.Duration
}

// Broker opens connections to the stores that topic settings name. It is safe for concurrent
// use, and keeps idle connections for a minute at most.
type Broker struct {
	opts   Options
	client *http.Client
}

var _ annotate.Broker = (*Broker)(nil)

// New returns a Broker. It connects to nothing. opts may be nil. Redirects to other hosts are
// refused, and proxies of the environment are not used.
func New(opts *Options) *Broker {
	b := &Broker{}
	if opts != nil {
		b.opts = *opts
	}
	o := &b.opts
	o.RequestTimeout = option.Positive(o.RequestTimeout, DefaultRequestTimeout)
	o.BatchMessages = option.Positive(o.BatchMessages, DefaultBatchMessages)
	o.BatchBytes = option.Positive(o.BatchBytes, DefaultBatchBytes)
	o.RetryMin = option.Positive(o.RetryMin, DefaultRetryMin)
	o.RetryMax = max(option.Positive(o.RetryMax, DefaultRetryMax), o.RetryMin)
	b.client = endpoint.NewClient(endpoint.ClientConfig{TLS: o.TLS, Hosts: o.Hosts, Dial: o.Dial, Timeout: o.RequestTimeout, Idle: parallel})
	return b
}

// Subscribe implements annotate.Broker: a store cannot be subscribed to.
func (b *Broker) Subscribe(context.Context, annotate.Topic, annotate.ConnectOptions) (annotate.Subscription, error) {
	return nil, errors.New("a SPARQL store can only be the output of a channel")
}

// Connect implements annotate.Broker. It checks the address and the right to write by an
// update that changes nothing, or by an empty graph that is removed again.
func (b *Broker) Connect(ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error) {
	if topic.Broker != Type {
		return nil, fmt.Errorf("connect to topic %q: broker type %q is not %s", topic.Name, topic.Broker, Type)
	}
	if err := (settingsDriver{b.opts.Hosts}).Check(topic, annotate.OutputTopic); err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Name, err)
	}
	settings := topic.Settings.(Settings)
	e := &store{
		Endpoint: endpoint.Endpoint{Client: b.client, Timeout: b.opts.RequestTimeout, Settings: settings.endpoint(),
			Permit: opts.Permit}, topic: topic.Name,
	}
	var writer sink.Writer = &updates{e}
	var err error
	if settings.Protocol == GraphStore {
		writer = &graphs{e}
		probe := graphName(topic.Name, "connection-check")
		if err = e.put(ctx, probe, nil, annotate.Trace{}); err == nil {
			err = e.remove(ctx, probe)
		}
	} else {
		err = e.update(ctx, []byte("INSERT DATA { }"), annotate.Trace{})
	}
	if err != nil {
		return nil, fmt.Errorf("connect to topic %q at %v: %w", topic.Name, settings, endpoint.Unavailable(err))
	}
	return sink.Start(writer, sink.Config{
		Topic: topic.Name, Window: opts.Window, Permit: opts.Permit,
		BatchMessages: b.opts.BatchMessages, BatchBytes: b.opts.BatchBytes,
		RetryMin: b.opts.RetryMin, RetryMax: b.opts.RetryMax,
	}), nil
}
