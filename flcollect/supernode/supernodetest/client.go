// Package supernodetest is a client of Flower's Fleet API, for tests of servers: it does
// what flower-supernode does, over both transports, and runs a Go function in place of a
// ClientApp.
package supernodetest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Config configures a [Client].
type Config struct {
	// Address is the server's, host and port. Required without Handler.
	Address string
	// Handler is called instead of a server, over HTTP and without a network.
	Handler http.Handler
	// GRPC has the client call gRPC, as releases up to 1.39 do. False means protobuf over
	// HTTP.
	GRPC bool
	// TLS is that of the connection. Nil means an unencrypted one.
	TLS *tls.Config
	// Key signs the requests. Nil means that the client makes one.
	Key *ecdsa.PrivateKey
	// Unsigned has the client sign nothing, as releases before 1.15.
	Unsigned bool
	// Clock is the time that the client signs. Nil means time.Now.
	Clock func() time.Time
	// Release is the version of Flower that the client says it has; empty means none.
	Release string
	// Interval is that of heartbeats. Zero means 30 s.
	Interval time.Duration
}

// Client is a SuperNode. Its methods may be called concurrently after [Client.Activate].
type Client struct {
	config    Config
	publicKey []byte // PEM
	http      *http.Client
	id        uint64
}

// Refusal is an error of a call that the server refused.
type Refusal struct {
	// Status is the status of HTTP, or the code of gRPC.
	Status int
	// Code is Flower's number for the refusal, over HTTP.
	Code int
	// Detail is a sentence.
	Detail string
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("supernodetest: refused with %d: %s", r.Status, r.Detail)
}

// New returns a client. It connects to nothing.
func New(config Config) (*Client, error) {
	if config.Address == "" && config.Handler == nil {
		return nil, errors.New("supernodetest: no address")
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.Interval == 0 {
		config.Interval = 30 * time.Second
	}
	if config.Key == nil {
		key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		if err != nil {
			return nil, err
		}
		config.Key = key
	}
	der, err := x509.MarshalPKIXPublicKey(&config.Key.PublicKey)
	if err != nil {
		return nil, err
	}
	if config.Handler != nil {
		config.Address = "handler"
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!config.GRPC)
	protocols.SetHTTP2(config.GRPC && config.TLS != nil)
	protocols.SetUnencryptedHTTP2(config.GRPC && config.TLS == nil)
	var transport http.RoundTripper = &http.Transport{Protocols: protocols, TLSClientConfig: config.TLS}
	if config.Handler != nil {
		transport = direct{config.Handler}
	}
	return &Client{
		config:    config,
		publicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		http:      &http.Client{Transport: transport},
	}, nil
}

// direct calls a handler.
type direct struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r.RemoteAddr = "192.0.2.1:1234"
	if r.Header.Get("Content-Type") == "application/grpc" {
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	}
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, r)
	return recorder.Result(), r.Context().Err()
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ID returns the number that the server gave the node.
func (c *Client) ID() uint64 { return c.id }

// Call calls a method of the Fleet API, such as "PullMessages", and returns the message
// that it answers with. The error is a [*Refusal] if the server refuses.
func (c *Client) Call(ctx context.Context, method string, message flower.Blob) (flower.Blob, error) {
	body := bytes.Join(message, nil)
	target := url.URL{Scheme: "http", Host: c.config.Address, Path: "/v1/fleet/" + kebab(method)}
	if c.config.TLS != nil {
		target.Scheme = "https"
	}
	kind := "application/protobuf"
	if c.config.GRPC {
		target.Path, kind = "/flwr.proto.Fleet/"+method, "application/grpc"
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	if c.config.GRPC {
		request.Header.Set("Te", "trailers")
	}
	if c.config.Release != "" {
		request.Header.Set("Flwr-Package-Version", c.config.Release)
	}
	if err := c.sign(request.Header); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if c.config.GRPC {
		return readAnswer(response, got)
	}
	if response.StatusCode != http.StatusOK {
		refusal := &Refusal{Status: response.StatusCode}
		if err := json.Unmarshal(got, refusal); err != nil {
			return nil, fmt.Errorf("supernodetest: status %d without JSON: %w", response.StatusCode, err)
		}
		return nil, refusal
	}
	return flower.Blob{got}, nil
}

// readAnswer returns the message of a gRPC response.
func readAnswer(response *http.Response, got []byte) (flower.Blob, error) {
	status := response.Trailer.Get("Grpc-Status")
	if status == "" {
		status = response.Header.Get("Grpc-Status")
	}
	code, err := strconv.Atoi(status)
	if err != nil {
		return nil, fmt.Errorf("supernodetest: HTTP status %d without a status of gRPC", response.StatusCode)
	}
	if code != 0 {
		detail, err := url.PathUnescape(response.Trailer.Get("Grpc-Message"))
		return nil, errors.Join(&Refusal{Status: code, Detail: detail}, err)
	}
	if len(got) < 5 || uint32(len(got)-5) != binary.BigEndian.Uint32(got[1:]) {
		return nil, fmt.Errorf("supernodetest: %d bytes are no message of gRPC", len(got))
	}
	return flower.Blob{got[5:]}, nil
}

// sign signs the time, as flower-supernode does.
func (c *Client) sign(header http.Header) error {
	if c.config.Unsigned {
		return nil
	}
	stamp := c.config.Clock().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	sum := sha256.Sum256([]byte(stamp))
	signature, err := ecdsa.SignASN1(rand.Reader, c.config.Key, sum[:])
	if err != nil {
		return err
	}
	prefix, suffix, encoding := "Flwr-", "", base64.StdEncoding
	if strings.HasPrefix(c.config.Release, "1.15.") {
		prefix = ""
	}
	if c.config.GRPC {
		suffix, encoding = "-Bin", base64.RawStdEncoding
	}
	header.Set(prefix+"Public-Key"+suffix, encoding.EncodeToString(c.publicKey))
	header.Set(prefix+"Signature"+suffix, encoding.EncodeToString(signature))
	header.Set(prefix+"Timestamp", stamp)
	return nil
}

// kebab returns the name of a method as a path.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
