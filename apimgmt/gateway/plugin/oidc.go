package plugin

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// OIDC is the kind "oidc": it lets requests pass that come with a bearer token of
// an OpenID Connect issuer, such as Keycloak. Configurations are those of
// kong-oidc, and what a definition has under its extension for it: strings may be
// given as numbers or booleans and the other way round, and the whole object
// {name, enabled, config} may stand in place of config.
//
//	discovery                           address of the discovery document
//	client_id, client_secret            credentials of the gateway at the issuer; the secret may be a
//	                                    reference such as {vault://env/apimanager-client-secret},
//	                                    see [ClientSecret]
//	introspection_endpoint              queried for every token (RFC 7662); empty means
//	                                    that tokens are verified here with the issuer's keys
//	introspection_endpoint_auth_method  client_secret_post (the default) or client_secret_basic
//	token_endpoint_auth_method          likewise
//	bearer_only                         "yes": no token, no answer but 401; "no", the default:
//	                                    people at a browser are sent to log in
//	realm                               named in refusals; "kong" by default
//	filters                             paths without authentication, with commas in between; see below
//	timeout                             of requests to the issuer, in milliseconds
//	ssl_verify                          "no" trusts any certificate of the issuer; "yes" by default
//
// For users of a browser, with the authorization code flow and PKCE:
//
//	scope                      requested; "openid" by default
//	response_type              "code"
//	redirect_uri_path          where the issuer sends them back to; by default to the path
//	                           that they asked for
//	session_secret             seals session cookies, 16 bytes at least; several, with spaces in
//	                           between, count all, and the first one seals, so that it can be
//	                           changed; by default derived from client_secret, and where that is
//	                           short or a reference from the secret of [Options]
//	recovery_page_path         where people are sent whose login has failed; it needs none
//	logout_path                ends the session; "/logout" by default
//	redirect_after_logout_uri  "/" by default
//
// What kong-oidc does not have:
//
//	issuer                  what tokens say, if it differs from the discovery document
//	introspect_jwt_tokens   "no": only tokens that are no JWT are introspected, others
//	                        verified here; "yes" by default, as with kong-oidc
//	roles_required          realm roles, as Kong's openid-connect writes requirements: one of
//	                        the strings has to be met, and each is met by all of its words
//	scopes_required         likewise
//	audience_required       likewise
//
// # Answers
//
// A token that is missing or refused is answered with 401 and WWW-Authenticate, one
// that lacks a role or scope with 403. 503 means that tokens cannot be checked, and says
// whether the issuer cannot be reached or refuses the credentials of the gateway.
//
// # What the service sees
//
// X-Userinfo has the claims as JSON in base64, with id and username besides. With a
// session X-Access-Token and X-ID-Token (claims again) are there, too. What a client
// sends under these names, or as X-Consumer-*, X-Credential-* and X-Authenticated-*,
// is always removed, in any spelling.
//
// # Filters
//
// A filter such as "/health" stands for that path and those below it; one with
// characters of expressions, such as "/public/.*[.]css", for whole paths. A path
// that has escapes, backslashes, parameters or dot segments is never skipped.
func OIDC() gateway.Kind { return oidcWith(Options{}) }

// oidcWith is OIDC with the secrets of the options.
func oidcWith(options Options) gateway.Kind {
	random := rand.Text()
	shared := &verifiers{known: map[verifierKey]*sharedVerifier{}, clientSecrets: options.ClientSecrets, secret: func() string {
		if options.Secret == nil {
			return random
		}
		return cmp.Or(options.Secret(), random)
	}}
	return gateway.Kind{Name: "oidc", Summary: "callers show a token of an OpenID Connect issuer, or sign in", Priority: 1000,
		NoConsumer: true, Config: func() any { return newOIDC() }, Compile: shared.compile}
}

