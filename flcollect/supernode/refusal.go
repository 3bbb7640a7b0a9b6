package supernode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc/codes"
)

// What a refusal has a SuperNode do:
//
//	HTTP 401, UNAUTHENTICATED        its process ends
//	HTTP 403, PERMISSION_DENIED      it drops the message and goes on: the run is over
//	HTTP 502 to 504, UNAVAILABLE     it tries again, without end
//	any other, while it starts       it prints the sentence and ends
//	any other, later                 over gRPC its process ends; over HTTP it logs the status and, for a request for
//	                                 a message, ends

// Numbers that Flower has for refusals of its Fleet API.
const (
	codePayload    = 1003
	codeRegister   = 2001
	codeInterval   = 2003
	codeActivate   = 2004
	codeDeactivate = 2005
	codeRun        = 2007
	codeGetRun     = 2008
	codeGetFab     = 2009
)

// refusal is the answer to a request that is not carried out.
type refusal struct {
	status int        // of HTTP
	grpc   codes.Code // of gRPC
	code   int        // that Flower has for it
	detail string     // a sentence, for the SuperNode's log
	kind   string     // for this server's log; empty for what is not logged as a warning
}

// Error implements error.
func (r *refusal) Error() string { return r.detail }

// malformed refuses a request that is not what a SuperNode sends.
func malformed(err error) *refusal {
	return &refusal{http.StatusBadRequest, codes.InvalidArgument, codePayload, "The request is malformed: " + err.Error() + ".",
		"a malformed request of a SuperNode"}
}

// tooLarge refuses a request for its size.
func tooLarge(what string, size, limit int64) *refusal {
	return &refusal{http.StatusRequestEntityTooLarge, codes.ResourceExhausted, codePayload,
		fmt.Sprintf("%s has %d bytes, at most %d are read.", what, size, limit), "a request of a SuperNode that is too large"}
}

// busy has the SuperNode try again.
func busy(detail string) *refusal {
	return &refusal{http.StatusServiceUnavailable, codes.Unavailable, codePayload, detail, ""}
}

// notRunning has the SuperNode drop what it has of a run.
func notRunning(run uint64) *refusal {
	return &refusal{http.StatusForbidden, codes.PermissionDenied, codeRun, fmt.Sprintf("Run %d is not running here.", run), ""}
}

// unauthenticated ends the SuperNode. One that starts gets another status, since it prints
// the sentence only then.
func unauthenticated(detail string, starts bool) *refusal {
	r := &refusal{http.StatusUnauthorized, codes.Unauthenticated, codeActivate, detail, "a SuperNode was refused"}
	if starts {
		r.status, r.grpc = http.StatusPreconditionFailed, codes.FailedPrecondition
	}
	return r
}

// unsupported refuses what this server does not speak.
func unsupported(detail string) *refusal {
	return &refusal{http.StatusNotImplemented, codes.Unimplemented, codeRegister, detail, "an unsupported SuperNode was refused"}
}

// hostWarnings logs one line for each kind of refusal and host, since a program that is
// refused may call again and again. The zero value is ready for use.
type hostWarnings struct {
	mu     sync.Mutex
	warned map[string]bool
}

// maxHosts bounds the kinds and hosts that are remembered.
const maxHosts = 1024

func (w *hostWarnings) warn(log *slog.Logger, address, kind string, attributes ...any) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	key := host + " " + kind
	w.mu.Lock()
	if w.warned == nil || len(w.warned) == maxHosts {
		w.warned = map[string]bool{}
	}
	known := w.warned[key]
	w.warned[key] = true
	w.mu.Unlock()
	if !known {
		log.Warn(kind, append([]any{"host", host}, attributes...)...)
	}
}

// asRefusal returns the refusal that an error is, or one for it.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return busy(err.Error())
}
