package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const longestFile = 500 // lines

func checkSizes(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.code() {
			if f.lines > longestFile && !f.generated && largeFiles()[f.path] == "" {
				found = append(found, finding{f.path, fmt.Sprintf("%d lines, %d at most", f.lines, longestFile)})
			}
		}
	}
	return found
}

func checkNames(t *tree) []finding {
	var found []finding
	vague := func(name string) bool { return slices.Contains(vagueNames(), strings.ToLower(name)) }
	for _, dir := range t.folders {
		if vague(path.Base(dir)) {
			found = append(found, finding{dir, fmt.Sprintf("a folder is named %q", path.Base(dir))})
		}
	}
	for _, p := range t.packages {
		if vague(p.name) && !vague(path.Base(p.dir)) {
			found = append(found, finding{p.dir, fmt.Sprintf("a package is named %q", p.name)})
		}
		for _, f := range p.files {
			stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
			if vague(stem) {
				found = append(found, finding{f.path, fmt.Sprintf("a file is named %q", stem)})
			}
		}
	}
	return found
}

func checkMains(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if p.main() && !matchesAny(commandFolders(), p.dir) {
			found = append(found, finding{p.dir, "a command outside of the folders for commands"})
		}
	}
	return found
}

func checkGoMod(t *tree) []finding {
	var found []finding
	line := 0
	for text := range strings.Lines(t.goMod) {
		line++
		code, _, _ := strings.Cut(text, "//")
		if words := strings.Fields(code); len(words) > 0 && (words[0] == "replace" || strings.Contains(code, "=>")) {
			found = append(found, finding{fmt.Sprintf("go.mod:%d", line), "a replace directive"})
		}
	}
	return found
}