// oidcConfig is the configuration as it is written.
type oidcConfig struct {
	ClientID                        text `json:"client_id" about:"The gateway's client at the issuer"`
	ClientSecret                    text `json:"client_secret" about:"The secret of that client, or a reference to it"`
	Discovery                       text `json:"discovery" about:"Address of the discovery document"`
	IntrospectionEndpoint           text `json:"introspection_endpoint" about:"Queried for every token; empty verifies them here"`
	IntrospectionEndpointAuthMethod text `json:"introspection_endpoint_auth_method" schema:"one_of=client_secret_post|client_secret_basic"`
	TokenEndpointAuthMethod         text `json:"token_endpoint_auth_method" schema:"one_of=client_secret_post|client_secret_basic"`
	Timeout                         text `json:"timeout" about:"Of requests to the issuer, in milliseconds"`
	BearerOnly                      flag `json:"bearer_only" about:"Without a token 401; otherwise people are sent to sign in"`
	Realm                           text `json:"realm" about:"Named in refusals"`
	RedirectURIPath                 text `json:"redirect_uri_path" about:"Where the issuer sends people back to"`
	Scope                           text `json:"scope" about:"Scopes that are requested"`
	ResponseType                    text `json:"response_type" schema:"one_of=code" about:"The flow"`
	SSLVerify                       flag `json:"ssl_verify" about:"The issuer's certificate is verified"`
	SessionSecret                   text `json:"session_secret" about:"Seals session cookies, 16 bytes at least"`
	RecoveryPagePath                text `json:"recovery_page_path" about:"Where people are sent whose sign-in has failed"`
	LogoutPath                      text `json:"logout_path" about:"Ends the session"`
	RedirectAfterLogoutURI          text `json:"redirect_after_logout_uri" about:"Where people are sent after that"`
	Filters                         text `json:"filters" about:"Paths without authentication, with commas in between"`

	Issuer              text `json:"issuer" about:"What tokens name as issuer, if that differs"`
	IntrospectJWTTokens flag `json:"introspect_jwt_tokens" about:"Tokens that are JWTs are introspected too"`
	RolesRequired       list `json:"roles_required" about:"One of these roles is required; words of a line together"`
	ScopesRequired      list `json:"scopes_required" about:"One of these scopes is required; words of a line together"`
	AudienceRequired    list `json:"audience_required" about:"One of these audiences is required"`

	timeout  time.Duration
	referred bool // client_secret is a reference
}

// newOIDC is a configuration with its defaults.
func newOIDC() *oidcConfig {
	return &oidcConfig{
		IntrospectionEndpointAuthMethod: oidc.SecretPost, TokenEndpointAuthMethod: oidc.SecretPost, Realm: "kong",
		Scope: "openid", ResponseType: "code", SSLVerify: true, LogoutPath: "/logout", RedirectAfterLogoutURI: "/",
		IntrospectJWTTokens: true,
	}
}

// decodeOIDC reads and checks a configuration.
func decodeOIDC(setup gateway.Setup) (*oidcConfig, *filter, error) {
	unwrapped, err := unwrap(setup.Config)
	if err != nil {
		return nil, nil, err
	}
	setup.Config = unwrapped
	c := newOIDC()
	if err := setup.Decode(c); err != nil {
		return nil, nil, err
	}
	if c.Discovery == "" && c.Issuer == "" {
		return nil, nil, errors.New("config.discovery: it is required")
	}
	if c.IntrospectionEndpoint != "" && c.ClientID == "" {
		return nil, nil, errors.New("config.client_id: it is required with introspection_endpoint")
	}
	for field, address := range map[string]text{"discovery": c.Discovery, "issuer": c.Issuer,
		"introspection_endpoint": c.IntrospectionEndpoint} {
		if address != "" && !webAddress(string(address)) {
			return nil, nil, fmt.Errorf("config.%s: expected http://HOST/PATH or https://HOST/PATH", field)
		}
	}
	for field, method := range map[string]text{
		"introspection_endpoint_auth_method": c.IntrospectionEndpointAuthMethod, "token_endpoint_auth_method": c.TokenEndpointAuthMethod,
	} {
		if method != oidc.SecretPost && method != oidc.SecretBasic {
			return nil, nil, fmt.Errorf("config.%s: %q is neither %s nor %s", field, method, oidc.SecretPost, oidc.SecretBasic)
		}
	}
	if c.ResponseType != "code" {
		return nil, nil, fmt.Errorf("config.response_type: %q is not supported, only code is", c.ResponseType)
	}
	if c.Timeout != "" {
		c.timeout, err = time.ParseDuration(string(c.Timeout) + "ms")
		if err != nil || c.timeout < time.Millisecond || c.timeout > 5*time.Minute {
			return nil, nil, fmt.Errorf("config.timeout: %q is not a number of milliseconds between 1 and 300000", c.Timeout)
		}
	}
	skip, err := parseFilter(string(c.Filters))
	if err != nil {
		return nil, nil, fmt.Errorf("config.filters: %w", err)
	}
	return c, skip, nil
}

// unwrap takes the configuration out of the whole form of the extension. One that
// is not enabled is for the reader of the extension.
func unwrap(config json.RawMessage) (json.RawMessage, error) {
	var whole map[string]json.RawMessage
	if json.Unmarshal(config, &whole) != nil || whole["config"] == nil {
		return config, nil // what is wrong is said by Decode
	}
	for member, value := range whole {
		switch member {
		case "config":
		case "name":
			if string(value) != `"oidc"` {
				return nil, errors.New("config.name: another plugin than oidc")
			}
		case "enabled":
			if string(value) != "true" {
				return nil, errors.New("config.enabled: it is set outside of config")
			}
		default:
			return nil, fmt.Errorf("config.%s: unknown field beside config", member)
		}
	}
	return whole["config"], nil
}

func webAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "" &&
		address.User == nil && address.Fragment == ""
}

// issuer is the configuration of the issuer's verifier or client.
func (c *oidcConfig) issuer(setup gateway.Setup) oidc.Config {
	discovery := string(c.Discovery)
	return oidc.Config{
		Issuer: string(c.Issuer), Discovery: discovery, Endpoints: oidc.Endpoints{Introspection: string(c.IntrospectionEndpoint)},
		ClientID: string(c.ClientID), ClientSecret: string(c.ClientSecret), ClientAuth: string(c.IntrospectionEndpointAuthMethod),
		Timeout: c.timeout, Logger: setup.Logger, HTTPClient: setup.Client,
		// An address with https leads to none with http, unless another one has it.
		AllowHTTP: hasHTTP(cmp.Or(discovery, string(c.Issuer))) || hasHTTP(string(c.IntrospectionEndpoint)),
	}
}

func hasHTTP(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Scheme == "http"
}

// compile creates a plugin.
func (v *verifiers) compile(setup gateway.Setup) (gateway.Plugin, error) {
	c, skip, err := decodeOIDC(setup)
	if err != nil {
		return gateway.Plugin{}, err
	}
	lacks := c.resolve(v.clientSecrets)
	unusable := lacks
	if isReference(c.SessionSecret) {
		unusable = errors.New("config.session_secret: a reference is not replaced there, and would be the secret itself")
		c.SessionSecret = "" // of a stored configuration; anyone knows the text
	}
	var in *login
	if !c.BearerOnly {
		if in, err = c.login(v.secret()); err != nil {
			return gateway.Plugin{}, err
		}
	}
	shared, release, err := v.acquire(c, setup)
	if err != nil {
		return gateway.Plugin{}, err
	}
	p := &oidcPlugin{
		verifier: shared.verifier, login: in, introspects: c.IntrospectionEndpoint != "", introspectsAll: bool(c.IntrospectJWTTokens), skip: skip,
		roles: alternatives(c.RolesRequired), scopes: alternatives(c.ScopesRequired), audience: alternatives(c.AudienceRequired),
		realm: quoted(string(c.Realm)), client: string(c.ClientID), lacks: lacks,
		log: setup.Logger,
	}
	if !c.SSLVerify {
		setup.Logger.Warn("certificates of the issuer are not verified", slog.String("discovery", string(c.Discovery)))
	}
	if in == nil {
		return gateway.Plugin{Access: p.access, Close: release, Unusable: unusable}, nil
	}
	in.client, in.renewals = shared.client, &shared.renewals
	return gateway.Plugin{Access: p.access, Head: p.head, Close: release, Unusable: unusable}, nil
}

// login is the part of the configuration that is for users of a browser. random
// is a secret for when there is none.
func (c *oidcConfig) login(random string) (*login, error) {
	if c.ClientID == "" {
		return nil, errors.New("config.client_id: it is required unless bearer_only is yes")
	}
	for field, path := range map[string]text{"redirect_uri_path": c.RedirectURIPath,
		"recovery_page_path": c.RecoveryPagePath, "logout_path": c.LogoutPath} {
		if path != "" && !localPath(string(path)) {
			return nil, fmt.Errorf("config.%s: expected a path, without query and escapes", field)
		}
	}
	if after := string(c.RedirectAfterLogoutURI); !localPath(after) && !webAddress(after) {
		return nil, errors.New("config.redirect_after_logout_uri: expected a path, or an address with http or https")
	}
	secrets := string(c.SessionSecret)
	if secrets == "" {
		secrets = random
		if len(c.ClientSecret) >= leastSecret && !c.referred {
			secrets = strings.Join(strings.Fields(string(c.ClientSecret)), "")
		}
	}
	purpose := strings.Join([]string{string(c.Discovery), string(c.Issuer), string(c.ClientID)}, " ")
	seal, err := newSealer(secrets, purpose)
	if err != nil {
		return nil, fmt.Errorf("config.session_secret: %w", err)
	}
	digest := sha256.Sum256([]byte(purpose))
	return &login{
		cookies: cookies{seal: seal, name: hex.EncodeToString(digest[:4])}, callback: string(c.RedirectURIPath), logout: string(c.LogoutPath),
		afterLogout: string(c.RedirectAfterLogoutURI), recovery: string(c.RecoveryPagePath), crossOrigin: http.NewCrossOriginProtection(),
	}, nil
}

// localPath reports whether a text is a path of this host, and nothing that a
// browser takes for another one.
func localPath(text string) bool { return unambiguous(text) }
