package kafka_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// impostor answers each connection with the same bytes and keeps it open. A
// configuration that is not nil makes it speak TLS.
func impostor(t *testing.T, answer string, secure *tls.Config) annotate.Topic {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err == nil {
					_, _ = io.WriteString(conn, answer)
					_, _ = io.Copy(io.Discard, conn)
				}
			}()
		}
	}()
	tcp := listener.Addr().(*net.TCPAddr)
	return annotate.Topic{
		Name: "topic", Broker: kafka.Type,
		Settings: kafka.Settings{Host: tcp.IP.String(), Port: tcp.Port},
	}
}

// A peer that does not speak Kafka is named with what it said, and its four
// bytes of length make the client allocate nothing.
func TestBroker_impostor_isRefusedWithoutMemory(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"a web server":       {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", `it answered with "HTTP/1.1 400 Bad Request"`},
		"a length of zero":   {strings.Repeat("\x00", 16), "it answered with a response of 0 bytes"},
		"a length of 2 GiB":  {"\x7f\xff\xff\xff\x00\x00\x00\x00", "it answered with a response of 2147483647 bytes"},
		"a length of 99 MiB": {"\x06\x30\x00\x00\x00\x00\x00\x00", "it answered with a response of 103809024 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := impostor(t, c.answer, nil)
			for call, connect := range map[string]func() error{
				"subscribe": func() error {
					_, err := kafka.New(quick(nil)).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
					return err
				},
				"connect": func() error {
					_, err := kafka.New(quick(nil)).Connect(t.Context(), settings, annotate.ConnectOptions{})
					return err
				},
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := connect()
				runtime.ReadMemStats(&after)
				require.ErrorIs(t, err, annotate.ErrBrokerUnavailable, call)
				require.ErrorContains(t, err, c.want, call)
				require.ErrorContains(t, err, "127.0.0.1:", call)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), call)
			}
		})
	}
}

// The bound is that of what TLS carries, not of TLS.
func TestBroker_impostor_isRefusedBehindTLS(t *testing.T) {
	server := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(server.Close)
	settings := impostor(t, "HTTP/1.1 400 Bad Request\r\n\r\n", &tls.Config{Certificates: server.TLS.Certificates})
	options := quick(nil)
	options.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
	kafkatest.Change(&settings, func(k *kafka.Settings) { k.Protocol = kafka.SSL })
	_, err := kafka.New(options).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.ErrorContains(t, err, `does not speak Kafka: it answered with "HTTP/1.1 400 Bad Request"`)
}
