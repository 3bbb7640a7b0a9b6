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
		{"constructors", "annotate/mqtt/internal/mqtt3", 1},
		{"constructors", "cmd/internal/collector", 1},
		{"constructors", "modelrepo/internal/archive", 1},
		{"handlers", "apimgmt/gateway/admin", 1},
		{"line-length", "bench/gateway", 15},
		{"line-length", "bench/modelrepo", 18},
		{"line-length", "cmd/enablers", 2},
		{"line-length", "examples/apimgmt", 1},
		{"line-length", "internal/archtest", 17},
		{"line-length", "test/interop", 3},
		{"type-size", "annotate/kafka", 1},
		{"type-size", "annotate/rml", 2},
		{"type-size", "annotate/rml/internal/jsondoc", 1},
		{"type-size", "annotate/rml/internal/xmldoc", 1},
		{"type-size", "apimgmt/gateway", 1},
		{"type-size", "modelrepo", 1},
		{"type-size", "modelrepo/rest", 1},
		{"test-names", "annotate", 1},
		{"test-names", "annotate/kafka", 12},
		{"test-names", "annotate/manager", 13},
		{"test-names", "annotate/mqtt", 7},
		{"test-names", "annotate/mqtt/internal/mqtt3", 5},
		{"test-names", "annotate/mqtt/internal/session", 1},
		{"test-names", "apimgmt", 10},
		{"test-names", "apimgmt/definition", 3},
		{"test-names", "apimgmt/entity", 4},
		{"test-names", "apimgmt/gateway/admin", 7},
		{"test-names", "apimgmt/gateway/internal/balance", 1},
		{"test-names", "apimgmt/gateway/plugin", 5},
		{"test-names", "apimgmt/oidc", 1},
		{"test-names", "bench/rml/workload", 1},
		{"test-names", "modelrepo", 5},
		{"test-names", "modelrepo/client", 1},
		{"test-names", "modelrepo/internal/webhook", 1},
		{"words", "annotate", 1},
		{"words", "annotate/brokertest", 2},
		{"words", "annotate/kafka", 9},
		{"words", "annotate/kafka/kafkatest", 7},
		{"words", "annotate/manager", 3},
		{"words", "annotate/mqtt", 2},
		{"words", "annotate/mqtt/internal/mqtt3", 1},
		{"words", "annotate/mqtt/mqtttest", 1},
		{"words", "apimgmt", 1},
		{"words", "apimgmt/definition", 1},
		{"words", "apimgmt/gateway", 2},
		{"words", "apimgmt/gateway/admin", 3},
		{"words", "apimgmt/gateway/plugin", 2},
		{"words", "apimgmt/gateway/plugintest", 1},
		{"words", "apimgmt/gatewaytest", 2},
		{"words", "apimgmt/internal/document", 1},
		{"words", "apimgmt/oidc", 3},
		{"words", "apimgmt/oidc/devidp", 1},
		{"words", "apimgmt/oidc/oidctest", 1},
		{"words", "apimgmt/portal", 2},
		{"words", "bench/collect", 3},
		{"words", "bench/gateway", 1},
		{"words", "bench/modelrepo", 4},
		{"words", "bench/stream", 1},
		{"words", "examples/apimgmt", 1},
		{"words", "examples/multilinkpage", 1},
		{"words", "examples/strategies/momentum", 1},
		{"words", "flcollect", 3},
		{"words", "modelrepo", 1},
		{"words", "modelrepo/modelrepotest", 22},
		{"words", "test/interop", 1},
		{"words", "test/interop/flower", 1},
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
