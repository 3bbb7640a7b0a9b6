package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// The bounds of what a list shows of metadata.
const (
	briefLines = 3
	briefRunes = 80
)

// briefly returns the first lines of metadata.
func briefly(m modelrepo.Metadata) []string {
	lines := strings.Split(strings.TrimSuffix(metadataText(m), "\n"), "\n")
	if len(m) == 0 {
		return nil
	}
	more := len(lines) - briefLines
	lines = lines[:min(len(lines), briefLines)]
	for i, line := range lines {
		if utf8.RuneCountInString(line) > briefRunes {
			lines[i] = string([]rune(line)[:briefRunes]) + "…"
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// metadataText writes metadata as people edit it: a line "key: value" for each value. Line
// breaks and backslashes in values are written as \n and \\.
func metadataText(m modelrepo.Metadata) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		for _, value := range m[key] {
			fmt.Fprintf(&text, "%s: %s\n", key, escape.Replace(value))
		}
	}
	return text.String()
}

// sizeText writes a size in bytes for people.
func sizeText(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(bytes), 0
	for size >= 999.5 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.3g %s", size, units[unit])
}

// plural writes a count with its noun.
func plural(count any, noun string) string {
	if text := fmt.Sprint(count); text != "1" {
		return text + " " + noun + "s"
	}
	return "1 " + noun
}

// readMetadata reads what metadataText writes.
func readMetadata(text string) (modelrepo.Metadata, error) {
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
	made := modelrepo.Metadata{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, web.Malformed(fmt.Sprintf("Line %d has no colon: '%.120s'. Write KEY: VALUE.", number, line))
		}
		key = strings.TrimSpace(key)
		if key == modelrepo.Unset { // the store would remove all metadata
			return nil, web.Malformed(fmt.Sprintf("Line %d: '%s' is no key.", number, key))
		}
		made[key] = append(made[key], unescape.Replace(strings.TrimSpace(value)))
	}
	return made, nil
}
