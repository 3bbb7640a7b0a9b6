package plugin_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
	"github.com/iotenablers/enablers/storage"
)

func ExampleKinds() {
	for _, kind := range plugin.Kinds() {
		if kind.Name == "cors" {
			fmt.Println(kind.Name, kind.Priority)
		}
	}
	// Output: cors 2000
}

// subjects returns the configurations for the suite, by the name of the kind.
func subjects() map[string]plugintest.Subject {
	all := append(accessSubjects(), builtinSubjects()...)
	all = append(all, keyAuthSubject(), oidcSubject(), rateLimitingSubject(), requestTransformerSubject(), requestValidatorSubject())
	byName := map[string]plugintest.Subject{}
	for _, subject := range all {
		byName[subject.Kind.Name] = subject
	}
	return byName
}

func TestKinds_passTheSuite(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			subject, ok := subjects()[kind.Name]
			require.True(t, ok, "add a plugintest.Subject for %q", kind.Name)
			plugintest.Run(t, subject)
		})
	}
}

// sources returns the files of the package without its tests.
func sources(t *testing.T) []*ast.File {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}

func TestKinds_haveEveryConstructor(t *testing.T) {
	constructors := 0
	for _, file := range sources(t) {
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			result, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
			if ok && result.Sel.Name == "Kind" {
				constructors++
			}
		}
	}
	require.Len(t, plugin.Kinds(), constructors, "SharedKinds has to list every exported constructor of a kind")
}

func TestKinds_areListedInThePackageComment(t *testing.T) {
	var comment string
	for _, file := range sources(t) {
		comment += file.Doc.Text()
	}
	var listed, want []string
	for line := range strings.Lines(comment) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "\t") && len(fields) > 2 {
			listed = append(listed, strings.Join(fields, " "))
		}
	}
	for _, kind := range plugin.Kinds() {
		want = append(want, kind.Name+" "+strconv.Itoa(kind.Priority)+" "+kind.Summary)
	}
	require.Equal(t, want, listed)
}

// A plugin that refuses callers without credentials secures an API. The publisher knows such
// plugins by their names: authenticators in apimgmt/guard.go.
func TestKinds_thatAuthenticateAreKnownToThePublisher(t *testing.T) {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents:  storage.NewMemoryDocuments(),
		Blobs:      storage.NewMemoryBlobs(),
		Gateway:    apimgmt.NewMemoryGateway(nil),
		GatewayURL: "http://gateway.example",
		Upstreams:  apimgmt.Upstreams{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	require.NoError(t, err)
	var secured []string
	for name, subject := range subjects() {
		if name == "acl" { // which needs one of the others for the identity of callers
			continue
		}
		s := plugintest.NewStage(t, plugintest.Options{
			Kinds: plugin.Kinds(), Config: subject.Config, Plugins: []entity.Plugin{{Name: name, Config: []byte(subject.Valid[0])}},
		})
		if s.Do(http.MethodGet, "/", "").Status != http.StatusUnauthorized {
			continue
		}
		secured = append(secured, name)
		extension, err := json.Marshal(map[string]any{"name": name, "config": json.RawMessage(subject.Valid[0])})
		require.NoError(t, err)
		preview, err := publisher.Preview(t.Context(), apimgmt.Upload{Enabler: name, Definition: fmt.Appendf(nil,
			`{"openapi": "3.0.3", "info": {"title": "Weather", "version": "1"}, "servers": [{"url": "http://127.0.0.1"}],
			"x-kong-plugin-%s": %s, "paths": {"/x": {"get": {"responses": {"200": {"description": "fine"}}}}}}`, name, extension)})
		require.NoError(t, err, name)
		require.True(t, preview.Routes[0].Secured, "add %q to authenticators in apimgmt/guard.go", name)
	}
	require.Subset(t, secured, []string{"key-auth", "oidc"})
}

func TestKinds_havePrioritiesOfKong(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		if want := map[string]int{
			"cors": 2000, "key-auth": 1250, "oidc": 1000, "request-validator": 999, "ip-restriction": 990, "request-size-limiting": 951, "acl": 950,
			"rate-limiting": 910, "request-transformer": 801, "prometheus": 13, "request-termination": 2,
		}[kind.Name]; want != 0 {
			require.Equal(t, want, kind.Priority, kind.Name)
		}
	}
}
