package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// debt is how often a folder breaks a rule that is newer than its code.
type debt struct {
	rule, dir string
	count     int
}

// debts lists the places that are still to be repaired. The table can only shrink: the
// tests fail for a folder that breaks a rule more often than it says here, and for a folder
// that does so less often. The command
//
//	go test ./internal/archtest -write
//
// writes the counts of the tree into the table.
func debts() []debt {
	return []debt{
		// The table begins here.
		{"links", "annotate", 18},
		{"net-http", "annotate", 5},
		{"constructors", "cmd/internal/collector", 1},
		{"constructors", "cmd/internal/datafolder", 1},
		{"constructors", "cmd/internal/demo/pair", 1},
		{"constructors", "flcollect", 1},
		{"constructors", "multilink", 1},
		{"constructors", "storage/disk", 1},
		{"handlers", "apimgmt/gateway/admin", 1},
		{"handlers", "flcollect/flower", 1},
		{"line-length", "annotate", 44},
		{"line-length", "annotate/brokertest", 10},
		{"line-length", "annotate/kafka", 11},
		{"line-length", "annotate/kafka/kafkatest", 2},
		{"line-length", "annotate/mqtt", 2},
		{"line-length", "annotate/mqtt/embedded", 1},
		{"line-length", "annotate/rdf", 12},
		{"line-length", "annotate/rml", 309},
		{"line-length", "annotate/rml/antchfx", 2},
		{"line-length", "annotate/rml/internal/csvdoc", 18},
		{"line-length", "annotate/rml/internal/jsondoc", 23},
		{"line-length", "annotate/rml/internal/xmldoc", 10},
		{"line-length", "annotate/rml/paessler", 5},
		{"line-length", "apimgmt", 62},
		{"line-length", "apimgmt/definition", 65},
		{"line-length", "apimgmt/entity", 25},
		{"line-length", "apimgmt/gateway", 60},
		{"line-length", "apimgmt/gateway/admin", 36},
		{"line-length", "apimgmt/gateway/internal/h1", 17},
		{"line-length", "apimgmt/gateway/internal/router", 4},
		{"line-length", "apimgmt/gateway/plugin", 77},
		{"line-length", "apimgmt/gatewaytest", 1},
		{"line-length", "apimgmt/kong", 25},
		{"line-length", "apimgmt/oidc", 19},
		{"line-length", "apimgmt/oidc/devidp", 32},
		{"line-length", "apimgmt/oidc/oidctest", 17},
		{"line-length", "apimgmt/portal", 39},
		{"line-length", "bench/ckks", 9},
		{"line-length", "bench/collect", 19},
		{"line-length", "bench/fold", 1},
		{"line-length", "bench/gateway", 17},
		{"line-length", "bench/internal/rig", 1},
		{"line-length", "bench/modelrepo", 18},
		{"line-length", "bench/multilink", 38},
		{"line-length", "bench/rml", 14},
		{"line-length", "bench/rml/workload", 2},
		{"line-length", "bench/stream", 23},
		{"line-length", "cmd/internal/demo/bonding", 2},
		{"line-length", "examples/apimgmt", 2},
		{"line-length", "examples/gateway", 1},
		{"line-length", "examples/strategies", 1},
		{"line-length", "examples/tumours", 1},
		{"line-length", "examples/weather", 6},
		{"line-length", "flcollect", 82},
		{"line-length", "flcollect/ckks", 8},
		{"line-length", "flcollect/dp", 4},
		{"line-length", "flcollect/flower", 6},
		{"line-length", "flcollect/internal/conf", 1},
		{"line-length", "flcollect/orchestrator", 1},
		{"line-length", "flcollect/repository", 16},
		{"line-length", "flcollect/repository/repositorytest", 3},
		{"line-length", "flcollect/strategy", 3},
		{"line-length", "flcollect/strategy/pickle", 3},
		{"line-length", "flcollect/strategy/wasm", 12},
		{"line-length", "flcollect/tensor", 2},
		{"line-length", "internal/archtest", 18},
		{"line-length", "modelrepo", 76},
		{"line-length", "modelrepo/modelrepotest", 40},
		{"line-length", "modelrepo/oci", 1},
		{"line-length", "multilink", 9},
		{"line-length", "multilink/host", 11},
		{"line-length", "multilink/kernel", 10},
		{"line-length", "multilink/linktest", 1},
		{"line-length", "multilink/node", 52},
		{"line-length", "multilink/wg", 5},
		{"line-length", "storage", 1},
		{"line-length", "storage/disk", 1},
		{"line-length", "storage/mongo", 2},
		{"line-length", "storage/s3", 6},
		{"line-length", "storage/storagetest", 42},
		{"line-length", "test/interop", 5},
		{"line-length", "test/interop/flower", 2},
		{"line-length", "test/interop/keycloak", 6},
		{"line-length", "test/interop/keycloak/keycloaktest", 4},
		{"line-length", "test/multilink/namespaces", 4},
		{"line-length", "test/multilink/vm", 2},
		{"folder-size", "annotate", 1},
		{"folder-size", "annotate/rml", 1},
		{"folder-size", "flcollect", 1},
		{"folder-size", "modelrepo", 1},
		{"folder-size", "multilink", 1},
		{"type-size", "annotate", 1},
		{"type-size", "annotate/kafka", 1},
		{"type-size", "annotate/rml", 2},
		{"type-size", "annotate/rml/internal/jsondoc", 1},
		{"type-size", "annotate/rml/internal/xmldoc", 1},
		{"type-size", "apimgmt", 1},
		{"type-size", "apimgmt/gateway", 1},
		{"type-size", "apimgmt/oidc/devidp", 1},
		{"type-size", "flcollect", 2},
		{"type-size", "modelrepo", 3},
		{"type-size", "multilink", 1},
		{"type-size", "multilink/node", 1},
		{"test-names", "annotate", 105},
		{"test-names", "annotate/brokertest", 4},
		{"test-names", "annotate/kafka", 24},
		{"test-names", "annotate/kafka/kafkatest", 5},
		{"test-names", "annotate/mqtt", 43},
		{"test-names", "annotate/mqtt/embedded", 1},
		{"test-names", "annotate/mqtt/internal/session", 3},
		{"test-names", "annotate/mqtt/mqtt3", 19},
		{"test-names", "annotate/rdf", 59},
		{"test-names", "annotate/rdf/rdf2go", 5},
		{"test-names", "annotate/rdf/rdftest", 5},
		{"test-names", "annotate/rml", 82},
		{"test-names", "annotate/rml/antchfx", 5},
		{"test-names", "annotate/rml/internal/anydoc", 5},
		{"test-names", "annotate/rml/internal/csvdoc", 17},
		{"test-names", "annotate/rml/internal/jsondoc", 30},
		{"test-names", "annotate/rml/internal/xmldoc", 19},
		{"test-names", "annotate/rml/paessler", 11},
		{"test-names", "apimgmt", 38},
		{"test-names", "apimgmt/definition", 21},
		{"test-names", "apimgmt/entity", 23},
		{"test-names", "apimgmt/gateway", 58},
		{"test-names", "apimgmt/gateway/admin", 42},
		{"test-names", "apimgmt/gateway/internal/balance", 9},
		{"test-names", "apimgmt/gateway/internal/h1", 20},
		{"test-names", "apimgmt/gateway/internal/router", 8},
		{"test-names", "apimgmt/gateway/plugin", 67},
		{"test-names", "apimgmt/internal/document", 3},
		{"test-names", "apimgmt/kong", 12},
		{"test-names", "apimgmt/oidc", 34},
		{"test-names", "apimgmt/oidc/devidp", 22},
		{"test-names", "apimgmt/portal", 16},
		{"test-names", "flcollect", 149},
		{"test-names", "flcollect/ckks", 35},
		{"test-names", "flcollect/dp", 38},
		{"test-names", "flcollect/flower", 29},
		{"test-names", "flcollect/internal/conf", 4},
		{"test-names", "flcollect/orchestrator", 7},
		{"test-names", "flcollect/repository", 47},
		{"test-names", "flcollect/strategy", 30},
		{"test-names", "flcollect/strategy/pickle", 8},
		{"test-names", "flcollect/strategy/wasm", 26},
		{"test-names", "flcollect/tensor", 30},
		{"test-names", "modelrepo", 76},
		{"test-names", "modelrepo/modelrepotest", 4},
		{"test-names", "modelrepo/oci", 3},
		{"test-names", "multilink", 102},
		{"test-names", "multilink/host", 46},
		{"test-names", "multilink/kernel", 15},
		{"test-names", "multilink/linktest", 4},
		{"test-names", "multilink/node", 45},
		{"test-names", "multilink/wg", 52},
		{"test-names", "storage", 12},
		{"test-names", "storage/disk", 28},
		{"test-names", "storage/mongo", 19},
		{"test-names", "storage/s3", 20},
		{"test-names", "storage/s3/s3test", 1},
		{"test-names", "storage/storagetest", 3},
		{"words", "annotate", 53},
		{"words", "annotate/brokertest", 4},
		{"words", "annotate/kafka", 16},
		{"words", "annotate/kafka/kafkatest", 10},
		{"words", "annotate/mqtt", 6},
		{"words", "annotate/mqtt/embedded", 2},
		{"words", "annotate/mqtt/internal/session", 9},
		{"words", "annotate/mqtt/mqtt3", 3},
		{"words", "annotate/mqtt/mqtttest", 1},
		{"words", "annotate/rdf", 1},
		{"words", "annotate/rdf/rdftest", 1},
		{"words", "annotate/rml", 4},
		{"words", "annotate/rml/paessler", 1},
		{"words", "apimgmt", 50},
		{"words", "apimgmt/definition", 8},
		{"words", "apimgmt/entity", 8},
		{"words", "apimgmt/gateway", 15},
		{"words", "apimgmt/gateway/admin", 16},
		{"words", "apimgmt/gateway/internal/h1", 7},
		{"words", "apimgmt/gateway/plugin", 14},
		{"words", "apimgmt/gateway/plugintest", 1},
		{"words", "apimgmt/gatewaytest", 4},
		{"words", "apimgmt/internal/document", 3},
		{"words", "apimgmt/internal/password", 2},
		{"words", "apimgmt/kong", 7},
		{"words", "apimgmt/oidc", 23},
		{"words", "apimgmt/oidc/devidp", 15},
		{"words", "apimgmt/oidc/oidctest", 3},
		{"words", "apimgmt/portal", 23},
		{"words", "bench/collect", 6},
		{"words", "bench/gateway", 1},
		{"words", "bench/internal/rig", 4},
		{"words", "bench/modelrepo", 4},
		{"words", "bench/multilink", 5},
		{"words", "bench/stream", 3},
		{"words", "cmd/internal/demo/bonding", 6},
		{"words", "examples/apimgmt", 1},
		{"words", "examples/flcollect", 1},
		{"words", "examples/multilink", 1},
		{"words", "examples/multilinkpage", 1},
		{"words", "examples/private", 1},
		{"words", "examples/strategies", 1},
		{"words", "examples/strategies/momentum", 1},
		{"words", "examples/tumours", 3},
		{"words", "flcollect", 44},
		{"words", "flcollect/ckks", 1},
		{"words", "flcollect/dp", 7},
		{"words", "flcollect/flower", 20},
		{"words", "flcollect/repository", 8},
		{"words", "flcollect/repository/repositorytest", 3},
		{"words", "flcollect/strategy", 3},
		{"words", "flcollect/strategy/pickle", 2},
		{"words", "flcollect/strategy/strategytest", 1},
		{"words", "flcollect/strategy/wasm", 8},
		{"words", "flcollect/tensor", 2},
		{"words", "internal/peertest", 1},
		{"words", "modelrepo", 65},
		{"words", "modelrepo/modelrepotest", 24},
		{"words", "modelrepo/oci", 1},
		{"words", "multilink", 44},
		{"words", "multilink/host", 7},
		{"words", "multilink/kernel", 6},
		{"words", "multilink/linktest", 7},
		{"words", "multilink/node", 39},
		{"words", "multilink/wg", 6},
		{"words", "storage", 3},
		{"words", "storage/disk", 10},
		{"words", "storage/mongo", 7},
		{"words", "storage/s3", 4},
		{"words", "storage/s3/s3test", 4},
		{"words", "storage/storagetest", 2},
		{"words", "test/interop", 3},
		{"words", "test/interop/flower", 12},
		{"words", "test/interop/keycloak", 2},
		{"words", "test/multilink/namespaces", 3},
		// The table ends here.
	}
}

