package flower_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// warnings logs warnings alone.
func warnings(to *lines) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func goodbye(ctx context.Context, s *flower.Session) error { return s.Reconnect(ctx, 0) }

// secured are the server's and the clients' configurations of TLS.
func secured(t *testing.T) (server, client *tls.Config) {
	authority := servertest.NewAuthority(t)
	return authority.ServerTLS(tls.NoClientCert), authority.ClientTLS()
}

func TestServer_refusesSuperNodesOverHTTP(t *testing.T) {
	for _, scheme := range []string{"http", "https", "https over HTTP/2"} {
		t.Run(scheme, func(t *testing.T) {
			log := &lines{}
			config := flower.ServerConfig{
				Handle: goodbye,
				Logger: warnings(log),
			}
			transport := &http.Transport{ForceAttemptHTTP2: strings.HasSuffix(scheme, "HTTP/2")}
			if scheme != "http" {
				config.TLS, transport.TLSClientConfig = secured(t)
			}
			address := serve(t, config)
			defer transport.CloseIdleConnections()
			post := func(path string) (int, map[string]any) {
				url := strings.Fields(scheme)[0] + "://" + address + path
				answer, err := (&http.Client{Transport: transport}).Post(url, "application/protobuf",
					strings.NewReader("\x0a\x03key"))
				require.NoError(t, err)
				defer answer.Body.Close()
				require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
				var body map[string]any
				require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
				return answer.StatusCode, body
			}
			for range 3 {
				code, body := post("/v1/fleet/register-node")
				require.Equal(t, http.StatusNotImplemented, code, "502 to 504 would be tried again")
				require.EqualValues(t, 2001, body["code"])
				require.Contains(t, body["detail"], "This port is not for SuperNodes")
				require.Contains(t, body["detail"], "start_client(server_address=..., client=...)")
			}
			code, _ := post("/v1/fleet/send-node-heartbeat")
			require.Equal(t, http.StatusUnauthorized, code, "which ends a SuperNode that ran before")
			require.Equal(t, 1, log.count("a SuperNode was refused"), "one line for a host")
			require.Equal(t, 1, log.count("call=/v1/fleet/register-node"))
			code, body := post("/")
			require.Equal(t, http.StatusNotFound, code)
			require.Contains(t, body["detail"], "This is the gRPC port")
			if config.TLS == nil {
				require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}}),
					"clients are served as ever")
			}
		})
	}
}

func TestServer_refusesUnknownServicesOverGRPC(t *testing.T) {
	for _, scheme := range []string{"grpc", "grpcs"} {
		log := &lines{}
		config := flower.ServerConfig{Handle: goodbye, Logger: slog.New(slog.NewTextHandler(log, nil))}
		with := insecure.NewCredentials()
		if scheme == "grpcs" {
			server, client := secured(t)
			config.TLS, with = server, credentials.NewTLS(client)
		}
		connection, err := grpc.NewClient(serve(t, config), grpc.WithTransportCredentials(with))
		require.NoError(t, err)
		defer connection.Close()
		for method, want := range map[string]string{
			"/flwr.proto.Fleet/RegisterNode":  "This port is not for SuperNodes",
			"/flwr.proto.Fleet/CreateNode":    "SuperNodes",
			"/flwr.proto.Control/StartRun":    `unknown service or method "/flwr.proto.Control/StartRun"`,
			"/flwr.proto.FlowerService/Other": "unknown service or method",
		} {
			err := connection.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{})
			require.Equal(t, codes.Unimplemented, status.Code(err), method)
			require.ErrorContains(t, err, want, scheme)
		}
		require.Equal(t, 1, log.count("a SuperNode was refused"))
		require.Equal(t, 2, log.count("level=WARN"))
	}
}

// The memory for what was logged is bounded, whatever the number of hosts.
func TestServer_reportsEveryStrangerOnceAndForgetsThemInTheEnd(t *testing.T) {
	log := &lines{}
	server, err := flower.NewServer(flower.ServerConfig{Handle: goodbye, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	ask := func(host string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/fleet/pull-messages", nil)
		r.RemoteAddr = net.JoinHostPort(host, "1")
		server.ServeHTTP(httptest.NewRecorder(), r)
	}
	for i := range 1000 {
		ask(fmt.Sprintf("10.0.%d.%d", i/250, i%250))
	}
	ask("10.0.0.0")
	require.Equal(t, 1000, log.count("a SuperNode was refused"))
	ask("10.1.0.0")
	ask("10.0.0.0")
	require.Equal(t, 1002, log.count("a SuperNode was refused"))
}

// A probe of the port, as of a load balancer, comes from the same host as the SuperNodes
// behind it.
func TestServer_reportsASuperNodeOfAHostThatAskedForSomethingElse(t *testing.T) {
	log := &lines{}
	server, err := flower.NewServer(flower.ServerConfig{Handle: goodbye, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	long := "/" + strings.Repeat("x", 1<<16)
	for _, path := range []string{"/healthz", long, "/v1/fleet/register-node", "/v1/fleet/register-node", "/healthz"} {
		server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, nil))
	}
	require.Equal(t, 1, log.count("a request was refused"))
	require.Equal(t, 1, log.count("a SuperNode was refused"))

	log = &lines{}
	server, err = flower.NewServer(flower.ServerConfig{Handle: goodbye, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, long, nil))
	require.Zero(t, log.count(strings.Repeat("x", 300)), "what an unknown client sends does not fill the log")
}
