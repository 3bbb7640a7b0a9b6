package apimgmt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// fill publishes a number of enablers with ten routes each.
func fill(b *testing.B, enablers int) *apimgmt.Publisher {
	b.Helper()
	s := newStage()
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: s.gateway, GatewayURL: "http://gateway.example"})
	require.NoError(b, err)
	for i := range enablers {
		_, err := p.Publish(b.Context(), upload(i, 0))
		require.NoError(b, err)
	}
	return p
}

func upload(enabler, round int) apimgmt.Upload {
	var paths []string
	for i := range 10 {
		paths = append(paths, fmt.Sprintf("/e%d/%d/{id}/%d", enabler, round%2, i))
	}
	return apimgmt.Upload{Enabler: fmt.Sprintf("e%d", enabler), Definition: []byte(apitest.File("1", paths...))}
}

// BenchmarkPublish replaces an API of ten routes beside 10, 100 and 1,000 others.
func BenchmarkPublish(b *testing.B) {
	for _, enablers := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(enablers), func(b *testing.B) {
			p := fill(b, enablers)
			round := 0
			for b.Loop() {
				round++
				_, err := p.Publish(b.Context(), upload(0, round))
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkSearch lists the first page of a search through 100 enablers.
func BenchmarkSearch(b *testing.B) {
	p := fill(b, 100)
	for b.Loop() {
		list, _, err := p.List(b.Context(), apimgmt.Query{Text: "e77/"})
		require.NoError(b, err)
		require.Len(b, list, 1)
	}
}
