package flower

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SuperNodes call a gRPC service up to Flower 1.39, and HTTP paths with one
// protobuf message as the body from then on.
const (
	fleetService = "/flwr.proto.Fleet/"
	fleetPath    = "/v1/fleet/"
)

// The texts of the answers to programs that are not Flower clients.
const (
	superNodeRefusal = "This port is not for SuperNodes: here are clients that are started with flwr.client.start_client (grpc-bidi), " +
		"or the REST interface."
	superNodeRemedy = "This server has no port for SuperNodes: its operator opens one with -fleet HOST:PORT. Or start the client with " +
		"start_client(server_address=..., client=...) instead of flower-supernode."
	otherRefusal = "This is the gRPC port of a training collector for Flower clients that are started with " +
		"flwr.client.start_client; " +
		"its REST interface is on another port."
)

// registrationDisabled is Flower's code for a SuperLink at which no SuperNode
// can register.
const registrationDisabled = 2001

// refusal is the body with which a Flower SuperLink refuses a SuperNode. The
// SuperNode prints it.
type refusal struct {
	Code   int    `json:"code"`
	Detail string `json:"detail"`
}

// SuperNodeHandler is a handler for the paths below /v1/fleet/ of a port that is
// not the one for Flower clients. A SuperNode that calls it prints why it cannot
// take part and ends. The handler logs one line for each host. The zero value is
// ready for use; a handler must not be copied.
type SuperNodeHandler struct {
	// Fleet is as in [ServerConfig].
	Fleet string
	// Logger gets one record for each host. Nil is silent.
	Logger *slog.Logger

	warnings hostWarnings
}

// ServeHTTP implements [http.Handler].
func (h *SuperNodeHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.Logger != nil {
		h.warnings.warnSuperNode(h.Logger, r, h.Fleet)
	}
	refuseSuperNode(w, r, h.Fleet)
}

// remedyFor says where SuperNodes connect. An address that stands for all of the host is
// one that a SuperNode knows, with another port.
func remedyFor(fleet string) string {
	host, port, err := net.SplitHostPort(fleet)
	switch ip := net.ParseIP(host); {
	case err != nil:
		return superNodeRemedy
	case host == "", ip != nil && ip.IsUnspecified():
		return "Start flower-supernode with --superlink and port " + port + " of this host, which is that of -fleet."
	}
	return "Start flower-supernode with --superlink " + fleet + ", which is the address of -fleet."
}

// refuseSuperNode answers a request of a SuperNode over HTTP.
func refuseSuperNode(w http.ResponseWriter, r *http.Request, fleet string) {
	// Any status ends a SuperNode at its first calls, except for 502 to 504, which it
	// tries again. At later calls, as after a change of servers, only 401 ends it.
	code := http.StatusUnauthorized
	switch strings.TrimPrefix(r.URL.Path, fleetPath) {
	case "register-node", "activate-node":
		code = http.StatusNotImplemented
	}
	refuse(w, r, code, refusal{registrationDisabled, superNodeRefusal + " " + remedyFor(fleet)})
}

// refuseCaller answers a caller that ServerConfig.Authorize refuses.
func refuseCaller(w http.ResponseWriter, r *http.Request, refused *status.Status) {
	if isGRPC(r) {
		writeStatus(w, refused)
		return
	}
	code := httpStatus(refused.Code())
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	refuse(w, r, code, refusal{Code: code, Detail: refused.Message()})
}

// refuse answers with a refusal and closes the connection.
func refuse(w http.ResponseWriter, r *http.Request, code int, body refusal) {
	text, err := json.Marshal(body)
	if err != nil {
		text = nil // cannot happen: all members are numbers and text
	}
	w.Header().Set("Content-Type", "application/json")
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(code)
	_, _ = w.Write(text) // the client may be gone
}

// isGRPC reports whether a request is a call of gRPC.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// serveOther answers a request that does not come from a joining Flower client.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	fleet := strings.HasPrefix(r.URL.Path, fleetPath) || strings.HasPrefix(r.URL.Path, fleetService)
	if fleet {
		if _, refused := s.authorize(r); refused != nil {
			refuseCaller(w, r, refused)
			return
		}
		s.warnings.warnSuperNode(s.config.Logger, r, s.config.Fleet)
	} else {
		s.warnings.warn(s.config.Logger, r.RemoteAddr, "a request was refused: it does not come from a Flower client",
			r.Method+" "+r.URL.Path)
	}
	switch {
	case isGRPC(r):
		s.grpc.ServeHTTP(w, r) // which calls unknownMethod
	case fleet:
		refuseSuperNode(w, r, s.config.Fleet)
	default:
		refuse(w, r, http.StatusNotFound, refusal{Code: http.StatusNotFound, Detail: otherRefusal})
	}
}

// unknownMethod answers gRPC calls of methods that the server does not have.
func (s *Server) unknownMethod(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if strings.HasPrefix(method, fleetService) {
		return status.Error(codes.Unimplemented, superNodeRefusal+" "+remedyFor(s.config.Fleet))
	}
	return status.Error(codes.Unimplemented, fmt.Sprintf("unknown service or method %.200q. %s", method, otherRefusal))
}

// maxWarnedHosts is how many entries hostWarnings has at most.
const maxWarnedHosts = 1000

// hostWarnings holds which hosts a warning was logged for, so that a host that calls
// again and again is one line in the log. Its size is bounded: when it is full, it is
// cleared, and hosts may be logged again.
type hostWarnings struct {
	mu    sync.Mutex
	hosts map[string]bool // by the host and the text of the warning
}

// warn logs a warning about a call of a peer, unless the same warning was logged for
// its host.
func (s *hostWarnings) warn(log *slog.Logger, address, text, call string) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	host += " " + text
	s.mu.Lock()
	known := s.hosts[host]
	if !known {
		if s.hosts == nil || len(s.hosts) >= maxWarnedHosts {
			s.hosts = map[string]bool{}
		}
		s.hosts[host] = true
	}
	s.mu.Unlock()
	if !known {
		log.Warn(text, "address", address, "call", fmt.Sprintf("%.200s", call))
	}
}

// warnSuperNode logs a warning about a SuperNode, once for each host.
func (s *hostWarnings) warnSuperNode(log *slog.Logger, r *http.Request, fleet string) {
	if fleet == "" {
		fleet = "no port is: -fleet HOST:PORT opens one"
	}
	s.warn(log.With("for SuperNodes", fleet), r.RemoteAddr,
		"a SuperNode was refused: it called a port that is not for SuperNodes", r.URL.Path)
}
