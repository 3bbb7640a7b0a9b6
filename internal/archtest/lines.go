package archtest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const longestLine = 140 // columns; a tab is one

func checkLines(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.generated {
				continue
			}
			number := 0
			for line := range strings.Lines(f.text) {
				number++
				if columns := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); columns > longestLine {
					found = append(found, finding{fmt.Sprintf("%s:%d", f.path, number), fmt.Sprintf("%d columns, %d at most", columns, longestLine)})
				}
			}
		}
	}
	return found
}
