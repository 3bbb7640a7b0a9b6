package flcollect

import (
	"testing"

	"github.com/iotenablers/enablers/flcollect/internal/job"
)

func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"token":"t","config":{"strategy":"avg"},"id":"a","state":"WAITING","sampling":{"rounds":[1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := job.ReadRecord("a", data)
		if err != nil {
			return
		}
		if status := newStatus(r); status.State != r.State {
			t.Fatal(status.State)
		}
	})
}
