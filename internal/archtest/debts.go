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
		{"constructors", "multilink/internal/ethernet", 1},
		{"line-length", "multilink/node", 1},
		{"test-names", "multilink/node", 17},
		{"words", "bench/multilink", 2},
		{"words", "cmd/internal/demo/bonding", 1},
		{"words", "cmd/multilink", 1},
		{"words", "multilink/host", 3},
		{"words", "multilink/internal/bond", 2},
		{"words", "multilink/internal/ethernet", 1},
		{"words", "multilink/linktest", 3},
		{"words", "multilink/node", 4},
		{"words", "multilink/wg", 2},
		{"words", "test/multilink/namespaces", 1},
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
