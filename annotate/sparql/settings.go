package sparql

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
)

// Type is the kind of broker, as the REST interface names it.
const Type annotate.BrokerType = "SPARQL"

// The protocols of Settings.
const (
	// Update is SPARQL 1.1 Update: many messages in one request.
	Update = "update"
	// GraphStore is the SPARQL 1.1 Graph Store HTTP Protocol: one request for each message.
	GraphStore = "graphStore"
)

// Settings are a connection to a store, as annotate.Topic has them. Encoded as JSON, printed
// or logged they show that there are credentials but not what they are.
type Settings struct {
	// Protocol is Update or GraphStore; required.
	Protocol string `json:"protocol"`
	// URL is the address of the endpoint, http or https; required. It has no user and no
	// fragment.
	URL string `json:"url"`
	// User and Password are sent by HTTP's Basic scheme; empty for none.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Token is a bearer token, in place of User and Password; empty for none.
	Token string `json:"token,omitempty"`
}

// MarshalJSON encodes the settings with the credentials masked.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	s.User, s.Password, s.Token = annotate.Mask(s.User), annotate.Mask(s.Password), annotate.Mask(s.Token)
	return json.Marshal(plain(s))
}

// String returns the address without credentials and without a query.
func (s Settings) String() string {
	at, err := url.Parse(s.URL)
	if err != nil {
		return fmt.Sprintf("SPARQL %s", s.Protocol)
	}
	at.User = nil
	at.RawQuery = ""
	at.Fragment = ""
	return fmt.Sprintf("%s (SPARQL %s)", at, s.Protocol)
}

// GoString is String, so that %#v shows no credentials either.
func (s Settings) GoString() string { return s.String() }

// Subscriber returns nothing: a store has no subscriptions.
func (s Settings) Subscriber() string { return "" }

// Secrets returns user, password and token.
func (s Settings) Secrets() []annotate.Secret {
	return []annotate.Secret{
		{Member: "user", Value: s.User}, {Member: "password", Value: s.Password}, {Member: "token", Value: s.Token},
	}
}

// WithSecrets returns the settings with other credentials.
func (s Settings) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	annotate.AssignSecrets(secrets, map[string]*string{"user": &s.User, "password": &s.Password, "token": &s.Token})
	return s
}

// Destination returns the URL: each request to it has the credentials.
func (s Settings) Destination() string { return s.URL }

// endpoint returns the address and the credentials.
func (s Settings) endpoint() endpoint.Settings {
	return endpoint.Settings{URL: s.URL, User: s.User, Password: s.Password, Token: s.Token}
}
