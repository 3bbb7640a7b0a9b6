package overview_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/overview"
)

func ExampleNewPage() {
	events := &overview.Events{}
	events.Add(overview.Event{Block: "Models", Text: "model created", Href: "models/"})
	h := overview.NewPage(overview.Config{
		Blocks: func() []overview.Block { return []overview.Block{{Name: "Models", Href: "models/"}} },
		Events: events,
	}, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "model created"))
	// Output: 200 true
}
