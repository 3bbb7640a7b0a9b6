package portal

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// shown answers with a definition for the interactive documentation: JSON, without
// secrets, and with the gateway, and the path below which it serves the version, for its
// only server.
func (p *Portal) shown(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	enabler := r.PathValue("enabler")
	file, err := p.config.Publisher.Definition(r.Context(), enabler, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()   // it was only read
	limit := 2*p.config.MaxFile + maxForm // what stands in place of a secret may be longer than it
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the definition of %q: %w", enabler, err)
	case int64(len(data)) > limit:
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The definition is too large to be shown here."}
	}
	root, _, err := document.Parse(data, document.Limits{Bytes: int(limit)})
	if err != nil {
		return fmt.Errorf("read the definition of %q: %w", enabler, err)
	}
	throughGateway(root, p.config.GatewayURL+file.Version.Path)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(root.AppendJSON(nil)) // a client that went away is not an error of this server
	return nil
}

// throughGateway replaces every list of servers. The order of everything stays.
func throughGateway(root *document.Node, gateway string) {
	server := &document.Node{Kind: document.Object}
	server.Put("url", &document.Node{Kind: document.String, Text: gateway})
	servers := &document.Node{Kind: document.Array}
	servers.Append(server)
	without(root)
	root.Put("servers", servers)
	paths := root.Get("paths")
	if paths == nil {
		return
	}
	for _, path := range paths.Members {
		without(path.Value)
		for _, operation := range path.Value.Members {
			without(operation.Value)
		}
	}
}

// without takes the servers out of an object.
func without(n *document.Node) {
	n.Members = slices.DeleteFunc(n.Members, func(m document.Member) bool { return m.Key == "servers" })
}
