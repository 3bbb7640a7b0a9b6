package flower_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

func TestServer_answersCallsAsGRPCDoes(t *testing.T) {
	address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, _ *flower.Session) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	for name, c := range map[string]struct {
		method, kind string
		header       map[string]string
		code         int
		status       string // of gRPC
	}{
		"another method":       {http.MethodGet, "application/grpc", nil, http.StatusMethodNotAllowed, ""},
		"another type":         {http.MethodPost, "application/grpcs", nil, http.StatusUnsupportedMediaType, ""},
		"compression":          {http.MethodPost, "application/grpc", map[string]string{"Grpc-Encoding": "gzip"}, http.StatusOK, "12"},
		"a timeout without":    {http.MethodPost, "application/grpc", map[string]string{"Grpc-Timeout": "5"}, http.StatusBadRequest, ""},
		"a timeout of years":   {http.MethodPost, "application/grpc", map[string]string{"Grpc-Timeout": "123456789H"}, http.StatusBadRequest, ""},
		"a call that ends":     {http.MethodPost, "application/grpc+proto", map[string]string{"Grpc-Timeout": "50m"}, http.StatusOK, "4"},
		"one that has no time": {http.MethodPost, "application/grpc;a=b", map[string]string{"Grpc-Timeout": "1n"}, http.StatusOK, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			silent, out := io.Pipe()
			defer out.Close()
			request, err := http.NewRequestWithContext(ctx, c.method, "http://"+address+"/flwr.proto.FlowerService/Join", silent)
			require.NoError(t, err)
			request.Header.Set("Content-Type", c.kind)
			for key, value := range c.header {
				request.Header.Set(key, value)
			}
			answer, err := transport.RoundTrip(request)
			require.NoError(t, err)
			defer answer.Body.Close()
			require.Equal(t, c.code, answer.StatusCode)
			if c.status != "" {
				_, err = io.Copy(io.Discard, answer.Body)
				require.NoError(t, err)
				require.Equal(t, c.status, answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message"))
			}
			if c.status == "4" {
				require.Equal(t, c.kind, answer.Header.Get("Content-Type"))
			}
		})
	}
}
