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

// What SuperNodes call: up to Flower 1.39 a gRPC service, from then on paths of
// HTTP, each with one protobuf message as its body.
const (
	fleetService = "/flwr.proto.Fleet/"
	fleetPath    = "/v1/fleet/"
)

// What refused clients are told.
const (
	superNodeRefusal = "This server trains clients that are started with flwr.client.start_client (grpc-bidi). " +
		"SuperNodes and apps of the Message API are not supported yet."
	superNodeRemedy = "Start the client with start_client(server_address=..., client=...) instead of flower-supernode, " +
		"or connect the SuperNode to a flower-superlink."
	strangerRefusal = "This is the gRPC port of a training collector for Flower clients that are started with " +
		"flwr.client.start_client; " +
		"its REST interface is on another port."
)

// registrationDisabled is the number that Flower has for a SuperLink at which no
// SuperNode can register.
const registrationDisabled = 2001

// refusal is the body with which Flower refuses a SuperNode, which shows it.
type refusal struct {
	Code   int    `json:"code"`
	Detail string `json:"detail"`
	Extra  string `json:"extra,omitempty"`
}

// RefuseSuperNodes returns what answers SuperNodes that are connected to another
// port than the one for clients, below /v1/fleet/: they show why they cannot take
// part, and end. Each host is one line in the log. A nil logger is silent.
func RefuseSuperNodes(log *slog.Logger) http.Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var seen strangers
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.reportSuperNode(log, r)
		refuseSuperNode(w, r)
	})
}

// refuseSuperNode answers a request of a SuperNode over HTTP.
func refuseSuperNode(w http.ResponseWriter, r *http.Request) {
	// The first calls end a SuperNode whatever the status, except for 502 to 504,
	// which are tried again; later ones, as after a change of servers, only with 401.
	code := http.StatusUnauthorized
	switch strings.TrimPrefix(r.URL.Path, fleetPath) {
	case "register-node", "activate-node":
		code = http.StatusNotImplemented
	}
	refuse(w, r, code, refusal{registrationDisabled, superNodeRefusal, superNodeRemedy})
}

// refuse answers with a refusal, and has the client not use the connection again.
func refuse(w http.ResponseWriter, r *http.Request, code int, body refusal) {
	text, err := json.Marshal(body)
	if err != nil {
		text = nil // there is nothing in it that JSON has not
	}
	w.Header().Set("Content-Type", "application/json")
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that went away is no error of ours
}

// isGRPC reports whether a request is a call of gRPC.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// serveStranger answers a request that is none of a client that joins.
func (s *Server) serveStranger(w http.ResponseWriter, r *http.Request) {
	fleet := strings.HasPrefix(r.URL.Path, fleetPath) || strings.HasPrefix(r.URL.Path, fleetService)
	if fleet {
		s.strangers.reportSuperNode(s.config.Logger, r)
	} else {
		s.strangers.report(s.config.Logger, r.RemoteAddr, "a request was refused: it is none of a Flower client",
			r.Method+" "+r.URL.Path)
	}
	switch {
	case isGRPC(r):
		s.grpc.ServeHTTP(w, r) // which calls unknownCall
	case fleet:
		refuseSuperNode(w, r)
	default:
		refuse(w, r, http.StatusNotFound, refusal{Code: http.StatusNotFound, Detail: strangerRefusal})
	}
}

// unknownCall answers calls of methods that the server does not have.
func unknownCall(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if strings.HasPrefix(method, fleetService) {
		return status.Error(codes.Unimplemented, superNodeRefusal+" "+superNodeRemedy)
	}
	return status.Error(codes.Unimplemented, fmt.Sprintf("unknown service or method %.200q. %s", method, strangerRefusal))
}

// maxStrangers is how many hosts are remembered as reported.
const maxStrangers = 1000

// strangers remembers which hosts were reported for what, so that one that asks again
// and again is one line in the log. Its memory is bounded: where there are too many
// hosts, all are forgotten, and may be reported again.
type strangers struct {
	mu    sync.Mutex
	hosts map[string]bool // by the host and the text of the warning
}

// report logs a warning about a call of a peer, unless the same was logged about its
// host.
func (s *strangers) report(log *slog.Logger, address, text, call string) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	host += " " + text
	s.mu.Lock()
	known := s.hosts[host]
	if !known {
		if s.hosts == nil || len(s.hosts) >= maxStrangers {
			s.hosts = map[string]bool{}
		}
		s.hosts[host] = true
	}
	s.mu.Unlock()
	if !known {
		log.Warn(text, "address", address, "call", fmt.Sprintf("%.200s", call))
	}
}

// reportSuperNode logs a warning about a SuperNode.
func (s *strangers) reportSuperNode(log *slog.Logger, r *http.Request) {
	s.report(log, r.RemoteAddr,
		"a SuperNode was refused: this server speaks to clients that are started with start_client", r.URL.Path)
}
