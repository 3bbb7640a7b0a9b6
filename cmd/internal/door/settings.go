package door

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/server"
)

// The ways of -access.
const (
	wayNone  = "none"
	wayToken = "token"
	wayOIDC  = "oidc"
	wayMTLS  = "mtls"
)

// Settings are the values of the flags of access and TLS.
type Settings struct {
	ways      []string
	access    string
	tokens    string
	issuer    string
	audience  string
	roleClaim string
	tls       server.TLS
	hosts     []string
}

// Declare declares the flags access, access-tokens, access-issuer, access-audience,
// access-role-claim, tls-cert, tls-key, tls-client-ca and hosts.
func Declare(f *server.Flags) *Settings {
	s := &Settings{}
	f.StringVar(&s.access, "access", "", "authentication `methods` of callers: none, token, oidc, mtls, or several separated by commas. "+
		"Empty means none where only this machine can reach the server, and otherwise token, with one that is generated "+
		"at the first start into the file access-token of the data folder. none allows every caller everything")
	f.StringVar(&s.tokens, "access-tokens", "", "`file` with the tokens of -access token, a line each: NAME ROLE TOKEN. "+
		"ROLE is reader, operator or admin. The file is read again when it changes")
	f.StringVar(&s.issuer, "access-issuer", "", "`URL` of the OpenID Connect issuer of -access oidc")
	f.StringVar(&s.audience, "access-audience", "", "`name` of this server that tokens of the issuer have as audience")
	f.StringVar(&s.roleClaim, "access-role-claim", "realm_access.roles", "`path` of the claim that has the role, or a list with it")
	f.TLS(&s.tls)
	f.Hosts(&s.hosts)
	return s
}

// Hosts returns the further names of the server; see httpapi.Options.Hosts.
func (s *Settings) Hosts() []string { return s.hosts }

// NeedsToken reports whether callers authenticate by a token, and no setting of the
// flags names one; also where nothing is set.
func (s *Settings) NeedsToken() bool {
	return s.tokens == "" && (len(s.ways) == 0 || slices.Contains(s.ways, wayToken))
}

// IsOpen reports whether -access none is set.
func (s *Settings) IsOpen() bool { return slices.Contains(server.Names(s.access), wayNone) }

// SetClientCA sets -tls-client-ca to the value of another flag. Call it before
// [Settings.Check].
func (s *Settings) SetClientCA(file string) error {
	if s.tls.ClientCA != "" && s.tls.ClientCA != file {
		return errors.New("is another file than that of -tls-client-ca")
	}
	s.tls.ClientCA = file
	return nil
}

// URL returns the address of a listener with its scheme, as that of [Door] does.
func (s *Settings) URL(listener net.Listener) string {
	if s.tls.Certificate != "" {
		return "https://" + listener.Addr().String()
	}
	return "http://" + listener.Addr().String()
}

// TLS returns the settings of the certificate.
func (s *Settings) TLS() server.TLS { return s.tls }

// Check returns an error for settings that cannot work together, and decides on the ways
// that the settings imply.
func (s *Settings) Check() error {
	var errs []error
	s.ways = server.Names(s.access)
	for _, way := range s.ways {
		if !slices.Contains([]string{wayNone, wayToken, wayOIDC, wayMTLS}, way) {
			errs = append(errs, fmt.Errorf("-access: %q is not an authentication method: must be none, token, oidc or mtls", way))
		}
	}
	if s.access == "" {
		s.imply()
	}
	has := func(way string) bool { return slices.Contains(s.ways, way) }
	switch {
	case has(wayNone) && len(s.ways) > 1:
		errs = append(errs, errors.New("-access: none cannot be combined with other ways"))
	case has(wayNone) && (s.tokens != "" || s.issuer != ""):
		errs = append(errs, errors.New("-access none: cannot be given together with -access-tokens or -access-issuer"))
	}
	if s.access != "" {
		for _, one := range []struct{ flag, value, way string }{
			{"-access-tokens", s.tokens, wayToken}, {"-access-issuer", s.issuer, wayOIDC}, {"-access-audience", s.audience, wayOIDC},
		} {
			if one.value != "" && !has(one.way) && !has(wayNone) {
				errs = append(errs, fmt.Errorf("%s: is set, but -access %s lacks %s", one.flag, s.access, one.way))
			}
		}
	}
	if has(wayOIDC) && (s.issuer == "" || s.audience == "") {
		errs = append(errs, errors.New("-access oidc: needs -access-issuer and -access-audience, "+
			"for a token that was issued for another service must not be accepted here"))
	}
	if has(wayMTLS) && s.tls.ClientCA == "" {
		errs = append(errs, errors.New("-access mtls: needs -tls-client-ca, with -tls-cert and -tls-key"))
	}
	if slices.Contains(strings.Split(s.roleClaim, "."), "") {
		errs = append(errs, fmt.Errorf("-access-role-claim: %q is not a path of names with dots between", s.roleClaim))
	}
	return errors.Join(append(errs, s.tls.Check())...)
}

// imply turns the ways on whose settings are given.
func (s *Settings) imply() {
	for _, one := range []struct{ value, way string }{
		{s.tokens, wayToken}, {s.issuer + s.audience, wayOIDC}, {s.tls.ClientCA, wayMTLS},
	} {
		if one.value != "" {
			s.ways = append(s.ways, one.way)
		}
	}
}
