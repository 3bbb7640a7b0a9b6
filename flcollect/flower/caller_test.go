package flower_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// denial is an error with a status of HTTP.
type denial int

func (d denial) Error() string   { return fmt.Sprintf("refused with %d: 100 %% of the clés", int(d)) }
func (d denial) HTTPStatus() int { return int(d) }

// holder lets the callers in that have the token "secret-of-hospital-7".
func holder(_ context.Context, caller flower.Caller) (string, error) {
	if caller.Token != "secret-of-hospital-7" {
		return "", denial(http.StatusUnauthorized)
	}
	return "hospital-7", nil
}

func TestServer_Serve_namesClientsByTheirTokens(t *testing.T) {
	for _, scheme := range []string{"in the clear", "TLS"} {
		t.Run(scheme, func(t *testing.T) {
			ids := make(chan string, 2)
			var asked atomic.Int32
			config := flower.ServerConfig{
				Authorize: func(ctx context.Context, caller flower.Caller) (string, error) {
					asked.Add(1)
					return holder(ctx, caller)
				},
				Handle: func(ctx context.Context, s *flower.Session) error {
					ids <- s.ID()
					if _, err := s.Parameters(ctx, flower.GetParametersIns{}); err != nil {
						return err
					}
					return s.Reconnect(ctx, 0)
				},
			}
			client := flower.ClientConfig{Trainer: trainer{}, Token: "secret-of-hospital-7"}
			if scheme == "TLS" {
				config.TLS, client.TLS = secured(t)
			}
			client.Target = serve(t, config)
			require.NoError(t, <-start(t, client))
			require.NoError(t, <-start(t, client))
			first, second := <-ids, <-ids
			require.Regexp(t, `^hospital-7@ipv4:127\.0\.0\.1:\d+$`, first)
			require.Regexp(t, `^hospital-7@ipv4:127\.0\.0\.1:\d+$`, second)
			require.NotEqual(t, first, second, "clients may share a token")
			require.EqualValues(t, 2, asked.Load(), "once for each stream")

			client.Token = ""
			require.ErrorContains(t, <-start(t, client), "Unauthenticated")
			client.Token = "secret-of-hospital-8"
			require.ErrorContains(t, <-start(t, client), "Unauthenticated")
			require.Empty(t, ids)
		})
	}
}

func TestServer_Serve_refusesWithTheCodeOfTheError(t *testing.T) {
	for _, refusal := range []struct {
		err  error
		code codes.Code
		text string
	}{
		{denial(http.StatusUnauthorized), codes.Unauthenticated, "refused with 401: 100 % of the clés"},
		{fmt.Errorf("wrapped: %w", denial(http.StatusTooManyRequests)), codes.ResourceExhausted, "wrapped: refused with 429"},
		{denial(http.StatusServiceUnavailable), codes.Unavailable, "refused with 503"},
		{denial(http.StatusForbidden), codes.PermissionDenied, "refused with 403"},
		{errors.New("not on Sundays"), codes.PermissionDenied, "not on Sundays"},
		{status.Error(codes.FailedPrecondition, "the training is over"), codes.FailedPrecondition, "the training is over"},
	} {
		address := serve(t, flower.ServerConfig{
			Authorize: func(context.Context, flower.Caller) (string, error) { return "", refusal.err },
			Handle:    func(context.Context, *flower.Session) error { panic("a client that is refused has no session") },
		})
		err := <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}})
		require.Equal(t, refusal.code, status.Code(err), "%v", err)
		require.ErrorContains(t, err, refusal.text)
	}
}

func TestServer_Serve_refusesSuperNodesWithoutRight(t *testing.T) {
	log := &lines{}
	address := serve(t, flower.ServerConfig{Authorize: holder, Handle: goodbye, Logger: warnings(log)})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	err = connection.Invoke(t.Context(), "/flwr.proto.Fleet/RegisterNode", &emptypb.Empty{}, &emptypb.Empty{})
	require.Equal(t, codes.Unauthenticated, status.Code(err))

	for token, want := range map[string]int{
		"": http.StatusUnauthorized, "Bearer secret-of-hospital-8": http.StatusUnauthorized,
		"Basic secret-of-hospital-7": http.StatusUnauthorized, "bearer secret-of-hospital-7": http.StatusNotImplemented,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/fleet/register-node",
			bytes.NewReader([]byte("\x0a\x03key")))
		require.NoError(t, err)
		request.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, token)
		require.Equal(t, want == http.StatusUnauthorized, answer.Header.Get("WWW-Authenticate") != "")
	}
	require.Equal(t, 1, log.count("a client was refused: Unauthenticated"), "one line for a host")
	require.Zero(t, log.count("secret-of"))
}

func TestServer_Serve_showsAuthorizeTheCertificate(t *testing.T) {
	authority := servertest.NewAuthority(t)
	ids := make(chan string, 1)
	address := serve(t, flower.ServerConfig{
		TLS: authority.ServerTLS(tls.VerifyClientCertIfGiven),
		Authorize: func(_ context.Context, caller flower.Caller) (string, error) {
			if len(caller.TLS.VerifiedChains) == 0 {
				return "", denial(http.StatusUnauthorized)
			}
			return "the name of " + caller.TLS.VerifiedChains[0][0].Subject.CommonName, nil
		},
		Handle: func(ctx context.Context, s *flower.Session) error {
			ids <- s.ID() + ", " + s.Peer().Name
			return s.Reconnect(ctx, 0)
		},
	})
	own := authority.ClientTLS(authority.Issue("hospital-7"))
	require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: own}))
	require.Equal(t, "hospital-7, the name of hospital-7", <-ids, "the certificate goes on to name the client")
	nameless := start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: authority.ClientTLS()})
	require.ErrorContains(t, <-nameless, "Unauthenticated")
}

// The recipe of docs/flcollect-reference.md for start_client, which has no parameter for a token.
func TestServer_Serve_letsPythonClientsInByTheirTokens(t *testing.T) {
	for _, version := range []string{"1.3.0", "1.41.0"} {
		t.Run(version, func(t *testing.T) {
			program := peertest.Python(t, "flwr=="+version)
			ids := make(chan string, 1)
			address := serve(t, flower.ServerConfig{Authorize: holder, Handle: func(ctx context.Context, s *flower.Session) error {
				ids <- s.ID()
				return s.Reconnect(ctx, 0)
			}})
			t.Setenv("FLOWER_TOKEN", "secret-of-hospital-7")
			require.NoError(t, <-runPython(t, program, address, "1"))
			require.Regexp(t, "^hospital-7@ipv4:", <-ids)
			t.Setenv("FLOWER_TOKEN", "secret-of-hospital-8")
			require.ErrorContains(t, <-runPython(t, program, address, "1"), "refused with 401: 100 % of the clés")
			require.Empty(t, ids)
		})
	}
}
