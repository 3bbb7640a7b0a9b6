package definition

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// serverURL is the address of a server with the defaults of its variables. It may
// be relative.
func serverURL(server *document.Node) (*url.URL, error) {
	raw := server.Get("url")
	address, ok := raw.Str()
	if !ok {
		return nil, server.Errorf("a server needs an url, a string")
	}
	variables := server.Get("variables")
	var made strings.Builder
	for rest := address; ; {
		before, after, found := strings.Cut(rest, "{")
		made.WriteString(before)
		if !found {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return nil, raw.Errorf("%q has a brace without its pair", shown(address))
		}
		value, err := variable(raw, variables, name)
		if err != nil {
			return nil, err
		}
		made.WriteString(value)
		rest = after
	}
	u, err := url.Parse(made.String())
	if err != nil {
		return nil, raw.Errorf("%q is not an address", shown(made.String()))
	}
	switch {
	case u.Opaque != "":
		return nil, raw.Errorf("%q is not an address of a server", shown(made.String()))
	case u.User != nil:
		return nil, raw.Errorf("the address of a server has no user and no password")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, raw.Errorf("%q has a query or a fragment", shown(made.String()))
	case u.Scheme != "" && !slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(u.Scheme)):
		return nil, raw.Errorf("the protocol %q is not one of http, https, ws and wss", shown(u.Scheme))
	case u.Scheme != "" && u.Hostname() == "":
		return nil, raw.Errorf("%q has no host", shown(made.String()))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, raw.Errorf("the port %q is not between 1 and 65535", shown(port))
		}
	}
	return u, nil
}

func variable(raw, variables *document.Node, name string) (string, error) {
	definition := variables.Get(name)
	if definition == nil {
		return "", raw.Errorf("the variable %q is not defined", shown(name))
	}
	value := definition.Get("default")
	fallback, ok := value.Str()
	if !ok {
		return "", definition.Errorf("the variable %q needs a default, a string", shown(name))
	}
	if allowed := definition.Get("enum"); allowed != nil && len(allowed.Items) > 0 {
		if !slices.ContainsFunc(allowed.Items, func(n *document.Node) bool { return text(n) == fallback }) {
			return "", value.Errorf("the default %q is not one of the values", shown(fallback))
		}
	}
	return fallback, nil
}