const (
	debtsBegin = "\t\t// The table begins here.\n"
	debtsEnd   = "\t\t// The table ends here.\n"
)

// folder returns the folder of a finding, whose place is a folder, a file or a line.
func (f finding) folder() string {
	file, _, _ := strings.Cut(f.at, ":")
	if path.Ext(file) != "" && file != "." {
		return path.Dir(file)
	}
	return file
}

// excess returns what there is to say about the findings of a rule, by folder, beyond its
// debts.
func (r rule) excess(byFolder map[string][]finding) []string {
	allowed := map[string]int{}
	for _, d := range debts() {
		if d.rule == r.name {
			allowed[d.dir] += d.count
		}
	}
	var excess []string
	for dir, found := range byFolder {
		if len(found) <= allowed[dir] {
			continue
		}
		slices.SortFunc(found, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
		for _, f := range found {
			excess = append(excess, r.explain(f))
		}
		if allowed[dir] > 0 {
			excess = append(excess,
				fmt.Sprintf("%s: rule %s is broken %d times; internal/archtest/debts.go allows %d", dir, r.name, len(found), allowed[dir]))
		}
	}
	for dir, count := range allowed {
		if now := len(byFolder[dir]); now < count {
			excess = append(excess, fmt.Sprintf("%s: rule %s is broken %d times, internal/archtest/debts.go allows %d: "+
				"write the new count there with go test ./internal/archtest -write", dir, r.name, now, count))
		}
	}
	slices.Sort(excess)
	return excess
}

// writeDebts writes the table into the file that declares it.
func writeDebts(name string, left []debt) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, begun := bytes.Cut(text, []byte(debtsBegin))
	_, after, ended := bytes.Cut(rest, []byte(debtsEnd))
	if !begun || !ended {
		return fmt.Errorf("%s has no table", name)
	}
	var table bytes.Buffer
	table.Write(before)
	table.WriteString(debtsBegin)
	for _, d := range left {
		fmt.Fprintf(&table, "\t\t{%q, %q, %d},\n", d.rule, d.dir, d.count)
	}
	table.WriteString(debtsEnd)
	table.Write(after)
	return os.WriteFile(name, table.Bytes(), 0o644)
}
