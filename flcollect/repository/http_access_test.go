package repository_test

import (
	"testing"

	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	httpapitest.Access{
		Handler:      repository.NewHandler(memory(t), &repository.HandlerOptions{Authorize: httpapitest.Authorize}),
		Undocumented: map[string]string{"GET /": "public", "DELETE /model/a/b/": "operator"},
	}.Check(t)
}
