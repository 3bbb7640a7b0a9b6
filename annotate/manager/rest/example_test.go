package rest_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
)

func ExampleNewHandler() {
	m, err := manager.New(manager.Config{Environment: annotate.Environment{
		Drivers: []annotate.Driver{annotate.MemoryDriver(annotate.NewMemoryBroker(nil))},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	rest.NewHandler(m, nil).ServeHTTP(answer, httptest.NewRequest("GET", "/status", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output:
	// 200 {"status":"INITIALIZING"}
}
