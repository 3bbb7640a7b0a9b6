package flcollect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// field is a field of a protobuf message that holds bytes.
func field(number byte, data []byte) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(data))), data...)
}

// fitAnswer is a message with the model that zeros becomes in a round.
func fitAnswer() []byte {
	var parameters []byte
	for _, blob := range flower.FromTensors(tensor.FromFloat32s([]float32{1, 1, 1}), tensor.FromFloat32s([]float32{2})).Tensors {
		parameters = append(parameters, field(1, bytes.Join(blob, nil))...)
	}
	parameters = append(parameters, field(2, []byte(flower.NumPy))...)
	answer := append(field(1, nil), field(2, parameters)...)
	return field(4, append(answer, 3<<3, 1))
}

// answerTwice runs a client that answers its first instruction twice, and returns
// what is closed when the server has ended its session.
func answerTwice(t *testing.T, w *world) <-chan struct{} {
	t.Helper()
	return joinRaw(t, w, func(in io.Reader, out io.Writer) {
		if _, err := in.Read(make([]byte, 1)); err != nil {
			return
		}
		answer := fitAnswer()
		frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...)
		go out.Write(append(frame, frame...)) // ends with the request
		io.Copy(io.Discard, in)
	})
}

// joinForever runs a client that answers nothing.
func joinForever(t *testing.T, w *world) {
	t.Helper()
	joinRaw(t, w, func(in io.Reader, _ io.Writer) { io.Copy(io.Discard, in) })
}

// joinRaw runs a client that may do what it likes until the test ends, and returns
// what is closed when it has ended.
func joinRaw(t *testing.T, w *world, talk func(in io.Reader, out io.Writer)) <-chan struct{} {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return w.dial(ctx, address)
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	body, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.address+"/flwr.proto.FlowerService/Join", body)
	require.NoError(t, err)
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		response, err := transport.RoundTrip(request)
		if err != nil {
			return
		}
		defer response.Body.Close()
		talk(response.Body, out)
	}()
	t.Cleanup(func() {
		out.Close()
		cancel()
		<-closed
		transport.CloseIdleConnections()
	})
	return closed
}
