package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// loadLinks lists, with the go command in dir, the packages that each package of the
// module links. Of a package that does not build, it lists what the go command knows.
func loadLinks(dir string) (map[string][]string, error) {
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Deps", "./...")
	list.Dir = dir
	var complaints strings.Builder
	list.Stderr = &complaints
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", list, err, complaints.String())
	}
	links := map[string][]string{}
	for packages := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		switch err := packages.Decode(&p); {
		case errors.Is(err, io.EOF):
			return links, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", list, err)
		case p.ImportPath == "./...": // -e lists what it could not find
			return nil, fmt.Errorf("%s: no module at %s", list, dir)
		}
		links[p.ImportPath] = p.Deps
	}
}

func checkLinks(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, s := range separations() {
			if !matches(s.dir, p.dir) || matchesAny(s.except, p.dir) {
				continue
			}
			for _, linked := range t.links[t.importPath(p)] {
				if s.forbids(t, linked) {
					found = append(found, finding{p.dir, "links " + linked})
				}
			}
		}
	}
	return found
}

// forbids reports whether the separation is broken by a linked package.
func (s separation) forbids(t *tree, linked string) bool {
	if dir, own := t.own(linked); own {
		return matchesAny(s.own, dir)
	}
	for _, ban := range s.bans {
		if (ban == "." && !standard(linked)) || under([]string{ban}, linked) {
			return true
		}
	}
	return false
}
