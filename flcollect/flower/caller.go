package flower

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Caller is what the client end of a connection shows of itself, for
// ServerConfig.Authorize.
type Caller struct {
	// Address is its network address, host and port.
	Address string
	// Token is the bearer token in the metadata "authorization" of the call (RFC 6750,
	// section 2.1). Empty means none.
	Token string
	// TLS is the state of the connection; VerifiedChains has the client's certificate
	// with mutual TLS. Nil means that the connection is unencrypted.
	TLS *tls.ConnectionState
}

// newCaller returns the caller that sends a request.
func newCaller(r *http.Request) Caller {
	caller := Caller{Address: r.RemoteAddr, TLS: r.TLS}
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		caller.Token = strings.TrimSpace(token)
	}
	return caller
}

// authorize returns the name of the caller that sends a request, or the gRPC status
// that refuses the request.
func (s *Server) authorize(r *http.Request) (name string, refused *status.Status) {
	if s.config.Authorize == nil {
		return "", nil
	}
	name, err := s.config.Authorize(r.Context(), newCaller(r))
	if err == nil {
		return name, nil
	}
	refused = refusalStatus(err)
	s.warnings.warn(s.config.Logger, r.RemoteAddr, "a client was refused: "+refused.Code().String(), r.URL.Path)
	return "", refused
}

// refusalStatus returns the gRPC status for an error of ServerConfig.Authorize.
func refusalStatus(err error) *status.Status {
	if known, ok := status.FromError(err); ok {
		return known
	}
	code := codes.PermissionDenied
	var answer interface{ HTTPStatus() int }
	if errors.As(err, &answer) {
		switch answer.HTTPStatus() {
		case http.StatusUnauthorized:
			code = codes.Unauthenticated
		case http.StatusTooManyRequests:
			code = codes.ResourceExhausted
		case http.StatusServiceUnavailable:
			code = codes.Unavailable
		}
	}
	return status.New(code, err.Error())
}

// httpStatus returns the HTTP status of a refusal, for programs that do not call
// through gRPC.
func httpStatus(code codes.Code) int {
	switch code {
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// writeStatus answers a gRPC call with a status and nothing else. It reads nothing of
// the call.
func writeStatus(w http.ResponseWriter, s *status.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // the client may be gone
	h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(s.Code())))
	h.Set(http.TrailerPrefix+"Grpc-Message", encodeMessage(s.Message()))
}

// encodeMessage returns the text in the form of grpc-message, which percent-encodes what
// is not printable ASCII (gRPC over HTTP/2, "Responses").
func encodeMessage(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
