package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// Kind is a kind of plugin, such as "key-auth": what an [entity.Plugin] names.
type Kind struct {
	// Name is its name in configurations.
	Name string
	// Summary describes a plugin of the kind, as a phrase for administrators.
	Summary string
	// Priority is its place among the plugins of a request: the greatest comes
	// first, in every phase; equal ones go by name. Kong's numbers are used, for
	// example cors 2000, key-auth 1250, acl 950, rate-limiting 910,
	// request-transformer 801, prometheus 13, request-termination 2.
	Priority int
	// NoConsumer reports whether a plugin of the kind cannot be set for a consumer, as
	// it acts before consumers are known.
	NoConsumer bool
	// Config returns a pointer to a new struct with the defaults of a configuration,
	// as Compile decodes one into: its fields are listed to administrators as those that a
	// configuration may have, but for those with the tag schema:"-". Nil lists none.
	//
	// Further tags describe a field: about says in a phrase what it means, and schema has
	// rules with semicolons in between, "required", "one_of=a|b", "between=1..9" and
	// "unsupported", for what Kong has and Compile refuses.
	// Compile enforces them; the tags only let administrators see them before.
	Config func() any
	// Compile checks a configuration and returns its plugin. It is called for
	// each plugin of a configuration that is new or has changed, before that
	// configuration is served, and to check one that is never served. So it has no
	// effect outside of the plugin, and starts nothing that Close does not end.
	// Errors name the field as in "config.minute: ..."; see [Setup.Decode].
	Compile func(Setup) (Plugin, error)
}

// Setup is the input of [Kind.Compile].
type Setup struct {
	// ID is the id of the plugin's entity; InstanceName may be empty.
	ID           string
	InstanceName string
	// Config is the JSON object of the configuration; it is never empty.
	Config json.RawMessage
	// Logger receives failures and warnings for operators. It is never nil.
	Logger *slog.Logger
	// Client calls other services, within the bounds of [Options.AllowUpstreams].
	// It is never nil, is shared, and sets no timeout.
	Client *http.Client
}

// Decode reads the configuration into a struct, whose values before are the
// defaults. Fields that it does not have, and values of the wrong type, are
// errors that name the field. A null leaves the default.
func (s Setup) Decode(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(s.Config))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("config.%s: is a %s, not a %s", wrong.Field, wrong.Value, wrong.Type)
	}
	if err != nil {
		if _, name, found := strings.Cut(err.Error(), "unknown field "); found {
			return fmt.Errorf("config.%s: unknown field", strings.Trim(name, `"`))
		}
		return fmt.Errorf("config: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("config: more than one JSON value")
	}
	return nil
}

// Plugin is what a request passes: a function for each phase, all of which may be
// nil. The functions are called by any number of goroutines at once, for different
// exchanges.
//
// One entity has one Plugin, which lives as long as the entity stays the same,
// over any number of configurations; what its functions close over is its state.
//
// The phases, each from the greatest priority to the smallest:
//
//  1. Access, until one answers
//  2. Head, of all plugins, once there is an answer, whatever its source
//  3. Body, likewise
//  4. Log, of all plugins
//
// If a plugin answers, those after it miss Access only. A request that no route
// matches passes Head, Body and Log of the global plugins.
type Plugin struct {
	// Access is called before the request is forwarded. It may change what is
	// forwarded ([Exchange.Upstream]), authenticate the caller ([Exchange.Authenticate]), and
	// answer. Nil lets the request pass.
	Access func(*Exchange) *Answer
	// Head is called when status and header of the response are known and not yet
	// sent. It may change both ([Exchange.Response]).
	Head func(*Exchange)
	// Body returns a reader that is sent in place of body, which has what the plugin
	// before returned. If it makes the body longer or shorter, Head has to delete
	// the Content-Length. An error of the reader cuts the response off. What
	// holds a body as a whole bounds it. Body is not called for responses that have
	// none, nor for upgraded connections.
	Body func(x *Exchange, body io.Reader) io.Reader
	// Log is called when the response has been sent, or has failed. It does not
	// block: the connection waits for it.
	Log func(*Exchange)
	// Close is called once when the plugin is served no longer and every request
	// that may use it is over, or when it is not served at all.
	Close func() error
	// Unusable is why the configuration is not accepted although it is valid, such as a secret that this
	// gateway lacks; nil if it is. A change to such a configuration is refused. One that is stored already, by an
	// earlier version or a process that lacks nothing, is served and logged: what the plugin cannot do it
	// refuses, request by request. The error names the field, as those of Compile do.
	Unusable error
}

// Answer is a response that a plugin gives itself.
type Answer struct {
	// Status is the HTTP status. Zero means 200.
	Status int
	// Header are fields of the response. The gateway takes the map over; nil means
	// none.
	Header http.Header
	// Body is what follows. Nil means Text.
	Body io.Reader
	// Text is the body if Body is nil.
	Text string
}

// Refuse returns an answer in the form of Kong's: a JSON object with a message.
func Refuse(status int, message string) *Answer {
	return &Answer{Status: status, Text: messageBody(message), Header: http.Header{
		"Content-Type": {"application/json; charset=utf-8"},
	}}
}

// messageBody is the JSON of a message.
func messageBody(message string) string {
	quoted, err := json.Marshal(message)
	if err != nil { // a string always can
		return "{}"
	}
	return `{"message":` + string(quoted) + `}`
}

// status returns the status of an answer.
func (a *Answer) status() int { return cmp.Or(a.Status, http.StatusOK) }
