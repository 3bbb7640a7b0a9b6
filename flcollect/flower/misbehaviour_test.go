package flower_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// rawClient is a stream on which anything can be sent.
type rawClient struct {
	*io.PipeWriter
	t *testing.T
}

// dialRaw begins a stream over a connection that dial makes.
func dialRaw(t *testing.T, dial func(ctx context.Context, target string) (net.Conn, error)) rawClient {
	t.Helper()
	transport := rawTransport(dial)
	body, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://collector/flwr.proto.FlowerService/Join", body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := transport.RoundTrip(request)
		if err == nil {
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}()
	t.Cleanup(func() {
		out.Close()
		cancel()
		<-done
		transport.CloseIdleConnections()
	})
	return rawClient{out, t}
}

// rawTransport speaks HTTP/2 over connections that dial makes.
func rawTransport(dial func(ctx context.Context, target string) (net.Conn, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, target string) (net.Conn, error) {
		return dial(ctx, target)
	}}
}

// message sends the header of a message of some size, and its first bytes.
func (c rawClient) message(size uint32, data []byte) {
	frame := binary.BigEndian.AppendUint32([]byte{0}, size)
	c.Write(append(frame, data...)) // the server may have ended the stream
}

func wire(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/wire.json")
	require.NoError(t, err)
	var messages map[string][]byte
	require.NoError(t, json.Unmarshal(file, &messages))
	return messages[name]
}

func TestServer_endsTheSessionOfAMisbehavingClient(t *testing.T) {
	fit := wire(t, "FitRes")
	for name, c := range map[string]struct {
		send func(rawClient)
		want error
	}{
		"another answer": {
			func(c rawClient) { e := wire(t, "EvaluateRes"); c.message(uint32(len(e)), e) },
			flower.ErrProtocol,
		},
		"rubbish":      {func(c rawClient) { c.message(3, []byte{0xff, 0xff, 0xff}) }, flower.ErrProtocol},
		"an empty one": {func(c rawClient) { c.message(0, nil) }, flower.ErrProtocol},
		"a compressed one": {func(c rawClient) {
			c.Write([]byte{1, 0, 0, 0, 1, 0})
		}, flower.ErrProtocol},
		"4 GiB":         {func(c rawClient) { c.message(1<<32-1, nil) }, flower.ErrTooLarge},
		"2 GiB":         {func(c rawClient) { c.message(1<<31, nil) }, flower.ErrTooLarge},
		"a cut one":     {func(c rawClient) { c.message(uint32(len(fit)), fit[:100]); c.Close() }, flower.ErrGone},
		"a stalled one": {func(c rawClient) { c.message(uint32(len(fit)), fit[:100]) }, flower.ErrTimeout},
		"no answer":     {func(c rawClient) { c.Close() }, flower.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions, listener := make(chan *flower.Session), newPipes()
				serveOn(t, listener, flower.ServerConfig{Stall: time.Minute, MaxMessage: flower.MaxMessage,
					Handle: func(ctx context.Context, s *flower.Session) error {
						sessions <- s
						<-ctx.Done()
						return nil
					}})
				client := dialRaw(t, listener.dial)
				s := <-sessions
				asked := make(chan error)
				go func() {
					_, err := s.Fit(context.Background(),
						flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s([]float32{1}))})
					asked <- err
				}()
				synctest.Wait()
				require.True(t, flower.TurnIsTaken(s), "the instruction is under way")
				c.send(client)
				require.ErrorIs(t, <-asked, c.want)
				<-s.Done()
				require.ErrorIs(t, s.Err(), c.want)
			})
		})
	}
}

func TestServer_endsTheSessionOnASecondAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, listener := make(chan *flower.Session), newPipes()
		serveOn(t, listener, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
			sessions <- s
			<-ctx.Done()
			return nil
		}})
		client := dialRaw(t, listener.dial)
		s := <-sessions
		answered, asked := wire(t, "PropertiesRes"), make(chan error)
		go func() {
			_, err := s.Properties(t.Context(), flower.GetPropertiesIns{})
			asked <- err
		}()
		synctest.Wait()
		require.True(t, flower.TurnIsTaken(s), "the instruction is under way")
		client.message(uint32(len(answered)), answered)
		require.NoError(t, <-asked)
		client.message(uint32(len(answered)), answered)
		<-s.Done()
		require.ErrorIs(t, s.Err(), flower.ErrProtocol)
		require.ErrorContains(t, s.Err(), "not asked for")
	})
}

