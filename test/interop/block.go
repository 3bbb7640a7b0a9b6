package interop

import (
	"os"
	"strings"
	"testing"
)

// Block returns the commands of the one fenced block of a page that has a text in it, so that a
// test types what the page says.
func Block(t testing.TB, page, text string) string {
	t.Helper()
	markdown, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, part := range strings.Split("\n"+string(markdown), "\n```") {
		_, commands, _ := strings.Cut(part, "\n")
		if i%2 == 1 && strings.Contains(commands, text) {
			found = append(found, commands+"\n")
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: %d blocks have %q in them, expected one", page, len(found), text)
	}
	return found[0]
}
