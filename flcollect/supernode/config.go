package supernode

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Defaults and bounds of a [Config].
const (
	// DefaultHold is how long a request for a message waits for one. SuperNodes give up
	// a request after 30 s, and pause for 3 s after an empty answer.
	DefaultHold = 20 * time.Second
	longestHold = 25 * time.Second

	defaultNodes   = 20_000
	defaultMessage = flower.DefaultMaxMessage
	defaultUploads = 1 << 30
	defaultObject  = defaultMessage
	defaultStall   = time.Minute
	defaultTTL     = 12 * time.Hour // as Flower's
	defaultGrace   = 10 * time.Second

	// The bounds of a heartbeat's interval are Flower's.
	defaultInterval  = 30 * time.Second
	shortestInterval = 10 * time.Second
	longestInterval  = 30 * time.Minute
)

// Caller is what the client end of a connection shows of itself, for
// Config.Authorize.
type Caller struct {
	// Address is its network address, host and port.
	Address string
	// TLS is the state of the connection; VerifiedChains has the client's certificate
	// with mutual TLS. Nil means that the connection is unencrypted.
	TLS *tls.ConnectionState
	// PublicKey is the key with which the SuperNode signs its requests; the signature
	// of this request was verified. SuperNodes that are started without
	// --auth-supernode-private-key make a new key at each start. Nil means a release
	// that does not sign (1.13 and 1.14).
	PublicKey *ecdsa.PublicKey
	// NodeID is the number of the node.
	NodeID uint64
}

// Config configures a [Server].
type Config struct {
	// Handle is called for each node that is active, in a goroutine of its own. Its
	// context ends when the node is gone, with the reason as the cause. The node stays
	// active after Handle has returned, and Handle is called again when the node is
	// activated anew. An error that matches [flower.ErrUnfit] refuses the node until
	// then: its process ends. Nil does nothing; [Server.Nodes] lists the nodes.
	Handle func(ctx context.Context, node *Node) error
	// Authorize decides whether a SuperNode may take part, and returns a lasting name
	// for it; empty for none. It is called when a node is activated, when it goes on
	// after a restart of this server, and with each of its heartbeats. The SuperNode
	// prints the error when it starts, and ends. Nil lets every node in.
	Authorize func(ctx context.Context, caller Caller) (name string, err error)
	// Apps are the apps that runs name. Nil means that there are none.
	Apps *Apps
	// TLS is the TLS configuration of Serve; with ClientAuth, the nodes need
	// certificates. Nil means an unencrypted listener.
	TLS *tls.Config
	// MaxNodes is how many nodes are active at a time. Zero means 20,000.
	MaxNodes int
	// MaxMessage is the greatest size of an answer, in bytes, with all of its objects.
	// Zero means [flower.DefaultMaxMessage].
	MaxMessage int64
	// MaxObject is the greatest size of an object, in bytes. Those of arrays have at most
	// 5 MiB and some bytes, or FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE at the SuperNode; a
	// ConfigRecord is one object, such as the masked update of secure aggregation with 8
	// bytes for each number. Zero means [flower.DefaultMaxMessage].
	MaxObject int64
	// Uploads is how many bytes of answers are in memory at a time, from the moment in
	// which an answer is announced until it is released. An answer that turns out to be
	// larger than announced may exceed it, one at a time and up to MaxMessage. Zero means
	// 1 GiB.
	Uploads int64
	// Hold is how long a request for a message waits for one: an empty answer has the
	// SuperNode pause for 3 s. Zero means [DefaultHold]; at most 25 s.
	Hold time.Duration
	// Stall is how long a node may take for the next bytes of a request, or for the next
	// object of an answer. Zero means a minute.
	Stall time.Duration
	// TTL is how long a message holds for the SuperNode's app. Zero means 12 hours, as
	// with Flower.
	TTL time.Duration
	// Grace is added to twice the interval of a node's heartbeats; a node that is silent
	// for longer is gone. Zero means 10 s.
	Grace time.Duration
	// ConnState is called when a connection of Serve's listener changes its state. Nil
	// does nothing.
	ConnState func(conn net.Conn, state http.ConnState)
	// Logger gets records about nodes, and one about each kind of refusal and host. Nil
	// is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	var err error
	refuse := func(field string, value, most any) {
		err = errors.Join(err, fmt.Errorf("configure supernode server: %s is %v, expected 0 to %v", field, value, most))
	}
	sizes := []struct {
		field string
		value *int64
		zero  int64
		most  int64
	}{
		{"MaxMessage", &c.MaxMessage, defaultMessage, math.MaxInt64 / 4},
		{"MaxObject", &c.MaxObject, defaultObject, flower.MaxMessage},
		{"Uploads", &c.Uploads, defaultUploads, math.MaxInt64 / 4},
	}
	for _, size := range sizes {
		if *size.value < 0 || *size.value > size.most {
			refuse(size.field, *size.value, size.most)
		}
		if *size.value == 0 {
			*size.value = size.zero
		}
	}
	times := []struct {
		field string
		value *time.Duration
		zero  time.Duration
		most  time.Duration
	}{
		{"Hold", &c.Hold, DefaultHold, longestHold},
		{"Stall", &c.Stall, defaultStall, time.Hour},
		{"TTL", &c.TTL, defaultTTL, math.MaxInt64},
		{"Grace", &c.Grace, defaultGrace, time.Hour},
	}
	for _, span := range times {
		if *span.value < 0 || *span.value > span.most {
			refuse(span.field, *span.value, span.most)
		}
		if *span.value == 0 {
			*span.value = span.zero
		}
	}
	if c.MaxNodes < 0 {
		refuse("MaxNodes", c.MaxNodes, math.MaxInt)
	}
	if c.MaxNodes == 0 {
		c.MaxNodes = defaultNodes
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil {
		err = errors.Join(err, errors.New("configure supernode server: TLS has no certificate"))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, err
}