// The instruction is larger than what flow control lets through unread.
func TestServer_isNotBlockedByAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, listener := make(chan *flower.Session), newPipes()
		serveOn(t, listener, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
			sessions <- s
			<-ctx.Done()
			return nil
		}})
		transport := rawTransport(listener.dial)
		body, out := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://collector/flwr.proto.FlowerService/Join", body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/grpc")
		responded := make(chan struct{})
		go func() {
			defer close(responded)
			transport.RoundTrip(request) //nolint:errcheck,bodyclose // that it is never read is the point
		}()
		t.Cleanup(func() {
			require.NoError(t, out.Close())
			<-responded
		})
		s := <-sessions
		model := flower.FromTensors(tensor.FromFloat32s(make([]float32, 5<<20)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = s.Fit(ctx, flower.FitIns{Parameters: model})
		require.ErrorIs(t, err, flower.ErrTimeout)
		require.ErrorIs(t, s.Err(), flower.ErrTimeout)
	})
} // the server stops although its message is not taken

func TestServer_refusesHTTP1(t *testing.T) {
	address := serve(t, flower.ServerConfig{Handle: func(context.Context, *flower.Session) error { return nil }})
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer connection.Close()
	fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	answer, err := io.ReadAll(connection)
	require.True(t, err == nil || len(answer) == 0)
	require.NotContains(t, string(answer), "200 OK")
}

// A program that reads to the end gets the refusal and the end of the connection, not a reset.
func TestServer_refusesALongRequestWithoutAReset(t *testing.T) {
	address := serve(t, flower.ServerConfig{Handle: func(context.Context, *flower.Session) error { return nil }})
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer connection.Close()
	require.NoError(t, connection.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n%s", strings.Repeat("x", 100<<10))
	require.NoError(t, err)
	answer, err := io.ReadAll(connection)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 4")
}

// Twenty clients answer at once with 4 MB each; two answers fit the budget.
func TestServer_admitsUploadsWithinTheBudget(t *testing.T) {
	const clients, size = 20, 1 << 20
	var inside, most atomic.Int64
	results := make(chan error, clients)
	address := serve(t, flower.ServerConfig{Uploads: 10 << 20, Window: 64 << 10, Handle: func(ctx context.Context,
		s *flower.Session) error {
		results <- func() error {
			res, err := s.Parameters(ctx, flower.GetParametersIns{})
			if err != nil {
				return err
			}
			defer res.Release()
			now := inside.Add(1)
			defer inside.Add(-1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			model, err := res.Parameters.Decode()
			if err != nil {
				return err
			}
			if n := model[0].Len(); n != size {
				return fmt.Errorf("%d elements", n)
			}
			return nil
		}()
		return s.Reconnect(ctx, 0)
	}})
	model := flower.FromTensors(tensor.FromFloat32s(make([]float32, size)))
	var ends []<-chan error
	for range clients {
		ends = append(ends, start(t, flower.ClientConfig{Target: address, Trainer: fixed{trainer{}, model}}))
	}
	for _, ended := range ends {
		require.NoError(t, <-results)
		require.NoError(t, <-ended)
	}
	require.LessOrEqual(t, most.Load(), int64(2))
}

// fixed always returns the same model.
type fixed struct {
	trainer
	model flower.Parameters
}

func (f fixed) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return f.model, nil
}

func TestParameters_Decode_namesABadTensor(t *testing.T) {
	good := bytes.Join(tensor.Encode(tensor.FromFloat32s([]float32{1})), nil)
	p := flower.Parameters{Type: flower.NumPy, Tensors: []flower.Blob{{good}, {good[:len(good)-1]}}}
	_, err := p.Decode()
	require.ErrorIs(t, err, tensor.ErrFormat)
	require.ErrorContains(t, err, "decode tensor 1:")
	p.Type = "homomorphic"
	_, err = p.Decode()
	require.ErrorContains(t, err, `type "homomorphic"`)
}
