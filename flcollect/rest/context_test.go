package rest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/flcollect/rest"
)

func FuzzReadCondition(f *testing.F) {
	f.Add(`"a", W/"b"`, "*")
	f.Add("", `"`)
	f.Add(`"a,b"`, ",,")
	f.Fuzz(func(t *testing.T, match, none string) {
		b := jobstest.NewBoard()
		b.Err = publiccontext.ErrCondition
		code := jobstest.Ask(rest.HandlerFor(b, nil), "DELETE", "/job/he/public/a", "", "If-Match", match, "If-None-Match", none).Code
		require.Contains(t, []int{http.StatusBadRequest, http.StatusPreconditionFailed}, code)
	})
}
