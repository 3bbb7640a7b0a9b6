package look_test

import (
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/look"
)

var property = regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`)

// colours are the colours of the sheet: light, and dark as they are with what dark does
// not change.
func colours(t *testing.T) map[string]map[string]string {
	t.Helper()
	sheet, err := fs.ReadFile(look.Files, "look.css")
	require.NoError(t, err)
	root := strings.Split(string(sheet), ":root {")
	require.Len(t, root, 3, "one set of colours for light and one for dark")
	modes := map[string]map[string]string{"light": {}, "dark": {}}
	for i, mode := range []string{"light", "dark"} {
		block, _, _ := strings.Cut(root[i+1], "}")
		for _, p := range property.FindAllStringSubmatch(block, -1) {
			if strings.HasPrefix(p[2], "#") {
				modes[mode][p[1]] = p[2]
			}
		}
	}
	return modes
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	require.Len(t, colour, 7, colour)
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The criteria 1.4.3 (text) and 1.4.11 (edges of fields, lines of charts) of WCAG 2.2, level AA.
func TestFiles_haveColoursWithEnoughContrast(t *testing.T) {
	modes := colours(t)
	require.Len(t, modes["dark"], len(modes["light"]), "every colour has its dark one")
	for mode, colour := range modes {
		enough := func(least float64, front, back string) {
			require.Contains(t, colour, front)
			require.Contains(t, colour, back)
			require.GreaterOrEqual(t, contrast(t, colour[front], colour[back]), least, fmt.Sprintf("%s on %s when %s", front, back, mode))
		}
		for _, back := range []string{"--ground", "--card", "--code"} {
			for _, front := range []string{"--text", "--quiet", "--accent", "--good", "--warn", "--bad"} {
				enough(4.5, front, back)
			}
			enough(3, "--edge", back)
		}
		for i := range 6 {
			enough(3, fmt.Sprintf("--series-%d", i), "--card")
		}
		enough(4.5, "--on-accent", "--accent")
		enough(4.5, "--card", "--bad")
	}
}

// A page that chose colours of its own would have to keep contrast by itself, in both modes.
func TestFiles_haveTheColoursOfAllPages(t *testing.T) {
	sheet, err := fs.ReadFile(look.Files, "look.css")
	require.NoError(t, err)
	known := map[string]bool{"--tone": true}
	for _, p := range property.FindAllStringSubmatch(string(sheet), -1) {
		known[p[1]] = true
	}
	used := regexp.MustCompile(`var\((--[a-z0-9-]+)`)
	for _, path := range files(t, "page.css", "docs.css") {
		own, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotRegexp(t, `#[0-9a-f]{3,8}\b[^{]*;`, string(own), path)
		for _, p := range used.FindAllStringSubmatch(string(own), -1) {
			require.True(t, known[p[1]], "%s uses %s, which the look has not", path, p[1])
		}
	}
}

// A page that asks again and again says when the server is gone or refuses it.
func TestFiles_sayWhenAPageIsNoLongerLive(t *testing.T) {
	asking := regexp.MustCompile(`setTimeout\((update|watch)|\bpoll\(`)
	found := 0
	for _, path := range files(t, "*.js") {
		script, err := os.ReadFile(path)
		require.NoError(t, err)
		if asking.Match(script) {
			found++
			require.Regexp(t, `import \{[^}]*\b(setLive|poll)\b[^}]*\} from "\./shell\.js"`, string(script), path)
		}
	}
	require.GreaterOrEqual(t, found, 5)
}

// files returns the files of the pages of rooms, by the patterns of their names.
func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"*/*/page", "*/*/*/page", "*/page/assets", "*/*/page/assets"} {
		for _, pattern := range patterns {
			some, err := filepath.Glob(filepath.Join("../..", folder, pattern))
			require.NoError(t, err)
			found = append(found, some...)
		}
	}
	require.NotEmpty(t, found)
	return slices.DeleteFunc(found, func(path string) bool { return strings.Contains(path, "internal/shell/") })
}

func TestHead_namesTheAssetsOfThePage(t *testing.T) {
	page := template.Must(template.New("page").Parse(look.Head("{{.Root}}page/") + `{{template "head" .}}</head>`))
	var html strings.Builder
	require.NoError(t, page.Execute(&html, struct{ Title, Root string }{"Jobs & more", "../"}))
	require.True(t, strings.HasPrefix(html.String(), "<!doctype html>\n<html lang=\"en\">\n"), html.String())
	require.Contains(t, html.String(), "<title>Jobs &amp; more</title>")
	for _, name := range []string{"icon.svg", "look.css", "page.css"} {
		require.Contains(t, html.String(), ` href="../page/`+name+`"`)
	}
	require.True(t, strings.HasSuffix(html.String(), "page.css\"></head>"), html.String())
}
