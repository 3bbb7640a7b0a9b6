package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/page"
)

func ExampleNewHandler() {
	m, err := manager.New(manager.Config{Environment: annotate.Environment{
		Drivers: []annotate.Driver{annotate.MemoryDriver(annotate.NewMemoryBroker(nil))},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/channels/", http.StripPrefix("/channels", page.NewHandler(m, nil)))
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/channels/new", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output:
	// 200 text/html; charset=utf-8
}
